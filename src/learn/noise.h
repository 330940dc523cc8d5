/*
 * learn/noise.h - what differs from run to run of one network.
 *
 * In a recording, time that nothing explains stands as nodes of its own where it was long
 * enough to be recorded: a pause is there in one run and not in the next. So are numbers
 * of a node that could be read off one run and not off another. Programs of one network
 * would hardly ever be equal. Which operators are pauses, and which have fields that come
 * and go, is read off the traces. Pauses then are side nodes (program.h).
 */
#ifndef LEARN_NOISE_H
#define LEARN_NOISE_H

#include "learn/program.h"

/* How often one node waited for another after a third. */
typedef struct noise_place {
    uint64_t key;
    uint32_t pause; /* operator between the two; MODEL_NONE: there was none */
    uint32_t n;
} noise_place;

/* How often nodes that are alike up to their fields stood somewhere. */
typedef struct noise_kind {
    uint32_t op; /* of the first */
    uint32_t n, n_other;
} noise_kind;

/* {0} has seen nothing. */
typedef struct noise_finder {
    map64 place_of, kind_of;
    ARRAY(noise_place) places;
    ARRAY(noise_kind) kinds;
    synth_u32s n, n_simple; /* by operator: nodes, those that could be a pause */
    synth_u64s plain;       /* by operator: its key without fields */
    uint64_t n_nodes;
    synth_u32s n_waiting; /* by node of the trace at hand: who waits for it */
} noise_finder;

void noise_finder_fini(noise_finder *f);
/* One program more, as r read it; false: no memory. */
bool noise_finder_look(noise_finder *f, const synth_reader *r, const synth_program *p,
                       const halley_trace *trace);
/* Marks operators of the model as pauses, and makes those of which nodes with different
 * fields are; *any: whether there are some. False: no memory. */
bool noise_finder_decide(const noise_finder *f, synth_model *m, bool *any);

#endif
