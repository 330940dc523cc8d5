/*
 * Pauses of new sets. What comes and goes was left out of programs; now that each node
 * knows what it depends on, a pause is put between it and the last node that it waits
 * for.
 */
#include "learn/sample/sample.h"

#include <assert.h>
#include <string.h>

/* A stage in the making. */
typedef struct maker {
    const sample_set *s;
    const sample_stage *from;
    sample_stage to;
    synth_u32s place; /* old → new */
} maker;

/* The data dependency that stands last, by number; n_data: none. */
static uint32_t last_data(const sample_stage *stage, const sample_node *node)
{
    uint32_t best = node->n_data;
    for (uint32_t i = 0; i < node->n_data; i++)
        if (best == node->n_data ||
            stage->deps.at[node->first_dep + i] > stage->deps.at[node->first_dep + best])
            best = i;
    return best;
}

static bool copy_values(maker *k, const model_op *op, double ns)
{
    const synth_model *const m = k->s->m;
    for (uint32_t f = 0; f < op->n_fields; f++) {
        const uint32_t name = m->fields.at[op->first_field + f].name;
        double value = 0;
        if (name == MODEL_NONE)
            value = ns / 1000;
        else if (str_eq(synth_text(m, name), STR("duration_ns")))
            value = ns;
        if (!array_push(&k->to.values, value))
            return false;
    }
    return true;
}

/* The pause after node `after` (new), under what the old node is under. */
static bool add_pause(maker *k, const sample_pause *p, uint32_t after,
                      const sample_node *old)
{
    assert(p->op < k->s->m->ops.n);
    const sample_node node = {.token = MODEL_NONE,
                              .op = p->op,
                              .first_value = (uint32_t)k->to.values.n,
                              .first_dep = (uint32_t)k->to.deps.n,
                              .n_data = 1,
                              .n_deps = old->n_deps > old->n_data ? 2 : 1,
                              .where = MODEL_NONE};
    if (!copy_values(k, &k->s->m->ops.at[p->op], p->ns) ||
        !array_push(&k->to.deps, after) || !array_push(&k->to.nodes, node))
        return false;
    return node.n_deps == 1 ||
           array_push(&k->to.deps,
                      k->place.at[k->from->deps.at[old->first_dep + old->n_data]]);
}

/* The node at `at`, after its pauses. */
static bool copy_node(maker *k, uint32_t at)
{
    assert(at < k->from->nodes.n);
    const sample_stage *const from = k->from;
    const sample_node *const old = &from->nodes.at[at];
    const uint32_t last = last_data(from, old);
    uint32_t after = last < old->n_data
                         ? k->place.at[from->deps.at[old->first_dep + last]]
                         : MODEL_NONE;
    for (uint32_t i = 0; after != MODEL_NONE && i < old->n_pauses; i++) {
        if (!add_pause(k, &from->pauses.at[old->first_pause + i], after, old))
            return false;
        after = (uint32_t)k->to.nodes.n - 1;
    }
    sample_node node = *old;
    node.first_dep = (uint32_t)k->to.deps.n;
    for (uint32_t i = 0; i < old->n_deps; i++) {
        const uint32_t to = i == last && last < old->n_data
                                ? after
                                : k->place.at[from->deps.at[old->first_dep + i]];
        if (!array_push(&k->to.deps, to))
            return false;
    }
    k->place.at[at] = (uint32_t)k->to.nodes.n;
    return array_push(&k->to.nodes, node);
}

static bool insert_pauses(maker *k)
{
    const sample_stage *const from = k->from;
    if (!array_reserve(&k->to.values, from->values.n + 1) ||
        !array_reserve(&k->to.nodes, from->nodes.n + from->pauses.n) ||
        !synth_u32s_resize(&k->place, from->nodes.n))
        return false;
    if (from->values.n > 0)
        memcpy(k->to.values.at, from->values.at,
               from->values.n * sizeof *from->values.at);
    k->to.values.n = from->values.n;
    for (uint32_t at = 0; at < from->nodes.n; at++)
        if (!copy_node(k, at))
            return false;
    return true;
}

halley_status sample_pauses(sample_set *s, halley_error *err)
{
    maker k = {.s = s};
    bool ok = true;
    for (size_t i = 0; ok && i < s->stages.n; i++) {
        sample_stage *const stage = &s->stages.at[i];
        if (stage->pauses.n == 0)
            continue;
        k.from = stage;
        k.to = (sample_stage){.n_left_out = stage->n_left_out};
        ok = insert_pauses(&k);
        sample_stage *const unused = ok ? stage : &k.to;
        array_fini(&unused->nodes);
        array_fini(&unused->values);
        array_fini(&unused->deps);
        if (!ok)
            continue;
        array_fini(&stage->pauses);
        *stage = k.to;
    }
    array_fini(&k.place);
    return ok ? HALLEY_OK : error_nomem(err);
}
