/* halley/trace_check.h - what is wrong with a trace or a set of traces, and what to do.
 */
#ifndef HALLEY_TRACE_CHECK_H
#define HALLEY_TRACE_CHECK_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_severity {
    HALLEY_NOTE,    /* unusual, harmless for most readers */
    HALLEY_WARNING, /* works, but likely not as meant */
    HALLEY_ERROR,   /* cannot run, or not run right */
    HALLEY_N_SEVERITIES
} halley_severity;
const char *halley_severity_name(halley_severity severity); /* "error"; static */

/*
 * One thing found. All texts are owned by the report. A place that does not apply is left
 * out: node HALLEY_NO_NODE (then id, name and offset mean nothing).
 */
typedef struct halley_finding {
    halley_severity severity;
    const char *code; /* short, stable: "dangling-dep" */
    uint32_t rank;    /* the lowest one that has it */
    uint32_t n_ranks; /* equal ranks that have it, this one included */
    const char *file; /* path; "" when built */
    uint32_t node;    /* index */
    uint64_t id;
    const char *name;     /* as UTF-8: what is not becomes U+FFFD */
    bool has_offset;      /* false for what was not read from .et */
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
    void *memory;                    /* behind the texts */
} halley_check_report;

/* {0} is the default. */
typedef struct halley_check_opts {
    uint32_t max_per_code; /* findings listed of each code; 0 = 10, UINT32_MAX = all */
    uint32_t n_threads;    /* 0 = one per core */
    /* ASTRA-sim's {"1": [0, 1], …}: ranks of each group; NULL = as the traces say. */
    const char *groups_path;
} halley_check_opts;

/*
 * Check each different trace of the set, then, when there are several ranks, sends
 * against receives and collectives of each group against each other. Linear in what the
 * traces hold. That there are findings is no failure. On success *out is the caller's, to
 * free with halley_check_report_free; it may outlive the set.
 */
halley_status halley_trace_check(halley_check_report **out, const halley_trace_set *set,
                                 const halley_check_opts *opts, halley_error *err);
/* A report with n findings, code "unreadable": what loading said. */
halley_status halley_check_load_errors(halley_check_report **out,
                                       const halley_error *load_errors, uint32_t n,
                                       const halley_check_opts *opts, halley_error *err);
void halley_check_report_free(halley_check_report *report); /* NULL is fine */

/* `file: node 17 "name" (byte 5312): sentence; remedy`. Always terminated; returns `to`.
 */
const char *halley_finding_format(const halley_finding *finding, char *to, size_t size);

#ifdef __cplusplus
}
#endif
#endif
