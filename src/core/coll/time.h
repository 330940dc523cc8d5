/*
 * coll/time.h - the time of a collective in closed form: the `time` column of the
 * algorithms (coll/algo.h), and the choice among them as NCCL makes it.
 */
#ifndef COLL_TIME_H
#define COLL_TIME_H

#include "halley/link.h"
#include "hw/direct.h"

typedef enum coll_kind {
    COLL_ALL_REDUCE,
    COLL_ALL_GATHER,
    COLL_REDUCE_SCATTER,
    COLL_ALL_TO_ALL,
    COLL_BROADCAST,
    COLL_SEND,
    COLL_REDUCE,  /* to one rank: like a broadcast in the other direction */
    COLL_GATHER,  /* to one rank: that rank's part of an all-to-all */
    COLL_SCATTER, /* from one rank: that rank's part of an all-to-all */
} coll_kind;

/* NCCL's protocols: how a message is written and how its arrival is detected. */
typedef enum coll_protocol {
    COLL_LL,
    COLL_LL128,
    COLL_SIMPLE,
    COLL_N_PROTOCOLS
} coll_protocol;

/* A level of the network outside the node, for one group. */
typedef struct coll_level {
    uint32_t n; /* blocks of the level below that the group connects here; 1 = none */
    const halley_fabric *fabric; /* lent */
} coll_level;
enum { COLL_MAX_LEVELS = 16 };
typedef struct coll_dims coll_dims;

/* One call. Sizes are as in the measured tables: the larger buffer of one rank
 * (all-gather: the whole output; reduce-scatter: the whole input; all-to-all: the whole
 * buffer; send: the message). */
typedef struct coll_call {
    coll_kind kind;
    double bytes;
    uint32_t n;               /* ranks in the group */
    uint32_t per_node;        /* ranks in one node; n for a group inside a node */
    uint32_t n_levels;        /* of the network between nodes; 0 = one, of `out` */
    const coll_level *levels; /* innermost first; the sizes of the node and the levels
                                 multiply to n */
    double
        nic_Bps;  /* network bandwidth one rank of the group may use; 0 = its own card */
    bool integer; /* an integer reduction, which is never done in the switch */
    const coll_dims *dims; /* the group on a list of dimensions (coll/dims.h): its
                                     form replaces all others; NULL = none */
    const hw_box *box;   /* the positions of a node's members in the grid inside the node,
                            of sender and receiver for a send; NULL = there is no grid */
    double remote_share; /* all-to-all: share of the bytes to other nodes that is sent
                            if copies for one node are sent once; 0 = 1 */
} coll_call;

/* Seconds. 0 for a group of one or no bytes. */
double coll_call_time(const halley_link *up, const halley_fabric *out,
                      const coll_call *c);

/* The library's choice, for explanations: "ring LL", "in-switch", ... */
const char *coll_call_choice(const halley_link *up, const coll_call *c);

#endif
