/*
 * sim/fold.h - one rank simulated for all that do the same; the argument is at the head
 * of fold.c.
 */
#ifndef SIM_FOLD_H
#define SIM_FOLD_H

#include "sim/engine.h"
#include "trace/core/twins.h"

/* An event that was scheduled at the present instant, for whom it is scheduled. */
typedef struct sim_fold_event {
    uint64_t at;
    uint64_t flow[2]; /* who sends it, as seen from the receiver; 0 = itself */
    uint64_t mate;    /* the chunk that it is a message of; 0 = none */
    uint32_t phase;   /* of that */
    bool mixed;       /* stands for several of the same chunk from different senders */
} sim_fold_event;

typedef struct sim_fold_npu {
    uint64_t now; /* the instant of the events */
    ARRAY(sim_fold_event) events;
} sim_fold_npu;

/* Geometry of a phase that was found to look alike from every rank. */
typedef struct sim_fold_phase {
    uint32_t group, n, stride, level, n_sends;
    cluster_algo algo;
    bool down, grouped;
} sim_fold_phase;

struct sim_fold {
    uint32_t *representative; /* by rank: the one that is simulated for it */
    uint32_t *n_alike;     /* by rank: how many it stands for; 0 = none, it is not run */
    uint32_t *first_group; /* by rank: where its groups begin in `groups` */
    uint32_t *groups;      /* + 1, as nodes have them; in the order of trace_twins */
    ARRAY(sim_fold_phase) phases;
    sim_fold_npu *npus;
    bool broken; /* the ranks may differ after all: the run counts for nothing */
};

/* May a run be folded at all, whatever the traces? */
bool sim_fold_is_possible(const halley_cluster *cluster, const halley_sim_opts *opts);
/* *out stays NULL when there is nothing to fold. */
halley_status sim_fold_new(sim_fold **out, const halley_cluster *cluster,
                           const trace_twins *twins, halley_error *err);
void sim_fold_free(sim_fold *f, uint32_t n_npus);

/* The programs of those that run are there: are they of a kind that can be folded? */
bool sim_fold_allows(sim *s);
/* A plan was made: false when it does not look alike from every rank. */
bool sim_fold_allows_plan(sim *s, const coll_plan *plan, uint32_t group);
/* An event for the NPU is scheduled: by itself (event = 0), or a message by another. */
void sim_fold_note(sim *s, uint32_t npu, uint64_t at, uint64_t event);
/* End the folded run: it counts for nothing. */
void sim_fold_give_up(sim *s);
/* The run is over: what the others did. */
halley_status sim_fold_spread(sim *s);

#endif
