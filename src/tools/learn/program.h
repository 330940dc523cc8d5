/*
 * learn/program.h - reads a trace as a sequence of tokens, and folds tokens into loops.
 */
#ifndef LEARN_PROGRAM_H
#define LEARN_PROGRAM_H

#include "learn/history.h"
#include "trace/core/groups.h"

/* A group as a regular pattern of ranks. */
typedef struct synth_group {
    uint64_t key; /* hash of its name */
    uint32_t size, stride, last_rank;
    uint32_t first_rank;
} synth_group;

/* Maximum number of fields of an operator. */
enum { SYNTH_FIELDS = 8 };

/* Maximum number of references of a token. */
enum { SYNTH_REFS = 24 };

/* Buffers of the reader, reused from trace to trace. */
typedef struct synth_reader {
    synth_model *m;
    map64 op_cache; /* of this trace: hash of a node's properties → operator */
    synth_history past;
    /* by index in the trace: operator; the node that represents it (the node itself or,
     * for a pause, the node it waits for); place in the program */
    synth_u32s op, over, place;
    /* of a side node or a pause: the node that waits for it; else MODEL_NONE */
    synth_u32s waiter;
    bool has_pauses, has_control; /* of this trace */
    /* Chains of nodes, each waiting for the one before. By place: chain and position in
     * it. By chain: the place that its first node waits for, and the length. */
    synth_u32s row, row_at, row_after, row_length;
    /* by place: the place of the parent (REF_UP); n of the REF_UP that leads to it, or
     * MODEL_NONE */
    synth_u32s parent, up;
} synth_reader;

/* A side node, after the node at place `at` (0 if it has no dependencies). */
typedef struct synth_side {
    uint32_t at, node, token;
} synth_side;

/* The program of a rank. */
typedef struct synth_program {
    synth_u32s nodes; /* indexes in the trace */
    synth_u32s ops, tokens;
    ARRAY(synth_side) sides; /* in the order of `at`; side nodes are not in `nodes` */
    /* distances to the dependencies of each node; index of the first one by node */
    synth_u32s backs, back_at;
    uint64_t key; /* hash of the tokens */
} synth_program;

void synth_reader_fini(synth_reader *r);
void synth_program_fini(synth_program *p);
/*
 * Reads the program of rank `rank` of n_ranks. Adds its operators and tokens to the
 * model. Two kinds of nodes are left out of the sequence:
 *
 *   Pauses: nodes of operators that are not always present. A node that waits for one
 *     waits for the predecessor of the pause instead.
 *   Side nodes: collectives that wait for at most one node, and whose only waiter also
 *     waits for a later node. Their number and place depend on sizes (gradient buckets,
 *     the hidden part of a message).
 *
 * EINVAL: the dependencies form a cycle.
 */
halley_status synth_program_read(synth_program *p, synth_reader *r,
                                 const halley_trace *trace, uint32_t rank,
                                 uint32_t n_ranks, halley_error *err);

/* Lists the nodes of a program and their places, from the operators in r. For
 * synth_program_read. */
halley_status synth_program_order(synth_program *p, synth_reader *r,
                                  const halley_trace *trace, halley_error *err);

/* A program as tokens and brackets, and the counts of its loops. */
typedef struct synth_folded {
    synth_u32s symbols, counts;
} synth_folded;
void synth_folded_fini(synth_folded *f);
/* Folds repeats into loops. With note > 0 (the number of a set), stores loop bodies in
 * the model. With note 0, stored bodies are also recognized where they run once. */
halley_status synth_fold(synth_folded *out, synth_model *m, const uint32_t *tokens,
                         uint32_t n, uint32_t note, halley_error *err);
/* Stores the bodies of all loops of the model's skeletons as if sets had shown them.
 * False: no memory. */
bool synth_know_bodies(synth_model *m);

#endif
