/* The columns of a trace as they are stored, lent to readers that need arrays. */
#include "base/error.h"
#include "trace/core/store.h"

#include <assert.h>

static halley_column lend_column(const u64_array *column)
{
    return (halley_column){column->n > 0 ? column->at : NULL, (uint32_t)column->n};
}

halley_status halley_trace_columns(halley_columns *out, const halley_trace *t,
                                   halley_error *err)
{
    const trace_store *s = &t->s;
    if (out->size != sizeof *out)
        return error_set(err, HALLEY_EINVAL,
                         "the caller's halley_columns has %zu bytes, this library's %zu",
                         out->size, sizeof *out);
    assert(s->types.n == s->n && (s->ids.n == 0 || s->ids.n == s->n));
    assert(s->starts.n <= s->n && s->durations.n <= s->n);
    *out = (halley_columns){
        .size = sizeof *out,
        .n = s->n,
        .first_id = s->first_id,
        .ids = s->ids.n > 0 ? s->ids.at : NULL,
        .types = s->types.at,
        .starts_us = lend_column(&s->starts),
        .durations_us = lend_column(&s->durations),
        .data_first = s->data_at.n > 0 ? s->data_at.at : NULL,
        .data = t->data,
        .ctrl_first = s->ctrl_at.n > 0 ? s->ctrl_at.at : NULL,
        .ctrl = t->ctrl,
    };
    return HALLEY_OK;
}
