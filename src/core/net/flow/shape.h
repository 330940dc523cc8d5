/*
 * net/flow/shape.h - computes the links that a collective uses from its load
 * (coll/load.h) and its members.
 */
#ifndef NET_FLOW_SHAPE_H
#define NET_FLOW_SHAPE_H

#include "coll/load.h"
#include "hw/network.h"
#include "net/flow/flow.h"

/* Members of a group by node, in the order of the group. */
typedef struct flow_members {
    uint32_t n_nodes;
    uint32_t *first; /* n_nodes + 1 */
    uint32_t *npus;  /* of node 0, then of node 1 ... */
    uint32_t least;  /* members in the node with the fewest */
    double card_Bps; /* bandwidth that each member may use of its node's cards */
    uint32_t n_members;
    /* On a grid: the box of the first node's members, or the path of a message. */
    hw_box box;
    bool has_box;
} flow_members;

/* `ranks` NULL: NPUs 0 ... n - 1. False: no memory. */
bool flow_members_init(flow_members *m, const hw_network *net, const uint32_t *ranks,
                       uint32_t n);
void flow_members_fini(flow_members *m);

/* Work space for loads, by link. */
typedef struct flow_loads {
    double *bytes;         /* by link; zero between calls */
    ARRAY(uint32_t) links; /* that have some */
    /* Limit of shares[HW_LEVEL_NODE]. Measured constants may represent more than the
     * stated bandwidth of links inside nodes; plain links reach no more than they have. 0
     * = no limit. */
    double most_share;
} flow_loads;

bool flow_loads_init(flow_loads *l, const hw_network *net);
void flow_loads_fini(flow_loads *l);

/* Add the bytes that the members of a pattern send over every link. `root` is an NPU. */
halley_status flow_loads_add(flow_loads *l, hw_network *net, const flow_members *m,
                             const coll_load *load, uint32_t root, halley_error *err);
/* Find the box of the members, after links have changed. */
void flow_members_find_box(flow_members *m, const hw_network *net);
/* Add `bytes` to the links from one NPU to another. */
halley_status flow_loads_add_edge(flow_loads *l, hw_network *net, uint32_t from,
                                  uint32_t to, double bytes, halley_error *err);
/* Add `bytes` to one link. False: no memory. */
bool flow_loads_add_link(flow_loads *l, uint32_t link, double bytes);
/* Discard what has been added. */
void flow_loads_drop(flow_loads *l);
/* `shares`, by hw_link_level: the fraction of payload in what crosses a link, for a whole
 * collective with that load. */
void flow_loads_share(double shares[3], const flow_loads *l, const hw_network *net,
                      const coll_load *load);
/* Write the coefficients of a bundle of that volume to `hops`, which has room for all
 * links of `l`, and clear the loads. Returns their number. */
uint32_t flow_loads_take(net_flow_hop *hops, flow_loads *l, const hw_network *net,
                         double volume, const double shares[3]);

/* A part of a direct collective (parts.c), given by the states of its members. */
enum { FLOW_PART_ABSENT, FLOW_PART_PRESENT, FLOW_PART_NEW };
typedef struct flow_part {
    const coll_load *load; /* of the whole collective; its pattern is PAIRS, IN or OUT */
    const uint32_t *ranks; /* NULL: NPUs 0 ... n - 1 */
    const uint8_t *states; /* by member, in the order of ranks */
    uint32_t root;         /* NPU, for IN and OUT; it is present */
} flow_part;
/* Add the bytes of every link. *share: the fraction of its messages that the busiest
 * member has in the part. */
halley_status flow_loads_add_part(double *share, flow_loads *l, hw_network *net,
                                  const flow_members *m, const flow_part *part,
                                  halley_error *err);

#endif
