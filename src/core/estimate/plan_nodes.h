/* estimate/plan_nodes.h - writes the nodes of a role's trace, pass by pass. */
#ifndef ESTIMATE_PLAN_NODES_H
#define ESTIMATE_PLAN_NODES_H

#include "base/array.h"
#include "estimate/price.h"
#include "halley/trace.h"

#define PLAN_NO_NODE UINT64_MAX
#define PLAN_NO_ITEM UINT32_MAX
#define PLAN_PEER_NEXT "next" /* rules of the template: the adjacent stages */
#define PLAN_PEER_PREV "prev"

/* A collective of one of the plan's groups. Its bytes are those of the plan; what differs
 * between clusters and stacks is its time. */
typedef struct plan_message {
    const char *name; /* static */
    coll_kind kind;   /* not COLL_SEND */
    workload_group group;
    double bytes;    /* as coll/time.h counts them */
    double seconds;  /* priced, on an idle network */
    double hidden_s; /* compute that runs next to it before the chain waits for it */
} plan_message;

/* A message that is in flight next to the chain. The chain waits for it after `left_s`
 * more seconds of compute. */
typedef struct plan_window {
    uint64_t id;
    double left_s;
    uint32_t item; /* of the script that started it */
} plan_window;

/*
 * A chain of nodes, one after the other, and nodes that run next to it. `awaited`
 * collects the additional dependencies of the chain's next node. A message that overlaps
 * with compute is a whole message, which starts so early that a part of the compute runs
 * next to it.
 */
typedef struct plan_nodes {
    halley_builder *b;
    const price_context *c;
    uint64_t next_id;
    uint64_t last; /* last node of the chain */
    ARRAY(uint64_t) awaited;
    ARRAY(plan_window) windows;
    ARRAY(uint64_t) late; /* gradients and weights that the end of the step waits for */
    double more_s;        /* added to the next compute node */
    double alone_s;       /* duration of the chain without contention */
    bool plain;           /* without attributes that only halley reads */
    bool failed;          /* memory ran out: the trace is incomplete */
    /* Names contain layer and pass: "L12.query-key-value.FP". FP forward, IG and WG
     * gradients of inputs and of weights, IG+WG both, RC recomputed. */
    bool is_labelled;
    uint32_t layer;   /* of the model; PLAN_NO_LAYER: embedding, head and the update */
    const char *pass; /* "FP"; NULL: none */
} plan_nodes;
#define PLAN_NO_LAYER UINT32_MAX
void plan_nodes_fini(plan_nodes *w); /* frees everything but the builder */

/* The name of a group's rule: "tp", "fsdp", ... Static. */
const char *plan_group_name(workload_group group);

/* Functions named _chain append to the chain. A stretch of compute is cut where a window
 * ends. */
void plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                        double bytes);
uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes);
/* Send a message in the chain; `hidden_s` seconds of the following compute run next to
 * it. */
void plan_message_chain(plan_nodes *w, const plan_message *m);
/* The same for a message that starts before its turn: plan_message_early at its start,
 * plan_message_turn when the chain has arrived at it. */
void plan_message_early(plan_nodes *w, const plan_message *m, uint32_t item);
void plan_message_turn(plan_nodes *w, double hidden_s, uint32_t item);
/* The next node of the chain waits for all messages with a window. */
void plan_windows_close(plan_nodes *w);
/* Send a message next to the chain, after two nodes (or PLAN_NO_NODE). */
uint64_t plan_message_beside(plan_nodes *w, const plan_message *m, uint64_t awaits,
                             uint64_t before);
uint64_t plan_memory(plan_nodes *w, bool store, const char *name, double bytes,
                     uint64_t awaits);
/* Write the time that has no node yet as a compute node. */
void plan_flush(plan_nodes *w, const char *name);

/* The next node of the chain waits for `id`. */
void plan_await(plan_nodes *w, uint64_t id);
/* The end of the step waits for `id`. */
void plan_await_late(plan_nodes *w, uint64_t id);

/* A pipeline message. A send follows the last node of the chain. The next node of the
 * chain waits for a receive, and for `late_s` after it. */
void plan_send(plan_nodes *w, const char *peer, uint32_t tag, double bytes);
void plan_receive(plan_nodes *w, const char *peer, uint32_t tag, double bytes,
                  double late_s);

#endif
