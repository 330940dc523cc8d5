/* trace/core/regroup.h - a trace with other group names. */
#ifndef TRACE_CORE_REGROUP_H
#define TRACE_CORE_REGROUP_H

#include "base/str.h"
#include "halley/trace.h"

/* Make a trace with its own copy of the values and texts of `lender`. The lender lends
 * everything else and is kept alive as long as *out. */
halley_status trace_lend(halley_trace **out, halley_trace *lender, halley_error *err);

/*
 * Make a copy of `trace` in which every pg_name from[k] is to[k], n of them; others stay.
 * `trace` lends everything else and is kept alive as long as *out. On success the caller
 * owns *out.
 */
halley_status trace_regrouped(halley_trace **out, halley_trace *trace, const str *from,
                              const str *to, uint32_t n, halley_error *err);

#endif
