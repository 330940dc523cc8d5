/* report/traces.h - the traces of a run: a set, or roles, whose ranks are expanded one by
 * one when a report needs them. */
#ifndef REPORT_TRACES_H
#define REPORT_TRACES_H

#include "halley/trace.h"
#include "halley/trace_template.h"

/* One of the two is NULL. */
typedef struct report_traces {
    const halley_trace_set *set;
    const halley_template *roles;
} report_traces;

/* The trace of a rank, lent. In the trace of a role, groups and peers are named by rule.
 */
static inline const halley_trace *report_traces_like(const report_traces *t,
                                                     uint32_t rank)
{
    return t->roles == NULL
               ? halley_trace_set_get(t->set, rank)
               : halley_template_trace(t->roles, halley_template_role_of(t->roles, rank));
}

/* The same with the names that the rank has. The caller frees *made, which may be NULL.
 */
static inline halley_status report_traces_open(const halley_trace **out,
                                               halley_trace **made,
                                               const report_traces *t, uint32_t rank,
                                               halley_error *err)
{
    *made = NULL;
    if (t->roles == NULL) {
        *out = halley_trace_set_get(t->set, rank);
        return HALLEY_OK;
    }
    const halley_status status = halley_template_expand(made, t->roles, rank, err);
    *out = *made;
    return status;
}

#endif
