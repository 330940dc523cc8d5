/*
 * Makes a different graph that does the same work in the same time.
 *
 *   1. A compute node becomes a chain of two nodes that share its time, operations and
 *      bytes.
 *   2. Two compute nodes become one if the second waits only for the first, and no other
 *      node does.
 *   3. An edge that a path of two edges makes redundant is dropped, or such an edge is
 *      added.
 *
 * Communication is not changed, so that ranks still match. The key and the place decide
 * what changes, so ranks that did the same still do the same.
 */
#include "base/array.h"
#include "base/error.h"
#include "edit/obfuscate.h"
#include "trace/core/edit.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"
#include "trace/core/slots.h"
#include "trace/format/et.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The decision for a node. */
typedef struct fate {
    uint32_t into;     /* merged into this node, or HALLEY_NO_NODE */
    uint32_t takes;    /* the node that is merged into this one, or HALLEY_NO_NODE */
    double first_part; /* share of the first of two parts; 0 = not split */
    uint64_t id;       /* of the node, or of the first part */
    uint64_t last_id;  /* id that dependents wait for */
} fate;

typedef enum number_name {
    IS_CPU_OP,
    TID,
    STREAM,
    DURATION_NS,
    NUM_OPS,
    FREE_LANE,
    KERNEL_CLASS,
    N_NUMBERS
} number_name;
static const char *const number_names[N_NUMBERS] = {
    "is_cpu_op", "tid", "stream", "duration_ns", "num_ops", "free_lane", "kernel_class"};

/* 64-bit numbers, and narrower ones, whose sums are clamped. */
enum { ADDS_UP = 1, ADDS_UP_NARROW = 2 };

typedef struct weaver {
    const obfuscate_job *job;
    const halley_trace *trace;
    trace_slots slots; /* of number_names */
    obfuscate_counts *counts;
    fate *fates;
    uint32_t *n_dependents;
    uint32_t *seen;   /* by node: the last node that listed it as a dependency */
    uint8_t *adds_up; /* by entry of shapes.flat: an integer that is divided between the
                         parts */
    halley_builder *b;
} weaver;

/* A number in [0, 1), determined by key, place and question. */
static double draw_unit(const weaver *w, uint32_t node, uint32_t question)
{
    return (double)(siphash_mix(w->job->key, node, question) >> 11) * 0x1p-53;
}

static uint64_t read_number_attr(const weaver *w, uint32_t node, number_name name)
{
    assert(node < halley_trace_count(w->trace));
    halley_attr attr;
    uint64_t value = 0;
    if (trace_slots_find(&attr, &w->slots, node, name))
        (void)halley_attr_to_u64(&attr, &value);
    return value;
}

static str read_class(const weaver *w, uint32_t node)
{
    halley_attr attr;
    return trace_slots_find(&attr, &w->slots, node, KERNEL_CLASS)
               ? (str){attr.bytes.at, attr.bytes.n}
               : (str){0};
}

static bool same_shape(const weaver *w, uint32_t a, uint32_t b)
{
    assert(a != b);
    const halley_trace *const t = w->trace;
    return t->s.shape.at[a] == t->s.shape.at[b] &&
           read_number_attr(w, a, IS_CPU_OP) == read_number_attr(w, b, IS_CPU_OP) &&
           read_number_attr(w, a, TID) == read_number_attr(w, b, TID) &&
           read_number_attr(w, a, STREAM) == read_number_attr(w, b, STREAM) &&
           str_eq(read_class(w, a), read_class(w, b));
}

static bool can_join(const weaver *w, uint32_t node, uint32_t before)
{
    assert(before != node);
    const halley_trace *const t = w->trace;
    return before != HALLEY_NO_NODE && before < node &&
           halley_node_type_of(t, before) == HALLEY_NODE_COMP &&
           w->n_dependents[before] == 1 && same_shape(w, before, node) &&
           w->fates[before].into == HALLEY_NO_NODE &&
           w->fates[before].takes == HALLEY_NO_NODE && w->fates[before].first_part == 0;
}

static void decide_change(weaver *w)
{
    const halley_trace *const t = w->trace;
    const uint32_t n = halley_trace_count(t);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < trace_deps_count(t, i); k++) {
            const uint32_t dep = trace_deps_index(t, i, k);
            if (dep != HALLEY_NO_NODE)
                w->n_dependents[dep]++;
        }
    for (uint32_t i = 0; i < n; i++)
        w->fates[i] = (fate){.into = HALLEY_NO_NODE, .takes = HALLEY_NO_NODE};
    for (uint32_t i = 0; i < n; i++) {
        if (halley_node_type_of(t, i) != HALLEY_NODE_COMP ||
            read_number_attr(w, i, FREE_LANE) != 0) /* a lag is no work */
            continue;
        const double chance = draw_unit(w, i, 0);
        const uint32_t before =
            trace_deps_count(t, i) == 1 ? trace_deps_index(t, i, 0) : HALLEY_NO_NODE;
        const bool long_enough = halley_node_duration_us(t, i) >= 4 ||
                                 read_number_attr(w, i, DURATION_NS) >= 4000 ||
                                 read_number_attr(w, i, NUM_OPS) >= 1000;
        if (chance < 0.25 * w->job->strength && can_join(w, i, before)) {
            w->fates[i].into = before;
            w->fates[before].takes = i;
        } else if (chance > 1 - 0.25 * w->job->strength && long_enough) {
            w->fates[i].first_part = 0.3 + 0.4 * draw_unit(w, i, 1);
        }
    }
}

static void number_parts(weaver *w)
{
    uint64_t id = OBFUSCATE_FIRST_ID;
    for (uint32_t i = 0; i < halley_trace_count(w->trace); i++) {
        fate *const f = &w->fates[i];
        if (f->into != HALLEY_NO_NODE) {
            f->last_id = w->fates[f->into].last_id;
            continue;
        }
        f->id = id++;
        f->last_id = f->first_part > 0 ? id++ : f->id;
    }
}

/* The amount of one of the two parts. */
static uint64_t split_amount(uint64_t whole, double part, bool second)
{
    const uint64_t first = (uint64_t)((double)whole * part);
    return second ? whole - first : first;
}

static bool adds_up(halley_bytes name)
{
    const trace_role role = trace_role_of(name);
    return role == TRACE_ROLE_NUM_OPS || role == TRACE_ROLE_TENSOR_SIZE ||
           (name.n == 11 && memcmp(name.at, "duration_ns", 11) == 0);
}

/* What a node of the result is made of: a node or a part of it, and the node merged into
 * it. */
typedef struct piece {
    uint32_t node, with; /* with: HALLEY_NO_NODE = none */
    double part;         /* 0 = all */
    bool second;
} piece;

static uint64_t change_amount(const piece *p, uint64_t own, uint64_t other)
{
    return p->part > 0 ? split_amount(own, p->part, p->second) : own + other;
}

/* The number at an entry of shapes.flat that the node's shape has. False: it is
 * negative. */
static bool whole_at(uint64_t *out, const weaver *w, uint32_t node, uint32_t entry)
{
    const trace_store *const s = &w->trace->s;
    const attr_slot *const slot = &s->shapes.flat.at[entry];
    const halley_attr attr = {.kind =
                                  (halley_attr_kind)s->shapes.descs.at[slot->desc].kind,
                              .bits = s->values.at[s->value_at.at[node] + slot->slot]};
    return halley_attr_to_u64(&attr, out);
}

/* Copies all attributes at once, then changes the amounts among them. */
static halley_status copy_piece_attrs(bool *done, weaver *w, const piece *p)
{
    const halley_trace *const t = w->trace;
    const uint32_t first = trace_shape_of(t, p->node)->first;
    const uint32_t n = halley_node_attr_count(t, p->node);
    uint64_t *values = NULL;
    bool narrow = false;
    for (uint32_t i = 0; i < n; i++)
        narrow = narrow || w->adds_up[first + i] == ADDS_UP_NARROW;
    if (!narrow)
        TRY(builder_copy_attrs(&values, w->b, t, p->node));
    *done = values != NULL;
    for (uint32_t i = 0; values && i < n; i++) {
        uint64_t own, other = 0;
        if (w->adds_up[first + i] == 0 || !whole_at(&own, w, p->node, first + i))
            continue;
        if (p->with != HALLEY_NO_NODE)
            (void)whole_at(&other, w, p->with, first + i);
        values[i] = change_amount(p, own, other);
    }
    return HALLEY_OK;
}

static halley_status put_piece_attrs(weaver *w, const piece *p)
{
    assert(p != NULL);
    const halley_trace *const t = w->trace;
    bool done;
    TRY(copy_piece_attrs(&done, w, p));
    for (uint32_t i = 0; !done && i < halley_node_attr_count(t, p->node); i++) {
        halley_attr attr = halley_node_attr(t, p->node, i);
        uint64_t own, other = 0;
        if (adds_up(attr.name) && halley_attr_to_u64(&attr, &own) &&
            attr.kind != HALLEY_ATTR_DOUBLE && attr.kind != HALLEY_ATTR_FLOAT) {
            if (p->with != HALLEY_NO_NODE) {
                const halley_attr more = halley_node_attr(t, p->with, i);
                (void)halley_attr_to_u64(&more, &other);
            }
            attr.bits = change_amount(p, own, other);
        }
        TRY(halley_builder_attr(w->b, &attr));
    }
    return HALLEY_OK;
}

static halley_status put_piece(weaver *w, const piece *p, uint64_t id)
{
    const halley_trace *const t = w->trace;
    const uint64_t other =
        p->with == HALLEY_NO_NODE ? 0 : halley_node_duration_us(t, p->with);
    TRY(halley_builder_node(w->b, id, halley_node_type_of(t, p->node),
                            halley_node_name(t, p->node)));
    TRY(halley_builder_time(
        w->b, 0, change_amount(p, halley_node_duration_us(t, p->node), other)));
    return put_piece_attrs(w, p);
}

static bool depends_on(const halley_trace *t, uint32_t node, uint32_t on)
{
    assert(node < halley_trace_count(t));
    const uint32_t n = trace_deps_count(t, node);
    for (uint32_t i = 0; i < n && i < 16; i++)
        if (trace_deps_index(t, node, i) == on)
            return true;
    return false;
}

/* True if another dependency of the node depends on this one. */
static bool is_redundant(const halley_trace *t, uint32_t node, uint32_t dep)
{
    assert(node < halley_trace_count(t) && dep < halley_trace_count(t));
    const uint32_t n = trace_deps_count(t, node);
    for (uint32_t i = 0; i < n && i < 16; i++) {
        const uint32_t other = trace_deps_index(t, node, i);
        if (other != HALLEY_NO_NODE && other != dep && depends_on(t, other, dep))
            return true;
    }
    return false;
}

/* With some probability, a dependency of a dependency that the node does not have. Else
 * HALLEY_NO_NODE. */
static uint32_t find_shortcut(const weaver *w, uint32_t node, uint32_t dep)
{
    assert(node < halley_trace_count(w->trace));
    const halley_trace *const t = w->trace;
    if (draw_unit(w, node, 3) >= 0.25 * w->job->strength || trace_deps_count(t, dep) == 0)
        return HALLEY_NO_NODE;
    const uint32_t far = trace_deps_index(t, dep, 0);
    if (far == HALLEY_NO_NODE || far == node || depends_on(t, node, far) ||
        w->fates[far].last_id == w->fates[dep].last_id)
        return HALLEY_NO_NODE;
    return far;
}

static halley_status put_part_deps(weaver *w, uint32_t node)
{
    assert(node < halley_trace_count(w->trace));
    const halley_trace *const t = w->trace;
    const uint32_t n_data = halley_node_data_count(t, node);
    const uint32_t n = trace_deps_count(t, node);
    const bool may_drop = n > 1 && draw_unit(w, node, 2) < 0.5 * w->job->strength;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(t, node, i);
        if (dep == HALLEY_NO_NODE || w->seen[dep] == node)
            continue;
        w->seen[dep] = node;
        if (may_drop && is_redundant(t, node, dep)) {
            w->counts->n_edges_dropped++;
            continue;
        }
        const uint64_t id = w->fates[dep].last_id;
        TRY(i < n_data ? halley_builder_data(w->b, id) : halley_builder_ctrl(w->b, id));
    }
    const uint32_t far =
        n ? find_shortcut(w, node, trace_deps_index(t, node, 0)) : HALLEY_NO_NODE;
    if (far == HALLEY_NO_NODE || w->seen[far] == node)
        return HALLEY_OK;
    w->counts->n_edges_added++;
    return halley_builder_ctrl(w->b, w->fates[far].last_id);
}

static halley_status put_plain(weaver *w, uint32_t node)
{
    assert(node < halley_trace_count(w->trace));
    TRY(halley_builder_node(w->b, w->fates[node].id, halley_node_type_of(w->trace, node),
                            halley_node_name(w->trace, node)));
    TRY(put_part_deps(w, node));
    return halley_builder_copy_rest(w->b, w->trace, node);
}

static halley_status put_part(weaver *w, uint32_t node)
{
    assert(node < halley_trace_count(w->trace));
    const fate *const f = &w->fates[node];
    if (f->into != HALLEY_NO_NODE)
        return HALLEY_OK;
    if (f->first_part == 0 && f->takes == HALLEY_NO_NODE)
        return put_plain(w, node);
    piece p = {.node = node, .with = f->takes, .part = f->first_part};
    TRY(put_piece(w, &p, f->id));
    TRY(put_part_deps(w, node));
    w->counts->n_joined += f->takes != HALLEY_NO_NODE;
    if (f->first_part == 0)
        return HALLEY_OK;
    w->counts->n_split++;
    p.second = true;
    TRY(put_piece(w, &p, f->last_id));
    return halley_builder_data(w->b, f->id);
}

static void find_amounts(weaver *w)
{
    const attr_shapes *const s = &w->trace->s.shapes;
    for (size_t i = 0; i < s->flat.n; i++) {
        const attr_desc *const d = &s->descs.at[s->flat.at[i].desc];
        const str name = attr_desc_name(s, d);
        const bool wide = d->kind == HALLEY_ATTR_INT64 || d->kind == HALLEY_ATTR_UINT64;
        const bool real = d->kind == HALLEY_ATTR_DOUBLE || d->kind == HALLEY_ATTR_FLOAT;
        w->adds_up[i] = !adds_up((halley_bytes){name.at, name.n}) || real ? 0
                        : wide                                            ? ADDS_UP
                               : ADDS_UP_NARROW;
    }
}

static halley_status rewrite_structure(weaver *w)
{
    const uint32_t n = halley_trace_count(w->trace);
    find_amounts(w);
    decide_change(w);
    number_parts(w);
    for (uint32_t i = 0; i < n; i++)
        w->seen[i] = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < n; i++)
        TRY(put_part(w, i));
    return HALLEY_OK;
}

halley_status obfuscate_structure(halley_trace **out, obfuscate_counts *counts,
                                  const obfuscate_job *job, const halley_trace *trace,
                                  halley_error *err)
{
    assert(out != NULL);
    const uint32_t n = halley_trace_count(trace);
    weaver w = {.job = job,
                .trace = trace,
                .counts = counts,
                .fates = mem_array(n, sizeof *w.fates),
                .n_dependents = mem_array_zero(n, sizeof *w.n_dependents),
                .seen = mem_array(n, sizeof *w.seen),
                .adds_up = mem_array(trace->s.shapes.flat.n, sizeof *w.adds_up)};
    const bool room = trace_slots_init(&w.slots, trace, number_names, N_NUMBERS) &&
                      w.fates && w.n_dependents && w.seen && w.adds_up;
    halley_status status = room ? edit_start(&w.b, trace, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = edit_finish(out, w.b, rewrite_structure(&w), err);
    trace_slots_fini(&w.slots);
    free(w.fates);
    free(w.n_dependents);
    free(w.seen);
    free(w.adds_up);
    return status;
}
