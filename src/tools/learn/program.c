/*
 * Reads a trace as a sequence of tokens. Two nodes belong to one operator if type,
 * collective, device kind, fields and the name up to digits are the same. They are the
 * same token if their dependencies, seen from their own place, are also the same. A
 * dependency refers to one of these:
 *
 *   1. The node before.
 *   2. One of the last nodes of an operator.
 *   3. The last or first open node of an operator, as a stack or a queue would give it.
 *      A node is open while nothing depends on it.
 *   4. All open nodes of an operator.
 *   5. An ancestor of a data dependency, for control dependencies: in a recording, the
 *      operator that calls this one.
 *
 * Such references stay the same from layer to layer and from micro-batch to micro-batch,
 * whatever the number of layers. Distances do not.
 */
#include "learn/program.h"

#include "trace/core/levels.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RECENT = 8, MAX_ROWS = 8 };

void synth_reader_fini(synth_reader *r)
{
    map64_fini(&r->op_cache);
    synth_history_fini(&r->past);
    array_fini(&r->place);
    array_fini(&r->over);
    array_fini(&r->waiter);
    array_fini(&r->op);
    array_fini(&r->row);
    array_fini(&r->row_at);
    array_fini(&r->row_after);
    array_fini(&r->row_length);
    array_fini(&r->parent);
    array_fini(&r->up);
}

void synth_program_fini(synth_program *p)
{
    array_fini(&p->nodes);
    array_fini(&p->ops);
    array_fini(&p->tokens);
    array_fini(&p->backs);
    array_fini(&p->back_at);
    array_fini(&p->sides);
}

/* The numbers that simulators read. All others are left out. */
static bool is_known_field(str name, halley_attr_kind kind)
{
    static const char *const known[] = {"num_ops", "tensor_size", "comm_size",
                                        "comm_priority", "duration_ns"};
    if (!trace_kind_is_integer(kind) && kind != HALLEY_ATTR_DOUBLE &&
        kind != HALLEY_ATTR_FLOAT)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(name, str_from(known[i])))
            return true;
    return false;
}

/* The properties that define a node's operator, without its name. */
typedef struct looks {
    uint8_t type, comm, cpu, flags;
    uint32_t shape;
} looks;

static looks read_looks(const halley_trace *trace, uint32_t node, uint32_t rank,
                        uint32_t n_ranks)
{
    assert(rank < n_ranks);
    trace_roles roles;
    trace_roles_read(&roles, trace, node);
    const uint32_t type = halley_node_type_of(trace, node);
    looks l = {.type = (uint8_t)(type < HALLEY_N_NODE_TYPES ? type : 0),
               .comm = 255,
               .cpu = 2,
               .shape = trace->s.shape.at[node]};
    if (trace_roles_has(&roles, TRACE_ROLE_IS_CPU_OP))
        l.cpu = trace_roles_is_cpu(&roles);
    uint64_t value;
    if (type == HALLEY_NODE_COLL) {
        l.comm = trace_roles_u64(&roles, TRACE_ROLE_COMM_TYPE, &value) &&
                         value < HALLEY_N_COLL_TYPES
                     ? (uint8_t)value
                     : 255;
        if (trace_roles_group(&roles).n > 0)
            l.flags |= MODEL_OP_GROUP;
    }
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV) {
        const trace_role peer =
            type == HALLEY_NODE_SEND ? TRACE_ROLE_COMM_DST : TRACE_ROLE_COMM_SRC;
        if (trace_roles_u64(&roles, peer, &value) && value < n_ranks) {
            const uint32_t up = ((uint32_t)value + n_ranks - rank) % n_ranks;
            if (2 * up < n_ranks || (2 * up == n_ranks && value > rank))
                l.flags |= MODEL_OP_FORWARD;
        }
        if (trace_roles_has(&roles, TRACE_ROLE_COMM_TAG))
            l.flags |= MODEL_OP_TAGGED;
    }
    return l;
}

static uint32_t fields_of(model_field *out, synth_model *m, const halley_trace *trace,
                          uint32_t node, halley_node_type type)
{
    assert(node < halley_trace_count(trace));
    uint32_t n = 0;
    if (type == HALLEY_NODE_METADATA || type == HALLEY_NODE_INVALID)
        return 0;
    out[n++] = (model_field){MODEL_NONE, 0};
    const uint32_t n_attrs = halley_node_attr_count(trace, node);
    for (uint32_t i = 0; i < n_attrs && n < SYNTH_FIELDS; i++) {
        const halley_attr a = halley_node_attr(trace, node, i);
        const str name = {a.name.at, a.name.n};
        if (!is_known_field(name, a.kind))
            continue;
        const uint32_t text = synth_text_add(m, name);
        if (text == MODEL_NONE)
            return MODEL_NONE;
        out[n++] = (model_field){text, a.kind};
    }
    return n;
}

/* Finds or adds the operator with these properties. MODEL_NONE: no memory. */
static uint32_t make_op(synth_model *m, const halley_trace *trace, uint32_t node,
                        const looks *l)
{
    assert(node < halley_trace_count(trace));
    char name[TRACE_PLAIN_NAME];
    model_field fields[SYNTH_FIELDS];
    model_op op = {.type = l->type, .comm = l->comm, .cpu = l->cpu, .flags = l->flags};
    op.name = synth_text_add(m, trace_plain_name(name, halley_node_name(trace, node)));
    op.n_fields = fields_of(fields, m, trace, node, l->type);
    op.first_field = (uint32_t)m->fields.n;
    uint32_t id = (uint32_t)m->ops.n;
    bool fresh;
    if (op.name == MODEL_NONE || op.n_fields == MODEL_NONE)
        return MODEL_NONE;
    op.flags |= MODEL_OP_LOOSE;
    const uint32_t loose = map64_find(&m->op_of, synth_op_key(m, &op, fields));
    if (loose != HASH_NONE && (m->ops.at[loose].flags & MODEL_OP_LOOSE) != 0)
        return loose;
    op.flags = l->flags;
    op.key = synth_op_key(m, &op, fields);
    if (!map64_put(&m->op_of, op.key, &id, &fresh))
        return MODEL_NONE;
    if (!fresh)
        return id;
    if (!array_reserve(&m->fields, op.n_fields) || !array_push(&m->ops, op))
        return MODEL_NONE;
    if (op.n_fields > 0)
        memcpy(m->fields.at + m->fields.n, fields, op.n_fields * sizeof *fields);
    m->fields.n += op.n_fields;
    return id;
}

static uint32_t op_of(synth_reader *r, const halley_trace *trace, uint32_t node,
                      uint32_t rank, uint32_t n_ranks)
{
    assert(node < halley_trace_count(trace));
    const looks l = read_looks(trace, node, rank, n_ranks);
    const halley_bytes name = halley_node_name(trace, node);
    uint64_t bits;
    _Static_assert(sizeof bits == sizeof l, "looks are eight bytes without holes");
    memcpy(&bits, &l, sizeof bits);
    const uint64_t key = hash_bytes(name.at, name.n, bits);
    uint32_t op = map64_find(&r->op_cache, key);
    if (op != HASH_NONE)
        return op;
    op = make_op(r->m, trace, node, &l);
    return op != MODEL_NONE && map64_set(&r->op_cache, key, op) ? op : MODEL_NONE;
}

/* The node that dependency i of a node leads to, skipping pauses. HALLEY_NO_NODE: none,
 * or the node itself. */
static uint32_t dep_of(const synth_reader *r, const halley_trace *trace, uint32_t node,
                       uint32_t i)
{
    assert(i < trace_deps_count(trace, node));
    const uint32_t j = trace_deps_index(trace, node, i);
    if (j == HALLEY_NO_NODE || j == node)
        return HALLEY_NO_NODE;
    return r->over.at[j] == node ? HALLEY_NO_NODE : r->over.at[j];
}

/* The reference from the node at `at` to the one at `to`, of operator op. */
static model_ref name_ref(const synth_history *h, uint32_t at, uint32_t to, uint32_t op)
{
    assert(to < at);
    if (at - to == 1)
        return (model_ref){.kind = REF_BACK, .n = 1, .op = MODEL_NONE};
    if (h->recent.at[op] == to)
        return (model_ref){.kind = REF_RECENT, .op = op};
    if (h->tail.at[op] == to)
        return (model_ref){.kind = REF_STACK, .op = op};
    if (h->head.at[op] == to)
        return (model_ref){.kind = REF_QUEUE, .op = op};
    uint16_t n = 0;
    for (uint32_t k = h->recent.at[op]; k != MODEL_NONE && n < MAX_RECENT; n++) {
        if (k == to)
            return (model_ref){.kind = REF_RECENT, .n = n, .op = op};
        k = h->earlier.at[k];
    }
    const uint32_t back = at - to;
    return (model_ref){.kind = REF_BACK,
                       .n = (uint16_t)(back > UINT16_MAX ? UINT16_MAX : back),
                       .op = MODEL_NONE};
}

/* True if the operator has several open nodes and the node depends on all of them. */
static bool takes_all(const synth_reader *r, const synth_program *p,
                      const halley_trace *trace, uint32_t node, uint32_t op)
{
    assert(op < r->m->ops.n);
    uint32_t n = 0;
    const uint32_t n_open = r->past.n_open.at[op];
    if (n_open < 2)
        return false;
    const uint32_t n_deps = trace_deps_count(trace, node);
    for (uint32_t i = 0; i < n_deps; i++) {
        const uint32_t j = dep_of(r, trace, node, i);
        if (j == HALLEY_NO_NODE)
            continue;
        const uint32_t to = r->place.at[j];
        n += p->ops.at[to] == op && r->past.is_open.at[to];
    }
    return n == n_open;
}

static bool has_all_refs(const model_ref *refs, uint32_t n, uint32_t op)
{
    for (uint32_t k = 0; k < n; k++)
        if (refs[k].kind == REF_ALL && refs[k].op == op)
            return true;
    return false;
}

/* Appends the node at `at` to the chain of the last node whose data it waits for, or
 * starts a chain. */
static bool join_row(synth_reader *r, const synth_program *p, const halley_trace *trace,
                     uint32_t at)
{
    assert(at < p->nodes.n);
    const uint32_t node = p->nodes.at[at], n_data = halley_node_data_count(trace, node);
    uint32_t after = MODEL_NONE;
    for (uint32_t i = 0; i < n_data; i++) {
        const uint32_t j = dep_of(r, trace, node, i);
        if (j != HALLEY_NO_NODE && r->place.at[j] < at &&
            (after == MODEL_NONE || r->place.at[j] > after))
            after = r->place.at[j];
    }
    uint32_t row = after == MODEL_NONE ? MODEL_NONE : r->row.at[after];
    if (row == MODEL_NONE || r->row_at.at[after] + 1 != r->row_length.at[row]) {
        row = (uint32_t)r->row_after.n;
        if (!array_push(&r->row_after, after) || !array_push(&r->row_length, 0))
            return false;
    }
    r->row.at[at] = row;
    r->row_at.at[at] = r->row_length.at[row]++;
    return true;
}

/* True if the node at `from` is the one at `to` or waits for it. The search is bounded,
 * so it may return false for nodes that do wait. */
static bool waits_for_place(const synth_reader *r, uint32_t from, uint32_t to)
{
    assert(from <= to || to < from);
    for (uint32_t k = 0; k < MAX_ROWS && from != MODEL_NONE; k++) {
        const uint32_t row = r->row.at[from];
        if (r->row.at[to] == row)
            return r->row_at.at[to] <= r->row_at.at[from];
        from = r->row_after.at[row];
    }
    return false;
}

/* True if a control dependency on the node at `to` follows from the data dependencies. */
static bool follows_from(const synth_reader *r, const halley_trace *trace, uint32_t node,
                         uint32_t at, uint32_t to)
{
    const uint32_t n_data = halley_node_data_count(trace, node);
    for (uint32_t i = 0; i < n_data; i++) {
        const uint32_t j = dep_of(r, trace, node, i);
        if (j != HALLEY_NO_NODE && r->place.at[j] < at &&
            waits_for_place(r, r->place.at[j], to))
            return true;
    }
    return false;
}

/* The control dependency on the node at `to` as an ancestor of one of the first data
 * dependencies, whose places are in `data`. False: it is none. */
static bool name_ancestor(model_ref *ref, const synth_reader *r, const uint32_t *data,
                          uint32_t n_data, uint32_t to)
{
    for (uint32_t i = 0; i < n_data; i++) {
        uint32_t up = data[i], n = 0;
        for (; up != MODEL_NONE && up > to && n + 1 < MODEL_UP_LEVELS; n++)
            up = r->parent.at[up];
        *ref = (model_ref){.kind = REF_UP,
                           .ctrl = 1,
                           .n = (uint16_t)(i * MODEL_UP_LEVELS + n),
                           .op = MODEL_NONE};
        if (up == to)
            return true;
    }
    return false;
}

/* Writes the references of the node at `at`. Returns their number, or MODEL_NONE: no
 * memory. */
static uint32_t refs_of(model_ref *refs, synth_reader *r, synth_program *p,
                        const halley_trace *trace, uint32_t at)
{
    assert(at < p->nodes.n);
    const uint32_t node = p->nodes.at[at];
    const uint32_t n_deps = trace_deps_count(trace, node);
    const uint32_t n_data = halley_node_data_count(trace, node);
    uint32_t n = 0, data[MODEL_UP_DEPS] = {at - 1}, n_places = 0;
    const bool has_parent = (r->m->ops.at[r->op.at[node]].flags & MODEL_OP_ADRIFT) == 0;
    r->parent.at[at] = r->up.at[at] = MODEL_NONE;
    for (uint32_t i = 0; i < n_deps && n < SYNTH_REFS; i++) {
        const uint32_t j = dep_of(r, trace, node, i);
        if (j == HALLEY_NO_NODE || r->place.at[j] >= at)
            continue;
        const uint32_t to = r->place.at[j], op = p->ops.at[to];
        const bool is_parent = i >= n_data || n_deps == n_data;
        const bool is_first = is_parent && r->parent.at[at] == MODEL_NONE;
        if (i < n_data && n_places < MODEL_UP_DEPS)
            data[n_places++] = to;
        model_ref up;
        const bool is_up =
            i >= n_data && name_ancestor(&up, r, data, n_places > 0 ? n_places : 1, to);
        if (is_first)
            r->parent.at[at] = to;
        if (is_first && is_up)
            r->up.at[at] = up.n;
        if (r->past.is_open.at[to] && has_all_refs(refs, n, op))
            continue;
        model_ref ref = name_ref(&r->past, at, to, op);
        if (n_deps > 3 && r->past.is_open.at[to] && takes_all(r, p, trace, node, op))
            ref = (model_ref){.kind = REF_ALL, .op = op};
        ref.ctrl = i >= n_data;
        if (!ref.ctrl || !follows_from(r, trace, node, at, to))
            refs[n++] = ref;
        else if (is_up && has_parent)
            refs[n++] = up;
    }
    for (uint32_t i = 0; i < n_deps; i++) {
        const uint32_t j = dep_of(r, trace, node, i);
        if (j == HALLEY_NO_NODE || r->place.at[j] >= at)
            continue;
        synth_history_close(&r->past, r->place.at[j], p->ops.at[r->place.at[j]]);
        if (!array_push(&p->backs, at - r->place.at[j]))
            return MODEL_NONE;
    }
    return n;
}

/* The place of the first control dependency of a node of the trace. */
static uint32_t find_parent(const synth_reader *r, const halley_trace *trace,
                            uint32_t node)
{
    const uint32_t n = trace_deps_count(trace, node);
    for (uint32_t i = halley_node_data_count(trace, node); i < n; i++) {
        const uint32_t j = trace_deps_index(trace, node, i);
        if (j != HALLEY_NO_NODE && r->over.at[j] != HALLEY_NO_NODE)
            return r->place.at[r->over.at[j]];
    }
    return MODEL_NONE;
}

/* Adds a side node or a pause as a token: after which node, and before which next node
 * of an operator. */
static bool take_side(synth_reader *r, synth_program *p, const halley_trace *trace,
                      uint32_t node)
{
    enum { MAX_NEXT = 7 };
    uint32_t n_refs = trace_deps_count(trace, node) > 0 ? 2 : 1;
    const uint32_t j = n_refs > 1 ? trace_deps_index(trace, node, 0) : 0;
    const uint32_t at = n_refs > 1 ? r->place.at[r->over.at[j]] : 0;
    const model_ref up = {.kind = REF_UP, .ctrl = 1, .op = MODEL_NONE};
    model_ref refs[3] = {{.kind = REF_BACK, .n = 1, .op = MODEL_NONE}, up};
    uint32_t waiter = r->waiter.at[node];
    while (waiter != MODEL_NONE && r->over.at[waiter] != waiter)
        waiter = r->waiter.at[waiter];
    if (waiter == MODEL_NONE)
        return true;
    r->waiter.at[node] = waiter;
    const uint32_t parent = find_parent(r, trace, node);
    n_refs += n_refs == 2 && r->over.at[node] != HALLEY_NO_NODE && parent != MODEL_NONE &&
              parent == r->parent.at[r->place.at[waiter]];
    model_ref *const next = &refs[n_refs - 1];
    *next = (model_ref){.kind = REF_NEXT,
                        .ctrl = r->over.at[node] != HALLEY_NO_NODE,
                        .op = r->op.at[waiter]};
    uint32_t k = r->past.earlier.at[r->place.at[waiter]];
    for (; k != MODEL_NONE && k > at && next->n < MAX_NEXT; k = r->past.earlier.at[k])
        next->n++;
    const uint32_t token = synth_token_add(r->m, r->op.at[node], refs, n_refs);
    return token != MODEL_NONE && array_push(&p->sides, (synth_side){at, node, token});
}

static int by_place(const void *a, const void *b)
{
    const synth_side *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool take_sides(synth_reader *r, synth_program *p, const halley_trace *trace)
{
    const uint32_t n = p->nodes.n == 0 ? 0 : halley_trace_count(trace);
    for (uint32_t i = 0; i < n; i++)
        if (r->waiter.at[i] != MODEL_NONE && !take_side(r, p, trace, i))
            return false;
    if (p->sides.n > 1)
        qsort(p->sides.at, p->sides.n, sizeof *p->sides.at, by_place);
    return true;
}

static halley_status read_node_ops(synth_reader *r, const halley_trace *trace,
                                   uint32_t rank, uint32_t n_ranks, halley_error *err)
{
    assert(rank < n_ranks);
    const uint32_t n = halley_trace_count(trace);
    map64_fini(&r->op_cache);
    if (!synth_u32s_resize(&r->op, n))
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        r->op.at[i] = op_of(r, trace, i, rank, n_ranks);
        if (r->op.at[i] == MODEL_NONE)
            return error_nomem(err);
    }
    return HALLEY_OK;
}

halley_status synth_program_read(synth_program *p, synth_reader *r,
                                 const halley_trace *trace, uint32_t rank,
                                 uint32_t n_ranks, halley_error *err)
{
    assert(rank < n_ranks);
    TRY(read_node_ops(r, trace, rank, n_ranks, err));
    TRY(synth_program_order(p, r, trace, err));
    const uint32_t n = (uint32_t)p->nodes.n;
    r->row_after.n = r->row_length.n = 0;
    if (!synth_history_start(&r->past, n) || !synth_u32s_resize(&r->row, n) ||
        !synth_u32s_resize(&r->row_at, n) || !synth_u32s_resize(&r->parent, n) ||
        !synth_u32s_resize(&r->up, n))
        return error_nomem(err);
    p->key = n;
    for (uint32_t at = 0; at < n; at++) {
        model_ref refs[SYNTH_REFS];
        const uint32_t op = r->op.at[p->nodes.at[at]];
        if (!synth_history_touch(&r->past, op) ||
            (r->has_control && !join_row(r, p, trace, at)))
            return error_nomem(err);
        p->ops.at[at] = op;
        p->back_at.at[at] = (uint32_t)p->backs.n;
        const uint32_t n_refs = refs_of(refs, r, p, trace, at);
        if (n_refs == MODEL_NONE)
            return error_nomem(err);
        const uint32_t token = synth_token_add(r->m, op, refs, n_refs);
        if (token == MODEL_NONE)
            return error_nomem(err);
        p->tokens.at[at] = token;
        synth_history_add(&r->past, at, op);
        p->key = hash_u64(p->key ^ hash_u64(token));
    }
    p->back_at.at[n] = (uint32_t)p->backs.n;
    if (!take_sides(r, p, trace))
        return error_nomem(err);
    assert(p->tokens.n == p->nodes.n);
    return HALLEY_OK;
}
