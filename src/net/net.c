/* net/net.c - set-up and the contention-free model. */
#include "net/net.h"

#include "base/array.h"
#include "des/ticks.h"
#include "net/links.h"

halley_status net_init(net *out, const halley_cluster *cluster, bool link_queues,
                       double ticks_per_s, des_queue *queue, halley_error *err)
{
    *out = (net){.queue = queue,
                 .link_queues = link_queues,
                 .free_message = NET_NONE,
                 .n_dims = cluster->n_dims,
                 .n_npus = cluster->n_npus,
                 .first_dim_only = cluster->astra};
    uint32_t stride = 1;
    for (uint32_t d = 0; d < cluster->n_dims; d++) {
        const cluster_dim *from = &cluster->dims[d];
        out->dims[d] = (net_dim){
            .topology = from->topology,
            .n = from->n,
            .stride = stride,
            .latency_ticks = from->latency_ns * (ticks_per_s / 1e9),
            .bytes_per_tick = from->bw_Bps / ticks_per_s,
        };
        stride *= from->n;
    }
    return link_queues ? net_links_init(out, err) : HALLEY_OK;
}

void net_fini(net *n)
{
    free(n->messages);
    free(n->links);
    map64_fini(&n->pairs);
    net_heat_fini(&n->heat);
    *n = (net){0};
}

static uint32_t hops(const net_dim *dim, uint32_t a, uint32_t b)
{
    if (dim->topology == CLUSTER_SWITCH)
        return 2;
    if (dim->topology == CLUSTER_FULLY_CONNECTED)
        return 1;
    const uint32_t clockwise = b > a ? b - a : b + dim->n - a;
    return clockwise < dim->n - clockwise ? clockwise : dim->n - clockwise;
}

uint32_t net_first_dim(const net *n, uint32_t from, uint32_t to)
{
    uint32_t d = 0;
    for (; d + 1 < n->n_dims; d++) {
        if (from % n->dims[d].n != to % n->dims[d].n)
            break;
        from /= n->dims[d].n;
        to /= n->dims[d].n;
    }
    return d;
}

uint32_t net_differ(const net *n, uint32_t a, uint32_t b)
{
    uint32_t differ = 0;
    for (uint32_t d = 0; d < n->n_dims; d++) {
        differ += a % n->dims[d].n != b % n->dims[d].n;
        a /= n->dims[d].n;
        b /= n->dims[d].n;
    }
    return differ;
}

/* Over all dimensions in which the two differ. */
void net_route(const net *n, uint32_t from, uint32_t to, double *latency_ticks,
               double *bytes_per_tick)
{
    double latency = 0, slowest = 0;
    for (uint32_t d = 0; d < n->n_dims; d++) {
        const net_dim *dim = &n->dims[d];
        const uint32_t a = from / dim->stride % dim->n, b = to / dim->stride % dim->n;
        if (a == b)
            continue;
        latency += (double)hops(dim, a, b) * dim->latency_ticks;
        if (slowest == 0 || dim->bytes_per_tick < slowest)
            slowest = dim->bytes_per_tick;
    }
    *latency_ticks = latency;
    *bytes_per_tick = slowest;
}

static uint64_t whole_delay(const net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    double latency, slowest;
    net_route(n, from, to, &latency, &slowest);
    return ticks_from(latency + (double)bytes / slowest);
}

uint64_t net_delay(const net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    const net_dim *dim = &n->dims[0];
    if (n->n_dims > 1) {
        if (!n->first_dim_only)
            return whole_delay(n, from, to, bytes);
        dim = &n->dims[net_first_dim(n, from, to)];
        from = from / dim->stride % dim->n;
        to = to / dim->stride % dim->n;
    }
    return ticks_from((double)hops(dim, from, to) * dim->latency_ticks +
                      (double)bytes / dim->bytes_per_tick);
}

void net_count(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint32_t messages)
{
    const uint32_t d = n->n_dims > 1 ? net_first_dim(n, from, to) : 0;
    const uint64_t alike = n->n_alike == NULL ? 1 : n->n_alike[from];
    n->n_sent[d] += messages * alike;
    n->sent_bytes[d] += (net_sum)bytes * messages * alike;
}

void net_send(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint64_t what)
{
    net_count(n, from, to, bytes, 1);
    if (n->heat.busy != NULL && !n->link_queues) {
        const uint32_t d = net_first_dim(n, from, to);
        net_heat_add(&n->heat, d * n->n_npus + from, n->queue->now,
                     ticks_from((double)bytes / n->dims[d].bytes_per_tick));
    }
    if (n->link_queues) {
        net_links_send(n, from, to, bytes, what);
        return;
    }
    const uint64_t at = n->queue->now + net_delay(n, from, to, bytes);
    if (n->watch != NULL)
        n->watch(n->context, n->stand_in[to], at, what);
    des_queue_push(n->queue, at, what);
}

static uint64_t half_way(const net *n, uint32_t dim, uint64_t bytes)
{
    const net_dim *d = &n->dims[dim];
    return ticks_from(d->latency_ticks + (double)bytes / d->bytes_per_tick);
}

void net_send_up(net *n, uint32_t from, uint32_t dim, uint64_t bytes, uint64_t what)
{
    n->n_sent[dim]++;
    n->sent_bytes[dim] += (net_sum)bytes;
    if (n->link_queues)
        net_links_send_up(n, from, dim, bytes, what);
    else
        des_queue_push(n->queue, n->queue->now + half_way(n, dim, bytes), what);
}

void net_send_down(net *n, uint32_t to, uint32_t dim, uint64_t bytes, uint64_t what)
{
    if (n->link_queues)
        net_links_send_down(n, to, dim, bytes, what);
    else
        des_queue_push(n->queue, n->queue->now + half_way(n, dim, bytes), what);
}

void net_handle(net *n, uint64_t what)
{
    net_links_handle(n, what);
}
