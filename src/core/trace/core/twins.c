/*
 * Twins are found by a hash of what is cheap to read (columns and numbers). They are then
 * compared in full with the first trace that has the same hash. The groups of two traces
 * are paired as they occur. A name that has a partner must meet it every time. A name
 * without a partner must meet another one without.
 */
#include "trace/core/twins.h"

#include "base/hash.h"
#include "base/pool.h"
#include "trace/core/distinct.h"
#include "trace/core/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 64 };

/* How the value of an attribute is compared. */
typedef enum sort {
    SORT_NUMBER,
    SORT_TEXT,
    SORT_GROUP,
} sort;

typedef struct search {
    trace_distinct distinct;
    uint64_t *hashes;          /* by distinct trace */
    uint32_t *like;            /* by distinct trace: the first that may be its twin */
    str (*ours)[MOST_NAMES];   /* by distinct trace: names of its groups */
    str (*theirs)[MOST_NAMES]; /* their partners in the trace it is like */
    uint32_t *n_names;
} search;

static sort sort_of(const attr_shapes *s, const attr_slot *slot)
{
    assert(slot->desc < s->descs.n);
    const attr_desc *const d = &s->descs.at[slot->desc];
    if (d->kind == HALLEY_ATTR_STRING && str_eq(attr_desc_name(s, d), STR("pg_name")))
        return SORT_GROUP;
    return d->kind >= HALLEY_ATTR_STRING || halley_attr_is_list((halley_attr_kind)d->kind)
               ? SORT_TEXT
               : SORT_NUMBER;
}

/* The sorts of all flat entries; NULL: no memory. */
static uint8_t *sorts_of(const attr_shapes *s)
{
    uint8_t *const sorts = mem_array(s->flat.n, 1);
    for (size_t i = 0; sorts && i < s->flat.n; i++)
        sorts[i] = (uint8_t)sort_of(s, &s->flat.at[i]);
    return sorts;
}

static uint64_t mix_colour(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_numbers(const trace_store *s, const uint8_t *sorts)
{
    assert(sorts != NULL);
    uint64_t h = s->n;
    for (uint32_t node = 0; node < s->n; node++) {
        const attr_shape *const shape = &s->shapes.shapes.at[s->shape.at[node]];
        const uint64_t *const values = s->values.at + s->value_at.at[node];
        for (uint32_t i = shape->first; i < shape->first + shape->n; i++)
            if (sorts[i] == SORT_NUMBER)
                h = mix_colour(h, values[s->shapes.flat.at[i].slot]);
    }
    return h;
}

static size_t n_deps(const u32_array *at, uint32_t n)
{
    return at->n ? at->at[n] : 0;
}

static halley_status hash_trace(void *context, size_t i, uint32_t worker,
                                halley_error *err)
{
    assert(context != NULL);
    (void)worker;
    search *const f = context;
    const halley_trace *const t = f->distinct.trace[i];
    const trace_store *const s = &t->s;
    uint8_t *const sorts = sorts_of(&s->shapes);
    if (!sorts)
        return error_nomem(err);
    uint64_t h = hash_numbers(s, sorts);
    h = hash_bytes(s->types.at, s->types.n, h);
    h = hash_bytes(s->shape.at, s->shape.n * sizeof *s->shape.at, h);
    h = hash_bytes(s->durations.at, s->durations.n * sizeof *s->durations.at, h);
    h = hash_bytes(t->data, n_deps(&s->data_at, s->n) * sizeof *t->data, h);
    f->hashes[i] = hash_bytes(t->ctrl, n_deps(&s->ctrl_at, s->n) * sizeof *t->ctrl, h);
    free(sorts);
    return HALLEY_OK;
}

#define same_column(a, b)                                                                \
    ((a)->n == (b)->n &&                                                                 \
     ((a)->n == 0 || memcmp((a)->at, (b)->at, (a)->n * sizeof *(a)->at) == 0))

static bool same_text(const trace_store *a, text_ref x, const trace_store *b, text_ref y)
{
    return str_eq(trace_text(a, x), trace_text(b, y));
}

static bool same_texts(const trace_store *a, const u64_array *x, const trace_store *b,
                       const u64_array *y)
{
    bool same = x->n == y->n;
    for (size_t i = 0; same && i < x->n; i++)
        same = same_text(a, x->at[i], b, y->at[i]);
    return same;
}

static bool same_shapes(const attr_shapes *a, const attr_shapes *b)
{
    bool same = a->shapes.n == b->shapes.n && same_column(&a->flat, &b->flat) &&
                a->descs.n == b->descs.n;
    for (size_t i = 0; same && i < a->shapes.n; i++)
        same = a->shapes.at[i].first == b->shapes.at[i].first &&
               a->shapes.at[i].n == b->shapes.at[i].n;
    for (size_t i = 1; same && i < a->descs.n; i++) {
        const attr_desc *const x = &a->descs.at[i], *const y = &b->descs.at[i];
        same = x->kind == y->kind && x->has_doc == y->has_doc && !x->has_unknown &&
               !y->has_unknown &&
               str_eq(intern_text(&a->texts, x->text), intern_text(&b->texts, y->text));
    }
    return same;
}

static bool same_graph(const halley_trace *x, const halley_trace *y)
{
    assert(x != y);
    const trace_store *const a = &x->s, *const b = &y->s;
    const size_t n_data = n_deps(&a->data_at, a->n), n_ctrl = n_deps(&a->ctrl_at, a->n);
    return a->n == b->n && same_column(&a->types, &b->types) &&
           a->first_id == b->first_id && same_column(&a->ids, &b->ids) &&
           same_column(&a->starts, &b->starts) &&
           same_column(&a->durations, &b->durations) &&
           same_column(&a->data_at, &b->data_at) &&
           same_column(&a->ctrl_at, &b->ctrl_at) &&
           (n_data == 0 || memcmp(x->data, y->data, n_data * sizeof *x->data) == 0) &&
           (n_ctrl == 0 || memcmp(x->ctrl, y->ctrl, n_ctrl * sizeof *x->ctrl) == 0) &&
           same_column(&x->dangling, &y->dangling) && a->extras.n == 0 &&
           b->extras.n == 0;
}

/* Pairs of names. The most recent one is tried first. */
typedef struct pairs {
    uint32_t n;
    str *ours, *theirs;
    uint32_t recent; /* the pair that was met last */
} pairs;

static bool meet_classes(pairs *p, str ours, str theirs)
{
    assert(p != NULL);
    if (p->n > 0 && str_eq(p->ours[p->recent], ours))
        return str_eq(p->theirs[p->recent], theirs);
    for (uint32_t i = 0; i < p->n; i++) {
        const bool same = str_eq(p->ours[i], ours);
        if (same != str_eq(p->theirs[i], theirs))
            return false;
        p->recent = i;
        if (same)
            return true;
    }
    if (p->n == MOST_NAMES)
        return false;
    p->recent = p->n;
    p->ours[p->n] = ours;
    p->theirs[p->n++] = theirs;
    return true;
}

static bool same_attrs(const trace_store *a, const trace_store *b, const uint8_t *sorts,
                       pairs *p)
{
    for (uint32_t node = 0; node < a->n; node++) {
        const attr_shape *const shape = &a->shapes.shapes.at[a->shape.at[node]];
        const uint64_t *const x = a->values.at + a->value_at.at[node];
        const uint64_t *const y = b->values.at + b->value_at.at[node];
        for (uint32_t i = shape->first; i < shape->first + shape->n; i++) {
            const uint32_t k = a->shapes.flat.at[i].slot;
            if (sorts[i] == SORT_NUMBER ? x[k] != y[k]
                : sorts[i] == SORT_TEXT
                    ? !same_text(a, x[k], b, y[k])
                    : !meet_classes(p, trace_text(a, x[k]), trace_text(b, y[k])))
                return false;
        }
    }
    return true;
}

static bool same_but_groups(const halley_trace *x, const halley_trace *y,
                            const uint8_t *sorts, pairs *p)
{
    const trace_store *const a = &x->s, *const b = &y->s;
    return same_graph(x, y) && same_shapes(&a->shapes, &b->shapes) &&
           same_column(&a->shape, &b->shape) && same_column(&a->value_at, &b->value_at) &&
           same_attrs(a, b, sorts, p) && same_texts(a, &a->names, b, &b->names) &&
           same_texts(a, &a->inputs, b, &b->inputs) &&
           same_texts(a, &a->outputs, b, &b->outputs);
}

/* By shape: does it have names of groups? NULL: no memory. */
static bool *shapes_with_groups(const attr_shapes *s, const uint8_t *sorts)
{
    bool *const has = mem_array_zero(s->shapes.n, sizeof *has);
    for (size_t k = 0; has && k < s->shapes.n; k++)
        for (uint32_t i = 0; i < s->shapes.at[k].n; i++)
            has[k] = has[k] || sorts[s->shapes.at[k].first + i] == SORT_GROUP;
    return has;
}

/* Collect the names of a trace, each as its own partner. None if there are too many. */
static halley_status collect_members(uint32_t *n, const trace_store *s,
                                     const uint8_t *sorts, pairs *p, halley_error *err)
{
    bool *const has_groups = shapes_with_groups(&s->shapes, sorts);
    bool fine = true;
    if (!has_groups)
        return error_nomem(err);
    for (uint32_t node = 0; fine && node < s->n; node++) {
        const attr_shape *const shape = &s->shapes.shapes.at[s->shape.at[node]];
        const uint64_t *const values = s->values.at + s->value_at.at[node];
        if (!has_groups[s->shape.at[node]])
            continue;
        for (uint32_t i = shape->first; fine && i < shape->first + shape->n; i++) {
            const str name = sorts[i] == SORT_GROUP
                                 ? trace_text(s, values[s->shapes.flat.at[i].slot])
                                 : (str){0};
            fine = sorts[i] != SORT_GROUP || meet_classes(p, name, name);
        }
    }
    *n = fine ? p->n : 0;
    free(has_groups);
    return HALLEY_OK;
}

/* Is the trace really a twin of the one with the same hash? Otherwise it is the first of
 * its own. */
static halley_status compare_trace(void *context, size_t i, uint32_t worker,
                                   halley_error *err)
{
    assert(context != NULL);
    (void)worker;
    search *const f = context;
    const halley_trace *const t = f->distinct.trace[i];
    uint8_t *const sorts = sorts_of(&t->s.shapes);
    pairs p = {.ours = f->ours[i], .theirs = f->theirs[i]};
    if (!sorts)
        return error_nomem(err);
    if (f->like[i] != i &&
        !same_but_groups(t, f->distinct.trace[f->like[i]], sorts, &p)) {
        f->like[i] = (uint32_t)i;
        p.n = 0;
    }
    halley_status status = HALLEY_OK;
    if (f->like[i] == i)
        status = collect_members(&f->n_names[i], &t->s, sorts, &p, err);
    else
        f->n_names[i] = p.n;
    free(sorts);
    return status;
}

/* Find for each trace the first with the same hash. */
static halley_status find_likely(search *f, halley_error *err)
{
    map64 seen = {0};
    bool fine = true, fresh;
    for (uint32_t i = 0; fine && i < f->distinct.n; i++) {
        f->like[i] = i;
        fine = map64_put(&seen, f->hashes[i], &f->like[i], &fresh);
    }
    map64_fini(&seen);
    return fine ? HALLEY_OK : error_nomem(err);
}

static halley_status run_search(search *f, uint32_t n_threads, halley_error *err)
{
    assert(f != NULL);
    const uint32_t n = f->distinct.n;
    f->hashes = mem_array_zero(n, sizeof *f->hashes);
    f->like = mem_array(n, sizeof *f->like);
    f->ours = mem_array(n, sizeof *f->ours);
    f->theirs = mem_array(n, sizeof *f->theirs);
    f->n_names = mem_array_zero(n, sizeof *f->n_names);
    if (!f->hashes || !f->like || !f->ours || !f->theirs || !f->n_names)
        return error_nomem(err);
    if (n > 1)
        TRY(pool_run(n_threads, n, hash_trace, f, err));
    TRY(find_likely(f, err));
    if (f->distinct.n_ranks == 1)
        return HALLEY_OK;
    return pool_run(n_threads, n, compare_trace, f, err);
}

static halley_status take_colour(trace_twins *out, const search *f, halley_error *err)
{
    for (uint32_t r = 0; r < out->n_ranks; r++) {
        const uint32_t i = f->distinct.which[r];
        out->first[r] = f->distinct.first_rank[f->like[i]];
        out->n_kinds += out->first[r] == r;
        out->names_at[r] = (uint32_t)out->names.n;
        for (uint32_t k = 0; k < f->n_names[i]; k++)
            if (!array_push(&out->names, f->ours[i][k]))
                return error_nomem(err);
    }
    out->names_at[out->n_ranks] = (uint32_t)out->names.n;
    return HALLEY_OK;
}

halley_status trace_twins_init(trace_twins *out, const halley_trace_set *set,
                               uint32_t n_threads, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    search f = {0};
    *out = (trace_twins){.n_ranks = n,
                         .first = mem_array(n, sizeof *out->first),
                         .names_at = mem_array((size_t)n + 1, sizeof *out->names_at)};
    halley_status status = out->first && out->names_at ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK)
        status = trace_distinct_init(&f.distinct, set, err);
    if (status == HALLEY_OK)
        status = run_search(&f, n_threads, err);
    if (status == HALLEY_OK)
        status = take_colour(out, &f, err);
    free(f.hashes);
    free(f.like);
    free(f.ours);
    free(f.theirs);
    free(f.n_names);
    trace_distinct_fini(&f.distinct);
    if (status != HALLEY_OK)
        trace_twins_fini(out);
    assert(out->n_kinds <= out->n_ranks);
    return status;
}

void trace_twins_fini(trace_twins *t)
{
    free(t->first);
    free(t->names_at);
    array_fini(&t->names);
    *t = (trace_twins){0};
}
