/* estimate/plan_reduce.h - the messages of gradients and weights in a role's trace. */
#ifndef ESTIMATE_PLAN_REDUCE_H
#define ESTIMATE_PLAN_REDUCE_H

#include "estimate/plan_nodes.h"
#include "estimate/step.h"

/* Parameters that have their own groups of ranks. */
enum { PLAN_DENSE, PLAN_EXPERTS, PLAN_N_SETS };
typedef struct plan_params {
    double of[PLAN_N_SETS];
} plan_params;

/* A place of a chunk: 0 = the embedding, 1 ... its layers, then the head. */
typedef struct plan_gather {
    uint32_t chunk, place;
    uint64_t id; /* the first forward pass of the place waits for it */
} plan_gather;

/* A message that comes after the last pass because no compute hides it. */
typedef struct plan_deferred {
    int set;
    double params;
    bool gathers;
} plan_deferred;

typedef struct plan_reduce {
    plan_nodes *n;
    const step *s;
    step_reduction all; /* of the whole stage */
    plan_params total;
    double shown;        /* share of the messages that follow the last pass */
    plan_params pending; /* their gradients are ready and wait for a full bucket */
    double left;         /* parameters of the direction that are not sent yet */
    /* The previous message, and the previous one among ranks with the same shard: they
     * come one after the other. */
    uint64_t before[2];
    ARRAY(plan_gather) gathers;
    ARRAY(plan_deferred) deferred;
} plan_reduce;

/* True if gradients are reduced after every micro-batch: ZeRO 2, unsharded weights. */
bool plan_reduces_each(const halley_plan *plan);
void plan_reduce_init(plan_reduce *r, plan_nodes *n, const step *s,
                      const stage_cost *stage, plan_params total);
void plan_reduce_fini(plan_reduce *r);

/* For models that are not made of layers: the messages of a pass run next to all of it.
 */
void plan_reduce_whole(plan_reduce *r, bool gathers);
/* Gradients of a place are ready. Sends what fills a bucket, and everything if the place
 * is the last of its chunk. */
void plan_reduce_add(plan_reduce *r, plan_params ready, bool ends);
/* Before the passes: gather the weights of a place. */
void plan_gather_add(plan_reduce *r, plan_gather at, plan_params needed);
/* The chain needs the weights of a place. */
void plan_gather_await(plan_reduce *r, uint32_t chunk, uint32_t place);
/* Send what was deferred, in the chain. */
void plan_deferred_send(plan_reduce *r, bool gathers);

#endif
