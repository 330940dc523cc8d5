/* explore/run_state.h - the internals of a run; only for run.c and share.c. */
#ifndef EXPLORE_RUN_STATE_H
#define EXPLORE_RUN_STATE_H

#include "base/hash.h"
#include "base/watch.h"
#include "explore/run.h"

#include <pthread.h>

enum { EXPLORE_BLOCK = 2048, EXPLORE_WAVE = 64, EXPLORE_PIECE = 1 << 15 };

/* Consecutive designs, and the results among them. */
typedef struct explore_block {
    explore_row *rows;
    uint32_t n_rows;
    uint64_t n_feasible, n_evaluated;
    explore_rows front;
    explore_sums sums;
    explore_reasons reasons;
} explore_block;

struct explore_run {
    const halley_study *study;
    uint32_t threads, top;       /* top: number of best designs requested */
    watcher look;                /* progress and cancellation */
    uint64_t look_every;         /* outer designs, or pieces of one, between two
                                    progress reports */
    struct explore_share *share; /* state of the other processes; NULL if there are
                                    none */
    /* called regularly inside a block; NULL = not called */
    halley_status (*between)(explore_run *r, halley_error *err);
    struct halley_job *job; /* the processes that share the work; NULL when alone */
    uint32_t n_ranks;       /* processes that share the work; 0 or 1 = only this one */
    uint64_t per_block;     /* outer designs, or pieces of one */
    uint64_t n_pieces;      /* of an outer design with many plans: EXPLORE_PIECE each */
    uint32_t most_now;      /* blocks in the next wave */
    explore_worker *workers;
    explore_block *blocks[2]; /* two waves: one is evaluated, one is stored */
    uint32_t wave;            /* which of them is evaluated */
    const uint64_t *ids;      /* whole outer designs of this wave; NULL: pieces from
                                 `first` on */
    uint64_t first, n;
    explore_top best; /* more than requested: explore/settle.h chooses among them */
    explore_rows front;
    explore_sums sums;
    explore_row pending; /* the best plan of an outer design that is not complete, if
                            any */
    explore_reached reached;
    explore_store *store;
    /* what a resumed search already knows: rows by outer design, and how many are
     * complete */
    explore_rows known;
    map64 known_at;
    uint64_t n_known, n_asked;
    /* the storing thread */
    pthread_t writer;
    bool writing;
    uint32_t n_writing;
    explore_reached writing_reached;
    strbuf writing_state; /* the state (explore/state.h) after that wave */
    halley_status write_status;
    halley_error write_err;
};

/* Task i of a wave: block i of r->n outer designs or pieces (pool_task). */
halley_status explore_evaluate_block(void *context, size_t i, uint32_t worker,
                                     halley_error *err);

#endif
