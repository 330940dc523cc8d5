/*
 * net/queue.c - links as servers: a link sends one message at a time, first come, first
 * served, and a device stores the whole message before it forwards it. ASTRA-sim's
 * congestion-aware model and the native one differ only in the rules they belong to.
 *
 * A link that accepts a message at t schedules two events in this order. The message
 * arrives at the next device at t + trunc(latency + bytes/bandwidth). The link is free
 * again at t + trunc(bytes/bandwidth). A message that finds the link busy waits in the
 * link's queue, and the "free" event starts the first waiting one. The order of events of
 * one instant decides which message goes first. So both are always events, even if no
 * message waits.
 *
 * A ring has two links per NPU, towards higher and towards lower ids. The shorter
 * direction is taken, and a tie goes towards higher ids. A switch has one link from each
 * NPU and one to each. A fully connected dimension has one link per ordered pair. These
 * are created on first use, because all n^2 would not fit into memory.
 */
#include "base/array.h"
#include "base/hash.h"
#include "des/ticks.h"
#include "net/dims.h"

#define AT_SWITCH UINT32_C(0x80000000)

typedef struct net_message {
    uint64_t event, bytes;
    uint32_t at, to; /* its present NPU (or switch, see `dim`); destination */
    uint32_t next;   /* next in the queue of a link, or in the free list */
    uint32_t dim; /* dimension being crossed; top bit: it is at that dimension's switch */
} net_message;

typedef struct net_link {
    uint32_t head, tail; /* waiting messages; NET_NONE = none */
    uint32_t dim;
    uint32_t from; /* the NPU that sends on it; NET_NONE = a switch */
    bool busy;
} net_link;

/* How long the last message size keeps a link of a dimension busy, and how long such a
 * message is in flight. Collectives send many messages of one size, so this saves
 * divisions. */
typedef struct wire_time {
    uint64_t bytes;
    double wire;               /* ticks, with fraction */
    uint64_t arrives, is_free; /* whole ticks */
    bool is_known;
} wire_time;

struct net_links {
    wire_time times[CLUSTER_MAX_DIMS];
    net_message *messages;
    uint32_t n_messages, cap_messages, free_message;
    net_link *links;
    uint32_t n_links, cap_links;
    uint32_t first[CLUSTER_MAX_DIMS]; /* by dimension: its first link */
    map64 pairs; /* links of fully connected dimensions, created on first use */
};

/* Events: which message has arrived at a device, which link is free again. */
static uint64_t encode_arrival(uint32_t message)
{
    return (uint64_t)message << NET_KIND_BITS | NET_KIND_ARRIVE;
}
static uint64_t encode_free_link(uint32_t link)
{
    return (uint64_t)link << NET_KIND_BITS | NET_KIND_FREE;
}
static uint32_t decode_arrival(const net_links *l, uint64_t event)
{
    assert((event & NET_KIND_MASK) == NET_KIND_ARRIVE);
    assert(event >> NET_KIND_BITS < l->n_messages);
    (void)l;
    return (uint32_t)(event >> NET_KIND_BITS);
}
static uint32_t decode_free_link(const net_links *l, uint64_t event)
{
    assert((event & NET_KIND_MASK) == NET_KIND_FREE);
    assert(event >> NET_KIND_BITS < l->n_links);
    (void)l;
    return (uint32_t)(event >> NET_KIND_BITS);
}

static void init_links(net_links *l, const net_dims *d)
{
    assert(d->n_dims <= CLUSTER_MAX_DIMS);
    for (uint32_t i = 0; i < d->n_dims; i++) {
        const bool ring = d->dims[i].topology == CLUSTER_RING;
        if (d->dims[i].topology == CLUSTER_FULLY_CONNECTED)
            continue;
        for (uint32_t k = 0; k < 2 * d->head.n_npus; k++)
            l->links[l->first[i] + k] = (net_link){
                .head = NET_NONE,
                .tail = NET_NONE,
                .dim = i,
                .from = ring                 ? k / 2
                        : k < d->head.n_npus ? k
                                             : NET_NONE,
            };
    }
}

static halley_status queue_open(net *n, const halley_cluster *c, const net_options *o,
                                halley_error *err)
{
    net_dims *d = net_dims_of(n);
    uint64_t total = 0;
    TRY(net_dims_open(n, c, o, err));
    net_links *l = calloc(1, sizeof *l);
    if (l == NULL)
        return error_nomem(err);
    d->links = l;
    l->free_message = NET_NONE;
    for (uint32_t i = 0; i < d->n_dims; i++) {
        l->first[i] = (uint32_t)total;
        if (d->dims[i].topology != CLUSTER_FULLY_CONNECTED)
            total += 2 * (uint64_t)d->head.n_npus;
    }
    if (total > UINT32_MAX / 2)
        return error_set(err, HALLEY_ELIMIT,
                         "the network has %llu links; the model %s can handle %u",
                         (unsigned long long)total, n->model->name, UINT32_MAX / 2);
    l->links = mem_array((size_t)total, sizeof *l->links);
    if (l->links == NULL)
        return error_nomem(err);
    l->n_links = l->cap_links = (uint32_t)total;
    init_links(l, d);
    return HALLEY_OK;
}

static void queue_close(net *n)
{
    net_links *l = net_dims_of(n)->links;
    net_dims_close(n);
    if (l == NULL)
        return;
    free(l->messages);
    free(l->links);
    map64_fini(&l->pairs);
    free(l);
    net_dims_of(n)->links = NULL;
}

/* Take a message from the pool. NET_NONE: no memory, and the queue has failed. */
static uint32_t new_message(net_dims *d)
{
    net_links *l = d->links;
    if (l->free_message != NET_NONE) {
        const uint32_t id = l->free_message;
        assert(id < l->n_messages);
        l->free_message = l->messages[id].next;
        return id;
    }
    if (l->n_messages == l->cap_messages) {
        size_t cap = l->cap_messages;
        if (cap >= UINT32_MAX / 4 ||
            !array_grow_((void **)(void *)&l->messages, &cap, l->n_messages, 1,
                         sizeof *l->messages)) {
            d->head.queue->failed = true;
            return NET_NONE;
        }
        l->cap_messages = (uint32_t)cap;
    }
    return l->n_messages++;
}

/* Find or make the link of an ordered pair of a fully connected dimension. NET_NONE: no
 * memory. */
static uint32_t get_pair_link(net_dims *d, uint32_t dim, uint32_t from, uint32_t to)
{
    net_links *l = d->links;
    uint32_t link = l->n_links;
    bool fresh;
    const uint64_t key = (uint64_t)from * d->head.n_npus + to;
    if (l->n_links == l->cap_links) {
        size_t cap = l->cap_links;
        if (cap >= UINT32_MAX / 4 || !array_grow_((void **)(void *)&l->links, &cap,
                                                  l->n_links, 1, sizeof *l->links))
            goto no_memory;
        l->cap_links = (uint32_t)cap;
    }
    if (!map64_put(&l->pairs, key, &link, &fresh))
        goto no_memory;
    if (fresh)
        l->links[l->n_links++] =
            (net_link){.head = NET_NONE, .tail = NET_NONE, .dim = dim, .from = from};
    assert(link < l->n_links);
    return link;
no_memory:
    d->head.queue->failed = true;
    return NET_NONE;
}

/* Leave a dimension's switch for the NPU at the destination's coordinate. */
static uint32_t leave_switch(net_dims *d, net_message *m)
{
    const uint32_t *representative = d->head.folding.representative;
    m->dim &= ~AT_SWITCH;
    const net_dim *dim = &d->dims[m->dim];
    const uint32_t a = get_coordinate(dim, m->at), b = get_coordinate(dim, m->to);
    m->at = m->at + b * dim->stride - a * dim->stride;
    return d->links->first[m->dim] + d->head.n_npus +
           (representative != NULL ? representative[m->at] : m->at);
}

/* Move a message to the next device; returns the link that it takes. */
static uint32_t leave_device(net_dims *d, net_message *m)
{
    if (m->dim & AT_SWITCH)
        return leave_switch(d, m);
    m->dim = find_first_dim(d, m->at, m->to);
    const net_dim *dim = &d->dims[m->dim];
    const uint32_t from = m->at;
    const uint32_t a = get_coordinate(dim, from), b = get_coordinate(dim, m->to);
    assert(a != b);
    if (dim->topology == CLUSTER_SWITCH) {
        const uint32_t link = d->links->first[m->dim] + from;
        m->dim |= AT_SWITCH;
        return link;
    }
    if (dim->topology == CLUSTER_FULLY_CONNECTED) {
        m->at = from + b * dim->stride - a * dim->stride;
        return get_pair_link(d, m->dim, from, m->at);
    }
    const uint32_t up = b > a ? b - a : b + dim->n - a;
    const bool goes_up = up <= dim->n - up;
    const uint32_t next =
        goes_up ? (a + 1 == dim->n ? 0 : a + 1) : (a == 0 ? dim->n : a) - 1;
    m->at = from + next * dim->stride - a * dim->stride;
    return d->links->first[m->dim] + 2 * from + (goes_up ? 0 : 1);
}

/* Links from a switch, and the receiving ends of all links, belong to the receiver. */
static void watch_link(const net_dims *d, uint32_t id, const net_message *m,
                       uint64_t arrives, uint64_t is_free)
{
    const net_folding *f = &d->head.folding;
    const net_link *link = &d->links->links[id];
    const bool down = link->from == NET_NONE;
    const uint32_t owner =
        down ? id - d->links->first[link->dim] - d->head.n_npus : link->from;
    assert(owner < d->head.n_npus);
    f->watch(d->head.context, f->representative[m->to], arrives, down ? 0 : m->event);
    f->watch(d->head.context, owner, is_free, 0);
}

static const wire_time *get_wire_time(net_dims *d, uint32_t i, uint64_t bytes)
{
    wire_time *t = &d->links->times[i];
    if (t->is_known && t->bytes == bytes)
        return t;
    const net_dim *dim = &d->dims[i];
    const double wire = (double)bytes / dim->bytes_per_tick;
    *t = (wire_time){.bytes = bytes,
                     .wire = wire,
                     .arrives = des_queue_ticks(d->head.queue, dim->latency_ticks + wire),
                     .is_free = des_queue_ticks(d->head.queue, wire),
                     .is_known = true};
    return t;
}

static void transmit_message(net_dims *d, uint32_t id, uint32_t message)
{
    net_link *link = &d->links->links[id];
    const net_message *m = &d->links->messages[message];
    const wire_time *t = get_wire_time(d, link->dim, m->bytes);
    assert(!link->busy);
    link->busy = true;
    if (d->heat.busy != NULL && link->from != NET_NONE)
        net_heat_add(&d->heat, link->dim * d->head.n_npus + link->from,
                     d->head.queue->now, ticks_from(t->wire));
    const uint64_t arrives = d->head.queue->now + t->arrives;
    const uint64_t is_free = d->head.queue->now + t->is_free;
    if (d->head.folding.watch != NULL)
        watch_link(d, id, m, arrives, is_free);
    des_queue_push(d->head.queue, arrives, encode_arrival(message));
    des_queue_push(d->head.queue, is_free, encode_free_link(id));
}

/* Send on a link now, or wait for it. */
static void take_link(net_dims *d, uint32_t id, uint32_t message)
{
    net_link *link = &d->links->links[id];
    net_message *messages = d->links->messages;
    assert(id < d->links->n_links && message < d->links->n_messages);
    if (!link->busy) {
        transmit_message(d, id, message);
        return;
    }
    messages[message].next = NET_NONE;
    if (link->head == NET_NONE)
        link->head = message;
    else
        messages[link->tail].next = message;
    link->tail = message;
}

static void forward_message(net_dims *d, uint32_t message)
{
    const uint32_t id = leave_device(d, &d->links->messages[message]);
    if (id != NET_NONE)
        take_link(d, id, message);
}

static net_id queue_start(net *n, const net_request *r)
{
    net_dims *d = net_dims_of(n);
    const bool whole = r->part == NET_WHOLE;
    if (d->sent != NULL)
        net_dims_count_all(d, r, 1);
    else if (r->part != NET_DOWN) /* already counted on the way up */
        count_messages(d, whole ? find_first_dim(d, r->from, r->to) : r->dim, r->from,
                       r->bytes, 1);
    const uint32_t id = new_message(d);
    if (id == NET_NONE)
        return NET_NONE;
    d->links->messages[id] = (net_message){
        .event = r->event, .bytes = r->bytes, .at = r->from, .to = r->to, .dim = r->dim};
    if (whole) {
        forward_message(d, id);
        return id;
    }
    assert(r->dim < d->n_dims && d->dims[r->dim].topology == CLUSTER_SWITCH);
    take_link(
        d, d->links->first[r->dim] + r->from + (r->part == NET_DOWN ? d->head.n_npus : 0),
        id);
    return id;
}

static void release_link(net_dims *d, uint32_t id)
{
    net_link *link = &d->links->links[id];
    const uint32_t message = link->head;
    assert(link->busy);
    link->busy = false;
    if (message == NET_NONE)
        return;
    link->head = d->links->messages[message].next;
    transmit_message(d, id, message);
}

static void queue_event(net *n, uint64_t event)
{
    net_dims *d = net_dims_of(n);
    if ((event & NET_KIND_MASK) == NET_KIND_FREE) {
        release_link(d, decode_free_link(d->links, event));
        return;
    }
    const uint32_t id = decode_arrival(d->links, event);
    net_message *m = &d->links->messages[id];
    if (m->at != m->to || m->dim & AT_SWITCH) {
        forward_message(d, id);
        return;
    }
    const uint64_t arrived = m->event;
    m->next = d->links->free_message;
    d->links->free_message = id;
    d->head.deliver(d->head.context, arrived);
}

static bool queue_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    const net_dims *d = net_dims_of_const(n);
    *out = (net_way){.dim = find_first_dim(d, from, to)};
    net_dims_route(d, from, to, &out->latency_ticks, &out->bytes_per_tick);
    const net_dim *dim = &d->dims[out->dim];
    const uint32_t a = get_coordinate(dim, from), b = get_coordinate(dim, to);
    const uint32_t up = b > a ? b - a : b + dim->n - a;
    if (net_count_differing_dims(n, from, to) != 1)
        return false;
    if (dim->topology == CLUSTER_FULLY_CONNECTED)
        out->link = up;
    if (dim->topology != CLUSTER_RING)
        return true;
    out->link = up <= dim->n - up;
    return up == 1 || up == dim->n - 1;
}

const net_model net_model_aware = {
    .name = "aware",
    .astra = true,
    .can = NET_CAN_SEND_HALF,
    NET_DIMS_ROW,
    .open = queue_open,
    .close = queue_close,
    .start = queue_start,
    .event = queue_event,
    .delay = net_dims_delay_first,
    .find_way = queue_find_way,
};

const net_model net_model_queue = {
    .name = "queue",
    .old_name = "link-queue",
    .can = NET_CAN_SEND_HALF | NET_CAN_FOLD,
    NET_DIMS_ROW,
    .open = queue_open,
    .close = queue_close,
    .start = queue_start,
    .event = queue_event,
    .delay = net_dims_delay,
    .list_links = net_dims_list_links,
    .find_way = queue_find_way,
};
