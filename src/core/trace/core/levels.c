/*
 * Levels by depth-first search along the dependencies, with an explicit stack. No list of
 * children is needed. In nearly all files nodes come after their dependencies; then the
 * stack never holds more than one node.
 *
 * A node is marked as in or after a cycle if, when it is left, one of its dependencies is
 * marked or still on the stack. This marks all such nodes. Take the nodes of a strongly
 * connected component. The first one left has a dependency within the component, which is
 * still on the stack. Each later one has a dependency within the component that is on the
 * stack, or was left before and is marked.
 */
#include "trace/core/levels.h"

#include "base/array.h"
#include "base/error.h"

#include <assert.h>

enum { LEVEL_NEW = 0 };
#define LEVEL_OPEN (UINT32_MAX - 1) /* on the stack */

typedef struct frame {
    uint32_t node;
    uint32_t next; /* next dependency to visit */
} frame;

typedef struct search {
    const halley_trace *trace;
    trace_levels *levels;
    bool ignore_self;
    ARRAY(frame) stack;
} search;

static uint64_t add_us_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void leave_node(search *s, uint32_t node)
{
    assert(node < s->trace->s.n);
    assert(s->levels->level[node] == LEVEL_OPEN);
    trace_levels *l = s->levels;
    const uint32_t n = trace_deps_count(s->trace, node);
    uint32_t level = 0;
    uint64_t end_us = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(s->trace, node, i);
        if (dep == HALLEY_NO_NODE || (dep == node && s->ignore_self))
            continue;
        if (l->level[dep] >= LEVEL_OPEN) {
            l->level[node] = TRACE_LEVEL_CYCLIC;
            l->n_cyclic++;
            return;
        }
        if (l->level[dep] > level)
            level = l->level[dep];
        if (l->end_us != NULL && l->end_us[dep] > end_us)
            end_us = l->end_us[dep];
    }
    l->level[node] = level + 1;
    if (level + 1 > l->depth)
        l->depth = level + 1;
    if (l->end_us != NULL)
        l->end_us[node] =
            add_us_saturated(end_us, halley_node_duration_us(s->trace, node));
}

/* The next unvisited dependency of the frame, or HALLEY_NO_NODE. */
static uint32_t next_new(const search *s, frame *f)
{
    assert(f->node < s->trace->s.n);
    const uint32_t n = trace_deps_count(s->trace, f->node);
    while (f->next < n) {
        const uint32_t dep = trace_deps_index(s->trace, f->node, f->next++);
        if (dep != HALLEY_NO_NODE && s->levels->level[dep] == LEVEL_NEW)
            return dep;
    }
    return HALLEY_NO_NODE;
}

static bool enter_node(search *s, uint32_t node)
{
    s->levels->level[node] = LEVEL_OPEN;
    return array_push(&s->stack, (frame){node, 0});
}

static bool search_from(search *s, uint32_t root)
{
    assert(root < s->trace->s.n);
    if (!enter_node(s, root))
        return false;
    while (s->stack.n > 0) {
        frame *top = &s->stack.at[s->stack.n - 1];
        const uint32_t dep = next_new(s, top);
        if (dep == HALLEY_NO_NODE) {
            leave_node(s, top->node);
            s->stack.n--;
        } else if (!enter_node(s, dep)) {
            return false;
        }
    }
    assert(s->stack.n == 0);
    return true;
}

halley_status trace_levels_init(trace_levels *out, const halley_trace *trace,
                                const trace_levels_opts *opts, halley_error *err)
{
    const uint32_t n = halley_trace_count(trace);
    trace_levels l = {.level = mem_array_zero(n, sizeof *l.level)};
    if (opts->with_time)
        l.end_us = mem_array_zero(n, sizeof *l.end_us);
    bool ok = l.level != NULL && (l.end_us != NULL || !opts->with_time);
    search s = {.trace = trace, .levels = &l, .ignore_self = opts->ignore_self};
    for (uint32_t i = 0; ok && i < n; i++)
        if (l.level[i] == LEVEL_NEW)
            ok = search_from(&s, i);
    array_fini(&s.stack);
    if (!ok) {
        trace_levels_fini(&l);
        return error_nomem(err);
    }
    *out = l;
    assert(out->depth <= trace->s.n && out->n_cyclic <= trace->s.n);
    return HALLEY_OK;
}

void trace_levels_fini(trace_levels *levels)
{
    free(levels->level);
    free(levels->end_us);
    *levels = (trace_levels){0};
}

/* The first cyclic dependency of the node. Every cyclic node has one. */
static uint32_t cyclic_dep(const halley_trace *trace, const trace_levels *l,
                           uint32_t node, bool ignore_self)
{
    assert(node < trace->s.n);
    const uint32_t n = trace_deps_count(trace, node);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t dep = trace_deps_index(trace, node, i);
        if (dep != HALLEY_NO_NODE && !(dep == node && ignore_self) &&
            l->level[dep] == TRACE_LEVEL_CYCLIC)
            return dep;
    }
    return HALLEY_NO_NODE;
}

/* Find a node that is on a cycle, not merely after one: where a walk along cyclic
 * dependencies returns to. `seen` is zero, one element per node. */
static uint32_t node_on_cycle(const halley_trace *trace, const trace_levels *l,
                              bool ignore_self, uint32_t *seen)
{
    assert(l->n_cyclic > 0);
    uint32_t at = 0;
    while (l->level[at] != TRACE_LEVEL_CYCLIC)
        at++;
    while (!seen[at]) {
        seen[at] = 1;
        at = cyclic_dep(trace, l, at, ignore_self);
    }
    return at;
}

/*
 * Breadth-first search from `start` along cyclic dependencies back to `start`. from[v] is
 * the node from which v was first reached. Writes the nodes in order into `queue` and
 * returns their number.
 */
static uint32_t shortest_from(uint32_t *queue, uint32_t *from, const halley_trace *trace,
                              const trace_levels *l, uint32_t start, bool ignore_self)
{
    assert(start < trace->s.n);
    uint32_t head = 0, tail = 0;
    queue[tail++] = start;
    for (;;) {
        const uint32_t v = queue[head++];
        const uint32_t n = trace_deps_count(trace, v);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t dep = trace_deps_index(trace, v, i);
            if (dep == HALLEY_NO_NODE || (dep == v && ignore_self) ||
                l->level[dep] != TRACE_LEVEL_CYCLIC || from[dep] != HALLEY_NO_NODE)
                continue;
            from[dep] = v;
            if (dep == start)
                goto found;
            queue[tail++] = dep;
        }
    }
found:;
    /* Walk backwards from start, then reverse, so that the cycle follows the
     * dependencies. */
    uint32_t n = 0, v = start;
    do {
        queue[n++] = v;
        v = from[v];
    } while (v != start);
    for (uint32_t i = 1, j = n - 1; i < j; i++, j--) {
        const uint32_t swap = queue[i];
        queue[i] = queue[j];
        queue[j] = swap;
    }
    return n;
}

halley_status trace_cycle_find(uint32_t **out, uint32_t *n, const halley_trace *trace,
                               const trace_levels *levels, bool ignore_self,
                               halley_error *err)
{
    assert(levels->n_cyclic <= trace->s.n);
    const uint32_t n_nodes = levels->n_cyclic > 0 ? halley_trace_count(trace) : 0;
    uint32_t *queue = mem_array(n_nodes, sizeof *queue);
    uint32_t *from = mem_array_zero(n_nodes, sizeof *from);
    if (queue == NULL || from == NULL) {
        free(queue);
        free(from);
        return error_nomem(err);
    }
    *n = 0;
    if (n_nodes > 0) {
        const uint32_t start = node_on_cycle(trace, levels, ignore_self, from);
        for (uint32_t i = 0; i < n_nodes; i++)
            from[i] = HALLEY_NO_NODE;
        *n = shortest_from(queue, from, trace, levels, start, ignore_self);
    }
    free(from);
    *out = queue;
    assert(n != NULL);
    return HALLEY_OK;
}
