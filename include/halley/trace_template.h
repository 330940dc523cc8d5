/*
 * halley/trace_template.h - a trace set written as roles. There is one trace per role.
 * Rules define the role, the groups and the peers of each rank.
 *
 * For example, a set of 131,072 ranks with 16 different programs is 16 traces and a page
 * of rules.
 */
#ifndef HALLEY_TRACE_TEMPLATE_H
#define HALLEY_TRACE_TEMPLATE_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_template halley_template; /* opaque; owns its traces */
void halley_template_free(halley_template *t); /* NULL is fine */

uint32_t halley_template_ranks(const halley_template *t);
uint32_t halley_template_roles(const halley_template *t);
/* The role of a rank, below halley_template_roles. */
uint32_t halley_template_role_of(const halley_template *t, uint32_t rank);
/* The trace of a role, lent. Its pg_name and comm_peer name rules. */
const halley_trace *halley_template_trace(const halley_template *t, uint32_t role);

/* Load a set from its index, PREFIX.roles.yaml; the files it names are next to it. Errors
 * name line and rule. On success the caller owns *out. */
halley_status halley_template_load(halley_template **out, const char *path,
                                   halley_error *err);
/* The path of the index: `path` itself, or PATH.roles.yaml; NULL if neither is an index.
 * The caller must free() it. */
char *halley_template_find(const char *path);
/* Check the consistency of traces and rules: every group and peer has a rule, every send
 * has a receive, and members of a group call it in the same order. */
halley_status halley_template_check(const halley_template *t, halley_error *err);

/*
 * Convert a set with one trace per rank to roles. Ranks whose traces differ only in names
 * of nodes, groups and peers have the same role. Groups and peers become rules along axes
 * where such rules are found, else a table. `groups` is ASTRA-sim's {"1": [0, 1]}; NULL:
 * use the groups that the traces declare. On success the caller owns *out.
 */
halley_status halley_template_of_set(halley_template **out, const halley_trace_set *set,
                                     const char *groups, halley_error *err);

/* What was written. */
typedef struct halley_template_summary {
    uint64_t n_files, n_nodes, n_bytes;
} halley_template_summary;
/* Write PREFIX.role0.et and so on, and PREFIX.roles.yaml; either all files or none.
 * `summary` may be NULL. */
halley_status halley_template_save(const halley_template *t, const char *prefix,
                                   halley_template_summary *summary, halley_error *err);

/* The trace of one rank: pg_name is the number of a group, and comm_src and comm_dst
 * replace comm_peer. On success the caller owns *out. */
halley_status halley_template_expand(halley_trace **out, const halley_template *t,
                                     uint32_t rank, halley_error *err);

/* The same for all ranks, in memory, for small sets. On success the caller owns *out. */
halley_status halley_template_traces(halley_trace_set **out, const halley_template *t,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
