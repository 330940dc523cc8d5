/*
 * synth/scale.h - the parts of `trace scale`: numbers (scale_numbers.c), layers
 * (scale_find.c finds them, scale_layers.c adds and removes), ranks (scale_ranks.c),
 * collectives and memory (scale_nodes.c).
 *
 * Each part makes a set of a set; scale.c runs those that are asked for and looks at the
 * result with `trace check`.
 */
#ifndef SYNTH_SCALE_H
#define SYNTH_SCALE_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/scale.h"
#include "trace/distinct.h"
#include "trace/groups.h"
#include "trace/roles.h"

/* What holds for the whole set while it is changed. */
typedef struct scale_job {
    const halley_scale_opts *opts;
    halley_scaled *report;
    trace_groups groups;
    map64 data_parallel; /* hash of a data-parallel group's name; of "" for all ranks */
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
 * caller's, to free(). With `sharded` only those behind a reduce-scatter. */
halley_status scale_updates(bool **out, const scale_job *job, const halley_trace *trace,
                            bool sharded, halley_error *err);

/* Copies of one block that stand one after the other. */
typedef struct scale_run {
    uint32_t start, period, n; /* nodes (in order of ids) and how many blocks */
} scale_run;
typedef ARRAY(scale_run) scale_runs;
/* The innermost repeats that cover most of the trace, all with the same number of
 * blocks; none when nothing is repeated. `repeats`: that number, 0 = to be found;
 * n_layers: of the model, over all ranks. */
halley_status scale_find(scale_runs *out, const halley_trace *trace, uint32_t repeats,
                         uint32_t n_layers, halley_error *err);
/* Whether so many blocks on a rank can be (parts of) layers of such a model. */
bool scale_can_be_layers(uint32_t n_blocks, uint32_t n_layers);

halley_status scale_numbers(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_layers(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_find_data_parallel(scale_job *job, const halley_trace_set *set,
                                       halley_error *err);
halley_status scale_ranks(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_swap(halley_trace_set **set, scale_job *job, halley_error *err);
halley_status scale_offload(halley_trace_set **set, scale_job *job, halley_error *err);

#endif
