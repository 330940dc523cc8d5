/* learn/program.h - a trace as a sequence of tokens, and tokens folded into loops. */
#ifndef LEARN_PROGRAM_H
#define LEARN_PROGRAM_H

#include "learn/history.h"
#include "trace/core/groups.h"

/* Where a group is among the ranks. */
typedef struct synth_group {
    uint64_t key; /* hash of its name */
    uint32_t size, stride, last_rank;
    uint32_t first_rank;
} synth_group;

/* Fields of an operator at most. */
enum { SYNTH_FIELDS = 8 };

/* References of a token at most. */
enum { SYNTH_REFS = 24 };

/* Memory of the reader, kept from trace to trace. */
typedef struct synth_reader {
    synth_model *m;
    map64 op_cache; /* of this trace: what a node looks like → op */
    synth_history past;
    /* by index in the trace: operator; the node itself or, of a pause, the one it waits
     * for; where in the program */
    synth_u32s op, over, place;
    synth_u32s waiter;            /* of a side node or a pause: who waits for it;
                                     else MODEL_NONE */
    bool has_pauses, has_control; /* this trace */
    bool whole;                   /* there are no side nodes */
    /* by place: which row of nodes, each waiting for the one before, it is in, and where;
     * by row: what its first node waits for, and its length */
    synth_u32s row, row_at, row_after, row_length;
} synth_reader;

/* A side node, after the node at `at` (or, without dependencies, 0). */
typedef struct synth_side {
    uint32_t at, node, token;
} synth_side;

/* What a rank does. */
typedef struct synth_program {
    synth_u32s nodes; /* index in the trace */
    synth_u32s ops, tokens;
    ARRAY(synth_side) sides; /* by `at`; not among the nodes */
    synth_u32s backs,
        back_at;  /* how far back the dependencies of each are; from where on */
    uint64_t key; /* of the tokens */
} synth_program;

void synth_reader_fini(synth_reader *r);
void synth_program_fini(synth_program *p);
/* The program of rank `rank` of n_ranks; operators and tokens are added to the model.
 * Nodes of its operators that come and go are left out: who waits for one waits for what
 * it waits for. So are side nodes: collectives that wait for one node at
 * most, and for which one waits that waits for a later node, too. How many there are, and
 * where, follows from sizes (buckets of gradients, what is hidden of a message).
 * EINVAL: a cycle. */
halley_status synth_program_read(synth_program *p, synth_reader *r,
                                 const halley_trace *trace, uint32_t rank,
                                 uint32_t n_ranks, halley_error *err);

/* The nodes of a program and their places, from the operators in r; for its reader. */
halley_status synth_program_order(synth_program *p, synth_reader *r,
                                  const halley_trace *trace, halley_error *err);

/* A program as brackets and tokens, and the counts of its loops. */
typedef struct synth_folded {
    synth_u32s symbols, counts;
} synth_folded;
void synth_folded_fini(synth_folded *f);
/* With note > 0 (the number of a set) bodies of loops are noted in the model; with 0
 * those noted are found also where they run once. */
halley_status synth_fold(synth_folded *out, synth_model *m, const uint32_t *tokens,
                         uint32_t n, uint32_t note, halley_error *err);
/* Notes the bodies of all loops of the model's skeletons, as if sets had shown them;
 * false: no memory. */
bool synth_know_bodies(synth_model *m);

#endif
