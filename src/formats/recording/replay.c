/*
 * Replay of the linked graph: its longest path when every node takes its duration and
 * starts as soon as all its predecessors have ended. Sorted by their place in time, nodes
 * come after their predecessors, so one pass is enough.
 *
 * The replayed time is the sum of durations along that path. The recorded time is the sum
 * of the steps from one recorded start to the next along it. The difference between the
 * two is what the steps have beyond the durations; it is reported by cause.
 */
#include "recording/link.h"

#include <stdlib.h>

typedef struct place {
    int64_t at_ns;
    uint32_t order, node;
} place;

static int compare_replayed(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static place *sort_replay_nodes(const link_graph *g)
{
    place *const places = mem_array(g->nodes.n, sizeof *places);
    for (uint32_t i = 0; places && i < g->nodes.n; i++)
        places[i] = (place){g->nodes.at[i].at_ns, g->nodes.at[i].order, i};
    if (places)
        qsort(places, g->nodes.n, sizeof *places, compare_replayed);
    return places;
}

/* Sort edges by source: those of node i are at[i] … at[i + 1]. */
static bool sort_replay_edges(uint32_t **at, uint32_t **to, const link_graph *g)
{
    *at = mem_array_zero(g->nodes.n + 2, sizeof **at);
    *to = mem_array(g->edges.n, sizeof **to);
    if (!*at || !*to)
        return false;
    for (size_t i = 0; i < g->edges.n; i++)
        (*at)[g->edges.at[i].from + 2]++;
    for (size_t i = 1; i <= g->nodes.n; i++)
        (*at)[i + 1] += (*at)[i];
    for (size_t i = 0; i < g->edges.n; i++)
        (*to)[(*at)[g->edges.at[i].from + 1]++] = g->edges.at[i].to;
    return true;
}

typedef struct replay {
    link_graph *g;
    int64_t *ready_ns; /* by node: when it can start; after its run, when it ends */
    uint32_t *cause;   /* by node: the predecessor that ends last, or LINK_NONE */
} replay;

static void wait_for_replay(replay *p, uint32_t node, uint32_t before)
{
    if (p->ready_ns[before] < p->ready_ns[node] ||
        (p->ready_ns[before] == p->ready_ns[node] && p->cause[node] != LINK_NONE))
        return;
    p->ready_ns[node] = p->ready_ns[before];
    p->cause[node] = before;
}

/* Run all nodes. Returns the node that ends last, or LINK_NONE. */
static uint32_t run_replay(replay *p, const place *places, const uint32_t *at,
                           const uint32_t *to)
{
    const link_graph *const g = p->g;
    uint32_t last = LINK_NONE;
    for (size_t k = 0; k < g->nodes.n; k++) {
        const uint32_t i = places[k].node;
        const link_node *const n = &g->nodes.at[i];
        /* A parent is the control dependency of its children, so it comes before them. */
        if (n->parent != LINK_NONE && link_before(g, n->parent, i))
            wait_for_replay(p, i, n->parent);
        p->ready_ns[i] += n->duration_ns;
        for (uint32_t e = at[i]; e < at[i + 1]; e++)
            wait_for_replay(p, to[e], i);
        if (p->ready_ns[i] > 0 &&
            (last == LINK_NONE || p->ready_ns[i] > p->ready_ns[last]))
            last = i;
    }
    return last;
}

/* The recorded start of a node; of a wait, when the wait was over. */
static int64_t recorded_start(const link_node *n)
{
    return n->kind == LINK_WAIT ? n->at_ns - n->duration_ns : n->start_ns;
}

/* Add up the lost time along the path by cause. Nodes without a recorded time are
 * skipped. */
static void account(const replay *p, uint32_t last)
{
    halley_link_report *const r = p->g->report;
    const link_node *const nodes = p->g->nodes.at;
    const link_node *after = NULL;
    for (uint32_t i = last; i != LINK_NONE; i = p->cause[i]) {
        const link_node *const n = &nodes[i];
        if (!n->timed)
            continue;
        const int64_t end = recorded_start(n) + n->duration_ns;
        const bool device = n->kind == LINK_GPU;
        if (!after) {
            r->lost_ends_ns += p->g->to_ns - end;
        } else {
            const int64_t lost = recorded_start(after) - end;
            const bool to_device = after->kind == LINK_GPU;
            *(device      ? to_device ? &r->lost_device_ns : &r->lost_wait_ns
              : to_device ? &r->lost_launch_ns
                          : &r->lost_host_ns) += lost;
        }
        after = n;
    }
    if (after)
        r->lost_ends_ns += recorded_start(after) - p->g->from_ns;
}

halley_status link_replay(link_graph *g, halley_error *err)
{
    const size_t n = g->nodes.n;
    place *const places = sort_replay_nodes(g);
    uint32_t *at = NULL, *to = NULL;
    replay p = {.g = g,
                .ready_ns = mem_array_zero(n, sizeof *p.ready_ns),
                .cause = mem_array(n, sizeof *p.cause)};
    const bool ok = places && p.ready_ns && p.cause && sort_replay_edges(&at, &to, g);
    if (ok) {
        for (size_t i = 0; i < n; i++)
            p.cause[i] = LINK_NONE;
        const uint32_t last = run_replay(&p, places, at, to);
        if (last != LINK_NONE) {
            g->report->replayed_ns = p.ready_ns[last];
            account(&p, last);
        }
    }
    free(places);
    free(p.ready_ns);
    free(p.cause);
    free(at);
    free(to);
    return ok ? HALLEY_OK : error_nomem(err);
}
