/* halley/search.h - the best plans for a model on a cluster, and small changes. */
#ifndef HALLEY_SEARCH_H
#define HALLEY_SEARCH_H

#include "halley/estimate.h"
#include "halley/plan_keys.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One change of a plan, what it would do. */
typedef struct halley_change {
    char what[96];       /* "tensor parallelism 8 instead of 4" */
    halley_plan_key key; /* of the plan, that changes */
    char value[32];      /* its new value, as in a plan file */
    halley_plan plan;
    halley_estimate estimate;
} halley_change;

/*
 * Single changes of `plan` on as many NPUs that make it fit, fastest first; at most `max`
 * into `out`. Returns how many.
 */
uint32_t halley_search_fitting(halley_change *out, uint32_t max,
                               const halley_model *model, const halley_plan *plan,
                               const halley_cluster *cluster, const halley_stack *stack);

/* Limits of a search; zero = free. */
typedef struct halley_search_opts {
    uint32_t n_npus;
    halley_plan plan;        /* where the search does not choose: as here */
    uint64_t fixed;          /* nor for these keys: bits 1 << halley_plan_key */
    uint32_t max_tp, max_cp; /* default: 4 scale-up domains; 1 (no limit with all) */
    bool all;                /* context parallelism, rank orders, GPipe, hybrid shard,
                                offload and all kinds of recomputation, too */
    bool variants; /* keep variants of a cut that differ in recomputation and sharding */
    uint32_t top;  /* how many to keep; 0 = 10 */
    uint32_t threads;          /* 0 = one per core */
    const halley_watch *watch; /* progress in cuts, and cancellation; NULL = none */
} halley_search_opts;

typedef struct halley_found {
    halley_plan plan;
    halley_estimate estimate;
} halley_found;

typedef struct halley_search {
    size_t size;                    /* filled by the library, see error.h */
    uint64_t n_designs, n_feasible; /* tried; of them, fit */
    uint64_t n_may;                 /* of the rest, may fit (with all) */
    uint32_t n_found;
    halley_found *found; /* those that fit first, of each kind the fastest first */
} halley_search;

/*
 * Every plan of tp, pp, dp, ep, micro-batch, recomputation (none, selective, full, of
 * every k-th input, of some layers), ZeRO 0 to 3, sequence parallelism and interleaving
 * that divides, on one or more threads; the result does not depend on how many. Of each
 * cut, micro-batch and interleaving the best variant is kept.
 */
halley_status halley_search_run(halley_search **out, const halley_model *model,
                                const halley_cluster *cluster, const halley_stack *stack,
                                const halley_search_opts *opts, halley_error *err);
void halley_search_free(halley_search *search);

/* Keys that say what is trained, not how: kept when looking for a plan that fits. */
#define HALLEY_SEARCH_WORKLOAD_KEYS                                                      \
    (1ull << HALLEY_KEY_GLOBAL_BATCH | 1ull << HALLEY_KEY_SEQ | 1ull << HALLEY_KEY_DTYPE)

typedef enum halley_search_answer {
    HALLEY_SEARCH_NONE, /* no plan of a search with `all` fits or may fit */
    HALLEY_SEARCH_MAY_FIT,
    HALLEY_SEARCH_FITS
} halley_search_answer;
/* Is there any plan within the limits that fits? One that does into *best: the best of
 * the first parallelization that fits, as opts say, then with all. halley_search_run
 * finds the best of all. */
halley_search_answer halley_search_any(halley_found *best, const halley_model *model,
                                       const halley_cluster *cluster,
                                       const halley_stack *stack,
                                       const halley_search_opts *opts);

/* Why `worse` loses to `better`: the part of the step that differs most, in words. */
const char *halley_search_reason(char *to, size_t size, const halley_found *better,
                                 const halley_found *worse);

#ifdef __cplusplus
}
#endif
#endif
