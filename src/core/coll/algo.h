/*
 * coll/algo.h - collective algorithms as rows of one table.
 *
 * A row describes the collectives that the algorithm supports, its schedule, its closed
 * form and its load. The schedule is who sends what to whom in which order. The closed
 * form is the time of a call that is alone on the network. The load is how busy it keeps
 * the links. The estimator uses the closed form, the simulator uses the schedule. Where
 * links are shared, the simulator instead uses one bundle of flows with that time and
 * load.
 *
 * To add an algorithm:
 *   1. Add a name in cluster_algo (hw/cluster.h) and in the names of hw/cluster.c.
 *   2. Add a file here with its fill, to and from, and its time if it has a closed form.
 *   3. Add a row in algo.c.
 *   4. Add a row in sim/coll/phases.c: what a member does when the phase starts, when a
 *      packet's delay is over, and when a message arrives. Ring, direct and
 *      halving-doubling share theirs, and so can any algorithm of that form.
 *   5. Test its laws in tests/unit/core/coll/test_coll.c, and a measured point or a law
 * of its closed form in tests/unit/core/coll/test_coll_time.c.
 *   6. Add its name to doc/ and to the manual page of cluster files.
 */
#ifndef COLL_ALGO_H
#define COLL_ALGO_H

#include "coll/load.h"
#include "coll/plan.h"
#include "coll/time.h"

/* Inputs of coll_fill. */
typedef struct coll_fill_options {
    const cluster_impl *impl; /* the entry of the list of algorithms */
    bool local;               /* one logical dimension, whatever the network */
    arena *memory;
} coll_fill_options;

/* Fill in the steps of a phase whose collective, size and place are set. HALLEY_EINVAL:
 * the algorithm does not support this collective or this number of members. */
typedef halley_status coll_fill(coll_phase *p, const coll_fill_options *o,
                                halley_error *err);
/* The member to which packet k goes, or from which its answer comes. */
typedef uint32_t coll_peer(const coll_phase *p, uint32_t member, uint32_t k);
/* The distance in places that packet k travels. */
typedef uint32_t coll_distance(const coll_phase *p, uint32_t k);
/* The time in seconds of a call whose per_node and nic_Bps are filled in. */
typedef double coll_closed_form(const halley_link *up, const halley_fabric *out,
                                const coll_call *c, coll_protocol p);
/* The load of such a call, except for time_s, variant and above_share. */
typedef void coll_load_form(coll_load *load, const halley_link *up,
                            const halley_fabric *out, const coll_call *c,
                            coll_protocol p);

typedef struct coll_algo {
    const char *name;
    uint32_t applicable; /* bit c: it supports collective c (cluster_coll) */
    coll_fill *fill;
    coll_peer *to,
        *from; /* NULL: its messages follow a tree (coll_tree_find, rooted.h) */
    /* Packet k of every member travels the same distance, so that ranks that do the same
     * can be simulated once. NULL: members differ. */
    coll_distance *distance;
    coll_closed_form *time;    /* NULL: there is none */
    coll_load_form *load;      /* only with a closed form */
    bool has_two_trees;        /* chunks alternate between two trees */
    bool ends_full_lists_only; /* may end a list only if the list names all dimensions */
} coll_algo;

extern const coll_algo coll_algos[CLUSTER_N_ALGOS];

static inline const coll_algo *coll_algo_get(cluster_algo algo)
{
    assert(algo < CLUSTER_N_ALGOS);
    return &coll_algos[algo];
}

static inline bool coll_algo_can(cluster_algo algo, cluster_coll coll)
{
    return coll_algo_get(algo)->applicable >> coll & 1;
}

/* The destination of packet k of a member, and the source of its answer. */
static inline uint32_t coll_packet_to(const coll_phase *p, uint32_t member, uint32_t k)
{
    return coll_algo_get(p->algo)->to(p, member, k);
}
static inline uint32_t coll_packet_from(const coll_phase *p, uint32_t member, uint32_t k)
{
    return coll_algo_get(p->algo)->from(p, member, k);
}

#endif
