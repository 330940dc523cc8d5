/* estimate/plan_nodes.h - the nodes of a rank's trace, as its passes are written. */
#ifndef ESTIMATE_PLAN_NODES_H
#define ESTIMATE_PLAN_NODES_H

#include "estimate/groups.h"
#include "halley/trace.h"

#define PLAN_NO_NODE UINT64_MAX

/*
 * A chain of nodes, one after the other, and nodes beside it. What the next node of the
 * chain awaits beside the one before it is collected in `awaited`; what may hide until
 * the chain talks again, in `hidden`.
 */
typedef struct plan_nodes {
    halley_builder *b;
    const halley_plan *plan;
    uint32_t rank;
    uint32_t n_members[WORKLOAD_N_GROUPS];
    uint64_t next_id;
    uint64_t last; /* of the chain */
    uint64_t hidden;
    uint64_t awaited[8];
    uint32_t n_awaited;
} plan_nodes;

/* Each returns the node's id. Those named _chain go into the chain. */
uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes);
uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes);
uint64_t plan_coll_chain(plan_nodes *w, const char *name, halley_coll_type type,
                         workload_group group, double bytes);
/* Beside the chain, after `awaits`. */
uint64_t plan_memory(plan_nodes *w, bool store, const char *name, double bytes,
                     uint64_t awaits);
uint64_t plan_coll(plan_nodes *w, const char *name, halley_coll_type type,
                   workload_group group, double bytes, uint64_t awaits);

/* The next node of the chain waits for `id`. */
void plan_await(plan_nodes *w, uint64_t id);
/* A further dependency of the node just made. */
void plan_after(plan_nodes *w, uint64_t id);

/* A message of the pipeline: a send blocks the chain or follows it, a receive is awaited
 * by the next node of the chain. */
void plan_send(plan_nodes *w, uint32_t peer, uint32_t tag, double bytes, bool blocks);
void plan_receive(plan_nodes *w, uint32_t peer, uint32_t tag, double bytes);

#endif
