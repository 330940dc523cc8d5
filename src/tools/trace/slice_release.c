/*
 * Slices of recordings start as recorded.
 *
 * After a cut in time, some nodes waited for something that has been removed: the work of
 * the previous step on their stream, or a busy thread. Without it they would start too
 * early, and the slice would replay faster than the recorded step. Such a node is
 * released at its recorded time by a node "recorded start". The duration of that node
 * counts from the earliest start that the slice keeps on any rank.
 *
 * Lags (nodes that occupy neither thread nor stream) whose predecessor has been removed
 * are replaced by such a node. So are the lags that released nodes of the whole
 * recording.
 */
#include "base/error.h"
#include "base/str.h"
#include "halley/trace_attr.h"
#include "trace/slice.h"

#include <assert.h>
#include <stdlib.h>

static bool read_ns(uint64_t *ns, const halley_trace *trace, uint32_t node,
                    const char *name)
{
    halley_attr attr;
    return halley_node_find_attr(&attr, trace, node, name) &&
           halley_attr_to_u64(&attr, ns);
}

static bool is_set(const halley_trace *trace, uint32_t node, const char *name)
{
    halley_attr attr;
    return halley_node_find_attr(&attr, trace, node, name) && attr.bits != 0;
}

static bool is_lag(const halley_trace *trace, uint32_t node)
{
    return is_set(trace, node, HALLEY_ATTR_NAME_FREE_LANE) &&
           is_set(trace, node, HALLEY_ATTR_NAME_IS_CPU_OP);
}

/* Is it time of a thread outside every event? If nothing of the slice follows it, it is
 * not work. */
static bool is_thread_gap(const halley_trace *trace, uint32_t node)
{
    const halley_bytes name = halley_node_name(trace, node);
    return str_eq((str){name.at, name.n}, STR("host gap")) &&
           halley_node_ctrl_count(trace, node) == 0;
}

uint64_t slice_find_origin(const slice *s)
{
    uint64_t origin_ns = UINT64_MAX;
    for (uint32_t i = 0; i < s->distinct->n; i++) {
        const halley_trace *const trace = s->distinct->trace[i];
        const uint32_t n = s->n_kept[i] == 0 ? 0 : halley_trace_count(trace);
        for (uint32_t node = 0; node < n; node++) {
            uint64_t ns;
            if (s->keep[i][node] && !is_lag(trace, node) &&
                read_ns(&ns, trace, node, HALLEY_ATTR_NAME_START_NS))
                origin_ns = ns < origin_ns ? ns : origin_ns;
        }
    }
    return origin_ns;
}

/* When the node began. A call that waited is recorded from its own begin, but its self
 * time is at its end, after the wait. */
static uint64_t find_begin(const slice_release *r, uint32_t node)
{
    uint64_t start_ns, inclusive_ns, duration_ns;
    if (!read_ns(&start_ns, r->trace, node, HALLEY_ATTR_NAME_START_NS))
        return 0;
    const bool is_leaf = !r->has_child[node];
    if (is_leaf &&
        read_ns(&inclusive_ns, r->trace, node, HALLEY_ATTR_NAME_INCLUSIVE_NS) &&
        read_ns(&duration_ns, r->trace, node, HALLEY_ATTR_NAME_DURATION_NS) &&
        inclusive_ns > duration_ns)
        start_ns += inclusive_ns - duration_ns;
    return start_ns;
}

/* Drop lags that lost their predecessor or successor. */
static void drop_lags(const slice_release *r, uint8_t *keep)
{
    for (uint32_t node = 0; node < r->n; node++) {
        if (keep[node] && !r->is_used[node] && is_thread_gap(r->trace, node))
            keep[node] = false;
        if (!keep[node] || !r->is_lag[node])
            continue;
        const uint32_t n_data = halley_node_data_count(r->trace, node);
        bool lost = n_data == 0 || !r->is_used[node];
        for (uint32_t k = 0; k < n_data; k++) {
            const halley_dep dep = halley_node_data(r->trace, node, k);
            lost |= dep.index == HALLEY_NO_NODE || !keep[dep.index];
        }
        keep[node] = !lost;
    }
}

static void mark_releases(slice_release *r, const uint8_t *keep)
{
    for (uint32_t node = 0; node < r->n; node++) {
        if (!keep[node] || r->is_lag[node])
            continue;
        const uint32_t n_data = halley_node_data_count(r->trace, node);
        bool lost = false;
        for (uint32_t k = 0; k < n_data; k++) {
            const halley_dep dep = halley_node_data(r->trace, node, k);
            lost |= dep.index != HALLEY_NO_NODE && !keep[dep.index];
        }
        const uint64_t begin_ns = lost || n_data == 0 ? find_begin(r, node) : 0;
        if (begin_ns > r->origin_ns)
            r->wait_ns[node] = begin_ns - r->origin_ns;
    }
}

static void describe_nodes(slice_release *r, const uint8_t *keep)
{
    for (uint32_t node = 0; node < r->n; node++) {
        r->is_lag[node] = is_lag(r->trace, node);
        const uint64_t id = halley_node_id(r->trace, node);
        r->next_id = id >= r->next_id ? id + 1 : r->next_id;
        for (uint32_t k = 0; k < halley_node_ctrl_count(r->trace, node); k++) {
            const halley_dep dep = halley_node_ctrl(r->trace, node, k);
            if (dep.index != HALLEY_NO_NODE)
                r->has_child[dep.index] = true;
        }
        for (uint32_t k = 0; keep[node] && k < halley_node_data_count(r->trace, node);
             k++) {
            const halley_dep dep = halley_node_data(r->trace, node, k);
            if (dep.index != HALLEY_NO_NODE)
                r->is_used[dep.index] = true;
        }
    }
}

halley_status slice_release_init(slice_release *r, const halley_trace *trace,
                                 uint8_t *keep, uint64_t origin_ns, halley_error *err)
{
    *r = (slice_release){.trace = trace, .origin_ns = origin_ns};
    if (origin_ns == UINT64_MAX)
        return HALLEY_OK;
    r->n = halley_trace_count(trace);
    r->wait_ns = mem_array_zero(r->n, sizeof *r->wait_ns);
    r->is_lag = mem_array_zero(r->n, sizeof *r->is_lag);
    r->is_used = mem_array_zero(r->n, sizeof *r->is_used);
    r->has_child = mem_array_zero(r->n, sizeof *r->has_child);
    if (r->wait_ns == NULL || r->is_lag == NULL || r->is_used == NULL ||
        r->has_child == NULL)
        return error_nomem(err);
    describe_nodes(r, keep);
    drop_lags(r, keep);
    mark_releases(r, keep);
    return HALLEY_OK;
}

void slice_release_fini(slice_release *r)
{
    free(r->wait_ns);
    free(r->is_lag);
    free(r->is_used);
    free(r->has_child);
}

halley_status slice_release_depend(slice_release *r, halley_builder *b, uint32_t node)
{
    if (r->n == 0 || r->wait_ns[node] == 0)
        return HALLEY_OK;
    assert(node < r->n && !r->is_lag[node]);
    return halley_builder_data(b, r->next_id + r->n_released++);
}

static halley_status add_release(halley_builder *b, uint64_t id, uint64_t wait_ns)
{
    static const char name[] = "recorded start";
    TRY(halley_builder_node(b, id, HALLEY_NODE_COMP,
                            (halley_bytes){name, sizeof name - 1}));
    TRY(halley_builder_time(b, 0, (wait_ns + 500) / 1000));
    TRY(halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, true));
    TRY(halley_builder_attr_bool(b, HALLEY_ATTR_NAME_FREE_LANE, true));
    return halley_builder_attr_u64(b, HALLEY_ATTR_NAME_DURATION_NS, wait_ns);
}

halley_status slice_release_add(const slice_release *r, halley_builder *b)
{
    uint64_t id = r->next_id;
    for (uint32_t node = 0; node < r->n; node++)
        if (r->wait_ns[node] > 0)
            TRY(add_release(b, id++, r->wait_ns[node]));
    assert(id == r->next_id + r->n_released);
    return HALLEY_OK;
}
