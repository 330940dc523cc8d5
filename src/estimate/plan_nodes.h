/* estimate/plan_nodes.h - the nodes of a role's trace, as its passes are written. */
#ifndef ESTIMATE_PLAN_NODES_H
#define ESTIMATE_PLAN_NODES_H

#include "base/array.h"
#include "estimate/price.h"
#include "halley/trace.h"

#define PLAN_NO_NODE UINT64_MAX
#define PLAN_PEER_NEXT "next" /* rules of the template: the stages around this one */
#define PLAN_PEER_PREV "prev"

/* A collective of one of the plan's groups that takes `seconds` on an idle network. */
typedef struct plan_message {
    const char *name; /* static */
    coll_kind kind;   /* not COLL_SEND */
    workload_group group;
    double bytes; /* as coll/time.h counts them, if all of it were sent */
    double seconds;
} plan_message;

/* Bytes found for a time, kept since layers repeat. */
typedef struct plan_found {
    plan_message of;
    double bytes;
} plan_found;
enum { PLAN_N_FOUND = 64 };

/* What is still to be hidden of the messages of one group. */
typedef struct plan_debt {
    plan_message of; /* the last of them */
    double seconds;
} plan_debt;

/*
 * A chain of nodes, one after the other, and nodes next to it. What the next node of the
 * chain awaits in addition to the one before it is collected in `awaited`. Messages that
 * hide are sent next to stretches of compute, never longer than these take: what is left
 * waits for the next one.
 */
typedef struct plan_nodes {
    halley_builder *b;
    const price_context *c;
    uint64_t next_id;
    uint64_t last; /* of the chain */
    ARRAY(uint64_t) awaited;
    ARRAY(uint64_t) hiding; /* messages next to the compute that is being written */
    ARRAY(uint64_t) late;   /* gradients and weights that the end of the step awaits */
    double more_s;          /* goes into the next compute node */
    double alone_s;         /* what the chain takes when nothing contends */
    plan_debt debts[WORKLOAD_N_GROUPS];
    plan_found found[PLAN_N_FOUND];
    uint32_t next_found;
    bool failed; /* memory ran out: the trace lacks something */
} plan_nodes;
void plan_nodes_fini(plan_nodes *w); /* all but the builder */

/* The name of a group's rule: "tp", "fsdp", ... Static. */
const char *plan_group_name(workload_group group);

/* Each returns the node's id. Those named _chain go into the chain. */
uint64_t plan_compute_chain(plan_nodes *w, const char *name, double seconds, double flops,
                            double bytes);
/* Work without operators, a stretch of its own: messages may hide behind it. */
void plan_compute_alone(plan_nodes *w, const char *name, double seconds);
uint64_t plan_memory_chain(plan_nodes *w, bool store, const char *name, double bytes);
/* The message, or what of its time is too short for one, in the chain. */
void plan_message_chain(plan_nodes *w, const plan_message *m);
/* Next to compute that comes, in pieces as it has room for. */
void plan_message_hide(plan_nodes *w, const plan_message *m);
/* The chain computes for that long before it talks again: messages that hide start now
 * and are awaited at the end, those of gradients and weights at the end of the step. */
void plan_hide_begin(plan_nodes *w, double seconds);
void plan_hide_end(plan_nodes *w);
/* The same for the gradients and weights of groups that use network cards only, while the
 * chain computes or talks inside nodes. */
void plan_hide_far(plan_nodes *w, double seconds);
bool plan_uses_cards_only(const plan_nodes *w, workload_group group);
/* What has found no compute to hide behind, next to the chain; for the end of the step.
 */
void plan_debts_send(plan_nodes *w, workload_group group);
/* Next to the chain, after `awaits`; PLAN_NO_NODE when it is too short to be sent. */
uint64_t plan_message_beside(plan_nodes *w, const plan_message *m, uint64_t awaits);
uint64_t plan_memory(plan_nodes *w, bool store, const char *name, double bytes,
                     uint64_t awaits);
/* Time that no node has yet, as one. */
void plan_flush(plan_nodes *w, const char *name);

/* The next node of the chain waits for `id`. */
void plan_await(plan_nodes *w, uint64_t id);
/* The end of the step waits for `id`. */
void plan_await_late(plan_nodes *w, uint64_t id);

/* A message of the pipeline: a send follows the chain, a receive is awaited by its next
 * node. */
void plan_send(plan_nodes *w, const char *peer, uint32_t tag, double bytes);
void plan_receive(plan_nodes *w, const char *peer, uint32_t tag, double bytes);

#endif
