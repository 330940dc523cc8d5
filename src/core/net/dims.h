/*
 * net/dims.h - a network of dimensions, as used by four of the models: NPU addresses,
 * routes, counters. Not for use outside this folder.
 */
#ifndef NET_DIMS_H
#define NET_DIMS_H

#include "des/ticks.h"
#include "net/models.h"

typedef struct net_dim {
    cluster_topology topology;
    uint32_t n, stride;    /* NPUs in this dimension; distance of neighbours' ids */
    double latency_ticks;  /* of one hop */
    double bytes_per_tick; /* of one link */
} net_dim;

typedef struct net_links net_links; /* queue.c */

/* What crossed a dimension. */
typedef struct net_dim_sums {
    uint64_t n_messages;
    net_sum bytes;
} net_dim_sums;

/* The state of every model of dimensions begins with this. */
typedef struct net_dims {
    net head;
    uint32_t n_dims;
    net_dim dims[CLUSTER_MAX_DIMS];
    net_heat heat;    /* by dimension, NPU */
    net_links *links; /* models with queues at links; else NULL */
    net_dim_sums sums[CLUSTER_MAX_DIMS];
    const halley_cluster *cluster; /* lent */
    /* Native models: bytes that NPUs sent and received, by dimension, NPU. */
    double *sent, *received;
} net_dims;

static inline net_dims *net_dims_of(net *n)
{
    return (net_dims *)(void *)n;
}
static inline const net_dims *net_dims_of_const(const net *n)
{
    return (const net_dims *)(const void *)n;
}

/* Coordinate of an NPU in a dimension. */
static inline uint32_t get_coordinate(const net_dim *dim, uint32_t npu)
{
    return npu / dim->stride % dim->n;
}

/* The first dimension in which two NPUs differ; the last dimension if they do not differ.
 */
static inline uint32_t find_first_dim(const net_dims *d, uint32_t from, uint32_t to)
{
    uint32_t i = 0;
    for (; i + 1 < d->n_dims; i++) {
        if (from % d->dims[i].n != to % d->dims[i].n)
            break;
        from /= d->dims[i].n;
        to /= d->dims[i].n;
    }
    return i;
}

/* Count messages from an NPU over a dimension, and those of the NPUs it represents. */
static inline void count_messages(net_dims *d, uint32_t dim, uint32_t from,
                                  uint64_t bytes, uint32_t n_messages)
{
    const uint64_t alike =
        d->head.folding.n_alike == NULL ? 1 : d->head.folding.n_alike[from];
    assert(dim < d->n_dims && from < d->head.n_npus);
    d->sums[dim].n_messages += n_messages * alike;
    d->sums[dim].bytes += (net_sum)bytes * n_messages * alike;
}

/* Native models: messages count in every dimension that they cross. */
void net_dims_count_all(net_dims *d, const net_request *r, uint32_t n_messages);

/* Hops between two coordinates of one dimension. */
static inline uint32_t count_hops(const net_dim *dim, uint32_t a, uint32_t b)
{
    assert(a != b && a < dim->n && b < dim->n);
    if (dim->topology == CLUSTER_SWITCH)
        return 2;
    if (dim->topology == CLUSTER_FULLY_CONNECTED)
        return 1;
    const uint32_t clockwise = b > a ? b - a : b + dim->n - a;
    return clockwise < dim->n - clockwise ? clockwise : dim->n - clockwise;
}

/* Delay in one dimension, between the coordinates of two NPUs. */
static inline uint64_t get_delay_in_dim(const net_dims *d, uint32_t i, uint32_t from,
                                        uint32_t to, uint64_t bytes)
{
    const net_dim *dim = &d->dims[i];
    const uint32_t a = d->n_dims == 1 ? from : get_coordinate(dim, from);
    const uint32_t b = d->n_dims == 1 ? to : get_coordinate(dim, to);
    return des_queue_ticks(d->head.queue,
                           (double)count_hops(dim, a, b) * dim->latency_ticks +
                               (double)bytes / dim->bytes_per_tick);
}

/* Latency over all dimensions in which the two NPUs differ, and the smallest bandwidth.
 */
void net_dims_route(const net_dims *d, uint32_t from, uint32_t to, double *latency_ticks,
                    double *bytes_per_tick);
/* Delay of a message without other traffic: over its whole route, or by ASTRA-sim's rule.
 */
uint64_t net_dims_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes);
uint64_t net_dims_delay_first(net *n, uint32_t from, uint32_t to, uint64_t bytes);

/* Functions that these models share. Their `open` calls net_dims_open first. */
halley_status net_dims_open(net *n, const halley_cluster *c, const net_options *o,
                            halley_error *err);
void net_dims_close(net *n);
void net_dims_count(net *n, const net_request *r, uint32_t n_messages);
uint32_t net_dims_count_differing(const net *n, uint32_t a, uint32_t b);
bool net_dims_describe(net_part_use *out, const net *n, uint32_t i);
net_heat net_dims_take_heat(net *n);
bool net_dims_list_links(net_link_list *to, const net *n);
#define NET_DIMS_ROW                                                                     \
    .size = sizeof(net_dims), .count = net_dims_count,                                   \
    .count_differing = net_dims_count_differing, .describe = net_dims_describe,          \
    .take_heat = net_dims_take_heat

#endif
