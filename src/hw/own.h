/* hw/own.h - the parts of our cluster file; for own.c and its pieces. */
#ifndef HW_OWN_H
#define HW_OWN_H

#include "base/conf.h"
#include "hw/cluster.h"

typedef struct own_reader {
    halley_cluster *c;
    const conf_file *file;
    halley_error *err;
} own_reader;

#define FIELDS(table) (table), sizeof(table) / sizeof *(table)

/* A part of the file, for halley_cluster_key. */
typedef struct own_part {
    const char *name;
    const conf_field *fields;
    size_t n;
} own_part;
extern const own_part own_npu_part, own_memory_part;

/* The NPU: a preset's name, or peak and memories. The network must be known. */
halley_status own_read_npu(const own_reader *r, const conf_node *node);
/* Memory beyond the NPU. */
halley_status own_read_remote(const own_reader *r, const conf_node *map);

#endif
