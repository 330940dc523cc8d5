/*
 * hw/graph/cut.c - the maximum flow between two sets of endpoints (Dinic 1970), which
 * equals the capacity of the minimum cut between them.
 *
 * All endpoints of one side become one node, because sources are unlimited and any device
 * may forward. Cables become pairs of arcs in opposite directions. Arcs between the same
 * nodes are added up. Capacities are integers in kb/s, or in Mb/s for imported graphs.
 */
#include "hw/graph/measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cut_arc {
    uint32_t to, back; /* node; index of the reverse arc */
    int64_t rest;      /* residual capacity */
} cut_arc;

typedef struct cut_network {
    uint32_t n;        /* nodes; 0 is the source, 1 the sink */
    uint32_t *node_of; /* by device */
    uint32_t *first;   /* n + 1 */
    cut_arc *arcs;
    uint32_t *level, *next, *queue, *path;
    int64_t unlimited;
    double unit_Bps; /* of capacities */
} cut_network;

enum { SOURCE, SINK };

/* A pair of nodes with the capacities of both directions, before arcs are made. */
typedef struct cut_pair {
    uint32_t a, b;    /* a < b */
    int64_t up, down; /* a to b, b to a */
} cut_pair;

static int compare_pairs(const void *x, const void *y)
{
    const cut_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static int64_t add_capacity(int64_t a, int64_t b, int64_t most)
{
    return a > most - b ? most : a + b;
}

static int64_t capacity_of(const cut_network *c, double bw_Bps)
{
    return bw_Bps == HW_UNKNOWN ? c->unlimited
                                : llround(fmin(bw_Bps / c->unit_Bps, 1e15));
}

/* Convert links to pairs of nodes, in order, each pair once. */
static uint32_t collect_pairs(cut_pair *pairs, const cut_network *c, const hw_graph *g)
{
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < g->n_links; i++) {
        const uint32_t a = c->node_of[g->link_from[i]], b = c->node_of[g->link_to[i]];
        const int64_t capacity = capacity_of(c, g->link_Bps[i]);
        if (a == b || capacity == 0)
            continue;
        pairs[n++] =
            a < b ? (cut_pair){a, b, capacity, 0} : (cut_pair){b, a, 0, capacity};
    }
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && compare_pairs(&pairs[kept - 1], &pairs[i]) == 0) {
            cut_pair *to = &pairs[kept - 1];
            to->up = add_capacity(to->up, pairs[i].up, c->unlimited);
            to->down = add_capacity(to->down, pairs[i].down, c->unlimited);
        } else {
            pairs[kept++] = pairs[i];
        }
    }
    return kept;
}

static void write_arcs(cut_network *c, const cut_pair *pairs, uint32_t n)
{
    memset(c->first, 0, ((size_t)c->n + 1) * sizeof *c->first);
    for (uint32_t i = 0; i < n; i++) {
        c->first[pairs[i].a + 1]++;
        c->first[pairs[i].b + 1]++;
    }
    for (uint32_t i = 0; i < c->n; i++)
        c->first[i + 1] += c->first[i];
    memcpy(c->next, c->first, c->n * sizeof *c->next);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t up = c->next[pairs[i].a]++, down = c->next[pairs[i].b]++;
        c->arcs[up] = (cut_arc){pairs[i].b, down, pairs[i].up};
        c->arcs[down] = (cut_arc){pairs[i].a, up, pairs[i].down};
    }
}

/* Find levels by breadth-first search; false if the sink cannot be reached. */
static bool find_levels(cut_network *c)
{
    uint32_t n = 0;
    memset(c->level, 0, c->n * sizeof *c->level);
    c->level[SOURCE] = 1;
    c->queue[n++] = SOURCE;
    for (uint32_t i = 0; i < n && c->level[SINK] == 0; i++) {
        const uint32_t x = c->queue[i];
        for (uint32_t k = c->first[x]; k < c->first[x + 1]; k++)
            if (c->arcs[k].rest > 0 && c->level[c->arcs[k].to] == 0) {
                c->level[c->arcs[k].to] = c->level[x] + 1;
                c->queue[n++] = c->arcs[k].to;
            }
    }
    memcpy(c->next, c->first, c->n * sizeof *c->next);
    return c->level[SINK] > 0;
}

static bool find_arc(cut_network *c, uint32_t x)
{
    for (; c->next[x] < c->first[x + 1]; c->next[x]++) {
        const cut_arc *arc = &c->arcs[c->next[x]];
        if (arc->rest > 0 && c->level[arc->to] == c->level[x] + 1)
            return true;
    }
    return false;
}

/* Push as much as the path allows. The walk continues at the first arc that is now
 * full. */
static int64_t push_path(cut_network *c, uint32_t *n)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < *n; i++) {
        const int64_t rest = c->arcs[c->next[c->path[i]]].rest;
        least = rest < least ? rest : least;
    }
    uint32_t full = *n;
    for (uint32_t i = *n; i-- > 0;) {
        cut_arc *arc = &c->arcs[c->next[c->path[i]]];
        arc->rest -= least;
        c->arcs[arc->back].rest += least;
        if (arc->rest == 0)
            full = i;
    }
    assert(full < *n && least > 0);
    *n = full;
    return least;
}

static int64_t push_level_flow(cut_network *c)
{
    int64_t flow = 0;
    uint32_t n = 0, x = SOURCE;
    for (;;) {
        if (x == SINK) {
            flow += push_path(c, &n);
            x = c->path[n];
        } else if (find_arc(c, x)) {
            c->path[n++] = x;
            x = c->arcs[c->next[x]].to;
        } else if (n == 0) {
            return flow;
        } else {
            x = c->path[--n];
            c->next[x]++;
        }
    }
}

static void number_nodes(cut_network *c, const hw_graph *g, const hw_endpoints *ends,
                         const bool *side)
{
    memset(c->node_of, 0xff, g->n_devices * sizeof *c->node_of);
    for (uint32_t i = 0; i < ends->n; i++)
        c->node_of[ends->at[i]] = side[i] ? SOURCE : SINK;
    c->n = 2;
    for (uint32_t i = 0; i < g->n_devices; i++)
        if (c->node_of[i] == UINT32_MAX)
            c->node_of[i] = c->n++;
}

static void free_cut(cut_network *c)
{
    free(c->node_of);
    free(c->first);
    free(c->arcs);
    free(c->level);
    free(c->next);
    free(c->queue);
    free(c->path);
}

static bool init_cut(cut_network *c, const hw_graph *g)
{
    const size_t n = (size_t)g->n_devices + 3;
    c->unlimited = INT64_MAX / 8;
    c->unit_Bps = g->is_imported ? 125e3 : 125;
    c->node_of = mem_array(n, sizeof *c->node_of);
    c->first = mem_array(n, sizeof *c->first);
    c->arcs = mem_array((size_t)g->n_links * 2 + 1, sizeof *c->arcs);
    c->level = mem_array(n, sizeof *c->level);
    c->next = mem_array(n, sizeof *c->next);
    c->queue = mem_array(n, sizeof *c->queue);
    c->path = mem_array(n, sizeof *c->path);
    return c->node_of != NULL && c->first != NULL && c->arcs != NULL &&
           c->level != NULL && c->next != NULL && c->queue != NULL && c->path != NULL;
}

static double find_cut_flow(cut_network *c, const cut_pair *pairs, uint32_t n)
{
    int64_t flow = 0;
    write_arcs(c, pairs, n);
    while (flow < c->unlimited && find_levels(c))
        flow = add_capacity(flow, push_level_flow(c), c->unlimited);
    return flow >= c->unlimited ? HW_UNKNOWN : (double)flow * c->unit_Bps;
}

static void swap_directions(cut_pair *pairs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const int64_t up = pairs[i].up;
        pairs[i].up = pairs[i].down;
        pairs[i].down = up;
    }
}

static double lesser_flow(double a, double b)
{
    if (a == HW_UNKNOWN || b == HW_UNKNOWN)
        return a == HW_UNKNOWN ? b : a;
    return fmin(a, b);
}

/*
 * The maximum flow, in B/s in one direction, from the endpoints with side[i] to the
 * others. It equals the capacity of the minimum cut. Links of unknown rate are unlimited;
 * if they leave the flow unlimited, HW_UNKNOWN is returned. Capacities are rounded to 1
 * kb/s. With one-way links, the result is the smaller of both directions.
 */
static halley_status measure_cut(double *out, const hw_graph *graph,
                                 const hw_endpoints *ends, const bool *side,
                                 halley_error *err)
{
    cut_network c = {0};
    cut_pair *pairs = mem_array((size_t)graph->n_links + 1, sizeof *pairs);
    const bool has_memory = pairs != NULL && init_cut(&c, graph);
    if (has_memory) {
        number_nodes(&c, graph, ends, side);
        const uint32_t n = collect_pairs(pairs, &c, graph);
        *out = find_cut_flow(&c, pairs, n);
        if (graph->n_links > 2 * graph->n_cables) {
            swap_directions(pairs, n);
            *out = lesser_flow(*out, find_cut_flow(&c, pairs, n));
        }
    }
    free(pairs);
    free_cut(&c);
    return has_memory ? HALLEY_OK : error_nomem(err);
}

halley_status hw_graph_half_cut(double *out, const hw_graph *graph,
                                const hw_endpoints *ends, halley_error *err)
{
    bool *side = mem_array_zero(ends->n, sizeof *side);
    if (side == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < ends->n / 2; i++)
        side[i] = true;
    const halley_status status = measure_cut(out, graph, ends, side, err);
    free(side);
    return status;
}

halley_status hw_graph_min_bisection(double *out, const hw_graph *graph,
                                     const hw_endpoints *ends, halley_error *err)
{
    assert(ends->n % 2 == 0 && ends->n >= 2 && ends->n <= HW_EXACT_ENDPOINTS);
    double least = HW_UNKNOWN;
    for (uint32_t mask = 0; mask < 1U << (ends->n - 1); mask++) {
        bool side[HW_EXACT_ENDPOINTS];
        double flow = HW_UNKNOWN;
        if ((uint32_t)__builtin_popcount(mask) != ends->n / 2)
            continue;
        for (uint32_t i = 0; i < ends->n; i++)
            side[i] = (mask >> i & 1) != 0;
        TRY(measure_cut(&flow, graph, ends, side, err));
        least = lesser_flow(least, flow);
    }
    *out = least;
    return HALLEY_OK;
}
