/*
 * workload/schedule.h - pipeline schedules. Each is defined once, as the list of passes
 * that a stage runs, in order. Time (schedule_walk.c, schedule_form.c), activations in
 * flight (schedule_flight.c) and traces are derived from these lists.
 *
 * To add a schedule, add a word in the enum of halley/plan.h and in workload/plan_file.c,
 * and a row in the table of schedule.c. Also add its closed form, and a case in
 * tests/unit/core/workload/test_schedule.c.
 */
#ifndef WORKLOAD_SCHEDULE_H
#define WORKLOAD_SCHEDULE_H

#include "halley/plan.h"

#include <stddef.h>

typedef enum workload_pass_kind {
    WORKLOAD_PASS_FORWARD,
    WORKLOAD_PASS_BACKWARD, /* input and weight gradients */
    WORKLOAD_PASS_INPUT,    /* only input gradients: the previous stage waits for them */
    WORKLOAD_PASS_WEIGHT,   /* only weight gradients: no stage waits for them */
    WORKLOAD_N_PASSES
} workload_pass_kind;

/* The pass of a micro-batch through a chunk of a stage. */
typedef struct workload_pass {
    uint8_t kind; /* workload_pass_kind */
    bool joint;   /* overlapped with the next pass: both run as one */
    uint16_t chunk;
    uint32_t micro_batch;
} workload_pass;

/*
 * The parameters of a schedule. With DualPipe, every rank has two chunks, which are whole
 * stages. Chunk 0 belongs to the stream of micro-batches that enters at rank 0. Chunk 1
 * belongs to the stream that enters at the last rank. Each stream has half of the
 * micro-batches.
 */
typedef struct workload_schedule {
    halley_schedule kind;
    uint32_t stages, chunks, micro_batches;
} workload_schedule;

/* The location of a pass: a chunk of a stage. */
typedef struct workload_seat {
    uint32_t stage, chunk;
} workload_seat;

/* The schedule of a plan, with chunks as the lists count them. */
workload_schedule workload_schedule_make(const halley_plan *plan);
/* True if stages hold two sets of weights: both streams of DualPipe pass through every
 * stage. */
bool workload_schedule_is_bidirectional(halley_schedule kind);

/* HALLEY_EINVAL with the nearest valid value if the schedule cannot run. Interleaved 1F1B
 * also depends on the layers and is checked in workload/plan.c. */
halley_status workload_schedule_check(const workload_schedule *s, halley_error *err);

/* The number of places that a micro-batch passes through, and the seat of the i-th
 * place. */
uint32_t workload_schedule_places(const workload_schedule *s);
workload_seat workload_schedule_seat(const workload_schedule *s, uint32_t place,
                                     uint32_t micro_batch);
/* The inverse: the place of a seat. */
uint32_t workload_schedule_place(const workload_schedule *s, workload_seat seat);
/* The first micro-batch that passes through a chunk, and how many do. */
uint32_t workload_schedule_first(const workload_schedule *s, uint32_t chunk);
uint32_t workload_schedule_each(const workload_schedule *s);

/* The maximum length of a stage's list, in passes. */
size_t workload_schedule_room(const workload_schedule *s);
/* Write the list of a stage; returns its length. */
size_t workload_schedule_list(workload_pass *out, const workload_schedule *s,
                              uint32_t stage);

/*
 * The maximum number of micro-batches whose activations a stage holds, by chunk.
 * `flights` has room for `chunks` numbers.
 */
void workload_schedule_flights(uint32_t *flights, const workload_schedule *s,
                               uint32_t stage);

/* Seconds of one micro-batch's passes through one chunk. */
typedef struct workload_pass_times {
    double forward_s, input_s, weight_s;
} workload_pass_times;

typedef struct workload_schedule_times {
    const workload_pass_times *passes; /* [stage * chunks + chunk] */
    double joint; /* time of a joint pass relative to its two passes; 0 = 1 */
    /* Delay until the neighbour has a tensor: [i] between stages i and i + 1, the last
     * one between the last stage and the first; NULL = no delay. */
    const double *hops_s;
    double blocked; /* fraction of a hop during which the sender waits */
} workload_schedule_times;

/*
 * The time from the first pass to the last when every stage runs its list. A pass starts
 * when its stage is free and its input has arrived. With very many micro-batches, a
 * shorter walk is extended by the period of the rounds. *with_s includes the hops,
 * *without_s does not. HALLEY_EINVAL if stages wait for each other forever (a list that
 * breaks its rule), or HALLEY_ENOMEM.
 */
halley_status workload_schedule_walk(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err);
/* The same (with hops) from the full lists of passes, without extension: slow, for
 * tests. */
halley_status workload_schedule_walk_lists(double *out_s, const workload_schedule *s,
                                           const workload_schedule_times *t,
                                           halley_error *err);
/* The same in closed form: exact for equal stages without hops, approximate otherwise.
 * Here `passes` has one entry per stage: a micro-batch through all its chunks (with two
 * streams the mean of both). */
double workload_schedule_form(const workload_schedule *s,
                              const workload_schedule_times *t);

#endif
