/*
 * net/own.c - a network model that the calling program supplies (halley/network.h), as a
 * row of net.h. The program sees numbered requests, the graph and the routes of the
 * cluster, and a clock. It never sees events of the simulator. Its answers are checked:
 * the number of a request that is not in flight, or a time in the past, ends the run with
 * an error.
 */
#include "des/ticks.h"
#include "hw/graph/topology.h"
#include "hw/network.h"
#include "net/models.h"

#include <math.h>

/* A message or collective in flight. */
typedef struct own_request {
    uint64_t event; /* handed back on arrival */
    uint32_t next_free;
    bool is_open;
} own_request;

struct halley_network {
    net head;
    const halley_network_ops *ops;
    void *state;
    hw_network *network;
    halley_topology graph; /* lends the network's */
    ARRAY(own_request) requests;
    ARRAY(halley_network_hop) hops; /* of the last route */
    uint32_t free_request;
    double ticks_per_s;
    uint64_t n_messages;
    double bytes;
    bool is_open;
    void (*fail)(void *context, halley_status status);
    halley_error *err;
};

static halley_network *own_net_of(net *n)
{
    return (halley_network *)(void *)n;
}

static void fail_own(halley_network *o, halley_status status)
{
    o->head.queue->failed = true;
    if (o->fail != NULL)
        o->fail(o->head.context, status);
}

void halley_network_fail(halley_network *run, const char *sentence)
{
    fail_own(run, error_set(run->err, HALLEY_EINVAL, "network model %s: %s",
                            run->ops->name, sentence));
}

static halley_status check_own_ops(const halley_cluster *c, const halley_network_ops *ops,
                                   halley_error *err)
{
    if (ops->name == NULL || ops->open == NULL || ops->start == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "a network model needs name, open and start");
    for (uint32_t d = 0; d < c->n_dims; d++)
        if (c->dims[d].in_network != 0)
            return error_set(err, HALLEY_EINVAL,
                             "network model %s: a model of one's own cannot reduce in "
                             "switches; remove in-network from the cluster",
                             ops->name);
    return HALLEY_OK;
}

static halley_status own_open(net *n, const halley_cluster *c, const net_options *o,
                              halley_error *err)
{
    halley_network *own = own_net_of(n);
    own->ops = o->ops;
    own->fail = o->fail;
    own->err = o->err;
    own->ticks_per_s = o->ticks_per_s;
    own->free_request = NET_NONE;
    assert(o->ops != NULL && o->ticks_per_s == 1e12);
    TRY(check_own_ops(c, o->ops, err));
    n->can = o->ops->capabilities & (NET_CAN_BUNDLES | NET_CAN_CANCEL | NET_CAN_CHANGE);
    TRY(hw_network_new(&own->network, c, err));
    own->graph.graph = own->network->graph;
    TRY(o->ops->open(&own->state, own, o->ops_context, err));
    own->is_open = true;
    return HALLEY_OK;
}

static void own_close(net *n)
{
    halley_network *o = own_net_of(n);
    if (o->is_open && o->ops->close != NULL)
        o->ops->close(o->state);
    hw_network_free(o->network);
    array_fini(&o->requests);
    array_fini(&o->hops);
}

static uint32_t open_request(halley_network *o, uint64_t event)
{
    uint32_t id = o->free_request;
    if (id != NET_NONE) {
        o->free_request = o->requests.at[id].next_free;
    } else {
        id = (uint32_t)o->requests.n;
        if (!array_push(&o->requests, (own_request){0})) {
            fail_own(o, error_nomem(o->err));
            return NET_NONE;
        }
    }
    assert(id < o->requests.n && !o->requests.at[id].is_open);
    o->requests.at[id] = (own_request){event, NET_NONE, true};
    return id;
}

static void free_request(halley_network *o, uint32_t id)
{
    assert(id < o->requests.n && o->requests.at[id].is_open);
    o->requests.at[id].is_open = false;
    o->requests.at[id].next_free = o->free_request;
    o->free_request = id;
}

static net_id start_own(halley_network *o, halley_network_request *r, uint64_t event)
{
    r->id = open_request(o, event);
    if (r->id == NET_NONE)
        return NET_NONE;
    o->n_messages++;
    o->bytes += r->bytes;
    const net_id id = r->id;
    o->ops->start(o->state, r);
    return id;
}

static net_id own_start(net *n, const net_request *r)
{
    halley_network_request request = {.kind = HALLEY_COLLECTIVE_SEND,
                                      .bytes = (double)r->bytes,
                                      .from = r->from,
                                      .to = r->to};
    return start_own(own_net_of(n), &request, r->event);
}

static net_id own_start_bundle(net *n, const net_bundle *b)
{
    halley_network_request request = {.kind = (halley_collective_kind)b->kind,
                                      .bytes = b->bytes,
                                      .from = b->root,
                                      .to = b->root,
                                      .members = b->ranks,
                                      .n_members = b->n};
    return start_own(own_net_of(n), &request, b->event);
}

static void own_cancel(net *n, net_id id)
{
    halley_network *o = own_net_of(n);
    assert(id < o->requests.n && o->requests.at[id].is_open && o->ops->cancel != NULL);
    o->ops->cancel(o->state, id);
    free_request(o, id);
}

static void own_change(net *n, uint32_t link, double Bps)
{
    halley_network *o = own_net_of(n);
    assert(link < o->network->graph->n_links && o->ops->change != NULL);
    o->ops->change(o->state, link, Bps);
}

static void own_event(net *n, uint64_t event)
{
    halley_network *o = own_net_of(n);
    assert((event & NET_KIND_MASK) == NET_KIND_FREE && o->ops->event != NULL);
    o->ops->event(o->state, event >> NET_KIND_BITS);
}

static bool own_flush(net *n)
{
    halley_network *o = own_net_of(n);
    if (o->ops->flush == NULL || n->queue->failed)
        return false;
    o->ops->flush(o->state);
    return des_queue_has_now(n->queue);
}

void halley_network_arrive(halley_network *run, uint32_t id, uint64_t at)
{
    if (id >= run->requests.n || !run->requests.at[id].is_open) {
        halley_network_fail(run, "it reports the arrival of a message that is not under "
                                 "way");
        return;
    }
    if (at < run->head.queue->now) {
        halley_network_fail(run, "it reports an arrival in the past");
        return;
    }
    const uint64_t event = run->requests.at[id].event;
    free_request(run, id);
    des_queue_push(run->head.queue, at, event);
}

void halley_network_wake(halley_network *run, uint64_t at, uint64_t word)
{
    if (run->ops->event == NULL || word >> (64 - NET_KIND_BITS) != 0 ||
        at < run->head.queue->now) {
        halley_network_fail(run, run->ops->event == NULL
                                     ? "it asks to be woken and has no function event"
                                 : at < run->head.queue->now
                                     ? "it asks to be woken in the past"
                                     : "it asks to be woken with a word above 2^60");
        return;
    }
    des_queue_push(run->head.queue, at, word << NET_KIND_BITS | NET_KIND_FREE);
}

uint32_t halley_network_npus(const halley_network *run)
{
    return run->head.n_npus;
}

uint64_t halley_network_now(const halley_network *run)
{
    return run->head.queue->now;
}

const halley_topology *halley_network_graph(const halley_network *run)
{
    return &run->graph;
}

halley_status halley_network_route(const halley_network_hop **hops, size_t *n,
                                   double *latency_s, halley_network *run, uint32_t from,
                                   uint32_t to, halley_error *err)
{
    hw_route route;
    if (from == to || from >= run->head.n_npus || to >= run->head.n_npus)
        return error_set(err, HALLEY_EINVAL,
                         "network model %s: no route from NPU %u to %u of %u",
                         run->ops->name, from, to, run->head.n_npus);
    TRY(hw_network_find(&route, run->network, from, to, err));
    run->hops.n = 0;
    for (uint32_t i = 0; i < route.n; i++)
        if (!array_push(&run->hops, (halley_network_hop){route.hops[i].link,
                                                         (double)route.hops[i].share /
                                                             (double)HW_ROUTE_ONE}))
            return error_nomem(err);
    *hops = run->hops.at;
    *n = run->hops.n;
    *latency_s = route.latency_s;
    return HALLEY_OK;
}

/* Delay of a message without other traffic: the graph's latency and its slowest link. */
static uint64_t own_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    halley_network *o = own_net_of(n);
    hw_route route;
    double least = HUGE_VAL;
    if (hw_network_find(&route, o->network, from, to, o->err) != HALLEY_OK) {
        fail_own(o, HALLEY_EINVAL);
        return 0;
    }
    for (uint32_t i = 0; i < route.n; i++)
        least = fmin(least, o->network->graph->link_Bps[route.hops[i].link] /
                                ((double)route.hops[i].share / (double)HW_ROUTE_ONE));
    return des_queue_ticks(
        o->head.queue, round((route.latency_s + (double)bytes / least) * o->ticks_per_s));
}

static bool own_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    (void)out, (void)n, (void)from, (void)to;
    return false; /* what it shares is unknown */
}

static uint32_t own_count_differing(const net *n, uint32_t a, uint32_t b)
{
    (void)n;
    return a != b;
}

/* One row with everything it carried; its links are unknown. */
static bool own_describe(net_part_use *out, const net *n, uint32_t i)
{
    const halley_network *o = (const halley_network *)(const void *)n;
    if (i > 0)
        return false;
    *out = (net_part_use){.name = o->ops->name,
                          .n = n->n_npus,
                          .n_messages = o->n_messages,
                          .bytes = o->bytes};
    return true;
}

const net_model net_model_own = {
    .name = "own",
    .size = sizeof(halley_network),
    .open = own_open,
    .close = own_close,
    .start = own_start,
    .start_bundle = own_start_bundle,
    .cancel = own_cancel,
    .change = own_change,
    .event = own_event,
    .flush = own_flush,
    .delay = own_delay,
    .find_way = own_find_way,
    .count_differing = own_count_differing,
    .describe = own_describe,
};
