/*
 * Lags and replay. Of a node's predecessors the ones that end last bind: their lag is
 * what was recorded. Any other gets at most the median of the binding lags of its kind
 * (host or device, to host or device), because how long it could have taken is not
 * known. So start(n) = max(end(p) + lag(p, n)) is the recorded start, by induction.
 */
#include "ingest/record/rebuild.h"

#include <stdlib.h>

static int compare_places(const void *a, const void *b, void *context)
{
    const rec_node *const nodes = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (nodes[i].begin_ns != nodes[j].begin_ns)
        return nodes[i].begin_ns < nodes[j].begin_ns ? -1 : 1;
    if (nodes[i].end_ns != nodes[j].end_ns)
        return nodes[i].end_ns < nodes[j].end_ns ? -1 : 1;
    return i < j ? -1 : i > j;
}

static bool order_nodes_in_time(rec_graph *g)
{
    g->order = mem_array(g->nodes.n, sizeof *g->order);
    for (uint32_t i = 0; g->order != NULL && i < g->nodes.n; i++)
        g->order[i] = i;
    if (g->order != NULL)
        qsort_r(g->order, g->nodes.n, sizeof *g->order, compare_places, g->nodes.at);
    return g->order != NULL;
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

/* Leave out doubles, and edges among events of no length that would go in a circle. */
static void drop_edges(rec_graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->edges.n; i++) {
        const rec_edge e = g->edges.at[i];
        const rec_edge *const last = kept > 0 ? &g->edges.at[kept - 1] : NULL;
        if (last != NULL && last->from == e.from && last->to == e.to)
            continue;
        if (compare_places(&e.from, &e.to, g->nodes.at) >= 0) {
            g->n_ties++;
            continue;
        }
        g->edges.at[kept++] = e;
    }
    g->edges.n = kept;
}

/* What was launched right after a gap that takes no time depends on who ended the gap. */
static void move_edges_off_gaps(rec_graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        const rec_node *const from = &g->nodes.at[g->edges.at[i].from];
        if (from->kind == REC_NODE_HANDED)
            g->edges.at[i].from = from->owner;
    }
}

static bool index_edges(rec_graph *g)
{
    move_edges_off_gaps(g);
    if (g->edges.n > 0)
        qsort(g->edges.at, g->edges.n, sizeof *g->edges.at, compare_edges);
    drop_edges(g);
    g->edge_at = mem_array_zero(g->nodes.n + 1, sizeof *g->edge_at);
    g->chain_lag_ns = mem_array_zero(g->nodes.n, sizeof *g->chain_lag_ns);
    if (g->edge_at == NULL || g->chain_lag_ns == NULL)
        return false;
    for (size_t i = 0; i < g->edges.n; i++)
        g->edge_at[g->edges.at[i].to + 1]++;
    for (size_t i = 0; i < g->nodes.n; i++)
        g->edge_at[i + 1] += g->edge_at[i];
    return true;
}

/* When the last predecessor of a node ends; INT64_MIN = it has none. */
static int64_t find_binding_end(const rec_graph *g, uint32_t i)
{
    const uint32_t before = rec_chain_before(g, i);
    int64_t end_ns = before == REC_NONE ? INT64_MIN : g->nodes.at[before].end_ns;
    for (uint32_t k = g->edge_at[i]; k < g->edge_at[i + 1]; k++) {
        const int64_t other = g->nodes.at[g->edges.at[k].from].end_ns;
        end_ns = other > end_ns ? other : end_ns;
    }
    assert(end_ns <= g->nodes.at[i].begin_ns);
    return end_ns;
}

typedef ARRAY(int64_t) lag_list;
typedef struct lag_finder {
    rec_graph *g;
    lag_list lists[4]; /* by kind: from device, to device */
    int64_t median_ns[4];
} lag_finder;

static size_t lag_kind(const rec_graph *g, uint32_t from, uint32_t to)
{
    return (rec_node_on_device(&g->nodes.at[from]) ? 2u : 0u) +
           (rec_node_on_device(&g->nodes.at[to]) ? 1u : 0u);
}

/* Collect the binding lags of a node. */
static bool collect_lags(lag_finder *f, uint32_t i)
{
    const rec_graph *const g = f->g;
    const int64_t end_ns = find_binding_end(g, i), begin_ns = g->nodes.at[i].begin_ns;
    const uint32_t before = rec_chain_before(g, i);
    bool ok = true;
    if (before != REC_NONE && g->nodes.at[before].end_ns == end_ns)
        ok = array_push(&f->lists[lag_kind(g, before, i)], begin_ns - end_ns);
    for (uint32_t k = g->edge_at[i]; ok && k < g->edge_at[i + 1]; k++) {
        const uint32_t from = g->edges.at[k].from;
        if (g->nodes.at[from].end_ns == end_ns)
            ok = array_push(&f->lists[lag_kind(g, from, i)], begin_ns - end_ns);
    }
    return ok;
}

static int compare_lags(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void find_medians(lag_finder *f)
{
    for (size_t i = 0; i < 4; i++) {
        lag_list *const list = &f->lists[i];
        if (list->n > 0)
            qsort(list->at, list->n, sizeof *list->at, compare_lags);
        f->median_ns[i] = list->n > 0 ? list->at[list->n / 2] : INT64_MAX;
    }
}

static int64_t choose_lag(const lag_finder *f, uint32_t from, uint32_t to, int64_t end_ns)
{
    const rec_graph *const g = f->g;
    const int64_t recorded = g->nodes.at[to].begin_ns - g->nodes.at[from].end_ns;
    const int64_t usual = f->median_ns[lag_kind(g, from, to)];
    assert(recorded >= 0);
    if (g->nodes.at[from].end_ns == end_ns)
        return recorded;
    return recorded < usual ? recorded : usual;
}

static void set_node_lags(lag_finder *f, uint32_t i)
{
    rec_graph *const g = f->g;
    const int64_t end_ns = find_binding_end(g, i);
    const uint32_t before = rec_chain_before(g, i);
    if (before != REC_NONE)
        g->chain_lag_ns[i] = choose_lag(f, before, i, end_ns);
    for (uint32_t k = g->edge_at[i]; k < g->edge_at[i + 1]; k++)
        g->edges.at[k].lag_ns = choose_lag(f, g->edges.at[k].from, i, end_ns);
}

static void find_window(rec_graph *g)
{
    g->from_ns = INT64_MAX;
    g->to_ns = INT64_MIN;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const rec_node *const n = &g->nodes.at[i];
        /* A piece that waits begins later than its call did; its call's begin counts. */
        const int64_t begin = n->waits && n->kind == REC_NODE_RUN
                                  ? g->rec->hosts.at[n->owner].begin_ns
                                  : n->begin_ns;
        g->from_ns = begin < g->from_ns ? begin : g->from_ns;
        g->to_ns = n->end_ns > g->to_ns ? n->end_ns : g->to_ns;
    }
    if (g->nodes.n == 0)
        g->from_ns = g->to_ns = 0;
}

bool rec_set_lags(rec_graph *g)
{
    lag_finder f = {.g = g};
    bool ok = order_nodes_in_time(g) && index_edges(g);
    for (uint32_t i = 0; ok && i < g->nodes.n; i++)
        if (g->nodes.at[i].kind != REC_NODE_HANDED)
            ok = collect_lags(&f, i);
    if (ok) {
        find_medians(&f);
        for (uint32_t i = 0; i < g->nodes.n; i++)
            if (g->nodes.at[i].kind != REC_NODE_HANDED)
                set_node_lags(&f, i);
        find_window(g);
    }
    for (size_t i = 0; i < 4; i++)
        array_fini(&f.lists[i]);
    return ok;
}

/* When a node can start, given when the others end. */
static int64_t find_start(const rec_graph *g, const int64_t *end_ns, uint32_t i)
{
    const uint32_t before = rec_chain_before(g, i);
    if (before == REC_NONE && g->edge_at[i] == g->edge_at[i + 1])
        return g->nodes.at[i].begin_ns; /* released at its recorded time */
    int64_t start = before == REC_NONE ? INT64_MIN : end_ns[before] + g->chain_lag_ns[i];
    for (uint32_t k = g->edge_at[i]; k < g->edge_at[i + 1]; k++) {
        const int64_t other = end_ns[g->edges.at[k].from] + g->edges.at[k].lag_ns;
        start = other > start ? other : start;
    }
    return start;
}

int64_t rec_replay_scaled(const rec_graph *g, double device, double host, bool *ok)
{
    int64_t *const end_ns = mem_array(g->nodes.n, sizeof *end_ns);
    int64_t last = g->from_ns;
    *ok = end_ns != NULL;
    for (size_t k = 0; *ok && k < g->nodes.n; k++) {
        const uint32_t i = g->order[k];
        const rec_node *const n = &g->nodes.at[i];
        if (n->kind == REC_NODE_HANDED)
            continue;
        const double factor = rec_node_on_device(n) ? device : host;
        const int64_t start = find_start(g, end_ns, i);
        end_ns[i] = start + (int64_t)((double)(n->end_ns - n->begin_ns) * factor);
        last = end_ns[i] > last ? end_ns[i] : last;
    }
    free(end_ns);
    return last - g->from_ns;
}

void rec_replay(rec_graph *g)
{
    int64_t *const end_ns = mem_array(g->nodes.n, sizeof *end_ns);
    int64_t last = g->from_ns;
    for (size_t k = 0; end_ns != NULL && k < g->nodes.n; k++) {
        const uint32_t i = g->order[k];
        const rec_node *const n = &g->nodes.at[i];
        if (n->kind == REC_NODE_HANDED)
            continue;
        const int64_t start = find_start(g, end_ns, i);
        const int64_t error =
            start > n->begin_ns ? start - n->begin_ns : n->begin_ns - start;
        g->replay_error_ns = error > g->replay_error_ns ? error : g->replay_error_ns;
        end_ns[i] = start + n->end_ns - n->begin_ns;
        last = end_ns[i] > last ? end_ns[i] : last;
    }
    g->replayed_ns = last - g->from_ns;
    free(end_ns);
}

halley_status rec_rebuild(rec_graph *g, const record *rec, halley_error *err)
{
    *g = (rec_graph){.rec = rec};
    const bool ok = rec_cut_threads(g) && rec_add_devices(g) &&
                    rec_add_stream_events(g) && rec_add_waits(g) &&
                    rec_add_hand_overs(g) && rec_add_backward(g);
    if (!ok || g->nodes.n >= REC_NONE || g->edges.n >= REC_NONE || !rec_set_lags(g))
        return error_nomem(err);
    rec_replay(g);
    assert(g->replay_error_ns == 0);
    return HALLEY_OK;
}

void rec_graph_fini(rec_graph *g)
{
    array_fini(&g->nodes);
    array_fini(&g->edges);
    free(g->edge_at);
    free(g->chain_lag_ns);
    free(g->node_of_host);
    free(g->node_of_work);
    free(g->order);
}
