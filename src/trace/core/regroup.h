/* trace/core/regroup.h - a trace under other names of groups. */
#ifndef TRACE_CORE_REGROUP_H
#define TRACE_CORE_REGROUP_H

#include "base/str.h"
#include "halley/trace.h"

/* A trace with values and texts of its own, equal to those of `lender`, which lends all
 * else and is kept as long as *out is there. */
halley_status trace_lend(halley_trace **out, halley_trace *lender, halley_error *err);

/*
 * `trace` with every pg_name from[k] as to[k], n of them; others stay. All else is lent
 * by `trace`, which is kept as long as *out is there. On success *out is the caller's.
 */
halley_status trace_regrouped(halley_trace **out, halley_trace *trace, const str *from,
                              const str *to, uint32_t n, halley_error *err);

#endif
