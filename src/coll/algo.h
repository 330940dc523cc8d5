/*
 * coll/algo.h - collective algorithms as rows of one table.
 *
 * A row says what the algorithm can do, who sends what to whom in which order (its
 * schedule), how long it takes alone on the network (its closed form), and how busy it
 * keeps the links (its load). The estimator uses the closed form; the simulator the
 * schedule, or, where links are shared, one bundle of flows with that time and load.
 *
 * To add an algorithm:
 *   1. a name in cluster_algo (hw/cluster.h) and in the table of names (hw/cluster.c);
 *   2. a file here with its fill, to and from, and its time if there is a closed form;
 *   3. a row in algo.c;
 *   4. a row in sim/coll/phases.c: what a member does when the phase starts, when a
 * packet's delay is over, when a message arrives (ring, direct and halving-doubling share
 *      theirs, and so can any algorithm of that form);
 *   5. a test of its laws in tests/unit/coll/test_coll.c, and a measured point or a law
 *      of its closed form in tests/unit/coll/test_coll_time.c;
 *   6. its name in doc/ and the manual page of cluster files.
 */
#ifndef COLL_ALGO_H
#define COLL_ALGO_H

#include "coll/load.h"
#include "coll/plan.h"
#include "coll/time.h"

/* What a phase is filled in from. */
typedef struct coll_fill_options {
    const cluster_impl *impl; /* the entry of the list of algorithms */
    bool local;               /* one logical dimension, whatever the network */
    arena *memory;
} coll_fill_options;

/* Fill in the steps of a phase whose collective, size and place are given.
 * HALLEY_EINVAL: the algorithm cannot do this collective or this number of members. */
typedef halley_status coll_fill(coll_phase *p, const coll_fill_options *o,
                                halley_error *err);
/* The member to which packet k goes, or from which its answer comes. */
typedef uint32_t coll_peer(const coll_phase *p, uint32_t member, uint32_t k);
/* How many places packet k goes further. */
typedef uint32_t coll_distance(const coll_phase *p, uint32_t k);
/* Seconds of a call whose per_node and nic_Bps are filled in. */
typedef double coll_closed_form(const halley_link *up, const halley_fabric *out,
                                const coll_call *c, coll_protocol p);
/* The load of such a call, but for time_s, variant and above_share. */
typedef void coll_load_form(coll_load *load, const halley_link *up,
                            const halley_fabric *out, const coll_call *c,
                            coll_protocol p);

typedef struct coll_algo {
    const char *name;
    uint32_t applicable; /* bit c: it can do collective c (cluster_coll) */
    coll_fill *fill;
    coll_peer *to,
        *from; /* NULL: its messages follow a tree (coll_tree_find, rooted.h) */
    /* Every member's packet k goes equally far, so that ranks that do the same can be
     * simulated once. NULL: members differ. */
    coll_distance *distance;
    coll_closed_form *time;    /* NULL: there is none */
    coll_load_form *load;      /* with a closed form only */
    bool has_two_trees;        /* chunks take one of two trees alternately */
    bool ends_full_lists_only; /* the last of a list only if the list names all dimensions
                                */
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

/* Where packet k of a member goes, and from whom its answer comes. */
static inline uint32_t coll_packet_to(const coll_phase *p, uint32_t member, uint32_t k)
{
    return coll_algo_get(p->algo)->to(p, member, k);
}
static inline uint32_t coll_packet_from(const coll_phase *p, uint32_t member, uint32_t k)
{
    return coll_algo_get(p->algo)->from(p, member, k);
}

#endif
