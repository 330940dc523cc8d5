/* halley/trace_diff.h - find the differences between two traces or two sets. */
#ifndef HALLEY_TRACE_DIFF_H
#define HALLEY_TRACE_DIFF_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The subject of a difference. As bits 1 << kind, also what to ignore. */
typedef enum halley_diff_kind {
    HALLEY_DIFF_RANKS,    /* number of ranks */
    HALLEY_DIFF_METADATA, /* version, metadata attributes */
    HALLEY_DIFF_NODES,    /* a node that only one side has */
    HALLEY_DIFF_ORDER,    /* nodes, dependencies or attributes in another order */
    HALLEY_DIFF_TYPE,
    HALLEY_DIFF_NAME,
    HALLEY_DIFF_TIME, /* start, duration */
    HALLEY_DIFF_DEPS, /* data and control dependencies */
    HALLEY_DIFF_ATTRS,
    HALLEY_DIFF_IO,      /* inputs and outputs */
    HALLEY_DIFF_UNKNOWN, /* fields the schema does not know */
    HALLEY_N_DIFF_KINDS
} halley_diff_kind;
const char *halley_diff_kind_name(halley_diff_kind kind); /* "attrs"; static */

typedef struct halley_difference {
    halley_diff_kind kind;
    uint32_t rank;
    bool has_node;
    uint64_t id;          /* of the node */
    const char *sentence; /* owned by the report */
} halley_difference;

typedef struct halley_diff_report {
    size_t size;             /* filled by the library, see error.h */
    halley_difference *list; /* by rank, nodes in file order of A, then those only in B */
    size_t n_listed;
    uint64_t n[HALLEY_N_DIFF_KINDS];      /* all, listed or not; each rank counts */
    uint64_t n_once[HALLEY_N_DIFF_KINDS]; /* the same, but equal ranks count once */
    uint64_t n_total;
    uint64_t n_nodes_same, n_nodes_changed, n_nodes_removed, n_nodes_added;
    uint64_t n_ranks_same, n_ranks_changed;
    void *memory; /* holds the texts */
} halley_diff_report;

/* {0} is the default. */
typedef struct halley_diff_opts {
    uint32_t ignore;       /* bits 1 << halley_diff_kind */
    uint32_t max_per_kind; /* differences listed of each kind; 0 = 10, UINT32_MAX = all */
} halley_diff_opts;

/* Compare rank by rank; nodes are matched by id. The time is linear. A pair of traces
 * that occurs again is not compared again, only counted. Differences are not a failure.
 * On success the caller owns *out; it may outlive the sets. */
halley_status halley_trace_diff(halley_diff_report **out, const halley_trace_set *a,
                                const halley_trace_set *b, const halley_diff_opts *opts,
                                halley_error *err);
void halley_diff_report_free(halley_diff_report *report); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
