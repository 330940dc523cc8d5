/*
 * Bridge over removed nodes.
 *
 * In topological order, each removed node gets the list of the kept nodes nearest to it.
 * These are its dependencies, with removed ones replaced by their lists. If a list
 * exceeds BRIDGE_MAX entries, its node becomes a joint, and other lists name the joint
 * instead. So the lists, and the new dependencies, have at most BRIDGE_MAX times as many
 * entries as the old dependencies. A node with the same list as its only dependency
 * shares that list. At the end, joints that no kept node needs are removed.
 *
 * Nodes in or after cycles have no place in the order. They come last, in file order.
 * Dependencies on such a node that has no list yet are lost and counted.
 */
#include "trace/bridge.h"

#include "base/error.h"
#include "trace/core/levels.h"

#include <string.h>

enum { NO_LIST = 0xFF }; /* temporary fate: removed, without a list yet */

void bridge_fini(bridge *b)
{
    free(b->fate);
    free(b->nearest);
    free(b->seen);
    array_fini(&b->lists);
    *b = (bridge){0};
}

/* Sort nodes by level; those without a level come last. */
static halley_status sort_by_level(uint32_t **out, const halley_trace *trace,
                                   halley_error *err)
{
    trace_levels levels;
    TRY(trace_levels_init(&levels, trace, &(trace_levels_opts){0}, err));
    const uint32_t n = halley_trace_count(trace);
    const size_t n_slots = (size_t)levels.depth + 3;
    uint32_t *first = mem_array_zero(n_slots, sizeof *first);
    uint32_t *order = mem_array(n, sizeof *order);
    const bool ok = first != NULL && order != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (levels.level[i] == TRACE_LEVEL_CYCLIC)
            levels.level[i] = levels.depth + 1;
        first[levels.level[i] + 1]++;
    }
    for (size_t l = 1; ok && l < n_slots; l++)
        first[l] += first[l - 1];
    for (uint32_t i = 0; ok && i < n; i++)
        order[first[levels.level[i]]++] = i;
    free(first);
    trace_levels_fini(&levels);
    if (!ok) {
        free(order);
        return error_nomem(err);
    }
    *out = order;
    return HALLEY_OK;
}

static bool take_parent(bridge *b, uint32_t node, uint32_t dep)
{
    if (b->seen[dep] == node + 1)
        return true;
    b->seen[dep] = node + 1;
    return array_push(&b->lists, dep);
}

/* Add the kept nodes of `dep` to the list at the end of `lists`. */
static bool take_all_parents(bridge *b, uint32_t node, uint32_t dep)
{
    if (b->fate[dep] == NO_LIST) {
        b->n_lost++;
        return true;
    }
    if (b->fate[dep] != BRIDGE_REMOVED)
        return take_parent(b, node, dep);
    const bridge_list list = b->nearest[dep];
    for (uint32_t i = 0; i < list.n; i++)
        if (!take_parent(b, node, b->lists.at[list.first + i]))
            return false;
    return true;
}

static bool find_nearest(bridge *b, uint32_t node)
{
    const size_t first = b->lists.n;
    const uint32_t n = trace_deps_count(b->trace, node);
    bridge_list shared = {0};
    uint32_t n_used = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(b->trace, node, i);
        if (dep == HALLEY_NO_NODE || dep == node)
            continue;
        if (!take_all_parents(b, node, dep))
            return false;
        n_used++;
        if (b->fate[dep] == BRIDGE_REMOVED)
            shared = b->nearest[dep];
    }
    size_t n_list = b->lists.n - first;
    if (n_used == 1 && shared.n == n_list && n_list > 0) {
        b->lists.n = first;
        b->nearest[node] = shared;
    } else {
        if (b->lists.n > UINT32_MAX)
            return false;
        b->nearest[node] = (bridge_list){(uint32_t)first, (uint32_t)n_list};
    }
    b->fate[node] = n_list > BRIDGE_MAX ? BRIDGE_JOINT : BRIDGE_REMOVED;
    return true;
}

static void mark_used(const bridge *b, uint8_t *used, uint32_t dep)
{
    if (b->fate[dep] == BRIDGE_JOINT)
        used[dep] = 1;
    if (b->fate[dep] != BRIDGE_REMOVED)
        return;
    const bridge_list list = b->nearest[dep];
    for (uint32_t i = 0; i < list.n; i++)
        used[b->lists.at[list.first + i]] = 1;
}

/* From the last node to the first, remove joints that no kept node or used joint
 * names. */
static bool drop_unused(bridge *b, const uint32_t *order)
{
    const uint32_t n = halley_trace_count(b->trace);
    uint8_t *used = mem_array_zero(n, 1);
    if (used == NULL)
        return false;
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t node = order[i];
        if (b->fate[node] == BRIDGE_REMOVED)
            continue;
        if (b->fate[node] == BRIDGE_JOINT && !used[node]) {
            b->fate[node] = BRIDGE_REMOVED;
            continue;
        }
        const uint32_t n_deps = trace_deps_count(b->trace, node);
        for (uint32_t j = 0; j < n_deps; j++) {
            const uint32_t dep = trace_deps_index(b->trace, node, j);
            if (dep != HALLEY_NO_NODE)
                mark_used(b, used, dep);
        }
    }
    free(used);
    return true;
}

halley_status bridge_init(bridge *out, const halley_trace *trace, const uint8_t *keep,
                          halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    uint32_t *order = NULL;
    TRY(sort_by_level(&order, trace, err));
    bridge b = {.trace = trace,
                .fate = mem_array(n, 1),
                .nearest = mem_array_zero(n, sizeof *b.nearest),
                .seen = mem_array_zero(n, sizeof *b.seen)};
    bool ok = b.fate != NULL && b.nearest != NULL && b.seen != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        b.fate[i] = keep[i] ? BRIDGE_KEPT : NO_LIST;
    for (uint32_t i = 0; ok && i < n; i++)
        if (!keep[order[i]])
            ok = find_nearest(&b, order[i]);
    ok = ok && drop_unused(&b, order);
    free(order);
    if (!ok) {
        bridge_fini(&b);
        return error_nomem(err);
    }
    memset(b.seen, 0, n * sizeof *b.seen);
    *out = b;
    return HALLEY_OK;
}

static void mark_direct(bridge *b, uint32_t node)
{
    const uint32_t n = trace_deps_count(b->trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(b->trace, node, i);
        if (dep != HALLEY_NO_NODE && b->fate[dep] != BRIDGE_REMOVED)
            b->seen[dep] = node + 1;
    }
}

halley_status bridge_deps(bridge *b, uint32_t node, bridge_yield *yield, void *context,
                          uint64_t *n_bridged)
{
    mark_direct(b, node);
    const uint32_t n = trace_deps_count(b->trace, node);
    const uint32_t n_data = halley_node_data_count(b->trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(b->trace, node, i);
        const bool is_data = i < n_data;
        if (dep == HALLEY_NO_NODE)
            continue;
        if (b->fate[dep] != BRIDGE_REMOVED) {
            TRY(yield(context, dep, is_data));
            continue;
        }
        const bridge_list list = b->nearest[dep];
        for (uint32_t j = 0; j < list.n; j++) {
            const uint32_t near = b->lists.at[list.first + j];
            /* In a cycle, a node may lead back to itself or to a joint that was removed.
             */
            if (b->seen[near] == node + 1 || near == node ||
                b->fate[near] == BRIDGE_REMOVED)
                continue;
            b->seen[near] = node + 1;
            ++*n_bridged;
            TRY(yield(context, near, is_data));
        }
    }
    return HALLEY_OK;
}
