/*
 * edit/scale.h - the parts of `trace scale`: numbers (scale_numbers.c), layers
 * (scale_find.c finds them, scale_layers.c adds and removes), ranks (scale_ranks.c),
 * collectives and memory (scale_nodes.c).
 *
 * Each part makes a set of a set; scale.c runs those that are asked for and looks at the
 * result with `trace check`.
 */
#ifndef EDIT_SCALE_H
#define EDIT_SCALE_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/scale.h"
#include "trace/core/distinct.h"
#include "trace/core/groups.h"
#include "trace/core/roles.h"

/* What holds for the whole set while it is changed. */
typedef struct scale_job {
    const halley_scale_opts *opts;
    halley_scaled *report;
    trace_groups groups;
    map64
        data_parallel; /* hashes of names of data-parallel groups; of "" for all ranks */
    uint32_t dp, stride; /* ranks of such a group, and how far apart they are */
} scale_job;

/* Make each different trace anew. */
typedef halley_status scale_trace(halley_trace **out, void *context,
                                  const halley_trace *trace, halley_error *err);
halley_status scale_each(halley_trace_set **set, scale_trace *change, void *context,
                         halley_error *err);

/* Is the node a collective of a data-parallel group? */
bool scale_is_data_parallel(const scale_job *job, const halley_trace *trace,
                            uint32_t node);
/* Ranks of the group of a collective; n_ranks for all. */
uint32_t scale_members(const trace_groups *groups, halley_bytes name, uint32_t n_ranks);

/* Factors of a node's numbers. */
typedef struct scale_factors {
    double time, work, traffic, message; /* durations, num_ops, tensor_size, comm_size */
} scale_factors;
/* The open node gets all but id, type, name and dependencies of `node`, multiplied. */
halley_status scale_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                              const scale_factors *f, halley_error *err);
/* The open node gets the dependencies of `node`, under the ids they have. */
halley_status scale_copy_deps(halley_builder *b, const halley_trace *from, uint32_t node);

/* Compute nodes that update weights from what a data-parallel group has reduced: after
 * which nothing comes but further such nodes and data-parallel gathers. By node; the
 * caller's, to free(). With `sharded` only those after a reduce-scatter. Without
 * data-parallel groups it is the one node for which nothing waits, if that has bytes but
 * no operations. */
halley_status scale_updates(bool **out, const scale_job *job, const halley_trace *trace,
                            bool sharded, halley_error *err);

/* Nanoseconds a byte of the fastest node that only moves data; 0 = there is none. */
double scale_fastest(const halley_trace *trace);
/* Factors of an update of that many times the weights: of its duration only the part that
 * its bytes take at that speed changes. */
scale_factors scale_update_factors(const halley_trace *trace, uint32_t node,
                                   double factor, double ns_per_byte);

/* Where a node is: in which block of which row, SCALE_OUTSIDE for none. */
#define SCALE_OUTSIDE UINT32_MAX
typedef struct scale_place {
    uint32_t row, block;
} scale_place;

/* A row of n blocks that are alike, counted in the order in which they run. */
typedef struct scale_row {
    uint32_t n, n_after;
    uint32_t *blocks; /* n_after: which old block now stands there; NULL = as it was */
} scale_row;

/* The rows of a trace. Blocks may differ in single nodes: `keys` says what a node is
 * within its block, so that nodes of two blocks with one key represent each other. */
typedef struct scale_rows {
    uint32_t n_nodes;
    uint32_t *order;      /* nodes as they run; thread by thread in a recording */
    scale_place *places;  /* by node */
    uint64_t *keys;       /* by node; 0 outside of rows */
    uint64_t *tokens;     /* by node: what it does; equal for what repeats */
    uint8_t *mains;       /* by node: blocks are found by these, others go with them */
    double *grow;         /* by node: factor of a bucket's bytes; NULL = none grows */
    uint32_t block_nodes; /* of the first row's first block */
    uint32_t period;      /* of these, main nodes */
    ARRAY(scale_row) list;
} scale_rows;
void scale_rows_fini(scale_rows *rows);
/* Room for the nodes of a trace, all outside of rows, in the order of the file. */
halley_status scale_rows_init(scale_rows *rows, const halley_trace *trace,
                              halley_error *err);
/* Fill in `keys`, once places, tokens and mains are known. */
halley_status scale_rows_name(scale_rows *rows, halley_error *err);
/* What the node does: type, collective, host or device, operations, bytes, group, and
 * (by_name) its name less the numbers in it. */
uint64_t scale_token(const halley_trace *trace, uint32_t node, bool by_name);

/* Stretches of tokens in which each equals the one a period further on. */
typedef struct scale_stretch {
    uint32_t start, length, period;
} scale_stretch;
typedef ARRAY(scale_stretch) scale_stretches;
/* Those of the commonest periods, shortest period first. False: no memory. */
bool scale_stretches_find(scale_stretches *out, const uint64_t *tokens, uint32_t n,
                          uint32_t n_periods);

/* The innermost repeats that cover most of the trace, all with the same number of
 * blocks; no rows when nothing is repeated. `repeats`: that number, 0 = to be found;
 * n_layers: of the model, over all ranks. */
halley_status scale_find(scale_rows *out, const halley_trace *trace, uint32_t repeats,
                         uint32_t n_layers, halley_error *err);
/* What a node of a recording is, for a change of numbers. */
typedef enum scale_number_kind {
    SCALE_NUMBER_HOST,
    SCALE_NUMBER_WORK,        /* of a device: grows with the batch */
    SCALE_NUMBER_UPDATE,      /* of a device, with the size of the weights */
    SCALE_NUMBER_ACTIVATIONS, /* communication that grows with the batch */
    SCALE_NUMBER_WEIGHTS,     /* communication that does not */
    SCALE_NUMBER_UNSURE
} scale_number_kind;
/* By node; the caller's, to free(). Refuses another batch where it cannot be told what
 * that changes. */
halley_status scale_number_kinds(uint8_t **out, const scale_job *job,
                                 const halley_trace *trace, halley_error *err);
/* Was the trace recorded, with threads? */
bool scale_is_recording(const halley_trace *trace);
/* The layers of a recorded step, forward and backward, and what becomes of them: each
 * row gets its `n_after` and `blocks`. */
halley_status scale_find_recorded(scale_rows *out, const halley_trace *trace,
                                  const halley_scale_opts *opts, halley_error *err);
/* Share n_after = sum * to / from blocks out over the stages of each pipeline: in
 * proportion, what is left over to the largest remainders, of equal ones to the lowest
 * ranks. n_before and n_after by rank. */
halley_status scale_stages(uint32_t *n_after, const uint32_t *n_before,
                           const halley_trace_set *set, const halley_scale_opts *opts,
                           halley_error *err);
/* Divide `total` proportionally to parts[0 … n), by largest remainders. False: some
 * part is left without any. */
bool scale_share_out(uint32_t *out, const uint32_t *parts, uint32_t n, uint64_t total);
/* Which old blocks a row of n_after has; those marked in `fixed` (may be NULL) are
 * neither copied nor left out. NULL with *fine: not possible; else no memory. */
uint32_t *scale_block_list(uint32_t n, uint32_t n_after, const uint8_t *fixed,
                           bool *fine);

halley_status scale_numbers(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_layers(halley_trace_set **set, scale_job *job, halley_error *err);
/* Mark the data-parallel groups whose ranks are replicas or, with `all`, every group
 * whose reductions have the size of the weights; then none is no error. */
halley_status scale_find_data_parallel(scale_job *job, const halley_trace_set *set,
                                       bool all, halley_error *err);
halley_status scale_ranks(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_swap(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_offload(halley_trace_set **set, scale_job *job, halley_error *err);

#endif
