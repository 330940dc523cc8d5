/*
 * halley/extend.h - replace halley's cost model of a collective or of compute by your
 * own. Custom network models are in halley/network.h, custom topology generators in
 * halley/topology.h.
 *
 * Extensions belong to a cluster, and so to the runs that use it; there is no registry.
 * Estimates, plan searches and traces of a plan call both functions. A simulation calls
 * `compute` for nodes that the NPU's cost model times (--compute cost). Collectives in a
 * simulation are messages: define a custom algorithm as traces (`custom` in a cluster
 * file).
 */
#ifndef HALLEY_EXTEND_H
#define HALLEY_EXTEND_H

#include "halley/cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_collective_kind {
    HALLEY_COLLECTIVE_ALL_REDUCE,
    HALLEY_COLLECTIVE_ALL_GATHER,
    HALLEY_COLLECTIVE_REDUCE_SCATTER,
    HALLEY_COLLECTIVE_ALL_TO_ALL,
    HALLEY_COLLECTIVE_BROADCAST,
    HALLEY_COLLECTIVE_SEND, /* one message between two ranks */
    /* network models only (halley/network.h) */
    HALLEY_COLLECTIVE_REDUCE,
    HALLEY_COLLECTIVE_GATHER,
    HALLEY_COLLECTIVE_SCATTER,
} halley_collective_kind;

typedef struct halley_collective_call {
    halley_collective_kind kind;
    double bytes;      /* size of the larger buffer of one rank */
    uint32_t n_ranks;  /* of the group */
    uint32_t per_node; /* of them in one node */
} halley_collective_call;

typedef enum halley_compute_kind {
    HALLEY_COMPUTE_MATMUL,         /* C[m,n] = A[m,k] B[k,n], `groups` of them */
    HALLEY_COMPUTE_BATCHED_MATMUL, /* without weights */
    HALLEY_COMPUTE_ATTENTION,      /* one fused kernel */
    HALLEY_COMPUTE_MEMORY_BOUND,   /* bytes through memory */
} halley_compute_kind;

typedef struct halley_compute_call {
    const char *name; /* of the operator: "feed-forward in"; lent */
    halley_compute_kind kind;
    bool backward;       /* both gradients in one call */
    double m, n, k;      /* of one matmul; 0 where there is none */
    double groups;       /* matmuls side by side; 1 = one */
    double repeat;       /* how often in a row; 1 = once */
    double flops, bytes; /* forward: operations, data moved; 0 where not known */
} halley_compute_call;

/* The time of the call in seconds; `standard_s` is halley's prediction. A negative or
 * non-finite result selects halley's prediction. Any thread of a run may call the
 * function, also several at a time. It must return the same value for the same call. */
typedef double halley_collective_cost(void *context, const halley_collective_call *call,
                                      double standard_s);
typedef double halley_compute_cost(void *context, const halley_compute_call *call,
                                   double standard_s);

typedef struct halley_extensions {
    halley_collective_cost *collective; /* NULL = halley's own */
    halley_compute_cost *compute;       /* the same */
    void *context;                      /* for both */
} halley_extensions;

/* Use these on this cluster; NULL = none. They are lent and must outlive the cluster. */
void halley_cluster_extend(halley_cluster *cluster, const halley_extensions *extensions);

#ifdef __cplusplus
}
#endif
#endif
