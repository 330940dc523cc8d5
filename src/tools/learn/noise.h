/*
 * learn/noise.h - finds what differs between runs of the same model.
 *
 * In a recording, unexplained time becomes a node of its own if it was long enough to be
 * recorded. So a pause is present in one run and missing in the next. Likewise, some
 * numbers of a node can be read from one run and not from another, or the parent of a
 * node is another one. Because of this, two
 * programs of the same network would hardly ever be equal. The finder reads from the
 * traces which operators are pauses, and which have fields that are not always present.
 * Pauses then become side nodes (program.h).
 */
#ifndef LEARN_NOISE_H
#define LEARN_NOISE_H

#include "learn/program.h"

/* How often one node waited for another after a third. */
typedef struct noise_place {
    uint64_t key;
    uint32_t pause; /* operator between the two, or MODEL_NONE */
    uint32_t n;
} noise_place;

/* How often nodes that are equal up to their fields were found between the same
 * neighbours. */
typedef struct noise_kind {
    uint32_t op; /* operator of the first such node */
    uint32_t n, n_other;
    uint32_t parent, up; /* of the first one: operator of its parent, way to it */
    uint32_t n_parents, n_other_parents;
} noise_kind;

/* {0} is empty. */
typedef struct noise_finder {
    map64 place_of, kind_of;
    ARRAY(noise_place) places;
    ARRAY(noise_kind) kinds;
    synth_u32s n, n_simple; /* by operator: nodes; nodes that could be pauses */
    synth_u64s plain;       /* by operator: its key without the fields */
    uint64_t n_nodes;
    synth_u32s n_waiting; /* by node of the current trace: its waiters */
} noise_finder;

void noise_finder_fini(noise_finder *f);
/* Adds one program, as r read it. False: no memory. */
bool noise_finder_look(noise_finder *f, const synth_reader *r, const synth_program *p,
                       const halley_trace *trace);
/* Marks operators of the model as pauses, and adds one common operator for operators
 * that differ only in their fields. *any: true if anything was found. False: no
 * memory. */
bool noise_finder_decide(const noise_finder *f, synth_model *m, bool *any);

#endif
