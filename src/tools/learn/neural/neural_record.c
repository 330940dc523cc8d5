/*
 * Records the programs that a network is trained on. A stage is recorded as its folded
 * program, with the numbers of each item's first run. After all sets are read and the
 * model is pruned, the programs are translated to the model. Items whose operator too
 * few sets have are dropped, so the network never sees what the model may not contain.
 * Items whose edges too few sets have together get explicit edges.
 */
#include "learn/neural/neural_record.h"

#include "learn/learn_set.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_PROGRAMS = 6000, MAX_ITEMS = 3000 };

neural_recorder *neural_recorder_new(uint64_t seed)
{
    neural_recorder *r = mem_array_zero(1, sizeof *r);
    if (r != NULL)
        r->random = rng_seed(seed);
    return r;
}

static void recorded_fini(neural_recorded *p)
{
    free(p->items);
    free(p->first_value);
    free(p->backs);
    free(p->values);
}

void neural_recorder_clear(neural_recorder *r)
{
    for (size_t i = 0; i < r->list.n; i++)
        recorded_fini(&r->list.at[i]);
    r->list.n = 0;
    r->n_seen = 0;
}

void neural_recorder_free(neural_recorder *r)
{
    if (r == NULL)
        return;
    neural_recorder_clear(r);
    array_fini(&r->list);
    array_fini(&r->items);
    array_fini(&r->first_value);
    array_fini(&r->backs);
    array_fini(&r->values);
    free(r);
}

static bool push_value(neural_recorder *r, double value)
{
    return array_push(&r->values, value > 0 ? (float)log(value) : NEURAL_ZERO);
}

/* Adds the numbers of the node at `at`, in the order of attrs_of in neural_model.c. */
static bool push_numbers(neural_recorder *r, const learner *l, const halley_trace *trace,
                         uint32_t at, uint32_t rank)
{
    assert(at < l->program.ops.n);
    double values[LEARN_VALUES];
    const uint32_t n = learner_values(values, l, trace, l->program.nodes.at[at], rank);
    for (uint32_t i = 0; i < n && i < NEURAL_FIELDS; i++)
        if (isnan(values[i]) ? !array_push(&r->values, NEURAL_UNKNOWN)
                             : !push_value(r, values[i]))
            return false;
    return true;
}

/* The distances of the node's dependencies as a bit mask. NEURAL_UNTOLD: one is too far
 * or a control dependency. */
static uint32_t backs_of(const learner *l, uint32_t at)
{
    assert(at < l->program.ops.n);
    const synth_program *p = &l->program;
    const model_token *t = &l->m.tokens.at[p->tokens.at[at]];
    uint32_t backs = 0;
    for (uint32_t i = 0; i < t->n_refs; i++)
        if (l->m.refs.at[t->first_ref + i].ctrl)
            return NEURAL_UNTOLD;
    for (uint32_t i = p->back_at.at[at]; i < p->back_at.at[at + 1]; i++) {
        if (p->backs.at[i] == 0 || p->backs.at[i] > NEURAL_BACK)
            return NEURAL_UNTOLD;
        backs |= 1U << (p->backs.at[i] - 1);
    }
    return backs;
}

typedef struct open_loop {
    uint32_t first, count; /* node of its first item; number of iterations */
} open_loop;

/* Records the folded program, each loop body once. HALLEY_ELIMIT: too long or too deeply
 * nested. */
static halley_status walk_program(neural_recorder *r, const learner *l,
                                  const halley_trace *trace, uint32_t rank)
{
    open_loop stack[NEURAL_DEPTH] = {{0}};
    uint32_t depth = 0, at = 0, loop = 0;
    r->items.n = r->first_value.n = r->backs.n = r->values.n = 0;
    if (l->folded.symbols.n > MAX_ITEMS)
        return HALLEY_ELIMIT;
    for (size_t i = 0; i < l->folded.symbols.n; i++) {
        const uint32_t symbol = l->folded.symbols.at[i];
        const bool is_node = symbol != SYMBOL_OPEN && symbol != SYMBOL_CLOSE;
        if (!array_push(&r->items, symbol) ||
            !array_push(&r->first_value, (uint32_t)r->values.n) ||
            !array_push(&r->backs, is_node ? backs_of(l, at) : 0))
            return HALLEY_ENOMEM;
        if (symbol == SYMBOL_OPEN) {
            if (depth == NEURAL_DEPTH)
                return HALLEY_ELIMIT;
            stack[depth++] = (open_loop){at, l->folded.counts.at[loop++]};
        } else if (symbol == SYMBOL_CLOSE) {
            const open_loop o = stack[--depth];
            at = o.first + (at - o.first) * o.count;
            if (!push_value(r, o.count))
                return HALLEY_ENOMEM;
        } else if (!push_numbers(r, l, trace, at++, rank))
            return HALLEY_ENOMEM;
    }
    return HALLEY_OK;
}

static void *copy_array(const void *from, size_t n, size_t size)
{
    assert(size > 0);
    void *to = mem_array(n, size);
    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

halley_status neural_recorder_add(neural_recorder *r, const learner *l,
                                  const halley_trace *trace, uint32_t rank,
                                  const law_point *p, uint64_t family, halley_error *err)
{
    assert(p->n <= MODEL_FEATURES);
    const uint64_t seen = r->n_seen++;
    const uint64_t to = seen < MAX_PROGRAMS ? seen : rng_below(&r->random, seen + 1);
    if (to >= MAX_PROGRAMS)
        return HALLEY_OK;
    const halley_status status = walk_program(r, l, trace, rank);
    if (status != HALLEY_OK) {
        r->n_seen--;
        return status == HALLEY_ENOMEM ? error_nomem(err) : HALLEY_OK;
    }
    neural_recorded new = {.set = l->m.head.at[0].n_sets,
                           .n_items = (uint32_t)r->items.n,
                           .family = family,
                           .point = *p};
    new.items = copy_array(r->items.at, r->items.n, sizeof *new.items);
    new.first_value = copy_array(r->first_value.at, r->items.n, sizeof *new.first_value);
    new.backs = copy_array(r->backs.at, r->items.n, sizeof *new.backs);
    new.values = copy_array(r->values.at, r->values.n, sizeof *new.values);
    const bool ok = new.items &&new.first_value &&new.backs &&new.values;
    if (!ok || (to >= r->list.n && !array_reserve(&r->list, 1))) {
        recorded_fini(&new);
        return error_nomem(err);
    }
    if (to < r->list.n)
        recorded_fini(&r->list.at[to]);
    else
        r->list.n++;
    r->list.at[to] = new;
    return HALLEY_OK;
}

halley_status neural_terms_make(neural_terms *to, const neural_model *n,
                                const synth_model *m, const synth_model *from,
                                arena *memory, halley_error *err)
{
    *to = (neural_terms){.m = m, .memory = memory};
    map64 op_of = {0}, token_of = {0};
    uint32_t *op = arena_array(memory, from->ops.n + 1, sizeof *op);
    to->item_of = arena_array(memory, from->tokens.n + 1, sizeof *to->item_of);
    bool ok = op != NULL && to->item_of != NULL;
    for (uint32_t i = 0; ok && i < m->ops.n; i++)
        ok = map64_set(&op_of, m->ops.at[i].key, i);
    for (uint32_t i = 0; ok && i < m->tokens.n; i++) {
        const model_token *t = &m->tokens.at[i];
        ok = map64_set(&token_of,
                       synth_token_key(t->op, m->refs.at + t->first_ref, t->n_refs), i);
    }
    for (size_t i = 0; ok && i < from->ops.n; i++)
        op[i] = map64_find(&op_of, from->ops.at[i].key);
    for (size_t i = 0; ok && i < from->tokens.n; i++) {
        const model_token *t = &from->tokens.at[i];
        model_ref refs[SYNTH_REFS];
        for (uint32_t k = 0; k < t->n_refs && k < SYNTH_REFS; k++) {
            refs[k] = from->refs.at[t->first_ref + k];
            if (refs[k].op != MODEL_NONE)
                refs[k].op = op[refs[k].op];
        }
        const uint32_t n_refs = t->n_refs < SYNTH_REFS ? t->n_refs : SYNTH_REFS;
        const uint32_t token =
            map64_find(&token_of, synth_token_key(op[t->op], refs, n_refs));
        if (token != HASH_NONE)
            to->item_of[i] = n->token_of[token];
        else
            to->item_of[i] =
                op[t->op] != HASH_NONE ? NEURAL_FREE + op[t->op] : MODEL_NONE;
    }
    map64_fini(&op_of);
    map64_fini(&token_of);
    return ok ? HALLEY_OK : error_nomem(err);
}

halley_status neural_translate(neural_program *to, uint32_t *n_left_out,
                               const neural_terms *t, const neural_recorded *p,
                               halley_error *err)
{
    uint32_t *items = arena_array(t->memory, p->n_items + 1, sizeof *items);
    uint32_t *first_value = arena_array(t->memory, p->n_items + 1, sizeof *first_value);
    uint32_t *backs = arena_array(t->memory, p->n_items + 1, sizeof *backs);
    if (items == NULL || first_value == NULL || backs == NULL)
        return error_nomem(err);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t symbol = p->items[i];
        uint32_t item = NEURAL_OPEN;
        if (symbol == SYMBOL_CLOSE) {
            if (n > 0 && items[n - 1] == NEURAL_OPEN) {
                n--;
                continue;
            }
            item = NEURAL_CLOSE;
        } else if (symbol != SYMBOL_OPEN)
            item = t->item_of[symbol];
        if (item == MODEL_NONE) {
            ++*n_left_out;
            continue;
        }
        items[n] = item;
        backs[n] = p->backs[i];
        first_value[n++] = p->first_value[i];
    }
    *to = (neural_program){.n_items = n,
                           .items = items,
                           .first_value = first_value,
                           .values = p->values,
                           .backs = backs};
    neural_features(to->feature, &p->point, p->family, t->m);
    return HALLEY_OK;
}
