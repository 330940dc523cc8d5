/* estimate/plan_nodes.h - writes the nodes of a role's trace, pass by pass. */
#ifndef ESTIMATE_PLAN_NODES_H
#define ESTIMATE_PLAN_NODES_H

#include "base/array.h"
#include "estimate/price.h"
#include "halley/trace.h"

#define PLAN_NO_NODE UINT64_MAX
#define PLAN_PEER_NEXT "next" /* rules of the template: the adjacent stages */
#define PLAN_PEER_PREV "prev"

/* A collective of one of the plan's groups that takes `seconds` on an idle network. */
typedef struct plan_message {
    const char *name; /* static */
    coll_kind kind;   /* not COLL_SEND */
    workload_group group;
    double bytes; /* as coll/time.h counts them, if the whole message were sent */
    double seconds;
} plan_message;

/* The bytes found for a message's time; cached because layers repeat. */
typedef struct plan_found {
    plan_message of;
    double bytes;
} plan_found;
enum { PLAN_N_FOUND = 64 };

/* The time of one group's messages that is not hidden yet. */
typedef struct plan_debt {
    plan_message of; /* the last of them */
    double seconds;
} plan_debt;

/*
 * A chain of nodes, one after the other, and nodes that run next to it. `awaited`
 * collects the additional dependencies of the chain's next node. Hidden messages are sent
 * next to stretches of compute and never take longer than these. The rest of a hidden
 * message waits for the next stretch.
 */
typedef struct plan_nodes {
    halley_builder *b;
    const price_context *c;
    uint64_t next_id;
    uint64_t last; /* last node of the chain */
    ARRAY(uint64_t) awaited;
    ARRAY(uint64_t) hiding; /* messages next to the compute that is being written */
    ARRAY(uint64_t) late;   /* gradients and weights that the end of the step waits for */
    double more_s;          /* added to the next compute node */
    double alone_s;         /* duration of the chain without contention */
    plan_debt debts[WORKLOAD_N_GROUPS];
    plan_found found[PLAN_N_FOUND];
    uint32_t next_found;
    bool failed; /* memory ran out: the trace is incomplete */
    /* Names tell layer and pass: "L12.query-key-value.FP". FP forward, IG and WG
     * gradients of inputs and of weights, IG+WG both, RC recomputed. */
    bool is_labelled;
    uint32_t layer;   /* of the model; PLAN_NO_LAYER: embedding, head and the update */
    const char *pass; /* "FP"; NULL: none */
} plan_nodes;
#define PLAN_NO_LAYER UINT32_MAX
void plan_nodes_fini(plan_nodes *w); /* frees everything but the builder */

/* The name of a group's rule: "tp", "fsdp", ... Static. */
const char *plan_group_name(workload_group group);

/* Each function returns the node's id. Functions named _chain append to the chain. */
uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes);
/* Work without operators, as its own stretch of compute: it may hide messages. */
void plan_compute_alone(plan_nodes *w, const char *name, double seconds);
uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes);
/* Add the message to the chain. Time too short for a message goes into the next
 * compute. */
void plan_message_chain(plan_nodes *w, const plan_message *m);
/* Hide the message next to later compute, in pieces as large as the compute can hide. */
void plan_message_hide(plan_nodes *w, const plan_message *m);
/* The chain computes for `seconds` before its next message. Hidden messages start now.
 * The chain waits for them in plan_hide_end; the end of the step waits for those of
 * gradients and weights. */
void plan_hide_begin(plan_nodes *w, double seconds);
void plan_hide_end(plan_nodes *w);
/* The same for gradients and weights of groups that use network cards only, while the
 * chain computes or communicates inside nodes. */
void plan_hide_far(plan_nodes *w, double seconds);
bool plan_uses_cards_only(const plan_nodes *w, workload_group group);
/* Send the messages of a group that found no compute to hide them, next to the chain. The
 * end of the step waits for them. */
void plan_debts_send(plan_nodes *w, workload_group group);
/* Send a message next to the chain, after `awaits`. Returns PLAN_NO_NODE if its time is
 * too short for a message. */
uint64_t plan_message_beside(plan_nodes *w, const plan_message *m, uint64_t awaits);
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
