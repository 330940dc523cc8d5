/*
 * halley/search.h - find the best plans for a model on a cluster, and small changes that
 * help.
 */
#ifndef HALLEY_SEARCH_H
#define HALLEY_SEARCH_H

#include "halley/estimate.h"
#include "halley/plan_keys.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One change of a plan and its effect. */
typedef struct halley_change {
    char what[96];       /* "tensor parallelism 8 instead of 4" */
    halley_plan_key key; /* the key of the plan that changes */
    char value[32];      /* its new value, as in a plan file */
    halley_plan plan;
    halley_estimate estimate;
} halley_change;

/* Single changes of `plan` on the same number of NPUs that make it fit, fastest first.
 * Writes at most `max` to `out` and returns their number. */
uint32_t halley_search_fitting(halley_change *out, uint32_t max,
                               const halley_model *model, const halley_plan *plan,
                               const halley_cluster *cluster, const halley_stack *stack);

/* Limits of a search; zero = no limit. */
typedef struct halley_search_opts {
    uint32_t n_npus;
    halley_plan plan;        /* values of everything that the search does not choose */
    uint64_t fixed;          /* keys that the search must not change: bits 1 <<
                                halley_plan_key */
    uint32_t max_tp, max_cp; /* defaults: 4 scale-up domains; 1 (no limit if `all` is
                                set) */
    bool all;                /* also search context parallelism, rank orders, GPipe,
                                hybrid sharding, offload and all kinds of recomputation */
    bool variants;    /* keep variants of a parallelization that differ in recomputation
                         and sharding */
    uint32_t top;     /* how many to keep; 0 = 10 */
    uint32_t threads; /* 0 = one per core */
    /* False leaves a checked plan out, because the software cannot run it; NULL: none is
     * left out. Called from several threads. */
    bool (*allows)(const halley_plan *plan, const void *context);
    const void *context;
    const halley_watch *watch; /* progress in parallelizations, and cancellation; NULL
                                  = none */
} halley_search_opts;

typedef struct halley_found {
    halley_plan plan;
    halley_estimate estimate;
} halley_found;

typedef struct halley_search {
    size_t size;                    /* filled by the library, see error.h */
    uint64_t n_designs, n_feasible; /* tried; how many of them fit */
    uint64_t n_left_out; /* plans that opts->allows refused; not in n_designs */
    uint64_t n_may;      /* how many of the others may fit (with all) */
    uint32_t n_found;
    halley_found *found; /* plans that fit come first; within each category the fastest
                            is first */
} halley_search;

/*
 * Search all valid plans over tp, pp, dp, ep, micro-batch, recomputation, ZeRO 0 to 3,
 * sequence parallelism and interleaving. Recomputation is none, selective, full, of every
 * k-th input, or of some layers. The result does not depend on the number of threads. The
 * best variant of each parallelization, micro-batch and interleaving is kept.
 */
halley_status halley_search_run(halley_search **out, const halley_model *model,
                                const halley_cluster *cluster, const halley_stack *stack,
                                const halley_search_opts *opts, halley_error *err);
void halley_search_free(halley_search *search);

/* Keys that define what is trained, not how. They are kept when looking for a plan that
 * fits. */
#define HALLEY_SEARCH_WORKLOAD_KEYS                                                      \
    (1ull << HALLEY_KEY_GLOBAL_BATCH | 1ull << HALLEY_KEY_SEQ | 1ull << HALLEY_KEY_DTYPE)

typedef enum halley_search_answer {
    HALLEY_SEARCH_NONE, /* no plan fits or may fit, even with `all` */
    HALLEY_SEARCH_MAY_FIT,
    HALLEY_SEARCH_FITS
} halley_search_answer;
/* Find out whether any plan within the limits fits, and write one to *best. It is the
 * best plan of the first parallelization that fits, searched with opts, then with `all`.
 * halley_search_run finds the overall best. */
halley_search_answer halley_search_any(halley_found *best, const halley_model *model,
                                       const halley_cluster *cluster,
                                       const halley_stack *stack,
                                       const halley_search_opts *opts);

/*
 * Why `worse` is slower than `better`: the part of the step that differs most, in words.
 */
const char *halley_search_reason(char *to, size_t size, const halley_found *better,
                                 const halley_found *worse);

#ifdef __cplusplus
}
#endif
#endif
