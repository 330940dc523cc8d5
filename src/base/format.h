/*
 * base/format.h - files of other programs, as the core sees them.
 *
 * The core reads and writes such files only through this table. The outermost link
 * supplies it: formats/rows.c, or base/format_none.c in a library of the core alone.
 *
 * To add a format, add a file in a folder of src/formats and a row in its set. It also
 * needs a fuzz target with seeds, and a page of documentation.
 */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* What a file describes; the type of `out` in format_row.read and of `from` in write. */
typedef enum format_kind {
    FORMAT_MODEL,    /* reads workload_foreign (workload/model_file.h) */
    FORMAT_DIMS,     /* reads dims of halley_cluster, from the conf_file in `options` */
    FORMAT_TOPOLOGY, /* reads hw_graph *, with hw_import_options; writes hw_graph */
} format_kind;

typedef struct format_source {
    str text;            /* the content, uncompressed; empty for a folder */
    const char *path;    /* for messages */
    bool is_on_disk;     /* `path` can be opened, and files next to it too */
    const void *options; /* of the kind; NULL if it has none */
} format_source;

typedef struct format_row format_row;
struct format_row {
    const char *name;
    const char *doc;  /* a phrase */
    const char *also; /* further names, separated by spaces; NULL: none */
    bool is_map;      /* its files are maps of keys, as halley's are */
    /* NULL: cannot. */
    halley_status (*read)(void *out, const format_row *row, const format_source *from,
                          halley_error *err);
    halley_status (*write)(strbuf *to, const void *from, const void *options,
                           halley_error *err);
};

/* Formats that are recognised together, because one look at the content decides. */
typedef struct format_set {
    format_kind kind;
    const format_row *const *rows; /* ends with NULL */
    /* The row that reads such a content; NULL: none, perhaps a file of halley's. */
    const format_row *(*detect)(str text, const char *path);
} format_set;

extern const format_set *const format_sets[]; /* ends with NULL */

typedef enum format_use { FORMAT_READ, FORMAT_WRITE } format_use;

/* The i-th row that can be used so; NULL past the last. */
const format_row *format_get(format_kind kind, format_use use, size_t i);
/* The row of that name; an unknown name is HALLEY_ENOTFOUND with the names that exist. */
halley_status format_find(const format_row **out, format_kind kind, format_use use,
                          str name, halley_error *err);
/* The first row whose set recognises the content; NULL: none. */
const format_row *format_detect(format_kind kind, str text, const char *path);

#endif
