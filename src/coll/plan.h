/*
 * coll/plan.h - a collective as a plan: phases, each an algorithm over one logical
 * dimension, each a schedule of messages.
 *
 * A plan says who sends what to whom in which order, and nothing of time. All members of
 * a collective share one plan; what differs between them is a few counters in the engine
 * that carries it out. Members are numbered 0 … n_members-1: the rank itself for the
 * world, the place in the list for a group.
 *
 * Ring, direct and halving-doubling share one form. A phase makes n_sends messages. It
 * starts with `window` packets; every message received makes one more. A packet waits for
 * its endpoint delay (and a reduction, where coll_packet_reduces), then is sent, and the
 * message that answers it is awaited. The phase is over when all messages have been sent
 * and as many packets as it began with stand ready again. The double binary tree has its
 * own form: one message up, one down, on every edge.
 *
 * Broadcast, reduce, gather and scatter have a root and are trees: rooted.h.
 *
 * In a switch: one message to it; when all of the members' are there, one back.
 *
 * The algorithms are rows of coll/algo.h, where the checklist for a new one stands.
 */
#ifndef COLL_PLAN_H
#define COLL_PLAN_H

#include "base/arena.h"
#include "base/error.h"
#include "hw/cluster.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define COLL_NONE UINT32_MAX
#define COLL_IN_ORDER UINT64_C(0xfedcba9876543210)

/* Collectives with a root. */
typedef enum coll_rooted {
    COLL_ROOTED_NONE,
    COLL_ROOTED_BROADCAST,
    COLL_ROOTED_REDUCE,
    COLL_ROOTED_GATHER,
    COLL_ROOTED_SCATTER,
} coll_rooted;

typedef struct coll_phase {
    cluster_algo algo;
    coll_rooted rooted;
    uint32_t root;      /* rooted: the member */
    cluster_algo shape; /* rooted: the algorithm whose tree it is */
    cluster_coll coll;
    bool silent;        /* nothing is reduced */
    bool down;          /* ring, direct: to falling places instead of rising */
    bool root_is_first; /* tree: which of the two trees */
    bool lopsided;      /* some packets go to members that await none from the sender */
    bool turns;         /* halving-doubling: members at a distance exchange */
    bool is_substitute; /* tree: an all-reduce is done where another was asked for */
    bool gathers_after_reduction; /* direct all-reduce: the second half waits for all of
                                   * the first */
    uint32_t level;               /* dimension whose queues it uses */
    uint32_t n, stride;           /* places, and the distance of neighbouring members */
    uint32_t first_step; /* number of its first step in the plan; see coll_plan_phase */
    uint32_t n_steps;    /* how many steps its messages name */
    uint32_t n_sends;
    uint32_t n_distances; /* packets before distances repeat; 0 = members differ */
    uint32_t window;      /* packets at the start */
    uint32_t n_silent;    /* packets of a cycle that never reduce: `window` */
    uint32_t n_loud;      /* packets of a cycle that may, after those */
    uint64_t data_bytes, message_bytes; /* message_bytes varies in halving-doubling */
    uint64_t down_bytes;                /* in a switch: what comes back */
    uint64_t out_bytes;                 /* what the next phase starts from */
    uint32_t *distance; /* halving-doubling: by packet, n_sends + 1 of them */
    uint64_t *bytes;    /* the same */
} coll_phase;

typedef struct coll_plan {
    uint32_t n_members, n_phases, n_steps;
    bool local;   /* one logical dimension, whatever the network */
    bool grouped; /* members are those of a group, not the ranks themselves */
    uint64_t bytes;
    cluster_coll coll;
    coll_phase *phases;
} coll_plan;

/* Steps of a phase in a switch: the answer, a message come to the switch, all processed.
 */
enum { COLL_SWITCH_ANSWER, COLL_SWITCH_CAME, COLL_SWITCH_DONE, COLL_N_SWITCH_STEPS };

/* What a plan is made from. */
typedef struct coll_request {
    cluster_coll coll;
    uint64_t bytes; /* of one chunk */
    uint32_t n_members;
    bool local;   /* one logical dimension of n_members, whatever the network */
    bool grouped; /* members are those of a group */
    bool silent;  /* nothing is reduced */
    uint32_t n_impls;
    const cluster_impl *impls; /* one per logical dimension */
    const uint32_t *sizes;     /* of the network's dimensions */
    uint32_t n_sizes;
    uint64_t order; /* four bits an entry, lowest first: logical dimensions in the order
                     * in which a reduction crosses them */
    uint32_t involved;          /* bit d: dimension d takes part */
    bool hierarchical;          /* all-reduce: RS up, AR at the last, AG down */
    const uint32_t *in_network; /* by dimension: what its switch does; NULL = nothing */
    coll_rooted rooted;         /* then `coll` has the same sizes */
    uint32_t root;              /* rooted: the member */
    bool no_empty;              /* messages of no bytes are an error */
    uint32_t directions;        /* bit p: phase p goes down */
    uint32_t trees; /* bit p: phase p takes the tree with the root at the first */
} coll_request;

/* The phases a request will have, without sizes: for each its level, and which of the
 * three allocators of queues it uses. Returns their number, at most COLL_MAX_PHASES. */
typedef enum coll_queue_half {
    COLL_QUEUE_ANY,
    COLL_QUEUE_FIRST,
    COLL_QUEUE_LAST
} coll_queue_half;
typedef struct coll_outline {
    uint32_t level;
    cluster_coll coll;
    coll_queue_half half;
    cluster_algo algo;
    uint32_t n, stride;
} coll_outline;
enum { COLL_MAX_PHASES = 2 * CLUSTER_MAX_DIMS };
uint32_t coll_outline_get(coll_outline *to, const coll_request *request);

/* Make the plan in `memory`. HALLEY_EINVAL: the algorithm cannot do this size. */
halley_status coll_plan_new(coll_plan **out, const coll_request *request, arena *memory,
                            halley_error *err);

static inline uint64_t coll_packet_bytes(const coll_phase *p, uint32_t k)
{
    return p->bytes == NULL ? p->message_bytes : p->bytes[k];
}

/* A member's place in a tree phase. COLL_NONE where there is no such neighbour. */
typedef struct coll_tree_place {
    uint32_t parent, left, right;
} coll_tree_place;
coll_tree_place coll_tree_find(const coll_phase *p, uint32_t member);

#endif
