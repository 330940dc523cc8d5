/*
 * hw/schema.h - the tables of the cluster file, one per part. The parser, the error
 * texts, the manual page and the names of older files all use them.
 */
#ifndef HW_SCHEMA_H
#define HW_SCHEMA_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* A file while it is read into a cluster. */
typedef struct hw_reader {
    halley_cluster *c;
    const conf_file *file;
    halley_error *err;
} hw_reader;

#define HW_FIELDS(table) (table), sizeof(table) / sizeof *(table)

/* A part of the file. `path` is its place: "cost", or "" for the file itself. Parts
 * inside lists have a path that is not a key ("network[]"). */
typedef struct hw_part {
    const char *name, *path;
    const conf_field *fields;
    size_t n;
} hw_part;
extern const hw_part hw_part_file, hw_part_kind, hw_part_nodes, hw_part_dimension,
    hw_part_fabric, hw_part_topology, hw_part_wiring, hw_part_tier, hw_part_npu,
    hw_part_memory, hw_part_system, hw_part_bus, hw_part_interference,
    hw_part_network_interference, hw_part_cost, hw_part_failures, hw_part_measured;
/* Parts of NPU and link presets, whose tables fill the struct itself. */
extern const hw_part hw_part_gemm, hw_part_cast, hw_part_misaligned, hw_part_protocol;
/* The i-th part of all; NULL past the last. */
const hw_part *hw_part_get(size_t i);

/* Rename keys and words of older files to their present names, each with a note. */
halley_status hw_names_renew(halley_cluster *c, conf_file *file, halley_error *err);

/* The parts, in the order in which they are read. */
halley_status hw_read_npu(const hw_reader *r, const conf_node *node);
halley_status hw_read_kinds(const hw_reader *r, const conf_node *list);
halley_status hw_read_nodes(const hw_reader *r, const conf_node *map);
halley_status hw_read_network(const hw_reader *r, const conf_node *node);
halley_status hw_read_topology(const hw_reader *r, const conf_node *map);
halley_status hw_read_remote(const hw_reader *r, const conf_node *map);
halley_status hw_read_system(const hw_reader *r, const conf_node *map);
halley_status hw_read_cost(const hw_reader *r, const conf_node *map);
halley_status hw_read_failures(const hw_reader *r, const conf_node *map);

/* Keep a copy as long as the cluster lives; "" for an empty text. */
halley_status hw_text_keep(const char **out, const hw_reader *r, str text);
/* Times are rounded to a millionth of a nanosecond, so that numbers of ns are
 * preserved. */
double hw_ns_from(double seconds);

#endif
