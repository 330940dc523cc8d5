/*
 * report/columns.h - a timeline as binary columns, which the web page draws: boxes in
 * rows, arrows, the critical path, use of links and memory over time. A million boxes
 * take 22 MB and need no parsing. doc/reference/columns.md describes the file.
 */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include "base/error.h"
#include "base/str.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "halley/trace.h"
#include "report/traces.h"

/* The most boxes that are written to a file, and to a page. Further ranks are omitted,
 * and the file states how many. */
enum { REPORT_COLUMNS_MOST = 4000000, REPORT_COLUMNS_MOST_IN_PAGE = 60000 };

typedef struct report_columns report_columns;

/* `what` is "simulation" or "recording"; static. NULL: no memory. */
report_columns *report_columns_new(const char *what);
void report_columns_free(report_columns *c); /* NULL is fine */
uint32_t report_columns_count(const report_columns *c);

/* Begin a rank, whose rows follow. It represents `alike` other ranks, which have no rows.
 * `name` may be empty. */
void report_columns_rank(report_columns *c, uint32_t rank, uint32_t alike, str name);

typedef struct report_columns_box {
    double start_s, end_s, bytes;
    str name, kind, group;
    uint64_t track; /* rows of a rank are ordered by track */
    str track_name;
} report_columns_box;
/* Add a box of the current rank, in the first free row of its track and group. Boxes of a
 * track must come in order of their start, long ones first. Returns its number. */
uint32_t report_columns_add(report_columns *c, const report_columns_box *box);

/* Add an arrow between boxes; add the next step of the critical path, which covers a part
 * of its box. Boxes are numbered by report_columns_add. */
void report_columns_arrow(report_columns *c, uint32_t from, uint32_t to);
void report_columns_step(report_columns *c, uint32_t box, double begin_s, double end_s);
/* The current rank holds `bytes` from `at_s` on. */
void report_columns_level(report_columns *c, double at_s, double bytes);
/* How busy the links of a dimension are on which an NPU sends. `use` has n_npus x n_bins
 * numbers and is copied. */
void report_columns_heat(report_columns *c, const halley_dim_result *dim, uint32_t n_npus,
                         uint32_t n_bins, double bin_s, const float *use);
/* NPUs per node, which the drawing of links shows as a box; 0 = not known. */
void report_columns_nodes(report_columns *c, uint32_t npus_per_node);
/* The device's memory, and the part of it that must stay free. */
void report_columns_capacity(report_columns *c, double bytes, double headroom);
/* The ranks of the job, and the number of omitted ones. */
void report_columns_total(report_columns *c, uint32_t n_ranks, uint32_t n_left_out);

/* Write the file, or append its bytes to `out` if `path` is NULL. Frees `c`, whatever it
 * returns. */
halley_status report_columns_save(report_columns *c, const char *path, strbuf *out,
                                  halley_error *err);

/* What a plan knows about the ranks of a stage, in addition to their nodes. */
typedef struct report_columns_stage {
    const halley_plan_pass *passes;
    size_t n_passes;
    double fixed_bytes;      /* everything but activations */
    double activation_bytes; /* when most micro-batches are in flight */
} report_columns_stage;

typedef struct report_columns_options {
    bool all_ranks; /* include ranks whose totals equal those of another */
    const report_columns_stage *stages; /* by role; NULL = not a plan */
    double capacity_bytes, headroom;    /* 0 = not known */
    uint32_t npus_per_node;             /* 0 = not known */
    strbuf *page; /* append the bytes here, for a page, instead of to a file; NULL = no */
} report_columns_options;

/* Write a simulation with recorded nodes, and with heat if it has any. `path` may be NULL
 * if o->page is not. */
halley_status report_sim_columns(const halley_result *result, const report_traces *traces,
                                 const report_columns_options *o, const char *path,
                                 halley_error *err);
/* Write the recorded times of all ranks; HALLEY_EINVAL if there are none. */
halley_status report_recorded_columns(const halley_trace_set *traces, const char *path,
                                      halley_error *err);

#endif
