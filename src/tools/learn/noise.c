/*
 * Pauses. A node could be a pause if it is a compute node, has only a duration, waits
 * for one node, and at most one node waits for it. An operator of such nodes is a pause
 * if its neighbours do not determine whether it is present. The test uses places:
 * triples of operators that follow each other. The operator must be present at some
 * times and missing at others. This must hold for most of its nodes and in most of its
 * places. If it holds for most nodes of all operators, the order is random and nothing
 * is a pause.
 *
 * Parents. The first control dependency of a node is usually kept (REF_UP). It is not if
 * an eighth of an operator's nodes have another parent, in another place, than the first
 * one between the same neighbours.
 *
 * Fields. Operators that are equal up to their fields are merged if at least a quarter
 * of their nodes are in mixed places. A place is mixed if several of these operators
 * occur between the same neighbours.
 */
#include "learn/noise.h"

#include "trace/core/levels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_TIMES = 4,  /* times that a place must be seen to count */
    MIN_PLACES = 6, /* places where a pause must be present at times */
    MAX_PLACES = 1 << 20
};

void noise_finder_fini(noise_finder *f)
{
    map64_fini(&f->place_of);
    map64_fini(&f->kind_of);
    array_fini(&f->places);
    array_fini(&f->kinds);
    array_fini(&f->plain);
    array_fini(&f->n);
    array_fini(&f->n_simple);
    array_fini(&f->n_waiting);
}

/* The current program. */
typedef struct view {
    const synth_reader *r;
    const synth_program *p;
    const halley_trace *trace;
} view;

/* The place of the last node that the one at `at` waits for. MODEL_NONE: none. */
static uint32_t find_before(const view *v, uint32_t at)
{
    assert(at < v->p->ops.n);
    const uint32_t node = v->p->nodes.at[at];
    const uint32_t n = halley_node_data_count(v->trace, node);
    uint32_t last = MODEL_NONE;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = trace_deps_index(v->trace, node, i);
        if (j == HALLEY_NO_NODE || j == node || v->r->place.at[j] >= at)
            continue;
        if (last == MODEL_NONE || v->r->place.at[j] > last)
            last = v->r->place.at[j];
    }
    return last;
}

/* The same, but skips nodes of operator `op`. */
static uint32_t before_all(const view *v, uint32_t at, uint32_t op)
{
    do
        at = find_before(v, at);
    while (at != MODEL_NONE && v->p->ops.at[at] == op);
    return at;
}

/* True if the operator has durations and no other number. */
static bool only_lasts(const synth_model *m, const model_op *op)
{
    if (op->type != HALLEY_NODE_COMP)
        return false;
    for (uint32_t i = 0; i < op->n_fields; i++)
        if (!synth_is_duration(m, op->key, i))
            return false;
    return true;
}

static bool count_place(noise_finder *f, uint64_t key, uint32_t pause)
{
    assert(f != NULL);
    uint32_t id = (uint32_t)f->places.n;
    bool fresh;
    if (id == MAX_PLACES)
        return true;
    const uint64_t with = pause == MODEL_NONE ? key : hash_u64(key ^ pause) + 1;
    if (!map64_put(&f->place_of, with, &id, &fresh) ||
        (fresh && !array_push(&f->places, (noise_place){key, pause, 0})))
        return false;
    f->places.at[id].n++;
    return true;
}

static uint64_t make_place_key(const view *v, uint32_t first, uint32_t second,
                               uint32_t third)
{
    const uint64_t start = first == MODEL_NONE ? 1 : v->p->ops.at[first] + UINT64_C(2);
    return hash_u64(hash_u64(hash_u64(start) + v->p->ops.at[second]) +
                    v->p->ops.at[third]);
}

/* Counts the places where the node at `at` waits: as it is, and without its direct
 * predecessor. */
static bool look_at_node(noise_finder *f, const view *v, uint32_t at)
{
    assert(at < v->p->ops.n);
    const uint32_t one = find_before(v, at);
    if (one == MODEL_NONE)
        return true;
    const uint32_t two = find_before(v, one);
    if (!count_place(f, make_place_key(v, two, one, at), MODEL_NONE))
        return false;
    const uint32_t op = v->p->ops.at[one];
    if (!only_lasts(v->r->m, &v->r->m->ops.at[op]) || v->p->ops.at[at] == op)
        return true;
    const uint32_t other = before_all(v, one, op);
    return other == MODEL_NONE ||
           count_place(f, make_place_key(v, before_all(v, other, op), other, at), op);
}

static uint64_t plain_key(const synth_model *m, uint32_t op)
{
    assert(op < m->ops.n);
    model_op o = m->ops.at[op];
    o.flags |= MODEL_OP_LOOSE;
    return synth_op_key(m, &o, NULL);
}

static uint64_t plain_at(const noise_finder *f, const synth_program *p, uint32_t at)
{
    return at < p->ops.n ? f->plain.at[p->ops.at[at]] : 0;
}

/* The operator of the first control dependency of the node at `at`. MODEL_NONE: none. */
static uint32_t find_parent_op(const view *v, uint32_t at)
{
    const uint32_t node = v->p->nodes.at[at], n = trace_deps_count(v->trace, node);
    const uint32_t first = halley_node_data_count(v->trace, node);
    const uint32_t j =
        first < n ? trace_deps_index(v->trace, node, first) : HALLEY_NO_NODE;
    return j == HALLEY_NO_NODE ? MODEL_NONE : v->r->op.at[j];
}

/* Counts the node at `at` by its operator without fields and by its neighbours. */
static bool count_kind(noise_finder *f, const view *v, uint32_t at)
{
    const synth_program *const p = v->p;
    assert(at < p->ops.n);
    uint64_t key = hash_u64(plain_at(f, p, at));
    key = hash_u64(key + plain_at(f, p, at - 1));
    key = hash_u64(key + plain_at(f, p, at - 2));
    key = hash_u64(key + plain_at(f, p, at + 1));
    uint32_t id = (uint32_t)f->kinds.n;
    bool fresh;
    if (id == MAX_PLACES)
        return true;
    if (!map64_put(&f->kind_of, key, &id, &fresh) ||
        (fresh &&
         !array_push(&f->kinds, (noise_kind){.op = p->ops.at[at], .parent = MODEL_NONE})))
        return false;
    noise_kind *const kind = &f->kinds.at[id];
    const uint32_t parent = find_parent_op(v, at);
    kind->n++;
    kind->n_other += kind->op != p->ops.at[at];
    if (kind->parent == MODEL_NONE) {
        kind->parent = parent;
        kind->up = v->r->up.at[at];
    }
    kind->n_parents += parent != MODEL_NONE;
    kind->n_other_parents += parent != kind->parent && v->r->up.at[at] != kind->up;
    return true;
}

bool noise_finder_look(noise_finder *f, const synth_reader *r, const synth_program *p,
                       const halley_trace *trace)
{
    assert(p->ops.n == p->nodes.n);
    const view v = {r, p, trace};
    const uint32_t n = (uint32_t)p->nodes.n;
    f->n_waiting.n = 0;
    if (!synth_u32s_resize(&f->n_waiting, n) || !synth_u32s_resize(&f->n, r->m->ops.n) ||
        !synth_u32s_resize(&f->n_simple, r->m->ops.n))
        return false;
    for (uint32_t op = (uint32_t)f->plain.n; op < r->m->ops.n; op++)
        if (!array_push(&f->plain, plain_key(r->m, op)))
            return false;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t one = find_before(&v, at);
        if (one != MODEL_NONE)
            f->n_waiting.at[one]++;
        if (!look_at_node(f, &v, at) || !count_kind(f, &v, at))
            return false;
    }
    f->n_nodes += n;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t op = p->ops.at[at];
        f->n.at[op]++;
        f->n_simple.at[op] += halley_node_data_count(trace, p->nodes.at[at]) == 1 &&
                              f->n_waiting.at[at] <= 1;
    }
    return true;
}

/* For one operator: nodes in places that count; nodes in places where it is present only
 * at times (mixed); the numbers of these places. */
typedef struct score {
    uint32_t n, mixed, n_places, n_mixed;
} score;

static bool is_pause_op(const noise_finder *f, const score *s, uint32_t op)
{
    assert(op < f->n.n);
    return s->n_mixed >= MIN_PLACES && 2 * s->n_mixed >= s->n_places &&
           2 * s->mixed >= s->n &&
           (uint64_t)10 * f->n_simple.at[op] >= (uint64_t)9 * f->n.at[op];
}

static bool mark_pauses(const noise_finder *f, synth_model *m, bool *any)
{
    score *const scores = mem_array_zero(m->ops.n + 1, sizeof *scores);
    uint64_t n_pauses = 0;
    if (!scores)
        return false;
    for (size_t i = 0; i < f->places.n; i++) {
        const noise_place *with = &f->places.at[i];
        const uint32_t id = map64_find(&f->place_of, with->key);
        const uint32_t without = id == HASH_NONE ? 0 : f->places.at[id].n;
        if (with->pause == MODEL_NONE || with->n + without < MIN_TIMES)
            continue;
        score *const s = &scores[with->pause];
        const bool mixed = 20 * (uint64_t)without >= with->n;
        s->n += with->n;
        s->mixed += mixed ? with->n : 0;
        s->n_mixed += mixed;
        s->n_places++;
    }
    for (uint32_t op = 0; op < f->n.n; op++)
        if (is_pause_op(f, &scores[op], op))
            n_pauses += f->n.at[op];
    for (uint32_t op = 0; 2 * n_pauses < f->n_nodes && op < f->n.n; op++)
        if (is_pause_op(f, &scores[op], op)) {
            m->ops.at[op].flags |= MODEL_OP_PAUSE;
            *any = true;
        }
    free(scores);
    return true;
}

/* Marks operators of which an eighth have, between the same neighbours, another parent
 * than the first, elsewhere. */
static bool mark_parents(const noise_finder *f, synth_model *m)
{
    score *const scores = mem_array_zero(m->ops.n + 1, sizeof *scores);
    for (size_t i = 0; scores != NULL && i < f->kinds.n; i++) {
        const noise_kind *const k = &f->kinds.at[i];
        if (k->n_parents < MIN_TIMES)
            continue;
        scores[k->op].n += k->n_parents;
        scores[k->op].mixed += k->n_other_parents;
    }
    for (size_t op = 0; scores != NULL && op < m->ops.n; op++)
        if (scores[op].n > 0 && 8 * scores[op].mixed >= scores[op].n)
            m->ops.at[op].flags |= MODEL_OP_ADRIFT;
    const bool ok = scores != NULL;
    free(scores);
    return ok;
}

/* Adds the fields of operator `from` that `to` lacks. */
static bool add_missing_fields(synth_model *m, uint32_t to, uint32_t from)
{
    assert(to < m->ops.n && from < m->ops.n);
    model_op *const op = &m->ops.at[to];
    const model_op other = m->ops.at[from];
    for (uint32_t i = 0; i < other.n_fields; i++) {
        const model_field field = m->fields.at[other.first_field + i];
        bool known = false;
        for (uint32_t k = 0; k < op->n_fields; k++)
            known = known || m->fields.at[op->first_field + k].name == field.name;
        if (known || op->n_fields == SYNTH_FIELDS)
            continue;
        if (!array_push(&m->fields, field))
            return false;
        op->n_fields++;
    }
    return true;
}

/* Adds one operator for all operators with the same key without fields. */
static bool make_loose(const noise_finder *f, synth_model *m, uint32_t like)
{
    assert(like < m->ops.n);
    model_op op = m->ops.at[like];
    op.key = f->plain.at[like];
    op.flags |= MODEL_OP_LOOSE;
    op.n_fields = 0;
    op.first_field = (uint32_t)m->fields.n;
    const uint32_t id = (uint32_t)m->ops.n;
    if (!map64_set(&m->op_of, op.key, id) || !array_push(&m->ops, op))
        return false;
    for (uint32_t i = 0; i < f->plain.n; i++)
        if (f->plain.at[i] == op.key && !add_missing_fields(m, id, i))
            return false;
    return true;
}

static bool join_fields(const noise_finder *f, synth_model *m, bool *any)
{
    score *const scores = mem_array_zero(f->plain.n + 1, sizeof *scores);
    map64 first = {0}; /* key without fields → operator */
    bool ok = scores != NULL;
    for (size_t i = 0; ok && i < f->kinds.n; i++) {
        const noise_kind *const k = &f->kinds.at[i];
        uint32_t op = k->op;
        bool fresh;
        if (k->n < MIN_TIMES)
            continue;
        ok = map64_put(&first, f->plain.at[k->op], &op, &fresh);
        if (!ok)
            continue;
        scores[op].n += k->n;
        scores[op].mixed += 20 * (uint64_t)k->n_other >= k->n ? k->n : 0;
    }
    for (uint32_t op = 0; ok && op < f->plain.n; op++)
        if (scores[op].n > 0 && 4 * scores[op].mixed >= scores[op].n) {
            ok = make_loose(f, m, op);
            *any = true;
        }
    map64_fini(&first);
    free(scores);
    return ok;
}

bool noise_finder_decide(const noise_finder *f, synth_model *m, bool *any)
{
    *any = false;
    return mark_pauses(f, m, any) && mark_parents(f, m) && join_fields(f, m, any);
}
