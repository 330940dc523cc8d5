/*
 * net/flow/changes.c - links that change during a run (hw/graph/events.h).
 *
 * A change sets a new capacity in the solver. Flows continue at their new rate, or stall
 * on a failed link. After the time `reroute`, routes are computed again. New flows then
 * avoid failed links. Stalled flows move their remaining bytes to new links, if there is
 * a route. Without a route they wait until their links are back, and so do new messages.
 *
 * Changes are applied when the clock reaches them while something is in flight, or when
 * the next request starts. They never keep a run going.
 */
#include "net/flow/model.h"

#include <assert.h>
#include <stdlib.h>

static int compare_offers(const void *a, const void *b)
{
    const flow_offer *x = a, *y = b;
    return x->link < y->link ? -1 : x->link > y->link;
}

halley_status flow_net_init_changes(flow_net *f, const halley_cluster *c,
                                    halley_error *err)
{
    const hw_change_array *changes = &f->network->changes;
    if (changes->n == 0)
        return HALLEY_OK;
    TRY(hw_network_new(&f->intact, c, err));
    for (size_t i = 0; i < changes->n; i++)
        if (!array_push(&f->offers, (flow_offer){.link = changes->at[i].link}))
            return error_nomem(err);
    qsort(f->offers.at, f->offers.n, sizeof *f->offers.at, compare_offers);
    size_t n = 0;
    for (size_t i = 0; i < f->offers.n; i++)
        if (n == 0 || f->offers.at[n - 1].link != f->offers.at[i].link)
            f->offers.at[n++] = f->offers.at[i];
    f->offers.n = n;
    for (size_t i = 0; i < n; i++)
        f->offers.at[i].bw_Bps =
            hw_network_capacity_Bps(f->network, f->offers.at[i].link);
    return HALLEY_OK;
}

void flow_net_fini_changes(flow_net *f)
{
    hw_network_free(f->intact);
    array_fini(&f->offers);
}

static uint64_t get_change_tick(const flow_net *f, uint32_t i)
{
    return flow_net_ticks(f, f->network->changes.at[i].at_s);
}

static uint64_t get_reroute_tick(const flow_net *f, uint32_t i)
{
    return flow_net_ticks(f, f->network->changes.at[i].at_s + f->network->reroute_s);
}

uint64_t flow_net_next_change(const flow_net *f)
{
    const uint32_t n = (uint32_t)f->network->changes.n;
    uint64_t next = NET_FLOW_NEVER;
    if (f->next_change < n)
        next = get_change_tick(f, f->next_change);
    if (f->next_reroute < n) {
        const uint64_t reroute = get_reroute_tick(f, f->next_reroute);
        next = reroute < next ? reroute : next;
    }
    return next;
}

static flow_offer *find_offer(const flow_net *f, uint32_t link)
{
    const flow_offer key = {.link = link};
    if (f->offers.n == 0)
        return NULL;
    return bsearch(&key, f->offers.at, f->offers.n, sizeof key, compare_offers);
}

static double get_offer_bytes(const flow_net *f, const flow_offer *o, uint64_t tick)
{
    assert(tick >= o->since);
    return o->bytes + o->bw_Bps * ((double)(tick - o->since) / f->ticks_per_s);
}

double flow_net_offered_bytes(const flow_net *f, uint32_t link)
{
    const uint64_t now = net_flow_now(f->flow);
    const flow_offer *o = find_offer(f, link);
    if (o != NULL)
        return get_offer_bytes(f, o, now > o->since ? now : o->since);
    return hw_network_capacity_Bps(f->network, link) * ((double)now / f->ticks_per_s);
}

static void change_link(flow_net *f, const hw_change *c, uint64_t tick)
{
    flow_offer *o = find_offer(f, c->link);
    assert(o != NULL);
    o->bytes = get_offer_bytes(f, o, tick);
    o->since = tick;
    o->bw_Bps = c->bw_Bps;
    if (!net_flow_change(f->flow, c->link, c->bw_Bps))
        flow_net_fail(f, error_nomem(f->err));
}

bool flow_net_find_stalled(char *to, size_t size, const net *n)
{
    const flow_net *f = flow_net_of_const(n);
    const uint32_t link =
        f->offers.n > 0 ? net_flow_stalled_link(f->flow) : NET_FLOW_NONE;
    if (link == NET_FLOW_NONE)
        return false;
    hw_graph_link_name(f->network->graph, link, to, size);
    return true;
}

/* True if a class crosses a failed link. */
static bool is_stalled(const flow_net *f, uint32_t class_id)
{
    const net_flow_class_use use = net_flow_get_class_use(f->flow, class_id);
    for (uint32_t i = 0; i < use.n_links; i++) {
        const flow_offer *o = find_offer(f, use.links[i]);
        if (o != NULL && o->bw_Bps == 0)
            return true;
    }
    return false;
}

static void find_new_ways(flow_net *f)
{
    for (size_t i = 0; i < f->offers.n; i++)
        hw_network_set_rate(f->network, f->offers.at[i].link, f->offers.at[i].bw_Bps);
    const halley_status status = hw_network_reroute(f->network, f->cluster, f->err);
    if (status != HALLEY_OK) {
        flow_net_fail(f, status);
        return;
    }
    flow_net_forget_shapes(f);
    const size_t n = f->transfers.n; /* transfers that move now are not examined again */
    for (uint32_t i = 0; i < n; i++)
        if (f->transfers.at[i].is_moving && is_stalled(f, f->transfers.at[i].class_id))
            (void)flow_net_move_transfer(f, i);
}

void flow_net_make_changes(flow_net *f, uint64_t tick)
{
    const hw_change_array *changes = &f->network->changes;
    bool reroutes = false;
    while (f->next_change < changes->n && get_change_tick(f, f->next_change) <= tick)
        change_link(f, &changes->at[f->next_change++], tick);
    while (f->next_reroute < changes->n && get_reroute_tick(f, f->next_reroute) <= tick) {
        f->next_reroute++;
        reroutes = true;
    }
    assert(f->next_reroute <= f->next_change); /* routes never change before their link */
    if (reroutes)
        find_new_ways(f);
}
