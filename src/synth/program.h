/* synth/program.h - a trace as a sequence of tokens, and tokens folded into loops. */
#ifndef SYNTH_PROGRAM_H
#define SYNTH_PROGRAM_H

#include "synth/history.h"
#include "trace/groups.h"

/* Where a group lies among the ranks. */
typedef struct synth_group {
    uint64_t key; /* hash of its name */
    uint32_t size, stride, last_rank;
    uint32_t first_rank;
} synth_group;

/* "LAYER 12 FORWARD" as "LAYER # FORWARD": numbers are places, not names. */
enum { SYNTH_NAME = 256 };
str synth_plain_name(char to[SYNTH_NAME], halley_bytes name);

/* References of a token at most. */
enum { SYNTH_REFS = 24 };

/* Memory of the reader, kept from trace to trace. */
typedef struct synth_reader {
    synth_model *m;
    map64 op_cache; /* of this trace: what a node looks like → op */
    synth_history past;
    synth_u32s place; /* by index in the trace: where in the program */
} synth_reader;

/* What a rank does. */
typedef struct synth_program {
    synth_u32s nodes; /* index in the trace */
    synth_u32s ops, tokens;
    synth_u32s backs,
        back_at;  /* how far back the dependencies of each lie; from where on */
    uint64_t key; /* of the tokens */
} synth_program;

void synth_reader_fini(synth_reader *r);
void synth_program_fini(synth_program *p);
/* The program of rank `rank` of n_ranks; operators and tokens are added to the model.
 * EINVAL: a cycle. */
halley_status synth_program_read(synth_program *p, synth_reader *r,
                                 const halley_trace *trace, uint32_t rank,
                                 uint32_t n_ranks, halley_error *err);

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
