/*
 * The columns of values and the texts are copied. The others are shared, because a trace
 * does not change after it is made.
 */
#include "trace/core/regroup.h"

#include "trace/core/store.h"

#include <assert.h>

typedef struct renames {
    const str *from;
    const text_ref *to;
    uint32_t n, recent;
} renames;

static bool copy_column(u64_array *to, const u64_array *from)
{
    assert(to->n == 0);
    *to = (u64_array){0};
    if (!array_reserve(to, from->n))
        return false;
    if (from->n > 0)
        memcpy(to->at, from->at, from->n * sizeof *to->at);
    to->n = from->n;
    return true;
}

static bool copy_texts(u8_array *to, const u8_array *from)
{
    *to = (u8_array){0};
    if (!array_reserve(to, from->n + 1))
        return false;
    if (from->n > 0)
        memcpy(to->at, from->at, from->n);
    to->n = from->n;
    return true;
}

static void rename_value(uint64_t *value, const trace_store *s, renames *r)
{
    assert(r != NULL);
    const str name = trace_text(s, *value);
    for (uint32_t i = 0; i < r->n; i++) {
        const uint32_t k = (r->recent + i) % r->n;
        if (!str_eq(name, r->from[k]))
            continue;
        *value = r->to[k];
        r->recent = k;
        return;
    }
}

/* Replace the group names among the values, which are found by shape. */
static void rename_all(trace_store *s, renames *r)
{
    for (uint32_t shape = 0; shape < s->shapes.shapes.n; shape++) {
        const attr_shape *const a = &s->shapes.shapes.at[shape];
        for (uint32_t i = a->first; i < a->first + a->n; i++) {
            const attr_slot *const slot = &s->shapes.flat.at[i];
            const attr_desc *const d = &s->shapes.descs.at[slot->desc];
            if (d->kind != HALLEY_ATTR_STRING ||
                !str_eq(attr_desc_name(&s->shapes, d), STR("pg_name")))
                continue;
            for (uint32_t node = 0; node < s->n; node++)
                if (s->shape.at[node] == shape)
                    rename_value(&s->values.at[s->value_at.at[node] + slot->slot], s, r);
        }
    }
}

static bool fill_regrouped(trace_store *s, renames *r, const str *to)
{
    assert(r->n > 0 && to != NULL);
    text_ref *const refs = mem_array(r->n, sizeof *refs);
    bool fine = refs != NULL;
    for (uint32_t k = 0; fine && k < r->n; k++) {
        fine = to[k].n < TEXT_LONG; /* longer ones would go into a shared column */
        refs[k] = fine ? trace_text_copy(s, to[k], (str){0}) : 0;
        fine = refs[k] != 0;
    }
    r->to = refs;
    if (fine)
        rename_all(s, r);
    free(refs);
    return fine;
}

halley_status trace_lend(halley_trace **out, halley_trace *lender, halley_error *err)
{
    assert(out != NULL && lender != NULL);
    halley_trace *const t = mem_array_zero(1, sizeof *t);
    if (!t)
        return error_nomem(err);
    t->form = lender->form;
    t->s = lender->s;
    t->s.values = (u64_array){0};
    t->s.own = (u8_array){0};
    t->s.marks.n = 0;
    t->data = lender->data;
    t->ctrl = lender->ctrl;
    t->dangling = lender->dangling;
    t->ascending = lender->ascending;
    t->index = lender->index;
    t->lender = halley_trace_keep(lender);
    atomic_init(&t->refs, 1);
    t->path = mem_array_zero(1, 1);
    if (!t->path || !copy_column(&t->s.values, &lender->s.values) ||
        !copy_texts(&t->s.own, &lender->s.own)) {
        halley_trace_free(t);
        return error_nomem(err);
    }
    *out = t;
    return HALLEY_OK;
}

halley_status trace_regrouped(halley_trace **out, halley_trace *trace, const str *from,
                              const str *to, uint32_t n, halley_error *err)
{
    halley_trace *t = NULL;
    renames r = {.from = from, .n = n};
    TRY(trace_lend(&t, trace, err));
    if (!fill_regrouped(&t->s, &r, to)) {
        halley_trace_free(t);
        return error_nomem(err);
    }
    *out = t;
    return HALLEY_OK;
}
