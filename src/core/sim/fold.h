/*
 * sim/fold.h - simulates one rank for all ranks that do the same. The head of fold.c
 * explains why this is exact.
 */
#ifndef SIM_FOLD_H
#define SIM_FOLD_H

#include "sim/engine.h"
#include "trace/core/twins.h"

/* An event that was scheduled at the present instant, as its NPU sees it. */
typedef struct sim_fold_event {
    uint64_t at;
    uint64_t flow[2]; /* the sender, relative to the receiver; 0 = the NPU itself */
    uint64_t mate;    /* hash of the chunk that the message belongs to; 0 = none */
    uint32_t phase;   /* phase of that chunk */
    bool mixed; /* represents several messages of one chunk from different senders */
} sim_fold_event;

typedef struct sim_fold_npu {
    uint64_t now; /* the instant of the events */
    ARRAY(sim_fold_event) events;
} sim_fold_npu;

/* Geometry of a phase that was found to be the same for every rank. */
typedef struct sim_fold_phase {
    uint32_t group, n, stride, level, n_sends;
    cluster_algo algo;
    bool down, grouped;
} sim_fold_phase;

struct sim_fold {
    uint32_t *representative; /* by rank: the rank that is simulated for it */
    uint32_t *n_alike;        /* by rank: ranks it represents; 0 = it is not simulated */
    uint32_t *first_group;    /* by rank: where its groups begin in `groups` */
    uint32_t *groups;         /* index + 1, as in nodes; in the order of trace_twins */
    ARRAY(sim_fold_phase) phases;
    sim_fold_npu *npus;
    bool broken; /* the ranks may differ after all: the result of the run is discarded */
};

/* True if the cluster and the options allow folding, whatever the traces are. */
bool sim_fold_is_possible(const halley_cluster *cluster, const halley_sim_opts *opts);
/* *out stays NULL when there is nothing to fold. */
halley_status sim_fold_new(sim_fold **out, const halley_cluster *cluster,
                           const trace_twins *twins, halley_error *err);
void sim_fold_free(sim_fold *f, uint32_t n_npus);

/* True if the programs of the simulated ranks can be folded. Call it once they are
 * loaded. */
bool sim_fold_allows(sim *s);
/* True if a new plan looks the same from every rank. */
bool sim_fold_allows_plan(sim *s, const coll_plan *plan, uint32_t group);
/* Note an event that is scheduled for an NPU: by itself (event = 0), or another NPU's
 * message. */
void sim_fold_note(sim *s, uint32_t npu, uint64_t at, uint64_t event);
/* End the folded run and discard it. */
void sim_fold_give_up(sim *s);
/* After the run: copy the results of the simulated ranks to the ranks they represent. */
halley_status sim_fold_spread(sim *s);

#endif
