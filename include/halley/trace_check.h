/*
 * halley/trace_check.h - find errors in a trace or a set of traces, and suggest remedies.
 */
#ifndef HALLEY_TRACE_CHECK_H
#define HALLEY_TRACE_CHECK_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_severity {
    HALLEY_NOTE,    /* unusual, harmless for most readers */
    HALLEY_WARNING, /* works, but probably not as intended */
    HALLEY_ERROR,   /* does not run, or runs incorrectly */
    HALLEY_N_SEVERITIES
} halley_severity;
const char *halley_severity_name(halley_severity severity); /* "error"; static */

/* One finding. The report owns all texts. If the finding concerns no node, `node` is
 * HALLEY_NO_NODE, and id, name and offset have no meaning. */
typedef struct halley_finding {
    halley_severity severity;
    const char *code; /* short, stable: "dangling-dep" */
    uint32_t rank;    /* the lowest one that has it */
    uint32_t n_ranks; /* equal ranks that have it, this one included */
    const char *file; /* path; "" when built */
    uint32_t node;    /* index */
    uint64_t id;
    const char *name;     /* as UTF-8; invalid bytes become U+FFFD */
    bool has_offset;      /* false if the trace was not read from .et */
    uint64_t offset;      /* byte in the file */
    const char *sentence; /* what is wrong; no final period */
    const char *remedy;   /* what to do; "" when there is nothing to add */
} halley_finding;

/* How often a code was found, listed or not. */
typedef struct halley_check_code {
    const char *code;
    halley_severity severity;
    uint64_t n;
    uint64_t n_listed;
} halley_check_code;

typedef struct halley_check_report {
    size_t size;              /* filled by the library, see error.h */
    halley_finding *findings; /* traces by rank, nodes in file order; then across ranks */
    size_t n_findings;
    halley_check_code *codes; /* those found, in a fixed order */
    size_t n_codes;
    uint64_t n[HALLEY_N_SEVERITIES]; /* all found, listed or not */
    bool compared_ranks;             /* false for a single rank: nothing to compare */
    void *memory;                    /* holds the texts */
} halley_check_report;

/* {0} is the default. */
typedef struct halley_check_opts {
    uint32_t max_per_code; /* findings listed of each code; 0 = 10, UINT32_MAX = all */
    uint32_t n_threads;    /* 0 = one per core */
    /* ASTRA-sim's {"1": [0, 1], …}: ranks of each group; NULL = as the traces say. */
    const char *groups_path;
} halley_check_opts;

/*
 * Check each distinct trace of the set. If there are several ranks, also check sends
 * against receives, and the collectives of each group against each other. The time is
 * linear in the size of the traces. Findings are not a failure. On success the caller
 * owns *out and frees it with halley_check_report_free; it may outlive the set.
 */
halley_status halley_trace_check(halley_check_report **out, const halley_trace_set *set,
                                 const halley_check_opts *opts, halley_error *err);
/* Make a report of n findings with code "unreadable" from the errors of loading. */
halley_status halley_check_load_errors(halley_check_report **out,
                                       const halley_error *load_errors, uint32_t n,
                                       const halley_check_opts *opts, halley_error *err);
void halley_check_report_free(halley_check_report *report); /* NULL is fine */

/*
 * `file: node 17 "name" (byte 5312): sentence; remedy`. Always terminated. Returns `to`.
 */
const char *halley_finding_format(const halley_finding *finding, char *to, size_t size);

#ifdef __cplusplus
}
#endif
#endif
