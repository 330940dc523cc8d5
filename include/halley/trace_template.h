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
