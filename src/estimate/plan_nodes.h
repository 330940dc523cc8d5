/* estimate/plan_nodes.h - the nodes of a rank's trace, as its passes are written. */
#ifndef ESTIMATE_PLAN_NODES_H
#define ESTIMATE_PLAN_NODES_H

#include "base/array.h"
#include "estimate/groups.h"
#include "halley/trace.h"

#define PLAN_NO_NODE UINT64_MAX

/* A collective that is to run beside compute. */
typedef struct plan_hiding {
    const char *name; /* static */
    halley_coll_type type;
    workload_group group;
    double bytes;
} plan_hiding;

/*
 * A chain of nodes, one after the other, and nodes beside it. What the next node of the
 * chain awaits beside the one before it is collected in `awaited`. Collectives that hide
 * start with the next compute node and are awaited when the chain talks again.
 */
typedef struct plan_nodes {
    halley_builder *b;
    const halley_plan *plan;
    uint32_t rank;
    uint32_t n_members[WORKLOAD_N_GROUPS];
    uint64_t next_id;
    uint64_t last; /* of the chain */
    ARRAY(uint64_t) awaited, hidden;
    ARRAY(plan_hiding) hiding; /* to start */
    bool failed;               /* memory ran out: the trace lacks something */
} plan_nodes;
void plan_nodes_fini(plan_nodes *w); /* all but the builder */

/* Each returns the node's id. Those named _chain go into the chain. */
uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes);
uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes);
uint64_t plan_coll_chain(plan_nodes *w, const char *name, halley_coll_type type,
                         workload_group group, double bytes);
/* Beside the compute that comes next. */
void plan_coll_hide(plan_nodes *w, const plan_hiding *what);
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
