/* coll/time_parts.h - terms that several closed forms share; only for this folder. */
#ifndef COLL_TIME_PARTS_H
#define COLL_TIME_PARTS_H

#include "coll/algo.h"

#include <assert.h>
#include <math.h>

/* Steps of a ring. An all-reduce goes round twice. */
static inline double count_ring_steps(const coll_call *c)
{
    return c->kind == COLL_ALL_REDUCE ? 2.0 * (c->n - 1.0) : c->n - 1.0;
}

static inline bool is_across_nodes(const coll_call *c)
{
    assert(c->per_node > 0 && c->per_node <= c->n);
    return c->per_node < c->n;
}

static inline bool reduces_data(const coll_call *c)
{
    return c->kind == COLL_ALL_REDUCE || c->kind == COLL_REDUCE_SCATTER;
}

/* Seconds until the pipeline is full: grows with the bytes, up to ramp_s. */
static inline double ramp_time(const halley_protocol *p, double bytes, double n)
{
    return p->ramp_s > 0 ? p->ramp_s * bytes / (bytes + n * p->ramp_bytes) : 0;
}

/* The bandwidth factor for groups of n; 1 if the table has none. */
static inline double get_size_factor(const double factors[17], uint32_t n)
{
    return n < 17 && factors[n] > 0 ? factors[n] : 1;
}

/* (a^q + b^q)^(1/q), without overflow: latency and transfer overlap. */
static inline double norm_times(double a, double b, double q)
{
    const double big = a > b ? a : b, small = a > b ? b : a;
    if (small <= 0 || q > 30)
        return big;
    return big * pow(1 + pow(small / big, q), 1 / q);
}

static inline const halley_protocol *get_protocol(const halley_link *up, coll_protocol p)
{
    const halley_protocol *all[] = {&up->ll, &up->ll128, &up->simple};
    assert(p < COLL_N_PROTOCOLS);
    return all[p];
}

/* The share of a network card's bandwidth that is left for a protocol's payload. */
static inline double get_wire_share(coll_protocol p)
{
    static const double shares[COLL_N_PROTOCOLS] = {0.5, 0.94, 1};
    assert(p < COLL_N_PROTOCOLS);
    return shares[p];
}

/* The share of a network card's bandwidth that trees over nodes reach. */
#define COLL_TREE_SHARE 0.95

/* The closed forms, by algorithm. */
coll_closed_form coll_ring_time, coll_tree_time, coll_switch_time, coll_direct_time;
/* Rings without a library's protocols, for torus dimensions and cluster files. */
coll_closed_form coll_plain_time;
/* Groups that are boxes of a direct network. */
coll_closed_form coll_box_time;
coll_load_form coll_box_load;
/* The parts of its time for `bytes`: without latency, and the latency. */
double coll_box_wire_time(const halley_link *up, const coll_call *c, double bytes);
double coll_box_latency(const coll_call *c);
/* The time for which the group keeps its busiest link busy. */
double coll_box_busy_time(const halley_link *up, const coll_call *c, double bytes);
/* One message between two ranks. */
coll_closed_form coll_send_time;
coll_load_form coll_ring_load, coll_tree_load, coll_switch_load, coll_direct_load,
    coll_plain_load, coll_send_load;
/* True if each peer's part of the all-to-all is sent with LL. */
bool coll_direct_is_small(const coll_call *c);

#endif
