/* net/route.c - routes over dimensions, innermost first, and the delay of a message that
 * has its route to itself. */
#include "net/dims.h"

uint32_t net_dims_count_differing(const net *n, uint32_t a, uint32_t b)
{
    const net_dims *d = net_dims_of_const(n);
    uint32_t n_differing = 0;
    for (uint32_t i = 0; i < d->n_dims; i++) {
        n_differing += a % d->dims[i].n != b % d->dims[i].n;
        a /= d->dims[i].n;
        b /= d->dims[i].n;
    }
    assert(a == b); /* the rest is beyond the last dimension */
    return n_differing;
}

void net_dims_route(const net_dims *d, uint32_t from, uint32_t to, double *latency_ticks,
                    double *bytes_per_tick)
{
    double latency = 0, slowest = 0;
    for (uint32_t i = 0; i < d->n_dims; i++) {
        const net_dim *dim = &d->dims[i];
        const uint32_t a = get_coordinate(dim, from), b = get_coordinate(dim, to);
        if (a == b)
            continue;
        latency += (double)count_hops(dim, a, b) * dim->latency_ticks;
        if (slowest == 0 || dim->bytes_per_tick < slowest)
            slowest = dim->bytes_per_tick;
    }
    assert(from == to || slowest > 0);
    *latency_ticks = latency;
    *bytes_per_tick = slowest;
}

uint64_t net_dims_delay_first(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    const net_dims *d = net_dims_of_const(n);
    return get_delay_in_dim(d, find_first_dim(d, from, to), from, to, bytes);
}

uint64_t net_dims_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    const net_dims *d = net_dims_of_const(n);
    if (d->n_dims == 1)
        return get_delay_in_dim(d, 0, from, to, bytes);
    double latency, slowest;
    net_dims_route(d, from, to, &latency, &slowest);
    assert(slowest > 0);
    return des_queue_ticks(d->head.queue, latency + (double)bytes / slowest);
}
