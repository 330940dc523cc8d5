/*
 * Lags and replay.
 *
 * Among a node's predecessors, those that end last are binding: their lag is what was
 * recorded. For any other predecessor the true lag is unknown. It gets at most the median
 * of the binding lags of its type (from host or device, to host or device). So start(n) =
 * max(end(p) + lag(p, n)) is the recorded start, by induction.
 */
#include "recording/record/rebuild.h"

#include <stdlib.h>

/* Compare by begin, then end, then number. */
static int compare_places(const rec_graph *g, uint32_t i, uint32_t j)
{
    const int64_t begins[] = {rec_node_begin(g, i), rec_node_begin(g, j)};
    if (begins[0] != begins[1])
        return begins[0] < begins[1] ? -1 : 1;
    const int64_t ends[] = {rec_node_end(g, i), rec_node_end(g, j)};
    if (ends[0] != ends[1])
        return ends[0] < ends[1] ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int compare_edges(const void *a, const void *b)
{
    const rec_edge *const x = a, *const y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Drop duplicates, and edges among events of zero length that would form a cycle. */
static void drop_edges(rec_graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->edges.n; i++) {
        const rec_edge e = g->edges.at[i];
        const rec_edge *const last = kept > 0 ? &g->edges.at[kept - 1] : NULL;
        if (last != NULL && last->from == e.from && last->to == e.to)
            continue;
        if (compare_places(g, e.from, e.to) >= 0) {
            g->n_ties++;
            continue;
        }
        g->edges.at[kept++] = e;
    }
    g->edges.n = kept;
}

/* A gap that takes no time is replaced as a source by the piece that ended it. */
static void move_edges_off_gaps(rec_graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        rec_edge *const e = &g->edges.at[i];
        if (rec_node_get_kind(g, e->from) == REC_NODE_HANDED)
            e->from = g->owners.at[e->from];
    }
}

static void index_edges(rec_graph *g)
{
    move_edges_off_gaps(g);
    if (g->edges.n > 0)
        qsort(g->edges.at, g->edges.n, sizeof *g->edges.at, compare_edges);
    drop_edges(g);
}

size_t rec_find_edges(size_t *first, const rec_graph *g, uint32_t node)
{
    size_t low = 0, high = g->edges.n;
    *first = 0;
    if (node < g->n_pieces && (g->marks.at[node] & REC_MARK_EDGES) == 0)
        return 0;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (g->edges.at[mid].to < node)
            low = mid + 1;
        else
            high = mid;
    }
    *first = low;
    while (low < g->edges.n && g->edges.at[low].to == node)
        low++;
    return low;
}

int64_t rec_binding_end(const rec_graph *g, uint32_t i)
{
    const uint32_t before = rec_chain_before(g, i);
    int64_t end_ns = before == REC_NONE ? INT64_MIN : rec_node_end(g, before);
    size_t k;
    const size_t end = rec_find_edges(&k, g, i);
    for (; k < end; k++) {
        const int64_t other = rec_node_end(g, g->edges.at[k].from);
        end_ns = other > end_ns ? other : end_ns;
    }
    assert(end_ns <= rec_node_begin(g, i));
    return end_ns;
}

/* The binding lags of one type. Most are 0; these are only counted. */
typedef struct lag_list {
    ARRAY(int64_t) lags;
    uint64_t n_zeros;
} lag_list;

static size_t get_lag_kind(const rec_graph *g, uint32_t from, uint32_t to)
{
    return (rec_node_on_device(g, from) ? 2u : 0u) +
           (rec_node_on_device(g, to) ? 1u : 0u);
}

static bool add_lag(lag_list *list, int64_t lag_ns)
{
    assert(lag_ns >= 0);
    list->n_zeros += lag_ns == 0;
    return lag_ns == 0 || array_push(&list->lags, lag_ns);
}

/* Collect the binding lags of a node. */
static bool collect_lags(lag_list lists[4], const rec_graph *g, uint32_t i)
{
    const int64_t end_ns = rec_binding_end(g, i), begin_ns = rec_node_begin(g, i);
    const uint32_t before = rec_chain_before(g, i);
    bool ok = true;
    if (before != REC_NONE && rec_node_end(g, before) == end_ns)
        ok = add_lag(&lists[get_lag_kind(g, before, i)], begin_ns - end_ns);
    size_t k;
    const size_t end = rec_find_edges(&k, g, i);
    for (; ok && k < end; k++) {
        const uint32_t from = g->edges.at[k].from;
        if (rec_node_end(g, from) == end_ns)
            ok = add_lag(&lists[get_lag_kind(g, from, i)], begin_ns - end_ns);
    }
    return ok;
}

/* The median; INT64_MAX if there are none. */
static int64_t find_median(lag_list *list)
{
    const uint64_t n = list->n_zeros + list->lags.n, middle = n / 2;
    if (n == 0)
        return INT64_MAX;
    if (middle < list->n_zeros)
        return 0;
    mem_sort_i64(list->lags.at, list->lags.n);
    return list->lags.at[middle - list->n_zeros];
}

int64_t rec_find_lag(const rec_graph *g, uint32_t from, uint32_t to, int64_t binding_ns)
{
    const int64_t end_ns = rec_node_end(g, from);
    const int64_t recorded = rec_node_begin(g, to) - end_ns;
    const int64_t usual = g->usual_lag_ns[get_lag_kind(g, from, to)];
    assert(recorded >= 0);
    return end_ns == binding_ns || recorded < usual ? recorded : usual;
}

static void find_window(rec_graph *g)
{
    g->from_ns = INT64_MAX;
    g->to_ns = INT64_MIN;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const rec_node n = rec_node_get(g, i);
        /* A piece that waits begins later than its call, so the begin of the call is
         * used. */
        const int64_t begin = n.waits && n.kind == REC_NODE_RUN
                                  ? g->rec->hosts.at[n.owner].begin_ns
                                  : n.begin_ns;
        g->from_ns = begin < g->from_ns ? begin : g->from_ns;
        g->to_ns = n.end_ns > g->to_ns ? n.end_ns : g->to_ns;
    }
    if (g->n_nodes == 0)
        g->from_ns = g->to_ns = 0;
}

static bool set_lags(rec_graph *g)
{
    lag_list lists[4] = {0};
    bool ok = true;
    index_edges(g);
    for (uint32_t i = 0; ok && i < g->n_nodes; i++)
        if (rec_node_get_kind(g, i) != REC_NODE_HANDED)
            ok = collect_lags(lists, g, i);
    for (size_t i = 0; i < 4; i++) {
        if (ok)
            g->usual_lag_ns[i] = find_median(&lists[i]);
        array_fini(&lists[i].lags);
    }
    find_window(g);
    return ok;
}

/* When a node can start, given the end of every other node; NULL = the recorded ends. */
static int64_t find_start(const rec_graph *g, const int64_t *end_ns, uint32_t i)
{
    const uint32_t before = rec_chain_before(g, i);
    size_t k;
    const size_t end = rec_find_edges(&k, g, i);
    if (before == REC_NONE && k == end)
        return rec_node_begin(g, i); /* released at its recorded time */
    const int64_t binding_ns = rec_binding_end(g, i);
    int64_t start = INT64_MIN;
    if (before != REC_NONE)
        start = (end_ns != NULL ? end_ns[before] : rec_node_end(g, before)) +
                rec_find_lag(g, before, i, binding_ns);
    for (; k < end; k++) {
        const uint32_t from = g->edges.at[k].from;
        const int64_t other = (end_ns != NULL ? end_ns[from] : rec_node_end(g, from)) +
                              rec_find_lag(g, from, i, binding_ns);
        start = other > start ? other : start;
    }
    return start;
}

int64_t rec_replay_scaled(const rec_graph *g, double device, double host, bool *ok)
{
    int64_t *const end_ns = mem_array(g->n_nodes, sizeof *end_ns);
    int64_t last = g->from_ns;
    rec_walk walk = {0};
    *ok = end_ns != NULL && rec_walk_init(&walk, g);
    for (uint32_t i; *ok && (i = rec_walk_next(&walk)) != REC_NONE;) {
        if (rec_node_get_kind(g, i) == REC_NODE_HANDED)
            continue;
        const double factor = rec_node_on_device(g, i) ? device : host;
        const int64_t length_ns = rec_node_end(g, i) - rec_node_begin(g, i);
        end_ns[i] = find_start(g, end_ns, i) + (int64_t)((double)length_ns * factor);
        last = end_ns[i] > last ? end_ns[i] : last;
    }
    rec_walk_fini(&walk);
    free(end_ns);
    return last - g->from_ns;
}

/* Check each node with the recorded ends of its predecessors. By induction, if each then
 * starts as recorded, the whole replay does. So replayed times need not be stored. */
static void replay_rebuilt(rec_graph *g)
{
    int64_t last = g->from_ns;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (rec_node_get_kind(g, i) == REC_NODE_HANDED)
            continue;
        const int64_t error = llabs(find_start(g, NULL, i) - rec_node_begin(g, i));
        g->replay_error_ns = error > g->replay_error_ns ? error : g->replay_error_ns;
        const int64_t end_ns = rec_node_end(g, i);
        last = end_ns > last ? end_ns : last;
    }
    g->replayed_ns = last - g->from_ns;
}

halley_status rec_rebuild(rec_graph *g, const record *rec, halley_error *err)
{
    *g = (rec_graph){.rec = rec};
    const bool ok = rec_cut_threads(g) && rec_add_devices(g) &&
                    rec_add_stream_events(g) && rec_add_waits(g) &&
                    rec_add_hand_overs(g) && rec_add_backward(g);
    if (!ok || !set_lags(g))
        return error_nomem(err);
    replay_rebuilt(g);
    assert(g->replay_error_ns == 0);
    return HALLEY_OK;
}

void rec_graph_fini(rec_graph *g)
{
    array_fini(&g->owners);
    array_fini(&g->marks);
    array_fini(&g->waits);
    array_fini(&g->edges);
    map64_fini(&g->wait_of);
    free(g->piece_at);
    free(g->overlaps);
    free(g->node_of_host);
}
