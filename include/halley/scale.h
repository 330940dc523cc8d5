/* halley/scale.h - what-if edits of a set of traces that keep it consistent. */
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

/* {0} changes nothing. Done in this order. */
typedef struct halley_scale_opts {
    uint32_t layers_from, layers_to; /* so many layers become so many; 0 = as they are */
    uint32_t repeats;                /* blocks of a trace that are layers; 0 = found */
    halley_swap swap;
    uint32_t dp;           /* ranks of each data-parallel group; 0 = as they are */
    const char *dp_groups; /* their names, "5,6"; NULL = found */
    double compute;        /* factor of durations, operations and memory traffic of
                              compute (of a recording: of devices); 0 = 1 */
    double host;           /* of recordings: factor of durations on the host; 0 = 1 */
    double bytes;          /* factor of messages and of loads and stores; 0 = 1 */
    double number;  /* factor of the bytes of a number, of compute and bytes; 0 = 1 */
    double batch;   /* factor of compute and messages, but for what has the size of
                       the weights; 0 = 1 */
    double offload; /* share of a compute node's memory traffic that is loaded from
                       and stored to outer memory; 0 = none */
    const char *offload_match; /* only nodes whose name has this in it; NULL = all */
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
 * A changed copy of the set that passes `trace check`. HALLEY_EINVAL: an edit does not
 * fit the set (no repeated block, no data-parallel group, sizes that do not divide,
 * messages between replicas); the sentence says which and what to do. On success *out is
 * the caller's, to free with halley_scaled_free.
 */
halley_status halley_trace_scale(halley_scaled **out, const halley_trace_set *set,
                                 const halley_scale_opts *opts, halley_error *err);
/* The groups of the result, as ASTRA-sim reads them; no groups, no file. */
halley_status halley_scaled_save_groups(const halley_scaled *s, const char *path,
                                        halley_error *err);
void halley_scaled_free(halley_scaled *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
