/*
 * trace/format/holes.h - read files that are equal except for the names of groups, peers,
 * roots and tags, by comparing them.
 *
 * The holes of a trace are the places in its file where such a value is. Another file is
 * like it if all other bytes are equal. Lengths around the values may differ only as the
 * values require. For such a file only the differences are stored.
 */
#ifndef TRACE_FORMAT_HOLES_H
#define TRACE_FORMAT_HOLES_H

#include "base/error.h"
#include "base/str.h"
#include "halley/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_hole_role {
    TRACE_HOLE_NONE,
    TRACE_HOLE_GROUP, /* pg_name */
    TRACE_HOLE_SRC,
    TRACE_HOLE_DST,
    TRACE_HOLE_TAG,
    TRACE_HOLE_ROOT
} trace_hole_role;

typedef struct trace_hole {
    uint64_t at;     /* in the file: the bytes of a text or the varint of a number */
    uint64_t attr;   /* where the attribute begins, after its length */
    uint32_t n;      /* bytes */
    uint32_t node;   /* index */
    uint32_t value;  /* in the column of values */
    uint8_t role;    /* trace_hole_role */
    uint8_t kind;    /* halley_attr_kind: text, or an integer */
    uint8_t n_start; /* bytes of the attribute before the value */
} trace_hole;

typedef struct trace_holes {
    const halley_trace *trace; /* lent */
    trace_hole *at;            /* by place in the file */
    uint32_t n;
    uint64_t *nodes_at; /* by node, and one more: where its length is */
} trace_holes;

/* One value that differs. */
typedef struct trace_difference {
    uint32_t hole;
    uint32_t n;    /* bytes of a text */
    uint64_t bits; /* the number; for a text, where it begins in `texts` */
} trace_difference;

typedef struct trace_differences {
    uint32_t n;
    const char *texts;
    trace_difference at[];
} trace_differences;

/* *out is NULL if the trace cannot be used for comparison. It must be an .et file of the
 * present schema, in the form that writers use. */
halley_status trace_holes_new(trace_holes **out, const halley_trace *trace,
                              halley_error *err);
void trace_holes_free(trace_holes *h);

/*
 * Compare a file in memory (with FILE_PAD bytes after it) with the trace. *out is NULL if
 * they also differ elsewhere; otherwise the caller must free() it. Fails only if memory
 * runs out.
 */
halley_status trace_holes_compare(trace_differences **out, const trace_holes *h,
                                  const uint8_t *at, size_t n, halley_error *err);
/* Make the trace that has these differences. `path` is its name. */
halley_status trace_holes_apply(halley_trace **out, const trace_holes *h,
                                const trace_differences *d, const char *path,
                                halley_error *err);

static inline str trace_difference_text(const trace_differences *d,
                                        const trace_difference *one)
{
    return (str){d->texts + one->bits, one->n};
}

#endif
