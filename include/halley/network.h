/*
 * halley/network.h - use your own network model in simulations.
 *
 * A model is a table of functions. It belongs to one run (network_ops and network_context
 * of halley_sim_opts); there is no registry. The run calls the model when messages start,
 * and the model reports when they arrive. In between, the model may ask to be woken. All
 * calls of one run come from one thread.
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

typedef struct halley_network halley_network; /* handle of the run for its model */

/* Optional features of a model beyond messages. */
enum {
    HALLEY_NETWORK_CAN_BUNDLES = 1, /* whole collectives; otherwise the run sends their
                                       messages, by the algorithms of the cluster file */
    HALLEY_NETWORK_CAN_CANCEL = 2,  /* cancel a message */
    HALLEY_NETWORK_CAN_CHANGE = 4,  /* change a link's bandwidth during the run */
};

/* A message, or (CAN_BUNDLES) a collective at which all members have arrived. */
typedef struct halley_network_request {
    uint32_t id;    /* for halley_network_arrive; reused after the arrival */
    double bytes;   /* of the message; the larger buffer of one member */
    uint32_t from;  /* NPU; of a collective: its root, if it has one */
    uint32_t to;    /* of a message */
    uint32_t label; /* distinguishes messages of the same pair; always 0 at present */
    halley_collective_kind kind; /* SEND: a message */
    const uint32_t *members;     /* of a collective: NPUs; NULL = 0 ... n_members - 1 */
    uint32_t n_members;          /* 0: a message */
} halley_network_request;

/* The functions of a model. `state` is what `open` returned. NULL is allowed only where
 * the comment says so. */
typedef struct halley_network_ops {
    const char *name;      /* in reports; must outlive the result */
    uint32_t capabilities; /* HALLEY_NETWORK_CAN_... */
    /* Make the model's state for one run. `context` is that of the run's options. */
    halley_status (*open)(void **state, halley_network *run, void *context,
                          halley_error *err);
    /* A message or collective starts now. It must arrive once, now or later, unless it is
     * cancelled. */
    void (*start)(void *state, const halley_network_request *request);
    void (*cancel)(void *state, uint32_t id);                  /* NULL: cannot */
    void (*change)(void *state, uint32_t link, double bw_Bps); /* NULL: cannot */
    /*
     * The wake-up that halley_network_wake requested. NULL: the model never requests one.
     */
    void (*event)(void *state, uint64_t word);
    /* Called after all events of an instant, before the clock advances. This is the place
     * to share links once for all messages of an instant. NULL: not needed. */
    void (*flush)(void *state);
    void (*close)(void *state); /* NULL: nothing to free; not called when open failed */
} halley_network_ops;

/* For models: information about the run. */
uint32_t halley_network_npus(const halley_network *run);
uint64_t halley_network_now(const halley_network *run); /* ticks */
/* Devices and links of the cluster, lent for the run. */
const halley_topology *halley_network_graph(const halley_network *run);
/* A link on the route of a message, and the share of the message that it carries. */
typedef struct halley_network_hop {
    uint32_t link;
    double share;
} halley_network_hop;
/* The route between two different NPUs by the cluster's routing; *hops is lent until the
 * next call. */
halley_status halley_network_route(const halley_network_hop **hops, size_t *n,
                                   double *latency_s, halley_network *run, uint32_t from,
                                   uint32_t to, halley_error *err);

/* For models: reports to the run. Times must not be in the past. */
void halley_network_arrive(halley_network *run, uint32_t id, uint64_t at);
/* Call `event` with `word` (below 2^60) at that time. */
void halley_network_wake(halley_network *run, uint64_t at, uint64_t word);
/* End the run with this sentence as the error. */
void halley_network_fail(halley_network *run, const char *sentence);

#ifdef __cplusplus
}
#endif
#endif
