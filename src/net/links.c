/*
 * net/links.c - links as servers: one message at a time, first come first served, stored
 * whole before it goes on.
 *
 * A link that takes a message at t schedules two events in this order: arrival at the
 * next device at t + trunc(latency + bytes/bandwidth), and itself free again at t +
 * trunc(bytes/bandwidth). A message that finds the link busy waits in the link's queue;
 * the free event takes the first one waiting. Order among events of one instant decides
 * who goes first, so both are always events, even when nobody waits.
 *
 * Links: a ring has two per NPU (up the ids, down the ids), the shorter way is taken and
 * a tie goes up; a switch one from each NPU and one to each; a fully connected dimension
 * one per ordered pair, made when first used because n^2 of them would not fit.
 */
#include "net/links.h"

#include "base/array.h"
#include "des/ticks.h"

#define AT_SWITCH UINT32_C(0x80000000)

halley_status net_links_init(net *n, halley_error *err)
{
    uint64_t total = 0;
    for (uint32_t d = 0; d < n->n_dims; d++) {
        n->dims[d].first_link = (uint32_t)total;
        if (n->dims[d].topology != CLUSTER_FULLY_CONNECTED)
            total += 2 * (uint64_t)n->n_npus;
    }
    if (total > UINT32_MAX / 2)
        return error_set(err, HALLEY_ELIMIT, "too many links: %llu",
                         (unsigned long long)total);
    n->links = mem_array((size_t)total, sizeof *n->links);
    if (n->links == NULL)
        return error_nomem(err);
    n->n_links = n->cap_links = (uint32_t)total;
    for (uint32_t i = 0; i < n->n_links; i++)
        n->links[i] = (net_link){.head = NET_NONE, .tail = NET_NONE};
    for (uint32_t d = 0; d < n->n_dims; d++) {
        if (n->dims[d].topology != CLUSTER_FULLY_CONNECTED)
            for (uint32_t i = 0; i < 2 * n->n_npus; i++) {
                net_link *link = &n->links[n->dims[d].first_link + i];
                const bool ring = n->dims[d].topology == CLUSTER_RING;
                link->dim = d;
                link->from = ring ? i / 2 : i < n->n_npus ? i : NET_NONE;
            }
    }
    return HALLEY_OK;
}

static uint32_t new_message(net *n)
{
    if (n->free_message != NET_NONE) {
        const uint32_t id = n->free_message;
        n->free_message = n->messages[id].next;
        return id;
    }
    if (n->n_messages == n->cap_messages) {
        size_t cap = n->cap_messages;
        if (cap >= UINT32_MAX / 4 ||
            !array_grow_((void **)(void *)&n->messages, &cap, n->n_messages, 1,
                         sizeof *n->messages)) {
            n->queue->failed = true;
            return NET_NONE;
        }
        n->cap_messages = (uint32_t)cap;
    }
    return n->n_messages++;
}

/* The link of an ordered pair of a fully connected dimension; NET_NONE: no memory. */
static uint32_t pair_link(net *n, uint32_t d, uint32_t from, uint32_t to)
{
    uint32_t link = n->n_links;
    bool fresh;
    const uint64_t key = (uint64_t)from * n->n_npus + to;
    if (n->n_links == n->cap_links) {
        size_t cap = n->cap_links;
        if (cap >= UINT32_MAX / 4 || !array_grow_((void **)(void *)&n->links, &cap,
                                                  n->n_links, 1, sizeof *n->links))
            goto no_memory;
        n->cap_links = (uint32_t)cap;
    }
    if (!map64_put(&n->pairs, key, &link, &fresh))
        goto no_memory;
    if (fresh)
        n->links[n->n_links++] =
            (net_link){.head = NET_NONE, .tail = NET_NONE, .dim = d, .from = from};
    return link;
no_memory:
    n->queue->failed = true;
    return NET_NONE;
}

/* The link on which a message leaves the device it is at; moves it to the next device. */
static uint32_t next_link(net *n, net_message *m)
{
    if (m->dim & AT_SWITCH) {
        m->dim &= ~AT_SWITCH;
        const net_dim *dim = &n->dims[m->dim];
        const uint32_t a = m->at / dim->stride % dim->n;
        const uint32_t b = m->to / dim->stride % dim->n;
        m->at = m->at + b * dim->stride - a * dim->stride;
        return dim->first_link + n->n_npus + (n->stand_in ? n->stand_in[m->at] : m->at);
    }
    m->dim = net_first_dim(n, m->at, m->to);
    const net_dim *dim = &n->dims[m->dim];
    const uint32_t from = m->at;
    const uint32_t a = from / dim->stride % dim->n;
    const uint32_t b = m->to / dim->stride % dim->n;
    if (dim->topology == CLUSTER_SWITCH) {
        m->dim |= AT_SWITCH;
        return dim->first_link + from;
    }
    if (dim->topology == CLUSTER_FULLY_CONNECTED) {
        m->at = from + b * dim->stride - a * dim->stride;
        return pair_link(n, m->dim, from, m->at);
    }
    const uint32_t up = b > a ? b - a : b + dim->n - a;
    const bool goes_up = up <= dim->n - up;
    const uint32_t next =
        goes_up ? (a + 1 == dim->n ? 0 : a + 1) : (a == 0 ? dim->n : a) - 1;
    m->at = from + next * dim->stride - a * dim->stride;
    return dim->first_link + 2 * from + (goes_up ? 0 : 1);
}

/* A link from a switch, and the end of the others, belong to the receiver. */
static void watch_link(const net *n, uint32_t id, const net_message *m, uint64_t arrives,
                       uint64_t is_free)
{
    const net_link *link = &n->links[id];
    const bool down = link->from == NET_NONE;
    const uint32_t owner =
        down ? id - n->dims[link->dim].first_link - n->n_npus : link->from;
    n->watch(n->context, n->stand_in[m->to], arrives, down ? 0 : m->what);
    n->watch(n->context, owner, is_free, 0);
}

static void transmit(net *n, uint32_t link, uint32_t message)
{
    const net_dim *dim = &n->dims[n->links[link].dim];
    const double wire = (double)n->messages[message].bytes / dim->bytes_per_tick;
    n->links[link].busy = true;
    if (n->heat.busy != NULL && n->links[link].from != NET_NONE)
        net_heat_add(&n->heat, n->links[link].dim * n->n_npus + n->links[link].from,
                     n->queue->now, ticks_from(wire));
    const uint64_t arrives = n->queue->now + ticks_from(dim->latency_ticks + wire);
    const uint64_t is_free = n->queue->now + ticks_from(wire);
    if (n->watch != NULL)
        watch_link(n, link, &n->messages[message], arrives, is_free);
    des_queue_push(n->queue, arrives,
                   (uint64_t)message << NET_KIND_BITS | NET_KIND_ARRIVE);
    des_queue_push(n->queue, is_free, (uint64_t)link << NET_KIND_BITS | NET_KIND_FREE);
}

/* Send on a link now or wait for it. */
static void take_link(net *n, uint32_t id, uint32_t message)
{
    net_link *link = &n->links[id];
    if (!link->busy) {
        transmit(n, id, message);
        return;
    }
    n->messages[message].next = NET_NONE;
    if (link->head == NET_NONE)
        link->head = message;
    else
        n->messages[link->tail].next = message;
    link->tail = message;
}

static void forward(net *n, uint32_t message)
{
    const uint32_t id = next_link(n, &n->messages[message]);
    if (id != NET_NONE)
        take_link(n, id, message);
}

void net_links_send(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint64_t what)
{
    const uint32_t id = new_message(n);
    if (id == NET_NONE)
        return;
    n->messages[id] = (net_message){.what = what, .bytes = bytes, .at = from, .to = to};
    forward(n, id);
}

void net_links_send_up(net *n, uint32_t from, uint32_t dim, uint64_t bytes, uint64_t what)
{
    const uint32_t id = new_message(n);
    if (id == NET_NONE)
        return;
    n->messages[id] =
        (net_message){.what = what, .bytes = bytes, .at = from, .to = from, .dim = dim};
    take_link(n, n->dims[dim].first_link + from, id);
}

void net_links_send_down(net *n, uint32_t to, uint32_t dim, uint64_t bytes, uint64_t what)
{
    const uint32_t id = new_message(n);
    if (id == NET_NONE)
        return;
    n->messages[id] =
        (net_message){.what = what, .bytes = bytes, .at = to, .to = to, .dim = dim};
    take_link(n, n->dims[dim].first_link + n->n_npus + to, id);
}

void net_links_handle(net *n, uint64_t what)
{
    const uint32_t id = (uint32_t)(what >> NET_KIND_BITS);
    if ((what & NET_KIND_MASK) == NET_KIND_FREE) {
        net_link *link = &n->links[id];
        const uint32_t message = link->head;
        link->busy = false;
        if (message == NET_NONE)
            return;
        link->head = n->messages[message].next;
        transmit(n, id, message);
        return;
    }
    net_message *m = &n->messages[id];
    if (m->at != m->to || m->dim & AT_SWITCH) {
        forward(n, id);
        return;
    }
    const uint64_t arrived = m->what;
    m->next = n->free_message;
    n->free_message = id;
    n->deliver(n->context, arrived);
}
