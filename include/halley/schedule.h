/*
 * halley/schedule.h - schedules of collectives, synthesised for a network: which NPU
 * sends which chunk to which other NPU, and when.
 */
#ifndef HALLEY_SCHEDULE_H
#define HALLEY_SCHEDULE_H

#include "halley/extend.h"
#include "halley/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_collective_schedule
    halley_collective_schedule; /* opaque, immutable */

/* All zero is valid. */
typedef struct halley_schedule_options {
    uint32_t effort; /* 1 ... 9: how many schedules are tried; 0 = 1 */
    uint64_t seed;
    const uint32_t *npus; /* members of the group; NULL = all NPUs */
    uint32_t n_npus;
} halley_schedule_options;

/*
 * Synthesise an all-gather, reduce-scatter or all-reduce. `bytes`: the larger buffer of
 * one NPU. The schedule is verified: every chunk is where it is sent from, no link is
 * used twice at once, and every NPU gets every chunk exactly once. Equal arguments give
 * equal schedules on every machine. On success the caller frees *out.
 */
halley_status halley_schedule_find(halley_collective_schedule **out,
                                   const halley_topology *topology,
                                   halley_collective_kind kind, double bytes,
                                   const halley_schedule_options *options,
                                   halley_error *err);
void halley_schedule_free(halley_collective_schedule *schedule); /* NULL is allowed */

typedef struct halley_schedule_summary {
    uint32_t n_npus, pieces; /* pieces: chunks per NPU */
    uint64_t n_moves;
    double bytes, time_s;
    double bound_s;    /* no schedule is faster */
    const char *bound; /* what the bound counts; lent, static */
    double form_s;     /* the closed form on this network; negative = it has none */
    const char *form;  /* its name; lent, static; NULL = it has none */
} halley_schedule_summary;
void halley_schedule_summarise(halley_schedule_summary *out,
                               const halley_collective_schedule *s);

typedef struct halley_schedule_move {
    double start_s, end_s; /* of the first byte sent, and of the chunk's arrival */
    uint32_t from, to;     /* NPUs */
    uint32_t chunk;        /* chunk c belongs to member c / pieces */
    int sums;              /* the receiver adds it to its own */
} halley_schedule_move;
/* Moves by start; false past the last. */
int halley_schedule_get_move(halley_schedule_move *out,
                             const halley_collective_schedule *s, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif
