/*
 * sim/path.c - the critical path: from the node that ended last, back to what it waited
 * for. A receive waited for its send if that began later; a collective for the member
 * that came last; any node for the last of its dependencies, or, when those had all ended
 * before, for the node that ended on its rank at that moment and made room.
 */
#include "base/hash.h"
#include "sim/result.h"

typedef ARRAY(halley_path_step) steps;

typedef struct walker {
    const halley_result *result;
    const halley_trace_set *traces;
    uint32_t **by_end; /* by rank: nodes by when they ended, made when first asked for */
    map64 last;        /* stream -> index in lasts */
    ARRAY(uint64_t) lasts; /* rank << 32 | node that came last to a stream */
    steps path;
} walker;

static uint64_t begin_of(const walker *w, uint32_t rank, uint32_t node)
{
    return w->result->nodes[rank][node];
}

static uint64_t end_of(const walker *w, uint32_t rank, uint32_t node)
{
    return w->result->nodes[rank][w->result->n_nodes[rank] + node];
}

static uint64_t link_of(const walker *w, uint32_t rank, uint32_t node)
{
    return w->result->nodes[rank][2 * (size_t)w->result->n_nodes[rank] + node];
}

static const halley_trace *get_trace(const walker *w, uint32_t rank)
{
    return halley_trace_set_get(w->traces, w->result->npus[rank]);
}

static bool is_collective(const walker *w, uint32_t rank, uint32_t node)
{
    return halley_node_type_of(get_trace(w, rank), node) == HALLEY_NODE_COLL;
}

/* Who came last to every collective. */
static bool find_lasts(walker *w)
{
    for (uint32_t rank = 0; rank < w->result->n_run; rank++) {
        for (uint32_t i = 0; i < w->result->n_nodes[rank]; i++) {
            const uint64_t link = link_of(w, rank, i);
            uint32_t at = (uint32_t)w->lasts.n;
            bool fresh;
            if (link == 0 || !is_collective(w, rank, i))
                continue;
            if (!map64_put(&w->last, link, &at, &fresh))
                return false;
            const uint64_t here = (uint64_t)rank << 32 | i;
            if (fresh && !array_push(&w->lasts, here))
                return false;
            const uint64_t there = w->lasts.at[at];
            if (begin_of(w, rank, i) >
                begin_of(w, (uint32_t)(there >> 32), (uint32_t)there))
                w->lasts.at[at] = here;
        }
    }
    return true;
}

typedef struct by_end {
    const walker *w;
    uint32_t rank;
} by_end;

static int ends_before(const void *a, const void *b, void *context)
{
    const by_end *by = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const uint64_t x = end_of(by->w, by->rank, i), y = end_of(by->w, by->rank, k);
    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : i > k;
}

static const uint32_t *nodes_by_end(walker *w, uint32_t rank)
{
    if (w->by_end[rank] != NULL)
        return w->by_end[rank];
    const uint32_t n = w->result->n_nodes[rank];
    uint32_t *order = mem_array(n, sizeof *order);
    by_end by = {w, rank};
    for (uint32_t i = 0; order != NULL && i < n; i++)
        order[i] = i;
    if (order != NULL)
        qsort_r(order, n, sizeof *order, ends_before, &by);
    w->by_end[rank] = order;
    return order;
}

/* A node of the rank that ended at that time and began before it, or HALLEY_NO_NODE. */
static bool find_ended_at(uint32_t *out, walker *w, uint32_t rank, uint64_t at)
{
    const uint32_t *order = nodes_by_end(w, rank);
    uint32_t lo = 0, hi = w->result->n_nodes[rank];
    *out = HALLEY_NO_NODE;
    if (order == NULL)
        return false;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (end_of(w, rank, order[middle]) < at)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (; lo < w->result->n_nodes[rank] && end_of(w, rank, order[lo]) == at; lo++) {
        if (begin_of(w, rank, order[lo]) < at) {
            *out = order[lo];
            break;
        }
    }
    return true;
}

/* The dependency that ended last, if it ended just when the node began. */
static uint32_t last_dependency(const walker *w, uint32_t rank, uint32_t node)
{
    const halley_trace *t = get_trace(w, rank);
    const uint32_t n_data = halley_node_data_count(t, node);
    const uint32_t n = n_data + halley_node_ctrl_count(t, node);
    for (uint32_t i = 0; i < n; i++) {
        const halley_dep dep = i < n_data ? halley_node_data(t, node, i)
                                          : halley_node_ctrl(t, node, i - n_data);
        if (dep.index != HALLEY_NO_NODE &&
            end_of(w, rank, dep.index) == begin_of(w, rank, node))
            return dep.index;
    }
    return HALLEY_NO_NODE;
}

/* What held a node up from another rank, if that was later than its own begin. */
static bool find_other(const walker *w, uint32_t *rank, uint32_t *node, halley_why *why)
{
    const uint64_t link = link_of(w, *rank, *node);
    if (link == 0)
        return false;
    const bool coll = is_collective(w, *rank, *node);
    const uint64_t other = coll ? w->lasts.at[map64_find(&w->last, link)] : link - 1;
    const uint32_t other_rank = (uint32_t)(other >> 32), other_node = (uint32_t)other;
    if (begin_of(w, other_rank, other_node) <= begin_of(w, *rank, *node))
        return false;
    assert(other_rank < w->result->n_run);
    *rank = other_rank;
    *node = other_node;
    *why = coll ? HALLEY_WHY_MEMBER : HALLEY_WHY_MESSAGE;
    return true;
}

static halley_status walk_back(walker *w, uint32_t rank, uint32_t node, halley_error *err)
{
    uint64_t end = end_of(w, rank, node);
    halley_why why = HALLEY_WHY_START;
    for (;;) {
        const uint32_t was_rank = rank, was_node = node;
        uint32_t before;
        if (find_other(w, &rank, &node, &why)) {
            /* This step is what passed since the other began. */
            const uint64_t begin = begin_of(w, rank, node);
            if (!array_push(&w->path,
                            (halley_path_step){was_rank, was_node, begin, end, why}))
                return error_nomem(err);
            end = begin;
            if (why == HALLEY_WHY_MESSAGE) /* the send's own time has been counted */
                continue;
        }
        const uint64_t begin = begin_of(w, rank, node);
        before = last_dependency(w, rank, node);
        why = before == HALLEY_NO_NODE ? HALLEY_WHY_ROOM : HALLEY_WHY_DEPENDS;
        if (before == HALLEY_NO_NODE && !find_ended_at(&before, w, rank, begin))
            return error_nomem(err);
        if (before == HALLEY_NO_NODE || begin == 0)
            why = HALLEY_WHY_START;
        if (end > begin &&
            !array_push(&w->path, (halley_path_step){rank, node, begin, end, why}))
            return error_nomem(err);
        if (why == HALLEY_WHY_START)
            return HALLEY_OK;
        node = before;
        end = begin;
    }
}

static void last_node(const walker *w, uint32_t *rank, uint32_t *node)
{
    uint64_t most = 0;
    *rank = *node = 0;
    for (uint32_t r = 0; r < w->result->n_run; r++) {
        for (uint32_t i = 0; i < w->result->n_nodes[r]; i++) {
            const uint64_t end = end_of(w, r, i);
            if (end != UINT64_MAX && end > most) {
                most = end;
                *rank = r;
                *node = i;
            }
        }
    }
}

static halley_status find_path(walker *w, halley_error *err)
{
    uint32_t rank, node;
    w->by_end = mem_array_zero(w->result->n_run, sizeof *w->by_end);
    if (w->by_end == NULL || !find_lasts(w))
        return error_nomem(err);
    last_node(w, &rank, &node);
    TRY(walk_back(w, rank, node, err));
    for (size_t i = 0; i < w->path.n; i++) /* who was run for others, by its own number */
        w->path.at[i].rank = w->result->npus[w->path.at[i].rank];
    for (size_t i = 0, k = w->path.n; i + 1 < k; i++, k--) {
        const halley_path_step swapped = w->path.at[i];
        w->path.at[i] = w->path.at[k - 1];
        w->path.at[k - 1] = swapped;
    }
    return HALLEY_OK;
}

halley_status halley_result_path(halley_path_step **out, size_t *n,
                                 const halley_result *result,
                                 const halley_trace_set *traces, halley_error *err)
{
    if (result->n_ranks == 0 || result->nodes[0] == NULL)
        return error_set(err, HALLEY_EINVAL, "the run has not recorded its nodes");
    walker w = {.result = result, .traces = traces};
    const halley_status status = find_path(&w, err);
    for (uint32_t i = 0; w.by_end != NULL && i < result->n_run; i++)
        free(w.by_end[i]);
    free(w.by_end);
    map64_fini(&w.last);
    array_fini(&w.lasts);
    if (status != HALLEY_OK) {
        array_fini(&w.path);
        return status;
    }
    *out = w.path.at;
    *n = w.path.n;
    return HALLEY_OK;
}
