/*
 * net/flow/model.c - the network model `flow`. The network is a graph (hw/network.h).
 * Messages in flight share its links by max-min fairness (flow.h), with cut-through.
 *
 * A message takes bandwidth from its start until its last byte has left. It arrives the
 * route's latency later. Everything that starts at one instant is settled together, just
 * before the queue advances. The model keeps one timer in the queue: the next end of a
 * flow.
 */
#include "net/flow/model.h"

#include "des/ticks.h"

#include <math.h>

enum { MAX_FLOW_LINKS = 8 << 20 }; /* 200 bytes each */

void flow_net_fail(flow_net *f, halley_status status)
{
    f->head.queue->failed = true;
    if (f->fail != NULL)
        f->fail(f->head.context, status);
}

static halley_status check_links(const hw_graph *g, halley_error *err)
{
    char name[128];
    if (g->n_links > MAX_FLOW_LINKS)
        return error_set(err, HALLEY_ELIMIT,
                         "the network has %u links, and the model flow handles %u; use "
                         "--network-model free",
                         g->n_links, MAX_FLOW_LINKS);
    for (uint32_t i = 0; i < g->n_links; i++)
        if (!(g->link_Bps[i] >= 0) || !(g->link_latency_s[i] >= 0))
            return error_set(err, HALLEY_EINVAL,
                             "the %s of link %s is not known, and a simulation needs it",
                             g->link_Bps[i] >= 0 ? "latency" : "bandwidth",
                             hw_graph_link_name(g, i, name, sizeof name));
    return HALLEY_OK;
}

static halley_status flow_open(net *n, const halley_cluster *c, const net_options *o,
                               halley_error *err)
{
    flow_net *f = flow_net_of(n);
    f->ticks_per_s = o->ticks_per_s;
    f->free_transfer = NET_NONE;
    f->timer_at = NET_FLOW_NEVER;
    f->fail = o->fail;
    f->err = o->err;
    f->cluster = c;
    f->has_dims = c->network == HW_NETWORK_DIMS && c->measured == NULL;
    if (f->has_dims) /* their algorithms are listed */
        n->can &= ~(uint32_t)NET_CAN_PARTS;
    if (f->has_dims && !coll_dims_can(c))
        n->can &= ~(uint32_t)(NET_CAN_BUNDLES | NET_CAN_SLOW);
    assert(o->ticks_per_s == 1e12); /* the solver's tick */
    TRY(hw_network_new(&f->network, c, err));
    const hw_graph *g = f->network->graph;
    TRY(check_links(g, err));
    if (f->network->changes.n == 0)
        TRY(hw_network_merge_planes(f->network, err));
    TRY(flow_net_init_changes(f, c, err));
    if (f->intact != NULL) /* rerouted flows move as a whole */
        n->can &= ~(uint32_t)(NET_CAN_PARTS | NET_CAN_SLOW);
    if (o->keep_heat && !net_heat_init(&f->heat, g->n_kinds * n->n_npus,
                                       (uint64_t)(o->ticks_per_s / 1e7)))
        return error_nomem(err);
    if (!flow_loads_init(&f->loads, f->network))
        return error_nomem(err);
    f->loads.most_share = c->plain ? 1 : 0;
    return o->folds ? HALLEY_OK : flow_net_fold(n, NULL, err);
}

static void flow_close(net *n)
{
    flow_net *f = flow_net_of(n);
    if (f->head.queue->flush_context == n)
        f->head.queue->flush = NULL;
    net_flow_free(f->flow);
    hw_network_free(f->network);
    flow_net_fini_bundles(f);
    flow_net_fini_changes(f);
    flow_loads_fini(&f->loads);
    net_heat_fini(&f->heat);
    map64_fini(&f->ways_by_pair);
    array_fini(&f->ways);
    array_fini(&f->hops);
    array_fini(&f->transfers);
}

/* The rate of a message alone: the smallest that its links allow one flow. */
static double find_rate_alone(const flow_net *f)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < f->hops.n; i++) {
        assert(f->hops.at[i].coefficient > 0);
        const double share = (double)f->hops.at[i].coefficient / (double)NET_FLOW_ONE;
        least =
            fmin(least, hw_network_capacity_Bps(f->network, f->hops.at[i].link) / share);
    }
    return least;
}

static bool add_way_hop(flow_net *f, uint32_t link, uint64_t share)
{
    for (size_t i = 0; i < f->hops.n; i++)
        if (f->hops.at[i].link == link) { /* routes that meet again */
            f->hops.at[i].coefficient += share;
            return true;
        }
    return array_push(&f->hops, (net_flow_hop){link, share});
}

/* Make the class of the collected hops, and its latency. */
static halley_status finish_way(flow_way *out, flow_net *f, double latency_s)
{
    assert(f->hops.n > 0 && latency_s >= 0);
    out->class_id = net_flow_class(f->flow, f->hops.at, (uint32_t)f->hops.n, 0);
    out->latency_ticks = flow_net_ticks(f, latency_s);
    out->rate_Bps = find_rate_alone(f);
    return out->class_id == NET_FLOW_NONE ? error_nomem(f->err) : HALLEY_OK;
}

static halley_status make_way(flow_way *out, flow_net *f, uint32_t from, uint32_t to)
{
    hw_route route;
    TRY(hw_network_find(&route, f->network, from, to, f->err));
    f->hops.n = 0;
    for (uint32_t i = 0; i < route.n; i++)
        if (!add_way_hop(f, route.hops[i].link, route.hops[i].share))
            return error_nomem(f->err);
    return finish_way(out, f, route.latency_s);
}

uint32_t flow_net_find_up(const flow_net *f, uint32_t npu, uint32_t dim)
{
    const hw_graph *g = f->network->graph;
    for (uint32_t k = g->dev_first[npu]; k < g->dev_first[npu + 1]; k++) {
        const uint32_t to = g->link_to[g->adj_link[k]];
        if (g->dev_kind[to] == HW_DEVICE_SWITCH && hw_graph_group(g, to)->tier == dim + 1)
            return g->adj_link[k];
    }
    return HW_NONE;
}

/* The route from an NPU to the switch of a dimension, or back. */
static halley_status make_half_way(flow_way *out, flow_net *f, const net_request *r)
{
    const hw_graph *g = f->network->graph;
    const uint32_t up = flow_net_find_up(f, r->from, r->dim);
    if (up == HW_NONE)
        return error_set(f->err, HALLEY_EINVAL, "dimension %u has no switch", r->dim);
    f->hops.n = 0;
    if (!add_way_hop(f, r->part == NET_UP ? up : hw_graph_reverse(g, up), HW_ROUTE_ONE))
        return error_nomem(f->err);
    return finish_way(out, f, g->link_latency_s[up]);
}

/* The key is a pair of NPUs, or an NPU with a dimension and a direction. */
static uint64_t hash_way(const net_request *r)
{
    return r->part == NET_WHOLE ? (uint64_t)r->from << 32 | r->to
                                : UINT64_C(1) << 63 | (uint64_t)r->part << 60 |
                                      (uint64_t)r->dim << 32 | r->from;
}

/* NULL: the run has failed. */
static const flow_way *get_way(flow_net *f, const net_request *r)
{
    uint32_t id = (uint32_t)f->ways.n;
    bool fresh;
    flow_way way = {0};
    if (!map64_put(&f->ways_by_pair, hash_way(r), &id, &fresh)) {
        flow_net_fail(f, error_nomem(f->err));
        return NULL;
    }
    if (!fresh)
        return &f->ways.at[id];
    halley_status status = r->part == NET_WHOLE ? make_way(&way, f, r->from, r->to)
                                                : make_half_way(&way, f, r);
    if (status == HALLEY_OK && !array_push(&f->ways, way))
        status = error_nomem(f->err);
    if (status == HALLEY_OK)
        return &f->ways.at[id];
    flow_net_fail(f, status);
    return NULL;
}

static uint32_t take_transfer(flow_net *f)
{
    const uint32_t id = f->free_transfer;
    assert(id == NET_NONE || id < f->transfers.n);
    if (id != NET_NONE) {
        f->free_transfer = f->transfers.at[id].next_free;
        return id;
    }
    if (!array_push(&f->transfers, (flow_transfer){0}))
        return NET_NONE;
    return (uint32_t)f->transfers.n - 1;
}

/* Mark the links on which NPUs sent an ended transfer as busy from its start on. */
static void add_heat(flow_net *f, const flow_transfer *t)
{
    const hw_graph *g = f->network->graph;
    const net_flow_class_use use = net_flow_get_class_use(f->flow, t->class_id);
    const uint64_t now = f->head.queue->now;
    for (uint32_t i = 0; i < use.n_links; i++) {
        const uint32_t link = use.links[i], from = g->link_from[link];
        const double bytes =
            t->bytes * (double)use.coefficients[i] / (double)NET_FLOW_ONE;
        if (from < f->head.n_npus && g->link_Bps[link] > 0)
            net_heat_spread(&f->heat, g->link_kind[link] * f->head.n_npus + from,
                            t->start, now - t->start,
                            bytes / g->link_Bps[link] * f->ticks_per_s);
    }
}

static void advance_solver(flow_net *f, uint64_t tick)
{
    const net_flow_end *ends;
    if (net_flow_now(f->flow) == tick)
        return;
    const uint32_t n = net_flow_advance(f->flow, tick, &ends);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t id = (uint32_t)ends[i].context;
        flow_transfer *t = &f->transfers.at[id];
        assert(id < f->transfers.n);
        if (f->heat.busy != NULL)
            add_heat(f, t);
        des_queue_push(f->head.queue, f->head.queue->now + t->latency_ticks, t->event);
        t->is_moving = false;
        t->rate_Bps = 0;
        t->next_free = f->free_transfer;
        f->free_transfer = id;
    }
}

/* Move the solver's clock to the queue's, and schedule the arrival of what has left its
 * sender. Changes of links that nothing in flight has met are applied on the way. */
void flow_net_catch_up(flow_net *f)
{
    const uint64_t now = f->head.queue->now;
    for (uint64_t next; (next = flow_net_next_change(f)) <= now;) {
        const uint64_t tick = next > net_flow_now(f->flow) ? next : net_flow_now(f->flow);
        advance_solver(f, tick);
        flow_net_make_changes(f, tick);
    }
    advance_solver(f, now);
    assert(net_flow_now(f->flow) == now);
}

net_id flow_net_start(flow_net *f, const flow_transfer *t)
{
    flow_net_catch_up(f);
    assert(t->class_id != NET_FLOW_NONE && t->bytes > 0);
    const uint32_t id = take_transfer(f);
    if (id != NET_NONE) {
        f->transfers.at[id] = *t;
        f->transfers.at[id].start = f->head.queue->now;
    }
    const uint32_t flow = id == NET_NONE
                              ? NET_FLOW_NONE
                              : net_flow_start(f->flow, t->class_id, t->bytes, id);
    if (flow == NET_FLOW_NONE) {
        flow_net_fail(f, error_nomem(f->err));
        return NET_NONE;
    }
    f->transfers.at[id].flow = flow;
    return id;
}

static net_id flow_start(net *n, const net_request *r)
{
    flow_net *f = flow_net_of(n);
    if (net_can(n, NET_CAN_BUNDLES) && r->part == NET_WHOLE)
        return flow_net_start_message(f, r);
    const flow_way *way = get_way(f, r);
    if (way == NULL)
        return NET_NONE;
    f->n_messages++;
    if (r->bytes == 0) {
        des_queue_push(n->queue, n->queue->now + way->latency_ticks, r->event);
        return NET_NONE;
    }
    return flow_net_start(f, &(flow_transfer){.event = r->event,
                                              .latency_ticks = way->latency_ticks,
                                              .class_id = way->class_id,
                                              .bytes = (double)r->bytes});
}

/* True for the first settles, and for every 1,024th. */
static bool is_to_certify(uint64_t n_flushes)
{
    return n_flushes < 8 || n_flushes % 1024 == 0;
}

/* The instant is over: solve once for everything, and reset the timer. */
static bool flow_flush(net *n)
{
    flow_net *f = flow_net_of(n);
    if (net_flow_count(f->flow) == 0 && f->timer_at == NET_FLOW_NEVER)
        return false;
    flow_net_catch_up(f);
    if (!net_flow_settle(f->flow)) {
        flow_net_fail(f, error_nomem(f->err));
        return false;
    }
    if (is_to_certify(f->n_flushes++)) {
        const halley_status status = net_flow_certify(f->flow, f->err);
        if (status != HALLEY_OK)
            flow_net_fail(f, status);
    }
    uint64_t next = net_flow_next(f->flow);
    if (net_flow_count(f->flow) > 0) {
        const uint64_t change = flow_net_next_change(f);
        next = change < next ? change : next;
    }
    if (next != f->timer_at) {
        des_timer_cancel(n->queue, f->timer);
        f->timer = next == NET_FLOW_NEVER
                       ? (des_timer){0}
                       : des_timer_set(n->queue, next, (uint64_t)NET_KIND_FREE);
        f->timer_at = next;
    }
    return des_queue_has_now(n->queue);
}

/* Flows end now. */
static void flow_event(net *n, uint64_t event)
{
    flow_net *f = flow_net_of(n);
    assert((event & NET_KIND_MASK) == NET_KIND_FREE && f->timer_at == n->queue->now);
    (void)event;
    f->timer_at = NET_FLOW_NEVER;
    f->timer = (des_timer){0};
    flow_net_catch_up(f);
}

static uint64_t flow_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    flow_net *f = flow_net_of(n);
    assert(from != to);
    const flow_way *way = get_way(f, &(net_request){.from = from, .to = to});
    if (way == NULL)
        return 0;
    return way->latency_ticks + flow_net_ticks(f, (double)bytes / way->rate_Bps);
}

static bool flow_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    (void)out, (void)n, (void)from, (void)to;
    return false; /* links are shared */
}

static uint32_t flow_count_differing(const net *n, uint32_t a, uint32_t b)
{
    const hw_graph *g = flow_net_of_const(n)->network->graph;
    uint32_t n_differing = 0;
    for (uint32_t d = 0; d < g->n_dims; d++) {
        n_differing += a % g->dims[d] != b % g->dims[d];
        a /= g->dims[d];
        b /= g->dims[d];
    }
    return n_differing;
}

static net_heat flow_take_heat(net *n)
{
    flow_net *f = flow_net_of(n);
    const net_heat heat = f->heat;
    f->heat = (net_heat){0};
    return heat;
}

const net_model net_model_flow = {
    .name = "flow",
    .can = NET_CAN_SEND_HALF | NET_CAN_BUNDLES | NET_CAN_CHANGE | NET_CAN_PARTS |
           NET_CAN_SLOW,
    .size = sizeof(flow_net),
    .open = flow_open,
    .close = flow_close,
    .start = flow_start,
    .start_bundle = flow_net_start_bundle,
    .start_part = flow_net_start_part,
    .slow = flow_net_slow,
    .prepare = flow_net_prepare,
    .prepare_hops = flow_net_prepare_hops,
    .fold = flow_net_fold,
    .set_hops = flow_net_set_hops,
    .count_links = flow_net_count_links,
    .colour_link = flow_net_colour_link,
    .event = flow_event,
    .flush = flow_flush,
    .delay = flow_delay,
    .find_way = flow_find_way,
    .count_differing = flow_count_differing,
    .describe = flow_net_describe,
    .take_heat = flow_take_heat,
    .list_links = flow_net_list_links,
    .find_stalled = flow_net_find_stalled,
    .certify = flow_net_certify,
};
