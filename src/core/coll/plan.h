/*
 * coll/plan.h - a collective as a plan. A plan consists of phases; each phase is an
 * algorithm over one logical dimension, with a schedule of messages.
 *
 * A plan defines who sends what to whom in which order. It contains no times. All members
 * of a collective share one plan; each member only needs a few counters in the engine
 * that executes it. Members are numbered 0 … n_members-1: the rank itself for the world,
 * the position in the list for a group.
 *
 * Ring, direct and halving-doubling share one form. A phase sends n_sends messages. It
 * starts with `window` packets, and every message received creates one more packet. A
 * packet waits for its endpoint delay (and a reduction, if coll_packet_reduces). Then it
 * is sent, and the member waits for the message that answers it. The phase is over when
 * all messages have been sent and as many packets are ready again as at the start. The
 * double binary tree has another form: one message up and one down on every edge.
 *
 * Broadcast, reduce, gather and scatter have a root and are trees: see rooted.h.
 *
 * In a switch, each member sends one message to the switch. When all have arrived, one
 * message goes back to each member.
 *
 * The algorithms are rows of coll/algo.h, which has the checklist for a new one.
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
    cluster_algo shape; /* rooted: the algorithm that defines the tree */
    cluster_coll coll;
    bool silent;        /* nothing is reduced */
    bool down;          /* ring, direct: send to decreasing instead of increasing
                           places */
    bool root_is_first; /* tree: selects one of the two trees */
    bool lopsided;      /* some packets go to members that expect none from the sender */
    bool turns;         /* halving-doubling: members at a distance exchange */
    bool is_substitute; /* tree: an all-reduce replaces the requested collective */
    bool gathers_after_reduction; /* direct all-reduce: the second half waits for all
                                     of the first */
    uint32_t level;               /* the dimension whose queues it uses */
    uint32_t n, stride;           /* number of places, and distance of neighbouring
                                     members */
    uint32_t first_step; /* number of its first step in the plan; see coll_plan_phase */
    uint32_t n_steps;    /* number of steps that its messages refer to */
    uint32_t n_sends;
    uint32_t n_distances; /* packets before distances repeat; 0 = members differ */
    uint32_t window;      /* packets at the start */
    uint32_t n_silent;    /* packets of a cycle that never reduce: `window` */
    uint32_t n_loud;      /* packets of a cycle after those, which may reduce */
    uint64_t data_bytes, message_bytes; /* message_bytes varies in halving-doubling */
    uint64_t down_bytes;                /* in a switch: size of the answer */
    uint64_t out_bytes;                 /* input size of the next phase */
    uint32_t *distance; /* halving-doubling: by packet, n_sends + 1 of them */
    uint64_t *bytes;    /* the same */
} coll_phase;

typedef struct coll_plan {
    uint32_t n_members, n_phases, n_steps;
    bool local;   /* one logical dimension, whatever the network */
    bool grouped; /* members are those of a group, not the ranks themselves */
    uint64_t bytes;
    double rate, fixed_s; /* of a plan without messages: as its nodes state them */
    cluster_coll coll;
    coll_phase *phases;
} coll_plan;

/* Steps of a phase in a switch: the answer, a message arrived at the switch, all
 * processed. */
enum { COLL_SWITCH_ANSWER, COLL_SWITCH_CAME, COLL_SWITCH_DONE, COLL_N_SWITCH_STEPS };

/* Inputs of a plan. */
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
    uint64_t order;    /* four bits per entry, lowest first: logical dimensions in the
                          order in which a reduction crosses them */
    uint32_t involved; /* bit d: dimension d takes part */
    bool hierarchical; /* all-reduce: reduce-scatter up, all-reduce at the
                          last, all-gather down */
    const uint32_t *in_network; /* by dimension: what its switch computes; NULL =
                                   nothing */
    coll_rooted rooted;         /* `coll` then has the same sizes */
    uint32_t root;              /* rooted: the member */
    bool no_empty;              /* messages of no bytes are an error */
    uint32_t directions;        /* bit p: phase p goes down */
    uint32_t trees; /* bit p: phase p uses the tree whose root is the first place */
} coll_request;

/* The phases of a request, without sizes. For each phase this gives its level, and
 * which of the three queue allocators it uses. Returns their number, at most
 * COLL_MAX_PHASES. */
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

/* Make the plan in `memory`. HALLEY_EINVAL: the algorithm does not support this size. */
halley_status coll_plan_new(coll_plan **out, const coll_request *request, arena *memory,
                            halley_error *err);

static inline uint64_t coll_packet_bytes(const coll_phase *p, uint32_t k)
{
    return p->bytes == NULL ? p->message_bytes : p->bytes[k];
}

/* A member's neighbours in a tree phase; COLL_NONE if there is no such neighbour. */
typedef struct coll_tree_place {
    uint32_t parent, left, right;
} coll_tree_place;
coll_tree_place coll_tree_find(const coll_phase *p, uint32_t member);

#endif
