/*
 * edit/scale.h - the parts of `trace scale`. Numbers are in scale_numbers.c. Layers are
 * found in scale_find.c, and added or removed in scale_layers.c. Ranks are in
 * scale_ranks.c, collectives and memory in scale_nodes.c.
 *
 * Each part makes a new set from a set. scale.c runs the requested parts and checks the
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

/* The facts about the whole set while it is changed. */
typedef struct scale_job {
    const halley_scale_opts *opts;
    halley_scaled *report;
    trace_groups groups;
    /* hashes of the names of data-parallel groups; that of "" represents all ranks */
    map64 data_parallel;
    uint32_t dp, stride; /* ranks of such a group, and their distance */
} scale_job;

/* Makes each distinct trace anew with `change`. */
typedef halley_status scale_trace(halley_trace **out, void *context,
                                  const halley_trace *trace, halley_error *err);
halley_status scale_each(halley_trace_set **set, scale_trace *change, void *context,
                         halley_error *err);

/* Is the node a collective of a data-parallel group? */
bool scale_is_data_parallel(const scale_job *job, const halley_trace *trace,
                            uint32_t node);
/* The number of ranks in the group of a collective; n_ranks if it has none. */
uint32_t scale_members(const trace_groups *groups, halley_bytes name, uint32_t n_ranks);

/* The factors of a node's numbers. */
typedef struct scale_factors {
    double time, work, traffic, message; /* durations, num_ops, tensor_size, comm_size */
} scale_factors;
/* Copies everything but id, type, name and dependencies of `node` to the open node,
 * multiplied. */
halley_status scale_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                              const scale_factors *f, halley_error *err);
/* Copies the dependencies of `node` to the open node, with their ids. */
halley_status scale_copy_deps(halley_builder *b, const halley_trace *from, uint32_t node);

/* Finds the compute nodes that update weights from what a data-parallel group has
 * reduced. Only further such nodes and data-parallel gathers may follow them. With
 * `sharded`, only those after a reduce-scatter count. Without data-parallel groups, the
 * update is the single node that nothing waits for, if it has bytes but no operations.
 * The result is by node; the caller must free() it. */
halley_status scale_updates(bool **out, const scale_job *job, const halley_trace *trace,
                            bool sharded, halley_error *err);

/* Nanoseconds per byte of the fastest node that only moves data; 0 = there is none. */
double scale_fastest(const halley_trace *trace);
/* The factors of an update of `factor` times the weights. Only the part of its duration
 * that its bytes take at this speed changes. */
scale_factors scale_update_factors(const halley_trace *trace, uint32_t node,
                                   double factor, double ns_per_byte);

/* The position of a node: row and block. SCALE_OUTSIDE: in no row. */
#define SCALE_OUTSIDE UINT32_MAX
typedef struct scale_place {
    uint32_t row, block;
} scale_place;

/* A row of n equal blocks, counted in the order in which they run. */
typedef struct scale_row {
    uint32_t n, n_after;
    uint32_t *blocks; /* n_after entries: the old block at each new position; NULL =
                         unchanged */
} scale_row;

/* The rows of a trace. Blocks may differ in single nodes. `keys` identifies a node
 * within its block: nodes of two blocks with the same key correspond to each other. */
typedef struct scale_rows {
    uint32_t n_nodes;
    uint32_t *order; /* nodes in the order they run; thread by thread in a recording */
    scale_place *places; /* by node */
    uint64_t *keys;      /* by node; 0 outside of rows */
    uint64_t *tokens;    /* by node: what it does; equal for repeats */
    uint8_t *mains;      /* by node: blocks are found by main nodes, others follow them */
    double *grow;        /* by node: factor of a bucket's bytes; NULL = none grows */
    uint32_t block_nodes; /* nodes of the first row's first block */
    uint32_t period;      /* main nodes among them */
    ARRAY(scale_row) list;
} scale_rows;
void scale_rows_fini(scale_rows *rows);
/* Makes room for the nodes of a trace. All are outside of rows, in the order of the
 * file. */
halley_status scale_rows_init(scale_rows *rows, const halley_trace *trace,
                              halley_error *err);
/* Fills `keys`, once places, tokens and mains are known. */
halley_status scale_rows_name(scale_rows *rows, halley_error *err);
/* A hash of what the node does: type, collective, host or device, operations, bytes,
 * group, and (by_name) its name without numbers. */
uint64_t scale_token(const halley_trace *trace, uint32_t node, bool by_name);

/* A stretch of tokens in which each equals the one a period later. */
typedef struct scale_stretch {
    uint32_t start, length, period;
} scale_stretch;
typedef ARRAY(scale_stretch) scale_stretches;
/* The stretches of the most common periods, shortest period first. False: no memory. */
bool scale_stretches_find(scale_stretches *out, const uint64_t *tokens, uint32_t n,
                          uint32_t n_periods);

/* Finds the innermost repeats that cover most of the trace, all with the same number of
 * blocks. There are no rows if nothing is repeated. `repeats`: that number, 0 = unknown.
 * n_layers: of the model, over all ranks. */
halley_status scale_find(scale_rows *out, const halley_trace *trace, uint32_t repeats,
                         uint32_t n_layers, halley_error *err);
/* What a node of a recording is, for a change of its numbers. */
typedef enum scale_number_kind {
    SCALE_NUMBER_HOST,
    SCALE_NUMBER_WORK,        /* on a device: grows with the batch */
    SCALE_NUMBER_UPDATE,      /* on a device: grows with the weights */
    SCALE_NUMBER_ACTIVATIONS, /* communication that grows with the batch */
    SCALE_NUMBER_WEIGHTS,     /* communication that does not */
    SCALE_NUMBER_UNSURE
} scale_number_kind;
/* Classifies each node; the caller must free() the result. Refuses another batch if its
 * effect cannot be determined. */
halley_status scale_number_kinds(uint8_t **out, const scale_job *job,
                                 const halley_trace *trace, halley_error *err);
/* Is the trace a recording with threads? */
bool scale_is_recording(const halley_trace *trace);
/* Finds the layers of a recorded step, forward and backward, and how they change: each
 * row gets its `n_after` and `blocks`. */
halley_status scale_find_recorded(scale_rows *out, const halley_trace *trace,
                                  const halley_scale_opts *opts, halley_error *err);
/* Distributes n_after = sum * to / from blocks over the stages of each pipeline,
 * proportionally. The rest goes to the largest remainders, and on ties to the lowest
 * ranks. n_before and n_after are by rank. */
halley_status scale_stages(uint32_t *n_after, const uint32_t *n_before,
                           const halley_trace_set *set, const halley_scale_opts *opts,
                           halley_error *err);
/* Divides `total` proportionally to parts[0 … n), by largest remainders. False: some
 * part gets nothing. */
bool scale_share_out(uint32_t *out, const uint32_t *parts, uint32_t n, uint64_t total);
/* Lists the old blocks of a row of n_after. Blocks marked in `fixed` (may be NULL) are
 * neither copied nor removed. NULL with *fine: not possible; NULL without: no memory. */
uint32_t *scale_block_list(uint32_t n, uint32_t n_after, const uint8_t *fixed,
                           bool *fine);

halley_status scale_numbers(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_layers(halley_trace_set **set, scale_job *job, halley_error *err);
/* Marks the data-parallel groups whose ranks are replicas. With `all`, also marks every
 * group whose reductions have the size of the weights; then it is no error if there is
 * none. */
halley_status scale_find_data_parallel(scale_job *job, const halley_trace_set *set,
                                       bool all, halley_error *err);
halley_status scale_ranks(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_swap(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_offload(halley_trace_set **set, scale_job *job, halley_error *err);

#endif
