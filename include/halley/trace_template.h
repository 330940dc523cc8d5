/*
 * halley/trace_template.h - a trace set written as roles: one trace per role, and rules
 * that say which rank plays which role, who is in its groups and who its peers are.
 *
 * A set of 131,072 ranks with 16 different programs is 16 traces and a page of rules.
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
/* The role that a rank plays, below halley_template_roles. */
uint32_t halley_template_role_of(const halley_template *t, uint32_t rank);
/* Its trace, lent. pg_name and comm_peer name rules. */
const halley_trace *halley_template_trace(const halley_template *t, uint32_t role);

/* From its index, PREFIX.roles.yaml; the files it names are next to it. Errors name line
 * and rule. On success *out is the caller's. */
halley_status halley_template_load(halley_template **out, const char *path,
                                   halley_error *err);
/* The index that `path` is, or that PATH.roles.yaml is; NULL when neither is one. The
 * caller's, to free(). */
char *halley_template_find(const char *path);
/* What must hold between traces and rules: every group and peer has a rule, every send
 * its receive, and members of a group call it in the same order. */
halley_status halley_template_check(const halley_template *t, halley_error *err);

/*
 * A set with a trace per rank as roles: ranks whose traces are equal but for names of
 * nodes, groups and peers play one role. Groups and peers become rules along axes where
 * such rules are found, else a table. `groups` is ASTRA-sim's {"1": [0, 1]} or NULL: what
 * the traces declare. On success *out is the caller's.
 */
halley_status halley_template_of_set(halley_template **out, const halley_trace_set *set,
                                     const char *groups, halley_error *err);

/* What was written. */
typedef struct halley_template_summary {
    uint64_t n_files, n_nodes, n_bytes;
} halley_template_summary;
/* PREFIX.role0.et and so on, and PREFIX.roles.yaml; all appear or none. `summary` may be
 * NULL. */
halley_status halley_template_save(const halley_template *t, const char *prefix,
                                   halley_template_summary *summary, halley_error *err);

/*
 * The trace of one rank: pg_name is the number of a group, comm_src and comm_dst stand
 * for comm_peer. On success *out is the caller's.
 */
halley_status halley_template_expand(halley_trace **out, const halley_template *t,
                                     uint32_t rank, halley_error *err);

/* All ranks so, in memory: for small sets. On success *out is the caller's. */
halley_status halley_template_traces(halley_trace_set **out, const halley_template *t,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
