/*
 * edit/fold.h - the parts of halley_trace_make_portable.
 *
 * fold_claim divides the time of each of three lanes among the nodes that run there.
 * fold_write.c makes a trace of the resulting pieces. Times are ns of the native replay.
 */
#ifndef EDIT_FOLD_H
#define EDIT_FOLD_H

#include "base/array.h"
#include "halley/portable.h"
#include "halley/sim.h"

typedef enum fold_lane { FOLD_CPU, FOLD_GPU, FOLD_COMM, FOLD_NO_LANE } fold_lane;
enum { FOLD_N_LANES = 3 };

/* A part of a lane that a node has. */
typedef struct fold_span {
    int64_t begin_ns, end_ns;
    uint32_t node;
} fold_span;
typedef ARRAY(fold_span) fold_spans;

/* A node of the result, except for lags. */
typedef struct fold_piece {
    int64_t begin_ns, end_ns;
    uint32_t node;   /* HALLEY_NO_NODE: the host is idle until a device event begins */
    uint32_t number; /* of the node's pieces, from 0 */
    fold_lane lane;
} fold_piece;

/* A place where a piece ends although its node goes on. */
typedef struct fold_cut {
    uint32_t node;
    int64_t at_ns;
} fold_cut;

typedef struct fold {
    const halley_trace *trace;
    uint32_t n; /* nodes */
    int64_t *begin_ns, *end_ns;
    fold_lane *lane;
    uint32_t *dep_at; /* by node, n + 1: lags and metadata are taken out of `deps` */
    ARRAY(uint32_t) deps;
    uint32_t *user_at, *users; /* the reverse */
    fold_spans taken[FOLD_N_LANES];
    fold_spans parts; /* of all nodes; those of one node are consecutive */
    uint32_t *part_at, *n_parts;
    int64_t *clock_ns; /* by node: a device event that begins later than its launch
                          returns; -1 = no */
    ARRAY(fold_cut) cuts;
    ARRAY(fold_piece) pieces; /* in the order of ids */
    halley_portable *report;
} fold;

/* Durations are written on a grid of 1 us. Boundaries are rounded, not lengths, so errors
 * do not add up. */
static inline int64_t fold_round_us(int64_t ns)
{
    return (ns + 500) / 1000;
}

/* Fill `f` from a trace and the replay of its rank. False: no memory. */
bool fold_claim(fold *f, const halley_trace *trace, const halley_result *replay,
                uint32_t rank, halley_portable *report);
void fold_fini(fold *f);
#endif
