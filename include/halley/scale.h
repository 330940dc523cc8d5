/* halley/scale.h - what-if edits of a set of traces that keep the set consistent. */
#ifndef HALLEY_SCALE_H
#define HALLEY_SCALE_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_swap {
    HALLEY_SWAP_NONE,
    HALLEY_SWAP_SPLIT, /* an all-reduce becomes a reduce-scatter and an all-gather */
    HALLEY_SWAP_JOIN,  /* such a pair becomes an all-reduce */
} halley_swap;

/* {0} changes nothing. The edits are applied in this order. */
typedef struct halley_scale_opts {
    uint32_t layers_from, layers_to; /* change the number of layers; 0 = no change */
    uint32_t repeats;                /* number of blocks in a trace that are layers; 0
                                        = detect them */
    halley_swap swap;
    uint32_t dp;           /* ranks of each data-parallel group; 0 = no change */
    const char *dp_groups; /* their names, "5,6"; NULL = detect them */
    double compute;        /* factor on durations, operations and memory traffic of
                              compute nodes (in a recording: of devices); 0 = 1 */
    double host;           /* recordings: factor on durations on the host; 0 = 1 */
    double bytes;          /* factor on messages, loads and stores; 0 = 1 */
    double number;  /* factor on the bytes per number, for compute and messages; 0 = 1 */
    double batch;   /* factor on compute and messages, except those whose size is that
                       of the weights; 0 = 1 */
    double offload; /* share of a compute node's memory traffic that goes to outer
                       memory as loads and stores; 0 = none */
    const char *offload_match; /* only nodes whose name contains this; NULL = all */
    const char *groups_path;   /* ASTRA-sim's {"1": [0, 1]}; NULL = as the traces say */
} halley_scale_opts;

typedef struct halley_scaled {
    size_t size;           /* filled by the library, see error.h */
    halley_trace_set *set; /* the result */
    uint32_t n_ranks_before, n_ranks;
    uint64_t n_nodes_before, n_nodes;
    uint32_t n_blocks,
        block_nodes; /* repeats found on rank 0: blocks, nodes of a block */
    uint32_t n_blocks_after;
    uint32_t dp_before;     /* 0: not looked for */
    uint64_t n_collectives; /* swapped */
    uint64_t n_offloaded;   /* nodes that load and store */
    uint64_t n_updates;     /* nodes that were taken for updates of weights */
    void *memory;
} halley_scaled;

/*
 * Make a changed copy of the set that passes `trace check`. HALLEY_EINVAL: an edit does
 * not fit the set (no repeated block, no data-parallel group, sizes that do not divide,
 * messages between replicas). The error names the edit and the remedy. On success the
 * caller owns *out and frees it with halley_scaled_free.
 */
halley_status halley_trace_scale(halley_scaled **out, const halley_trace_set *set,
                                 const halley_scale_opts *opts, halley_error *err);
/* Write the groups of the result in ASTRA-sim's format. Without groups, no file is
 * written. */
halley_status halley_scaled_save_groups(const halley_scaled *s, const char *path,
                                        halley_error *err);
void halley_scaled_free(halley_scaled *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
