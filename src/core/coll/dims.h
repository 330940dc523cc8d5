/*
 * coll/dims.h - collectives on a network of dimensions, in closed form and as loads on
 * links. Estimates and simulations use the same function.
 *
 * A group is a box: in every dimension it has members at equal distances. A collective
 * crosses the dimensions in phases (coll_outline_get). Chunks of its data follow each
 * other, so that different phases work on different chunks at the same time. There are c
 * chunks, of which a dimension handles at most a at a time. One chunk takes t_p in phase
 * p. It keeps the busiest direction of a dimension's links or the memory of an NPU busy
 * for u.
 *
 *     T = sum of all t_p + (c - 1) max(u, t_p / a) + fill of switches that reduce
 *
 * Each phase uses the algorithm that the file lists for its dimension. If the file lists
 * none, it uses the one with the least time. A switch that reduces is used where this
 * makes the collective faster. It streams: while members still send, it already answers.
 */
#ifndef COLL_DIMS_H
#define COLL_DIMS_H

#include "coll/plan.h"
#include "coll/time.h"

/* A group as the dimensions see it. Members are numbered with the innermost dimension
 * fastest. */
struct coll_dims {
    uint32_t n;
    const cluster_dim *dims;      /* n of them; lent */
    const cluster_system *system; /* lists of algorithms, chunks; lent */
    double reduce_Bps;            /* of an NPU's memory; 0 = reductions take no time */
    uint32_t extent[CLUSTER_MAX_DIMS]; /* members along the dimension */
    uint32_t stride[CLUSTER_MAX_DIMS]; /* places between neighbours; 1 for extent 1 */
    /* Groups that use the same links at the same time. 1 in simulations, where groups
     * share links when they meet there. */
    uint32_t sharing[CLUSTER_MAX_DIMS];
};

/* Which links of a dimension carry a phase. */
typedef enum coll_edges {
    COLL_EDGES_RING,    /* each member to the next; a whole ring, half each way */
    COLL_EDGES_PAIRS,   /* each member to every other */
    COLL_EDGES_HALVING, /* each member to those at distances 1, 2, 4 ... */
    COLL_EDGES_SWITCH,  /* each member to the switch, and from it */
} coll_edges;

/* What one phase adds to links, for all chunks. */
typedef struct coll_dims_part {
    uint32_t dim;
    coll_edges edges;
    double bytes;      /* that a member sends (halving: at the first distance) */
    double down_bytes; /* switch: that a member receives */
    bool grows;        /* halving: bytes halve as distances double; else they double */
} coll_dims_part;

typedef struct coll_dims_load {
    double time_s; /* alone on the network */
    double wire_s; /* the part of it during which links are used */
    uint32_t n_parts;
    coll_dims_part parts[COLL_MAX_PHASES];
    uint32_t in_switch; /* bit d: the switch of dimension d reduces */
    double plain_s;     /* the time without the switches; 0 = no switch could reduce */
} coll_dims_load;

/* True if collectives of this cluster have a closed form. If not, for example because of
 * flat or double-tree algorithms, simulations send message by message. */
bool coll_dims_can(const halley_cluster *c);

/* The box of all NPUs; callers change extent, stride and sharing. */
coll_dims coll_dims_all(const halley_cluster *c);

/* Find the box of a group. `members` NULL: NPUs 0 ... n - 1. False: it is none. */
bool coll_dims_find_box(coll_dims *d, const uint32_t *members, uint32_t n);

/* The load of a collective of more than one member and byte. Sends, gathers and scatters
 * have none here: the first is a route, the others are parts of an all-to-all. */
void coll_dims_make(coll_dims_load *out, const coll_dims *d, const coll_call *c);

/* Time without other traffic, in seconds. */
double coll_dims_time(const coll_dims *d, const coll_call *c);

#endif
