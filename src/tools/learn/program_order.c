/*
 * The order in which a program lists its nodes: the order of the file, but each node
 * after its dependencies. Pauses and side nodes are left out.
 */
#include "learn/program.h"
#include "trace/core/levels.h"

#include <assert.h>

static halley_status refuse_cycle(halley_error *err)
{
    return error_set(err, HALLEY_EINVAL, "dependencies form a cycle");
}

/* A pause has a dependency, and waits for the data of at most one node. */
static bool is_pause_node(const synth_reader *r, const halley_trace *trace, uint32_t node)
{
    assert(node < halley_trace_count(trace));
    return (r->m->ops.at[r->op.at[node]].flags & MODEL_OP_PAUSE) != 0 &&
           trace_deps_count(trace, node) > 0 &&
           halley_node_data_count(trace, node) <= 1 &&
           trace_deps_index(trace, node, 0) != HALLEY_NO_NODE &&
           trace_deps_index(trace, node, 0) != node;
}

static const uint32_t many = MODEL_NONE - 1;

/* Finds the only waiter of each node: a node, `many`, or MODEL_NONE for none. */
static void find_waiters(synth_reader *r, const halley_trace *trace)
{
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t i = 0; i < n; i++)
        r->waiter.at[i] = MODEL_NONE;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_deps = trace_deps_count(trace, i);
        for (uint32_t k = 0; k < n_deps; k++) {
            const uint32_t j = trace_deps_index(trace, i, k);
            if (j != HALLEY_NO_NODE)
                r->waiter.at[j] =
                    r->waiter.at[j] == MODEL_NONE && k < halley_node_data_count(trace, i)
                        ? i
                        : many;
        }
    }
}

/* True if the node is a collective with a single waiter. The waiter must also wait for
 * another node of the program that is not before the dependency of this one. */
static bool is_side_node(const synth_reader *r, const halley_trace *trace, uint32_t node)
{
    const uint32_t w = r->waiter.at[node], n_deps = trace_deps_count(trace, node);
    if (w >= many || w == node || n_deps > 1 ||
        halley_node_type_of(trace, node) != HALLEY_NODE_COLL ||
        halley_node_data_count(trace, node) != n_deps)
        return false;
    const uint32_t after = n_deps > 0 ? trace_deps_index(trace, node, 0) : 0;
    if (after == HALLEY_NO_NODE || (n_deps > 0 && after == node))
        return false;
    for (uint32_t k = 0; k < halley_node_data_count(trace, w); k++) {
        const uint32_t j = trace_deps_index(trace, w, k);
        if (j != HALLEY_NO_NODE && j != node && j != w && j >= after &&
            r->over.at[j] != HALLEY_NO_NODE)
            return true;
    }
    return false;
}

/* Side nodes have no representative in the program. Pauses without exactly one waiter
 * are dropped entirely. */
static void leave_out_sides(synth_reader *r, const halley_trace *trace)
{
    find_waiters(r, trace);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++)
        if (is_side_node(r, trace, i))
            r->over.at[i] = HALLEY_NO_NODE;
        else if (r->over.at[i] == i || r->waiter.at[i] >= many || r->waiter.at[i] == i)
            r->waiter.at[i] = MODEL_NONE;
}

/* Finds the node that represents each node. */
static halley_status skip_pauses(synth_reader *r, const halley_trace *trace,
                                 halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    r->has_pauses = r->has_control = false;
    for (uint32_t i = 0; i < n; i++) {
        r->place.at[i] = MODEL_NONE;
        r->over.at[i] = i;
        r->has_control = r->has_control ||
                         trace_deps_count(trace, i) > halley_node_data_count(trace, i);
        if (!is_pause_node(r, trace, i))
            continue;
        r->over.at[i] = trace_deps_index(trace, i, 0);
        r->has_pauses = true;
    }
    for (uint32_t i = 0; r->has_pauses && i < n; i++) {
        uint32_t to = i, steps = 0;
        for (; r->over.at[to] != to && steps <= n; steps++)
            to = r->over.at[to];
        if (steps > n)
            return refuse_cycle(err);
        for (uint32_t k = i, next; k != to; k = next) {
            next = r->over.at[k];
            r->over.at[k] = to;
        }
    }
    return HALLEY_OK;
}

/* A node whose dependencies are being placed. Those before `next` are done. */
typedef struct waiting {
    uint32_t node, next;
} waiting;

static const uint32_t placed = MODEL_NONE - 1, on_stack = MODEL_NONE - 2;

/* Places a node after its dependencies. */
static halley_status place_node(synth_program *p, synth_reader *r,
                                const halley_trace *trace, uint32_t node,
                                halley_error *err)
{
    assert(node < halley_trace_count(trace));
    ARRAY(waiting) stack = {0};
    halley_status status = HALLEY_OK;
    bool ok = array_push(&stack, (waiting){node, 0});
    while (ok && status == HALLEY_OK && stack.n > 0) {
        waiting *top = &stack.at[stack.n - 1];
        r->place.at[top->node] = on_stack;
        if (top->next == trace_deps_count(trace, top->node)) {
            r->place.at[top->node] = placed;
            p->nodes.at[p->nodes.n++] = top->node;
            stack.n--;
            continue;
        }
        const uint32_t j = trace_deps_index(trace, top->node, top->next++);
        const uint32_t to = j == HALLEY_NO_NODE ? j : r->over.at[j];
        if (to == HALLEY_NO_NODE || to == top->node || r->place.at[to] == placed)
            continue;
        if (r->place.at[to] == on_stack)
            status = refuse_cycle(err);
        else
            ok = array_push(&stack, (waiting){to, 0});
    }
    array_fini(&stack);
    return ok ? status : error_nomem(err);
}

static halley_status behind_dependencies(synth_program *p, synth_reader *r,
                                         const halley_trace *trace, halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    halley_status status = HALLEY_OK;
    p->nodes.n = 0;
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++)
        if (r->over.at[i] == i && r->place.at[i] != placed)
            status = place_node(p, r, trace, i, err);
    for (uint32_t i = 0; i < n; i++)
        r->place.at[i] = MODEL_NONE;
    return status;
}

/* True if a node depends on a later one in the file. */
static bool leads_forward(const synth_reader *r, const halley_trace *trace, uint32_t node)
{
    assert(node < halley_trace_count(trace));
    const uint32_t n_deps = trace_deps_count(trace, node);
    for (uint32_t k = 0; k < n_deps; k++) {
        const uint32_t j = trace_deps_index(trace, node, k);
        if (j != HALLEY_NO_NODE && r->over.at[j] > node &&
            r->over.at[j] != HALLEY_NO_NODE)
            return true;
    }
    return false;
}

halley_status synth_program_order(synth_program *p, synth_reader *r,
                                  const halley_trace *trace, halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    bool forward = false;
    p->nodes.n = p->ops.n = p->tokens.n = p->backs.n = p->back_at.n = 0;
    p->sides.n = 0;
    if (!synth_u32s_resize(&p->back_at, n + 1) || !synth_u32s_resize(&p->nodes, n) ||
        !synth_u32s_resize(&p->ops, n) || !synth_u32s_resize(&p->tokens, n) ||
        !synth_u32s_resize(&r->place, n) || !synth_u32s_resize(&r->over, n) ||
        !synth_u32s_resize(&r->waiter, n))
        return error_nomem(err);
    TRY(skip_pauses(r, trace, err));
    leave_out_sides(r, trace);
    p->nodes.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (r->over.at[i] != i)
            continue;
        p->nodes.at[p->nodes.n++] = i;
        forward = forward || leads_forward(r, trace, i);
    }
    if (forward)
        TRY(behind_dependencies(p, r, trace, err));
    p->ops.n = p->tokens.n = p->nodes.n;
    for (uint32_t at = 0; at < p->nodes.n; at++)
        r->place.at[p->nodes.at[at]] = at;
    return HALLEY_OK;
}
