/*
 * hw/graph/measure.c - distances between endpoints, connectivity, cost and power.
 *
 * Endpoints with the same neighbours are equivalent: one search serves all of them. The
 * searches run 256 at a time, one bit each (Then et al., "The more the merrier", 2014). A
 * network of 10^6 links and 7,800 leaves then takes less than a second. With one-way
 * links, every endpoint has its own search.
 */
#include "hw/graph/measure.h"

#include "base/call.h"
#include "base/hash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

halley_status hw_graph_endpoints(hw_endpoints *out, const hw_graph *graph,
                                 halley_error *err)
{
    static const hw_device_kind order[] = {HW_DEVICE_NPU, HW_DEVICE_NIC, HW_DEVICE_HOST};
    uint32_t n[HW_DEVICE_N_KINDS] = {0}, k = 0;
    for (uint32_t i = 0; i < graph->n_devices; i++)
        n[graph->dev_kind[i]]++;
    while (k < 2 && n[order[k]] == 0)
        k++;
    hw_endpoints e = {.kind = order[k], .at = mem_array(n[order[k]], sizeof(uint32_t))};
    if (e.at == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < graph->n_devices; i++)
        if (graph->dev_kind[i] == e.kind)
            e.at[e.n++] = i;
    assert(e.n == n[e.kind]);
    *out = e;
    return HALLEY_OK;
}

enum { LANES = 4, BATCH = 64 * LANES };

/* The graph that is searched: of equivalent endpoints, only the first remains. */
typedef struct search_graph {
    uint32_t n;           /* devices */
    uint32_t *first, *to; /* neighbours, each once */
    uint32_t *times;      /* by device: endpoints it represents, 0 = no endpoint */
    uint32_t *sources;    /* devices to search from */
    uint32_t n_sources;
    uint64_t (*seen)[LANES], (*now)[LANES], (*next)[LANES];
} search_graph;

static void free_search(search_graph *s)
{
    free(s->first);
    free(s->to);
    free(s->times);
    free(s->sources);
    free(s->seen);
    free(s->now);
    free(s->next);
}

/* Neighbours of every device in ascending order, each once. */
static void collect_neighbours(search_graph *s, const hw_graph *g)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < g->n_devices; d++) {
        const uint32_t start = n;
        s->first[d] = start;
        for (uint32_t i = g->dev_first[d]; i < g->dev_first[d + 1]; i++)
            if (g->link_Bps[g->adj_link[i]] != 0) /* 0 = failed */
                s->to[n++] = g->link_to[g->adj_link[i]];
        bool is_sorted = true;
        for (uint32_t i = start + 1; is_sorted && i < n; i++)
            is_sorted = s->to[i - 1] <= s->to[i];
        if (!is_sorted)
            mem_sort_u32(&s->to[start], n - start);
        uint32_t kept = start;
        for (uint32_t i = start; i < n; i++)
            if (i == start || s->to[i] != s->to[i - 1])
                s->to[kept++] = s->to[i];
        n = kept;
    }
    s->first[g->n_devices] = n;
}

static bool have_same_neighbours(const search_graph *s, uint32_t a, uint32_t b)
{
    const uint32_t n = s->first[a + 1] - s->first[a];
    return n == s->first[b + 1] - s->first[b] &&
           memcmp(&s->to[s->first[a]], &s->to[s->first[b]], n * sizeof *s->to) == 0;
}

/* Merge equivalent endpoints: the first one represents all, the others are
 * disconnected. */
static bool merge_endpoints(search_graph *s, const hw_graph *g, const hw_endpoints *ends)
{
    map64 seen = {0};
    bool has_memory = true;
    for (uint32_t i = 0; has_memory && i < ends->n; i++) {
        const uint32_t d = ends->at[i], n = s->first[d + 1] - s->first[d];
        uint32_t value = d;
        bool fresh = true;
        const uint64_t key = hash_bytes(&s->to[s->first[d]], n * sizeof *s->to, 0);
        if (n > 0 && g->n_links == 2 * g->n_cables)
            has_memory = map64_put(&seen, key, &value, &fresh);
        if (!fresh && have_same_neighbours(s, value, d)) {
            s->times[value]++;
            continue;
        }
        s->times[d] = 1;
        s->sources[s->n_sources++] = d;
    }
    map64_fini(&seen);
    return has_memory;
}

/* True if a search may skip the device: another endpoint represents it. */
static bool is_merged(const search_graph *s, const bool *is_end, uint32_t d)
{
    return is_end[d] && s->times[d] == 0;
}

static halley_status init_search(search_graph *s, const hw_graph *g,
                                 const hw_endpoints *ends, halley_error *err)
{
    s->n = g->n_devices;
    s->first = mem_array((size_t)g->n_devices + 1, sizeof *s->first);
    s->to = mem_array(g->n_links, sizeof *s->to);
    s->times = mem_array_zero(g->n_devices, sizeof *s->times);
    s->sources = mem_array(ends->n, sizeof *s->sources);
    s->seen = mem_array(g->n_devices, sizeof *s->seen);
    s->now = mem_array(g->n_devices, sizeof *s->now);
    s->next = mem_array_zero(g->n_devices, sizeof *s->next);
    bool *is_end = mem_array_zero(g->n_devices, sizeof *is_end);
    bool ok = s->first != NULL && s->to != NULL && s->times != NULL &&
              s->sources != NULL && s->seen != NULL && s->now != NULL &&
              s->next != NULL && is_end != NULL;
    if (ok) {
        collect_neighbours(s, g);
        ok = merge_endpoints(s, g, ends);
    }
    if (ok) { /* drop the merged ones from the lists */
        for (uint32_t i = 0; i < ends->n; i++)
            is_end[ends->at[i]] = true;
        uint32_t n = 0, start = 0;
        for (uint32_t d = 0; d < s->n; d++) {
            const uint32_t end = s->first[d + 1];
            for (uint32_t i = start; i < end && !is_merged(s, is_end, d); i++)
                if (!is_merged(s, is_end, s->to[i]))
                    s->to[n++] = s->to[i];
            start = end;
            s->first[d + 1] = n;
        }
    }
    free(is_end);
    return ok ? HALLEY_OK : error_nomem(err);
}

typedef ARRAY(uint64_t) hop_counts;

/* The number of pairs (source of a set bit, this endpoint). */
static uint64_t count_pairs(const search_graph *s, const uint64_t bits[LANES],
                            uint32_t batch, uint32_t device)
{
    uint64_t n = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint64_t rest = bits[lane]; rest != 0; rest &= rest - 1) {
            const uint32_t bit = 64 * lane + (uint32_t)__builtin_ctzll(rest);
            n += (uint64_t)s->times[s->sources[batch + bit]] * s->times[device];
        }
    return n;
}

static void spread_front(search_graph *s)
{
    for (uint32_t d = 0; d < s->n; d++) {
        const uint64_t *bits = s->now[d];
        if ((bits[0] | bits[1] | bits[2] | bits[3]) == 0)
            continue;
        for (uint32_t i = s->first[d]; i < s->first[d + 1]; i++)
            for (uint32_t lane = 0; lane < LANES; lane++)
                s->next[s->to[i]][lane] |= bits[lane];
    }
}

/* The new bits become the front. False if there are none. */
static bool take_new_bits(search_graph *s, uint64_t *pairs, uint32_t batch)
{
    bool any = false;
    for (uint32_t d = 0; d < s->n; d++) {
        uint64_t all = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            s->now[d][lane] = s->next[d][lane] & ~s->seen[d][lane];
            s->seen[d][lane] |= s->now[d][lane];
            s->next[d][lane] = 0;
            all |= s->now[d][lane];
        }
        if (all == 0)
            continue;
        any = true;
        if (s->times[d] > 0)
            *pairs += count_pairs(s, s->now[d], batch, d);
    }
    return any;
}

static bool search_batch(search_graph *s, uint32_t batch, hop_counts *hops)
{
    memset(s->seen, 0, s->n * sizeof *s->seen);
    memset(s->now, 0, s->n * sizeof *s->now);
    for (uint32_t k = 0; k < BATCH && batch + k < s->n_sources; k++) {
        const uint32_t d = s->sources[batch + k];
        s->seen[d][k / 64] |= 1ULL << k % 64;
        s->now[d][k / 64] |= 1ULL << k % 64;
    }
    for (size_t level = 1;; level++) {
        uint64_t pairs = 0;
        if (!call_goes_on())
            return false;
        spread_front(s);
        if (!take_new_bits(s, &pairs, batch))
            return true;
        while (hops->n <= level)
            if (!array_push(hops, 0))
                return false;
        hops->at[level] += pairs;
    }
}

/* Equivalent endpoints have no cable between them, so they are two links apart. */
static void add_alike_pairs(const search_graph *s, hop_counts *hops)
{
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const uint64_t n = s->times[s->sources[i]];
        assert(n == 1 || hops->n > 2);
        if (n > 1)
            hops->at[2] += n * (n - 1);
    }
}

static uint32_t find_root(uint32_t *parent, uint32_t d)
{
    while (parent[d] != d)
        d = parent[d] = parent[parent[d]];
    return d;
}

static halley_status count_components(uint32_t *out, const hw_graph *g, halley_error *err)
{
    uint32_t *parent = mem_array(g->n_devices, sizeof *parent), n = g->n_devices;
    if (parent == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < g->n_devices; i++)
        parent[i] = i;
    for (uint32_t i = 0; i < g->n_links; i++) {
        const uint32_t a = find_root(parent, g->link_from[i]);
        const uint32_t b = find_root(parent, g->link_to[i]);
        if (a != b && g->link_Bps[i] != 0) {
            parent[a] = b;
            n--;
        }
    }
    free(parent);
    *out = n;
    return HALLEY_OK;
}

static void sum_hops(hw_distances *out, hop_counts *hops, uint64_t n_ends)
{
    uint64_t pairs = 0, links = 0;
    while (hops->n > 1 && hops->at[hops->n - 1] == 0)
        hops->n--;
    for (size_t i = 0; i < hops->n; i++) {
        pairs += hops->at[i];
        links += hops->at[i] * i;
    }
    assert(n_ends == 0 || pairs <= n_ends * (n_ends - 1));
    out->connected = n_ends < 2 || pairs == n_ends * (n_ends - 1);
    out->diameter = (uint32_t)(hops->n - 1);
    out->mean = pairs > 0 ? (double)links / (double)pairs : 0;
    out->by_hops = hops->at;
}

static halley_status search_all(hop_counts *hops, const hw_graph *graph,
                                const hw_endpoints *ends, halley_error *err)
{
    search_graph s = {0};
    halley_status status = init_search(&s, graph, ends, err);
    bool ok = status == HALLEY_OK && array_reserve(hops, 3);
    while (ok && hops->n < 3)
        hops->at[hops->n++] = 0;
    for (uint32_t batch = 0; ok && batch < s.n_sources; batch += BATCH)
        ok = search_batch(&s, batch, hops);
    if (ok)
        add_alike_pairs(&s, hops);
    else if (status == HALLEY_OK)
        status = call_goes_on() ? error_nomem(err) : call_check(err);
    free_search(&s);
    return status;
}

halley_status hw_graph_distances(hw_distances *out, const hw_graph *graph,
                                 halley_error *err)
{
    hw_endpoints ends = {0};
    hw_distances d = {0};
    hop_counts hops = {0};
    TRY(count_components(&d.components, graph, err));
    TRY(hw_graph_endpoints(&ends, graph, err));
    const halley_status status = search_all(&hops, graph, &ends, err);
    if (status == HALLEY_OK) {
        sum_hops(&d, &hops, ends.n);
        *out = d;
    } else {
        array_fini(&hops);
    }
    free(ends.at);
    return status;
}

uint32_t hw_graph_count_tiers(const hw_graph *graph)
{
    uint32_t tier = 0;
    for (uint32_t i = 0; i < graph->n_groups; i++)
        tier = graph->groups[i].tier > tier ? graph->groups[i].tier : tier;
    for (uint32_t i = 0; i < graph->n_kinds; i++)
        tier = graph->kinds[i].tier > tier ? graph->kinds[i].tier : tier;
    return tier + 1;
}

hw_bill hw_graph_bill_tier(const hw_graph *graph, uint32_t tier)
{
    hw_bill bill = {0};
    for (uint32_t i = 0; i < graph->n_groups; i++) {
        const hw_device_group *group = &graph->groups[i];
        if (group->tier != tier)
            continue;
        bill.devices_usd += group->n * group->cost_usd;
        bill.devices_w += group->n * group->power_w;
    }
    for (uint32_t i = 0; i < graph->n_links; i += i < 2 * graph->n_cables ? 2 : 1) {
        const hw_link_kind *kind = &graph->kinds[graph->link_kind[i]];
        bill.cables_usd += kind->tier == tier ? kind->cost_usd : 0;
        bill.cables_w += kind->tier == tier ? kind->power_w : 0;
    }
    return bill;
}

hw_bill hw_graph_bill(const hw_graph *graph)
{
    hw_bill sum = {0};
    const uint32_t n_tiers = hw_graph_count_tiers(graph);
    for (uint32_t tier = 0; tier < n_tiers; tier++) {
        const hw_bill bill = hw_graph_bill_tier(graph, tier);
        sum.devices_usd += bill.devices_usd;
        sum.cables_usd += bill.cables_usd;
        sum.devices_w += bill.devices_w;
        sum.cables_w += bill.cables_w;
    }
    return sum;
}

/* The devices reachable from NPU 0, along links or in the opposite direction. */
typedef struct reach {
    const hw_graph *graph;
    uint8_t *reached;
    uint32_t *queue;
    uint32_t n;
    bool against;
    const hw_endpoints *ends;
} reach;

static void visit_device(reach *r, uint32_t device)
{
    if (r->reached[device] == 0) {
        r->reached[device] = 1;
        r->queue[r->n++] = device;
    }
}

/* In the opposite direction, only cables and a list of one-way links are followed. */
static void visit_neighbours(reach *r, uint32_t device)
{
    const hw_graph *g = r->graph;
    for (uint32_t i = g->dev_first[device]; i < g->dev_first[device + 1]; i++) {
        const uint32_t link = g->adj_link[i];
        const uint32_t used = r->against ? hw_graph_reverse(g, link) : link;
        if (used != HW_NONE && g->link_Bps[used] != 0)
            visit_device(r, g->link_to[link]);
    }
    for (uint32_t i = 2 * g->n_cables; r->against && i < g->n_links; i++)
        if (g->link_to[i] == device && g->link_Bps[i] != 0)
            visit_device(r, g->link_from[i]);
}

/* An NPU of a node may forward for its own node (PXN): rails need this. */
static bool may_pass(const hw_graph *g, uint32_t device)
{
    const hw_device_group *group = hw_graph_group(g, device);
    return group->forwards || (group->kind == HW_DEVICE_NPU && group->per_node > 1);
}

static uint32_t find_unreached(reach *r)
{
    const hw_graph *g = r->graph;
    memset(r->reached, 0, g->n_devices);
    r->n = 0;
    visit_device(r, r->ends->at[0]);
    for (uint32_t i = 0; i < r->n; i++)
        if (i == 0 || may_pass(g, r->queue[i]))
            visit_neighbours(r, r->queue[i]);
    for (uint32_t i = 0; i < r->ends->n; i++)
        if (r->reached[r->ends->at[i]] == 0)
            return r->ends->at[i];
    return HW_NONE;
}

/* The number of endpoints that the last search did not reach. */
static uint32_t count_unreached(const reach *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->ends->n; i++)
        n += r->reached[r->ends->at[i]] == 0;
    return n;
}

static halley_status refuse_parts(reach *r, uint32_t cut_off, halley_error *err)
{
    char first[128], other[128], more[64] = "";
    const uint32_t start = r->ends->at[0], n = count_unreached(r);
    hw_graph_name(r->graph, r->against ? cut_off : start, first, sizeof first);
    hw_graph_name(r->graph, r->against ? start : cut_off, other, sizeof other);
    if (n > 1)
        snprintf(more, sizeof more, "; %u of %u devices are cut off", n, r->ends->n);
    return error_set(err, HALLEY_EINVAL,
                     "the network is not connected: %s cannot reach %s%s", first, other,
                     more);
}

static halley_status check_reach(reach *r, halley_error *err)
{
    uint32_t cut_off = find_unreached(r);
    if (cut_off != HW_NONE)
        return refuse_parts(r, cut_off, err);
    if (r->graph->n_links == 2 * r->graph->n_cables)
        return HALLEY_OK;
    r->against = true;
    cut_off = find_unreached(r);
    return cut_off == HW_NONE ? HALLEY_OK : refuse_parts(r, cut_off, err);
}

halley_status hw_graph_check_connected(const hw_graph *graph, halley_error *err)
{
    hw_endpoints ends = {0};
    TRY(hw_graph_endpoints(&ends, graph, err));
    reach r = {.graph = graph,
               .ends = &ends,
               .reached = mem_array(graph->n_devices, 1),
               .queue = mem_array(graph->n_devices, sizeof(uint32_t))};
    halley_status status = HALLEY_OK;
    if (r.reached == NULL || r.queue == NULL)
        status = error_nomem(err);
    else if (ends.n > 1)
        status = check_reach(&r, err);
    free(r.reached);
    free(r.queue);
    free(ends.at);
    return status;
}

halley_status hw_graph_check_known(const hw_graph *graph, halley_error *err)
{
    for (uint32_t i = 0; i < graph->n_links; i++) {
        char name[300];
        const bool has_rate = graph->link_Bps[i] != HW_UNKNOWN;
        if (has_rate && graph->link_latency_s[i] != HW_UNKNOWN)
            continue;
        return error_set(
            err, HALLEY_EINVAL,
            "the file does not state the %s of the link %s; give it with link "
            "and latency in the description, or with --link "
            "%s=RATE,LATENCY",
            has_rate ? "latency" : "rate",
            hw_graph_link_name(graph, i, name, sizeof name),
            graph->kinds[graph->link_kind[i]].name);
    }
    return HALLEY_OK;
}
