/*
 * The numbers of a node: the fields of its operator, and the position of its group or
 * peer.
 */
#include "learn/learn_set.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <math.h>

static void group_values(double out[2], const learner *l, const trace_roles *roles)
{
    const halley_bytes name = trace_roles_group(roles);
    const uint32_t id = map64_find(&l->group_of, hash_bytes(name.at, name.n, 0));
    out[0] = out[1] = NAN;
    if (id == HASH_NONE)
        return;
    out[0] = l->groups.at[id].size;
    out[1] = l->groups.at[id].stride > 0 ? l->groups.at[id].stride : 1;
}

static double peer_value(const learner *l, const trace_roles *roles, bool send,
                         uint32_t rank)
{
    assert(rank < l->keys.n);
    const uint32_t n = (uint32_t)l->keys.n;
    uint64_t peer;
    if (!trace_roles_u64(roles, send ? TRACE_ROLE_COMM_DST : TRACE_ROLE_COMM_SRC,
                         &peer) ||
        peer >= n || peer == rank)
        return NAN;
    const uint32_t up = ((uint32_t)peer + n - rank) % n;
    return up < n - up ? up : n - up;
}

/* Reads the fields of an operator from a node. */
static void field_values(double *out, const synth_model *m, const model_op *op,
                         const halley_trace *trace, uint32_t node)
{
    assert(node < halley_trace_count(trace));
    const bool loose = (op->flags & MODEL_OP_LOOSE) != 0;
    uint32_t next = 1;
    for (uint32_t i = 0; i < op->n_fields; i++)
        out[i] = loose ? 0 : NAN;
    if (op->n_fields > 0)
        out[0] = (double)halley_node_duration_us(trace, node);
    const uint32_t n_attrs = op->n_fields > 1 ? halley_node_attr_count(trace, node) : 0;
    for (uint32_t i = 0; i < n_attrs && (loose || next < op->n_fields); i++) {
        const halley_attr a = halley_node_attr(trace, node, i);
        const str name = {a.name.at, a.name.n};
        const uint32_t f = synth_field_of(m, op, name);
        double value;
        if (f == MODEL_NONE || (!loose && f != next))
            continue;
        if (halley_attr_to_double(&a, &value))
            out[f] = value;
        next = f + 1;
    }
}

uint32_t learner_values(double out[LEARN_VALUES], const learner *l,
                        const halley_trace *trace, uint32_t node, uint32_t rank)
{
    assert(node < l->reader.op.n);
    const model_op *op = &l->m.ops.at[l->reader.op.at[node]];
    uint32_t n = op->n_fields;
    field_values(out, &l->m, op, trace, node);
    if (op->type < HALLEY_NODE_SEND || op->type > HALLEY_NODE_COLL)
        return n;
    trace_roles roles;
    trace_roles_read(&roles, trace, node);
    if (op->type != HALLEY_NODE_COLL)
        out[n++] = peer_value(l, &roles, op->type == HALLEY_NODE_SEND, rank);
    else if ((op->flags & MODEL_OP_GROUP) != 0) {
        group_values(out + n, l, &roles);
        n += 2;
    }
    assert(n <= LEARN_VALUES);
    return n;
}

void learner_see_grain(learner *l, const model_op *op, uint32_t field, double value)
{
    enum { COARSEST = 1000000 };
    model_head *const head = &l->m.head.at[0];
    if (head->grain_ns == 1 || field == 0 || field >= op->n_fields || !(value > 0) ||
        !synth_is_duration(&l->m, op->key, field))
        return;
    if (head->grain_ns == 0)
        head->grain_ns = COARSEST;
    while (head->grain_ns > 1 && fmod(value, head->grain_ns) != 0)
        head->grain_ns /= 10;
}

double learner_time_us(const halley_trace_set *set, uint32_t block)
{
    assert(block > 0);
    const uint32_t n = halley_trace_set_count(set);
    double sum = 0;
    for (uint32_t r = 0; r < n; r += block) {
        const halley_trace *trace = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_count(trace); i++)
            sum += (double)halley_node_duration_us(trace, i);
    }
    return sum * block / n;
}
