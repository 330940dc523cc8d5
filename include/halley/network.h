/*
 * halley/network.h - your own network model in simulations.
 *
 * A model is a table of functions. It belongs to one run (network_ops and network_context
 * of halley_sim_opts); there is no registry. The run tells the model when messages start,
 * the model tells the run when they arrive. In between, the model may ask to be woken.
 * All calls of one run come from one thread.
 *
 * Times are in ticks of 1 ps since the start of the run. A model needs native rules.
 */
#ifndef HALLEY_NETWORK_H
#define HALLEY_NETWORK_H

#include "halley/extend.h"
#include "halley/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_network halley_network; /* the run, as its model sees it */

/* What a model can do beyond messages. */
enum {
    HALLEY_NETWORK_CAN_BUNDLES = 1, /* whole collectives; else their messages, by the
                                     * algorithms of the cluster file */
    HALLEY_NETWORK_CAN_CANCEL = 2,  /* take a message back */
    HALLEY_NETWORK_CAN_CHANGE = 4,  /* change a link's bandwidth during the run */
};

/* A message, or (CAN_BUNDLES) a collective that all members have come to. */
typedef struct halley_network_request {
    uint32_t id;    /* for halley_network_arrive; free again after the arrival */
    double bytes;   /* of the message; the larger buffer of one member */
    uint32_t from;  /* NPUs; of a collective: its root, where it has one */
    uint32_t to;    /* of a message */
    uint32_t label; /* tells messages of the same pair apart; 0 today */
    halley_collective_kind kind; /* SEND: a message */
    const uint32_t *members;     /* of a collective: NPUs; NULL = 0 ... n_members - 1 */
    uint32_t n_members;          /* 0: a message */
} halley_network_request;

/*
 * The functions of a model. `state` is what `open` made. NULL is allowed for those that
 * the comment says.
 */
typedef struct halley_network_ops {
    const char *name;      /* in reports; must outlive the result */
    uint32_t capabilities; /* HALLEY_NETWORK_CAN_... */
    /* Make the model's state for one run. `context` is that of the run's options. */
    halley_status (*open)(void **state, halley_network *run, void *context,
                          halley_error *err);
    /* Something starts now. It must arrive once, now or later, unless it is cancelled. */
    void (*start)(void *state, const halley_network_request *request);
    void (*cancel)(void *state, uint32_t id);                  /* NULL: cannot */
    void (*change)(void *state, uint32_t link, double bw_Bps); /* NULL: cannot */
    /* The model is woken (halley_network_wake). NULL: it never asks for it. */
    void (*event)(void *state, uint64_t word);
    /* All that happens at this instant has happened, and the clock is about to advance:
     * the place to share links once for all messages of an instant. NULL: not needed. */
    void (*flush)(void *state);
    void (*close)(void *state); /* NULL: nothing to free; not called when open failed */
} halley_network_ops;

/* For models: what the run knows. */
uint32_t halley_network_npus(const halley_network *run);
uint64_t halley_network_now(const halley_network *run); /* ticks */
/* Devices and links of the cluster, lent for the run. */
const halley_topology *halley_network_graph(const halley_network *run);
/* A link on the way of a message, and the share of the message that it carries. */
typedef struct halley_network_hop {
    uint32_t link;
    double share;
} halley_network_hop;
/* The way between two different NPUs by the cluster's routing; *hops is lent until the
 * next call. */
halley_status halley_network_route(const halley_network_hop **hops, size_t *n,
                                   double *latency_s, halley_network *run, uint32_t from,
                                   uint32_t to, halley_error *err);

/* For models: what they tell the run. Times must not be in the past. */
void halley_network_arrive(halley_network *run, uint32_t id, uint64_t at);
/* Call `event` with `word` (below 2^60) at that time. */
void halley_network_wake(halley_network *run, uint64_t at, uint64_t word);
/* The run ends with this sentence. */
void halley_network_fail(halley_network *run, const char *sentence);

#ifdef __cplusplus
}
#endif
#endif
