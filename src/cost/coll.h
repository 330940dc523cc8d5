/* cost/coll.h - how long a collective takes, in closed form. */
#ifndef COST_COLL_H
#define COST_COLL_H

#include "halley/platform.h"

typedef enum cost_coll_kind {
    COST_ALL_REDUCE,
    COST_ALL_GATHER,
    COST_REDUCE_SCATTER,
    COST_ALL_TO_ALL,
    COST_BROADCAST,
    COST_SEND
} cost_coll_kind;

/*
 * Who takes part. Sizes are those of the measured tables: the larger buffer of one rank
 * (all-gather: the whole output; reduce-scatter: the whole input; all-to-all: the whole
 * buffer; send: the message).
 */
typedef struct cost_coll {
    cost_coll_kind kind;
    double bytes;
    uint32_t n;        /* ranks in the group */
    uint32_t per_node; /* of them in one node; n for a group inside a node */
    double
        nic_Bps;  /* network bandwidth one rank of the group may use; 0 = its own card */
    bool integer; /* the reduction is of integers: never in the switch */
    double remote_share; /* all-to-all: of the bytes to other nodes that travel, when
                            copies for one node are sent once; 0 = 1 */
} cost_coll;

/* Seconds. 0 for a group of one or no bytes. */
double cost_coll_time(const halley_link *up, const halley_fabric *out,
                      const cost_coll *c);

/* The choice the library would make, for explanations: "ring LL", "in-switch", ... */
const char *cost_coll_choice(const halley_link *up, const cost_coll *c);

#endif
