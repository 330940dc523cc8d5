/*
 * coll/synth/graph.c - the edges between the members of a group: from every port of a
 * member, the shortest path to each other member that passes no member. Ports differ, so
 * that a GPU's scale-up link and its network card both offer an edge to the same peer.
 */
#include "coll/synth/synth.h"

#include <assert.h>
#include <stdlib.h>

/* The search from one port. */
typedef struct port_search {
    const hw_graph *g;
    synth_graph *out;
    uint32_t *place;                        /* by device: place of a member, or HW_NONE */
    uint32_t *back_at, *back;               /* reversed: links into each device */
    uint32_t *queue, *seen, *link, *before; /* by device: the link that reached it */
    bool reversed;
} port_search;

static uint32_t get_far_end(const port_search *s, uint32_t link)
{
    return s->reversed ? s->g->link_from[link] : s->g->link_to[link];
}

static const uint32_t *list_links(const port_search *s, uint32_t device, uint32_t *n)
{
    const uint32_t *at = s->reversed ? s->back_at : s->g->dev_first;
    *n = at[device + 1] - at[device];
    return (s->reversed ? s->back : s->g->adj_link) + at[device];
}

static bool can_pass(const port_search *s, uint32_t device)
{
    return s->place[device] == HW_NONE && hw_graph_group(s->g, device)->forwards;
}

/* Add the edge from a member over the links that the search took to another. */
static bool add_edge(port_search *s, uint32_t from, uint32_t device)
{
    synth_edge e = {.from = from,
                    .to = s->place[device],
                    .first = (uint32_t)s->out->path.n,
                    .port = s->link[device],
                    .Bps = 1e300};
    for (uint32_t at = device; at != HW_NONE; at = s->before[at]) {
        const uint32_t link = s->link[at];
        if (!array_push(&s->out->path, link))
            return false;
        e.n++;
        e.latency_s += s->g->link_latency_s[link];
        if (s->g->link_Bps[link] < e.Bps)
            e.Bps = s->g->link_Bps[link];
        if (s->before[at] != HW_NONE)
            e.latency_s += hw_graph_group(s->g, s->before[at])->latency_s;
    }
    return array_push(&s->out->edges, e);
}

static bool search_port(port_search *s, uint32_t from, uint32_t own, uint32_t port,
                        uint32_t stamp)
{
    uint32_t n = 0, n_links;
    const uint32_t first = get_far_end(s, port);
    s->queue[n++] = first;
    s->seen[first] = s->seen[own] = stamp;
    s->link[first] = port;
    s->before[first] = HW_NONE;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = s->queue[i];
        if (s->place[at] != HW_NONE && !add_edge(s, from, at))
            return false;
        if (!can_pass(s, at))
            continue;
        const uint32_t *links = list_links(s, at, &n_links);
        for (uint32_t k = 0; k < n_links; k++) {
            const uint32_t to = get_far_end(s, links[k]);
            if (s->seen[to] == stamp || !(s->g->link_Bps[links[k]] > 0))
                continue;
            s->seen[to] = stamp;
            s->link[to] = links[k];
            s->before[to] = at;
            s->queue[n++] = to;
        }
    }
    return true;
}

/* The links into each device. */
static bool list_back(port_search *s)
{
    const hw_graph *g = s->g;
    s->back_at = mem_array_zero((size_t)g->n_devices + 1, sizeof *s->back_at);
    s->back = mem_array(g->n_links, sizeof *s->back);
    if (s->back_at == NULL || s->back == NULL)
        return false;
    for (uint32_t i = 0; i < g->n_links; i++)
        s->back_at[g->link_to[i] + 1]++;
    for (uint32_t i = 0; i < g->n_devices; i++)
        s->back_at[i + 1] += s->back_at[i];
    for (uint32_t i = 0; i < g->n_links; i++)
        s->back[s->back_at[g->link_to[i]]++] = i;
    for (uint32_t i = g->n_devices; i > 0; i--)
        s->back_at[i] = s->back_at[i - 1];
    s->back_at[0] = 0;
    return true;
}

static bool search_all(port_search *s, const uint32_t *npus, uint32_t n)
{
    uint32_t stamp = 0;
    for (uint32_t i = 0; i < n; i++)
        s->place[npus == NULL ? i : npus[i]] = i;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_links;
        const uint32_t own = npus == NULL ? i : npus[i];
        const uint32_t *links = list_links(s, own, &n_links);
        for (uint32_t k = 0; k < n_links; k++)
            if (s->g->link_Bps[links[k]] > 0 &&
                !search_port(s, i, own, links[k], ++stamp))
                return false;
    }
    return true;
}

static halley_status find_edges(synth_graph *out, const hw_graph *g, const uint32_t *npus,
                                uint32_t n, bool reversed, halley_error *err)
{
    port_search s = {.g = g, .out = out, .reversed = reversed};
    const size_t devices = g->n_devices;
    s.place = mem_array(devices, sizeof *s.place);
    s.queue = mem_array(devices, sizeof *s.queue);
    s.seen = mem_array_zero(devices, sizeof *s.seen);
    s.link = mem_array(devices, sizeof *s.link);
    s.before = mem_array(devices, sizeof *s.before);
    bool room = s.place != NULL && s.queue != NULL && s.seen != NULL && s.link != NULL &&
                s.before != NULL && (!reversed || list_back(&s));
    for (size_t i = 0; room && i < devices; i++)
        s.place[i] = HW_NONE;
    room = room && search_all(&s, npus, n);
    free(s.place);
    free(s.queue);
    free(s.seen);
    free(s.link);
    free(s.before);
    free(s.back_at);
    free(s.back);
    return room ? HALLEY_OK : error_nomem(err);
}

/* Rank the bandwidths of edges. Those beyond the last level count as the last. */
static void find_levels(synth_graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        const double Bps = g->edges.at[i].Bps;
        uint32_t k = 0;
        while (k < g->n_levels && g->level_Bps[k] > Bps)
            k++;
        if ((k < g->n_levels && g->level_Bps[k] == Bps) ||
            g->n_levels == SYNTH_MAX_LEVELS)
            continue;
        for (uint32_t j = g->n_levels++; j > k; j--)
            g->level_Bps[j] = g->level_Bps[j - 1];
        g->level_Bps[k] = Bps;
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        synth_edge *e = &g->edges.at[i];
        while (e->level + 1 < g->n_levels && g->level_Bps[e->level] > e->Bps)
            e->level++;
    }
}

static uint32_t find_root(uint32_t *parent, uint32_t x)
{
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

static bool find_domains(synth_graph *g)
{
    for (uint32_t k = 1; k < g->n_levels; k++) {
        uint32_t *p = g->domain[k] = mem_array(g->n, sizeof *p);
        if (p == NULL)
            return false;
        for (uint32_t v = 0; v < g->n; v++)
            p[v] = v;
        for (size_t i = 0; i < g->edges.n; i++) {
            const synth_edge *e = &g->edges.at[i];
            if (e->level < k)
                p[find_root(p, e->from)] = find_root(p, e->to);
        }
        for (uint32_t v = 0; v < g->n; v++)
            p[v] = find_root(p, v);
    }
    return true;
}

static bool list_ports(synth_graph *g)
{
    const uint32_t n_edges = (uint32_t)g->edges.n;
    uint32_t *by_link = mem_array_zero((size_t)g->n_links + 1, sizeof *by_link);
    uint32_t *sorted = mem_array(n_edges, sizeof *sorted);
    uint32_t *fill = mem_array_zero(g->n, sizeof *fill);
    g->in_at = mem_array_zero((size_t)g->n + 1, sizeof *g->in_at);
    g->in = mem_array(n_edges, sizeof *g->in);
    g->port_at = mem_array((size_t)g->n + 1, sizeof *g->port_at);
    g->port_begin = mem_array((size_t)n_edges + 1, sizeof *g->port_begin);
    const bool room = by_link != NULL && sorted != NULL && fill != NULL &&
                      g->in_at != NULL && g->in != NULL && g->port_at != NULL &&
                      g->port_begin != NULL;
    for (uint32_t i = 0; room && i < n_edges; i++) {
        by_link[g->edges.at[i].port + 1]++;
        g->in_at[g->edges.at[i].to + 1]++;
    }
    for (uint32_t i = 0; room && i < g->n_links; i++)
        by_link[i + 1] += by_link[i];
    for (uint32_t v = 0; room && v < g->n; v++)
        g->in_at[v + 1] += g->in_at[v];
    for (uint32_t i = 0; room && i < n_edges; i++)
        sorted[by_link[g->edges.at[i].port]++] = i;
    for (uint32_t i = 0; room && i < n_edges; i++) {
        const uint32_t to = g->edges.at[sorted[i]].to;
        g->in[g->in_at[to] + fill[to]++] = sorted[i];
    }
    uint32_t n = 0;
    for (uint32_t v = 0; room && v < g->n; v++) {
        g->port_at[v] = n;
        for (uint32_t j = g->in_at[v]; j < g->in_at[v + 1]; j++)
            if (j == g->in_at[v] ||
                g->edges.at[g->in[j]].port != g->edges.at[g->in[j - 1]].port)
                g->port_begin[n++] = j;
    }
    if (room) {
        g->port_at[g->n] = n;
        g->port_begin[n] = n_edges;
    }
    free(by_link);
    free(sorted);
    free(fill);
    return room;
}

halley_status synth_graph_make(synth_graph *out, const hw_graph *g, const uint32_t *npus,
                               uint32_t n, bool reversed, halley_error *err)
{
    *out = (synth_graph){.n = n, .n_links = g->n_links};
    if (n < 2 || n > SYNTH_MAX_MEMBERS)
        return error_set(err, HALLEY_ELIMIT,
                         "schedules are synthesised for 2 to %d NPUs, not %u",
                         SYNTH_MAX_MEMBERS, n);
    halley_status status = find_edges(out, g, npus, n, reversed, err);
    if (status == HALLEY_OK)
        find_levels(out);
    if (status == HALLEY_OK && (!find_domains(out) || !list_ports(out)))
        status = error_nomem(err);
    if (status != HALLEY_OK)
        synth_graph_fini(out);
    return status;
}

void synth_graph_fini(synth_graph *g)
{
    array_fini(&g->edges);
    array_fini(&g->path);
    free(g->in_at);
    free(g->in);
    free(g->port_at);
    free(g->port_begin);
    for (uint32_t k = 0; k < SYNTH_MAX_LEVELS; k++)
        free(g->domain[k]);
    *g = (synth_graph){0};
}
