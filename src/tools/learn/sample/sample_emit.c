/*
 * Writes new sets as traces. Dependencies are resolved once per stage. Every reference
 * resolves to an earlier node or is dropped, so there are no cycles and no dangling
 * dependencies. Ranks of a stage differ only in the numbers of their groups and peers.
 */
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A side node, and its waiter: the (n + 1)-th next node of operator `op`. The waiter
 * waits for the side node instead of for `after`. `after` MODEL_NONE: in addition to its
 * other dependencies. */
typedef struct waited_for {
    uint32_t node, op, n, after;
} waited_for;

typedef struct linker {
    sample_stage *stage;
    synth_history past;         /* of the program, without side nodes */
    synth_u32s core;            /* nodes of the program, by place */
    synth_u32s place;           /* the inverse; MODEL_NONE: a side node */
    ARRAY(waited_for) sides;    /* side nodes without a waiter so far */
    synth_u32s parent;          /* by place: the place of the parent (REF_UP) */
    const sample_set *in_order; /* NULL: collectives need not wait for each other */
    uint32_t n_groups;
    /* last: by group, its last collective + 1. seen: n_groups per node, the last
     * collective of each group that the node follows. */
    synth_u32s last, seen;
} linker;

static bool take_dep(linker *l, uint32_t first, uint32_t to)
{
    assert(to < l->stage->nodes.n);
    sample_stage *s = l->stage;
    for (size_t i = first; i < s->deps.n; i++)
        if (s->deps.at[i] == to)
            return true;
    return array_push(&s->deps, to);
}

/* The node that a REF_UP of the node at place `at` leads to; its data dependencies are
 * from `first` on. MODEL_NONE: none. */
static uint32_t find_ancestor(const linker *l, uint32_t n, uint32_t at, uint32_t first)
{
    const synth_u32s *const deps = &l->stage->deps;
    const size_t k = first + n / MODEL_UP_LEVELS;
    uint32_t up = first == deps->n ? (at > 0 ? at - 1 : MODEL_NONE)
                  : k < deps->n    ? l->place.at[deps->at[k]]
                                   : MODEL_NONE;
    for (n %= MODEL_UP_LEVELS; n > 0 && up != MODEL_NONE; n--)
        up = l->parent.at[up];
    return up;
}

/* The node that a reference leads to. MODEL_NONE: none. */
static uint32_t resolve_ref(const linker *l, const model_ref *r, uint32_t at,
                            uint32_t first)
{
    assert(r->kind < REF_N_KINDS);
    const synth_history *const h = &l->past;
    if (r->kind == REF_BACK)
        return r->n <= at && r->n > 0 ? at - r->n : MODEL_NONE;
    if (r->kind == REF_UP)
        return find_ancestor(l, r->n, at, first);
    if (r->kind == REF_STACK)
        return h->tail.at[r->op] != MODEL_NONE ? h->tail.at[r->op] : h->recent.at[r->op];
    if (r->kind == REF_QUEUE)
        return h->head.at[r->op] != MODEL_NONE ? h->head.at[r->op] : h->recent.at[r->op];
    uint32_t to = h->recent.at[r->op];
    for (uint32_t k = 0; k < r->n && to != MODEL_NONE; k++)
        to = h->earlier.at[to];
    return to;
}

/* Adds the data or control dependencies of the node at place `at`; the data dependencies
 * are from `first` on. */
static bool link_refs(linker *l, const model_ref *refs, uint32_t n, uint32_t at,
                      uint32_t first, bool ctrl)
{
    const uint32_t own = (uint32_t)l->stage->deps.n;
    for (uint32_t i = 0; i < n; i++) {
        const model_ref *r = &refs[i];
        if ((r->ctrl != 0) != ctrl)
            continue;
        if (r->op != MODEL_NONE && !synth_history_touch(&l->past, r->op))
            return false;
        if (r->kind == REF_ALL) {
            for (uint32_t k = l->past.head.at[r->op]; k != MODEL_NONE;
                 k = l->past.next.at[k])
                if (!array_push(&l->stage->deps, l->core.at[k]))
                    return false;
            continue;
        }
        const uint32_t to = resolve_ref(l, r, at, first);
        if (to != MODEL_NONE && !take_dep(l, own, l->core.at[to]))
            return false;
    }
    return true;
}

/* The index of a collective's kind of group; those of all ranks are 0. MODEL_NONE: not a
 * collective. */
static uint32_t find_group(const sample_set *s, const sample_node *node)
{
    assert(node->op < s->m->ops.n);
    if (s->m->ops.at[node->op].type != HALLEY_NODE_COLL)
        return MODEL_NONE;
    if (sample_of_all(s, node))
        return 0;
    uint32_t i = 0;
    while (s->kinds.at[i].first_id != s->kinds.at[node->where].first_id)
        i++;
    return i + 1;
}

static void follow_order(linker *l, uint32_t at, uint32_t dep)
{
    assert(dep < at);
    const uint32_t group = find_group(l->in_order, &l->stage->nodes.at[dep]);
    uint32_t *seen = l->seen.at + (size_t)at * l->n_groups;
    const uint32_t *of_dep = l->seen.at + (size_t)dep * l->n_groups;
    for (uint32_t i = 0; i < l->n_groups; i++)
        seen[i] = of_dep[i] > seen[i] ? of_dep[i] : seen[i];
    if (group != MODEL_NONE && seen[group] < dep + 1)
        seen[group] = dep + 1;
}

/* Ranks of different speed may start independent collectives of a group in different
 * orders. So each collective is made to wait for the one before it. */
static bool keep_order(linker *l, uint32_t at, uint32_t first)
{
    assert(at < l->stage->nodes.n);
    sample_stage *s = l->stage;
    const uint32_t group = find_group(l->in_order, &s->nodes.at[at]);
    for (size_t i = first; i < s->deps.n; i++)
        follow_order(l, at, s->deps.at[i]);
    if (group == MODEL_NONE)
        return true;
    const uint32_t last = l->last.at[group];
    l->last.at[group] = at + 1;
    if (l->seen.at[(size_t)at * l->n_groups + group] >= last)
        return true;
    follow_order(l, at, last - 1);
    return array_push(&s->deps, last - 1);
}

/* True if collectives can get out of order. Ranks of a single stage whose collectives
 * all have the same kind of group run in lockstep. */
static bool may_differ(const sample_set *s)
{
    uint32_t kind = MODEL_NONE;
    for (size_t i = 0; i < s->stages.at[0].nodes.n; i++) {
        const uint32_t group = find_group(s, &s->stages.at[0].nodes.at[i]);
        if (group == MODEL_NONE)
            continue;
        if (kind != MODEL_NONE && kind != group)
            return true;
        kind = group;
    }
    return s->stages.n > 1;
}

static bool start_order(linker *l, const sample_set *s)
{
    if (!s->in_order || !may_differ(s))
        return true;
    l->in_order = s;
    l->n_groups = (uint32_t)s->kinds.n + 1;
    l->last.n = l->seen.n = 0;
    return l->stage->nodes.n <= UINT32_MAX / l->n_groups &&
           synth_u32s_resize(&l->last, l->n_groups) &&
           synth_u32s_resize(&l->seen, l->stage->nodes.n * l->n_groups);
}

/* A side node waits for the last node of the program. Its waiter comes later. Several
 * pauses between the same two nodes form a chain. */
static bool link_side(linker *l, const model_ref *refs, uint32_t n, uint32_t at)
{
    assert(n > 0 && refs[n - 1].kind == REF_NEXT);
    const model_ref *const next = &refs[n - 1];
    waited_for new = {at, next->op, next->n, MODEL_NONE};
    if (n == 1 || l->core.n == 0)
        return array_push(&l->sides, new);
    const uint32_t last = l->core.at[l->core.n - 1];
    new.after = next->ctrl ? last : MODEL_NONE;
    for (size_t i = 0; next->ctrl && i < l->sides.n; i++) {
        waited_for *const w = &l->sides.at[i];
        if (w->after != last || w->op != new.op || w->n != new.n)
            continue;
        const uint32_t before = w->node;
        w->node = at;
        return array_push(&l->stage->deps, before);
    }
    return array_push(&l->stage->deps, last) && array_push(&l->sides, new);
}

/* Gives a pause, and those that it follows directly, the parent of the node that waits
 * for it, if they have room for it (link_node). */
static void give_parent(linker *l, uint32_t pause, const sample_node *waiter)
{
    sample_stage *const s = l->stage;
    if (waiter->n_deps == waiter->n_data)
        return;
    const uint32_t parent = s->deps.at[waiter->first_dep + waiter->n_data];
    while (l->place.at[pause] == MODEL_NONE) {
        sample_node *const p = &s->nodes.at[pause];
        const uint32_t end = p->first_dep + p->n_deps;
        if (p->n_deps != 1 || s->nodes.at[pause + 1].first_dep == end)
            return;
        s->deps.at[end] = parent;
        p->n_deps++;
        pause = s->deps.at[p->first_dep];
    }
}

/* Adds the side nodes that this node waits for. With `pauses`, only pauses, each in
 * place of its predecessor. Otherwise all others. */
static bool take_sides(linker *l, const sample_node *node, bool pauses)
{
    synth_u32s *const deps = &l->stage->deps;
    size_t n = 0;
    for (size_t i = 0; i < l->sides.n; i++) {
        const waited_for w = l->sides.at[i];
        if (w.op != node->op || w.n > 0 || pauses != (w.after != MODEL_NONE)) {
            l->sides.at[n] = w;
            l->sides.at[n++].n -= w.op == node->op && w.n > 0 && pauses;
            continue;
        }
        if (!pauses && !array_push(deps, w.node))
            return false;
        const size_t n_data = node->first_dep + node->n_data;
        if (pauses)
            give_parent(l, w.node, node);
        for (size_t k = node->first_dep; pauses && k < n_data; k++)
            deps->at[k] = deps->at[k] == w.after ? w.node : deps->at[k];
    }
    l->sides.n = n;
    return true;
}

/* Makes the node at `at` the next one of the program. */
static bool go_on(linker *l, const sample_node *node, uint32_t at)
{
    const sample_stage *const s = l->stage;
    for (uint32_t i = 0; i < node->n_deps; i++) {
        const uint32_t dep = s->deps.at[node->first_dep + i];
        if (l->place.at[dep] != MODEL_NONE)
            synth_history_close(&l->past, l->place.at[dep], s->nodes.at[dep].op);
    }
    l->place.at[at] = (uint32_t)l->core.n;
    const uint32_t k = node->first_dep + (node->n_deps > node->n_data ? node->n_data : 0);
    l->parent.at[l->core.n] = node->n_deps > 0 ? l->place.at[s->deps.at[k]] : MODEL_NONE;
    if (!synth_history_touch(&l->past, node->op))
        return false;
    synth_history_add(&l->past, (uint32_t)l->core.n, node->op);
    return array_push(&l->core, at);
}

static bool link_node(linker *l, const sample_set *set, uint32_t at)
{
    assert(at < l->stage->nodes.n);
    sample_stage *s = l->stage;
    sample_node *node = &s->nodes.at[at];
    const uint32_t place = (uint32_t)l->core.n;
    uint32_t n;
    const model_ref *refs = sample_refs(set, node->token, &n);
    const bool is_side = n > 0 && refs[n - 1].kind == REF_NEXT;
    node->first_dep = (uint32_t)s->deps.n;
    l->place.at[at] = MODEL_NONE;
    if (is_side ? !link_side(l, refs, n, at)
                : !link_refs(l, refs, n, place, node->first_dep, false) ||
                      !take_sides(l, node, false))
        return false;
    node->n_data = (uint32_t)s->deps.n - node->first_dep;
    if (!is_side && !link_refs(l, refs, n, place, node->first_dep, true))
        return false;
    if (l->in_order && !keep_order(l, at, node->first_dep))
        return false;
    node->n_deps = (uint32_t)s->deps.n - node->first_dep;
    const bool has_room = is_side && n > 1 && refs[n - 2].kind == REF_UP;
    if (has_room && node->n_deps == 1 && !array_push(&s->deps, 0))
        return false;
    return is_side || (go_on(l, node, at) && take_sides(l, node, true));
}

halley_status sample_deps(sample_set *s, halley_error *err)
{
    linker l = {0};
    bool ok = true;
    for (size_t k = 0; ok && k < s->stages.n; k++) {
        l.stage = &s->stages.at[k];
        l.core.n = l.sides.n = 0;
        ok = start_order(&l, s) && synth_u32s_resize(&l.place, l.stage->nodes.n) &&
             synth_u32s_resize(&l.parent, l.stage->nodes.n) &&
             synth_history_start(&l.past, l.stage->nodes.n);
        for (uint32_t at = 0; ok && at < l.stage->nodes.n; at++)
            ok = link_node(&l, s, at);
    }
    synth_history_fini(&l.past);
    array_fini(&l.parent);
    array_fini(&l.core);
    array_fini(&l.place);
    array_fini(&l.sides);
    array_fini(&l.last);
    array_fini(&l.seen);
    return ok ? HALLEY_OK : error_nomem(err);
}

static halley_attr number_attr(const synth_model *m, const model_field *f, double value)
{
    assert(isfinite(value));
    const str name = synth_text(m, f->name);
    halley_attr a = {.name = {name.at, name.n}, .kind = (halley_attr_kind)f->kind};
    const float single = (float)value;
    if (a.kind == HALLEY_ATTR_DOUBLE)
        memcpy(&a.bits, &value, sizeof value);
    else if (a.kind == HALLEY_ATTR_FLOAT)
        memcpy(&a.bits, &single, sizeof single);
    else {
        const bool narrow = a.kind == HALLEY_ATTR_INT32 || a.kind == HALLEY_ATTR_UINT32 ||
                            a.kind == HALLEY_ATTR_SINT32 ||
                            a.kind == HALLEY_ATTR_FIXED32 ||
                            a.kind == HALLEY_ATTR_SFIXED32;
        a.bits = (uint64_t)llround(fmin(value, narrow ? 2147483647.0 : 9e18));
    }
    return a;
}

static void emit_numbers(halley_builder *b, const synth_model *m, const model_op *op,
                         const double *values)
{
    double us = op->n_fields > 0 ? values[0] : 0;
    for (uint32_t f = 1; f < op->n_fields; f++) {
        const model_field *field = &m->fields.at[op->first_field + f];
        if ((op->flags & MODEL_OP_LOOSE) != 0 && values[f] < 0.5)
            continue;
        const halley_attr a = number_attr(m, field, values[f]);
        (void)halley_builder_attr(b, &a);
        if (str_eq(synth_text(m, field->name), STR("duration_ns")))
            us = round(values[f]) / 1000;
    }
    if (op->n_fields > 0)
        (void)halley_builder_time(b, 0, (uint64_t)llround(fmin(us, 9e18)));
}

/* The id of the group of this kind that a rank is in. */
static uint32_t group_id(const sample_kind *k, uint32_t rank)
{
    return k->first_id + rank / (k->stride * k->size) * k->stride + rank % k->stride;
}

static void emit_comm(halley_builder *b, const sample_set *s, const sample_node *node,
                      const model_op *op, uint32_t rank)
{
    assert(rank < s->outline.n_ranks);
    char name[16];
    if (op->type == HALLEY_NODE_COLL) {
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE,
                                      op->comm < 255 ? op->comm : 0);
        if (node->where == MODEL_NONE ||
            s->kinds.at[node->where].size >= s->outline.n_ranks)
            return;
        const int n =
            snprintf(name, sizeof name, "%u", group_id(&s->kinds.at[node->where], rank));
        (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_PG_NAME,
                                       (halley_bytes){name, (size_t)n});
        return;
    }
    const uint32_t peer = (uint32_t)(((uint64_t)rank + node->where) % s->outline.n_ranks);
    const bool send = op->type == HALLEY_NODE_SEND;
    (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_SRC,
                                  (int32_t)(send ? rank : peer));
    (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_DST,
                                  (int32_t)(send ? peer : rank));
    (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_TAG, (int32_t)node->tag);
}

static void emit_node(halley_builder *b, const sample_set *s, const sample_stage *stage,
                      uint32_t at, uint32_t rank)
{
    assert(at < stage->nodes.n);
    const sample_node *node = &stage->nodes.at[at];
    const model_op *op = &s->m->ops.at[node->op];
    const str name = synth_text(s->m, op->name);
    (void)halley_builder_node(b, at, op->type, (halley_bytes){name.at, name.n});
    if (op->cpu < 2)
        (void)halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, op->cpu != 0);
    emit_numbers(b, s->m, op, stage->values.at + node->first_value);
    if (op->type >= HALLEY_NODE_SEND && op->type <= HALLEY_NODE_COLL)
        emit_comm(b, s, node, op, rank);
    for (uint32_t i = 0; i < node->n_deps; i++) {
        const uint32_t to = stage->deps.at[node->first_dep + i];
        (void)(i < node->n_data ? halley_builder_data(b, to)
                                : halley_builder_ctrl(b, to));
    }
}

halley_status sample_trace(halley_trace **out, const sample_set *s, uint32_t rank,
                           halley_error *err)
{
    assert(rank < s->outline.n_ranks);
    const sample_stage *stage = &s->stages.at[rank / s->block];
    halley_builder *b;
    TRY(halley_builder_new(&b, err));
    (void)halley_builder_version(b, (halley_bytes){"1.0.0", 5});
    for (uint32_t at = 0; at < stage->nodes.n; at++)
        emit_node(b, s, stage, at, rank);
    return halley_builder_finish(out, b, err);
}
