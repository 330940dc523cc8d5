/*
 * hw/direct.h - direct networks: NPUs at the points of a grid that forward traffic (ring,
 * torus, mesh), and the boxes that groups of NPUs form in them.
 *
 * A box is a product of positions along the axes. Groups of a plan are boxes, and groups
 * that are shifted against each other share the links evenly. So bandwidth and latency of
 * a box do not depend on where it is, and its collectives have closed forms:
 *
 *   R = sum over axes of ports * link / stride    ports = 2 (ring) or 1 (line)
 *
 * is the rate into the worst-placed member, a corner. `stride` groups interleave along an
 * axis and share its links.
 */
#ifndef HW_DIRECT_H
#define HW_DIRECT_H

#include "hw/graph/graph.h"

struct halley_cluster;

/* One axis of the grid. */
typedef struct hw_direct_axis {
    uint32_t n;
    bool wraps; /* a ring: its last NPU has a cable to the first */
} hw_direct_axis;

/* A digit of an NPU's number: steps of `stride` along an axis. */
typedef struct hw_direct_digit {
    uint32_t axis, radix, stride;
} hw_direct_digit;

enum { HW_DIRECT_MAX_DIGITS = 40 };

/* A numbering of the grid's NPUs, the innermost digit first. */
typedef struct hw_direct_numbering {
    uint32_t n; /* 0: axis by axis, the first one fastest */
    hw_direct_digit digits[HW_DIRECT_MAX_DIGITS];
} hw_direct_numbering;

typedef struct hw_direct {
    uint32_t n_axes; /* 0: the network is not direct */
    hw_direct_axis axes[HW_MAX_DIMS];
    hw_direct_numbering numbering;
    double link_Bps, hop_s; /* of every link */
} hw_direct;

/* The positions of a group along one axis. */
typedef struct hw_box_axis {
    uint32_t axis, members;
    double stride;  /* groups that share the links of the axis: NPUs per member */
    bool wraps;     /* the group uses the axis as a ring */
    uint32_t reach; /* hops to the farthest member */
} hw_box_axis;

typedef struct hw_box {
    uint32_t n_axes, n; /* axes along which members differ; members in all */
    hw_box_axis axes[HW_MAX_DIMS];
    double link_Bps, hop_s;
} hw_box;

/* The grid inside the cluster's nodes, or that of its whole network. n_axes is 0 if there
 * is none, and for twisted tori. */
void hw_direct_make(hw_direct *out, const struct halley_cluster *c);
/* The grid of a graph that consists of rings and lines of equal links. */
bool hw_direct_of_graph(hw_direct *out, const hw_graph *g);
/* Sizes of a grid as close to a cube as the number allows, the longest last. */
void hw_direct_sizes(uint32_t *sizes, uint32_t n_dims, uint32_t n);
uint32_t hw_direct_count(const hw_direct *d);
/* The position of an NPU along every axis. */
void hw_direct_locate(uint32_t at[HW_MAX_DIMS], const hw_direct *d, uint32_t npu);
/* The device of an NPU: its number if they were counted axis by axis. */
uint32_t hw_direct_device(const hw_direct *d, uint32_t npu);

/* The box that these NPUs form. False: they form none, or there is no memory. `npus` NULL
 * means 0 ... n - 1. */
bool hw_box_find(hw_box *out, const hw_direct *d, const uint32_t *npus, uint32_t n);
/* The same for the NPUs whose numbers are all sums of multiples of `strides`, `radices`
 * of each. False also if a digit of the group does not fit to those of the numbering. */
typedef struct hw_box_digit {
    uint64_t radix, stride;
} hw_box_digit;
bool hw_box_of_digits(hw_box *out, const hw_direct *d, const hw_box_digit *digits,
                      uint32_t n);

/* The path between two NPUs: an axis with two members for each along which they differ.
 */
void hw_box_of_pair(hw_box *out, const hw_direct *d, uint32_t from, uint32_t to);
bool hw_box_equal(const hw_box *a, const hw_box *b);

/* Bytes per second into the worst-placed member. */
double hw_box_rate(const hw_box *b);
/* The time of an all-gather over its bytes / rate: pieces fill whole steps. */
double hw_box_rounding(const hw_box *b);
/* Latency of the path to the farthest member. */
double hw_box_latency(const hw_box *b);
/* An all-to-all of 1 byte per member: bytes on the link after position i of an axis, one
 * direction. */
double hw_box_pair_bytes(const hw_box_axis *a, uint32_t i);
/* Seconds for which the busiest link of an all-to-all of 1 byte per member is full. */
double hw_box_pair_time(const hw_box *b);

#endif
