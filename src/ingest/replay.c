/*
 * How long the linked graph takes when every node takes as long as it is said to and
 * starts as soon as what it waits for is over: the longest path. Places in time order the
 * nodes so that one walk is enough.
 */
#include "ingest/link.h"

#include <stdlib.h>

typedef struct place {
    int64_t at_ns;
    uint32_t order, node;
} place;

static int compare(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static place *sort_nodes(const link_graph *g)
{
    place *const places = mem_array(g->nodes.n, sizeof *places);
    for (uint32_t i = 0; places && i < g->nodes.n; i++)
        places[i] = (place){g->nodes.at[i].at_ns, g->nodes.at[i].order, i};
    if (places)
        qsort(places, g->nodes.n, sizeof *places, compare);
    return places;
}

/* Edges by where they start: at[i] … at[i + 1] are those of node i. */
static bool sort_edges(uint32_t **at, uint32_t **to, const link_graph *g)
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

halley_status link_replay(link_graph *g, halley_error *err)
{
    place *const places = sort_nodes(g);
    uint32_t *at = NULL, *to = NULL;
    int64_t *const ready = mem_array_zero(g->nodes.n, sizeof *ready);
    const bool ok = places && ready && sort_edges(&at, &to, g);
    for (size_t k = 0; ok && k < g->nodes.n; k++) {
        const uint32_t i = places[k].node;
        const link_node *const n = &g->nodes.at[i];
        /* A parent comes before its children, too: it is their control dependency. */
        if (n->parent != LINK_NONE && link_before(g, n->parent, i) &&
            ready[n->parent] > ready[i])
            ready[i] = ready[n->parent];
        ready[i] += n->duration_ns;
        for (uint32_t e = at[i]; e < at[i + 1]; e++)
            if (ready[i] > ready[to[e]])
                ready[to[e]] = ready[i];
        if (ready[i] > g->report->replayed_ns)
            g->report->replayed_ns = ready[i];
    }
    free(places);
    free(ready);
    free(at);
    free(to);
    return ok ? HALLEY_OK : error_nomem(err);
}
