/*
 * workload/schedule.h - pipeline schedules, each written once: the list of passes that a
 * stage runs, in order. Time (schedule_walk.c, schedule_form.c), activations in flight
 * (schedule_flight.c) and traces are made from these lists.
 *
 * To add a schedule: a word in the enum of halley/plan.h and in workload/plan_file.c, a
 * row in the table of schedule.c, its closed form, a case in
 * tests/unit/workload/test_schedule.c.
 */
#ifndef WORKLOAD_SCHEDULE_H
#define WORKLOAD_SCHEDULE_H

#include "halley/plan.h"

#include <stddef.h>

typedef enum workload_pass_kind {
    WORKLOAD_PASS_FORWARD,
    WORKLOAD_PASS_BACKWARD, /* input and weight gradients */
    WORKLOAD_PASS_INPUT,    /* input gradients alone: the stage before waits for them */
    WORKLOAD_PASS_WEIGHT,   /* weight gradients alone: nobody waits for them */
    WORKLOAD_N_PASSES
} workload_pass_kind;

/* A micro-batch passes through a chunk of a stage. */
typedef struct workload_pass {
    uint8_t kind; /* workload_pass_kind */
    bool joint;   /* runs as one with the pass after it, overlapped */
    uint16_t chunk;
    uint32_t micro_batch;
} workload_pass;

/*
 * What a schedule is made for. With DualPipe every rank has two chunks, which are whole
 * stages: number 0 is part of the stream of micro-batches that enters at rank 0, number 1
 * of the stream that enters at the last rank; each stream has half of the micro-batches.
 */
typedef struct workload_schedule {
    halley_schedule kind;
    uint32_t stages, chunks, micro_batches;
} workload_schedule;

/* Where a pass is: a chunk of a stage. */
typedef struct workload_seat {
    uint32_t stage, chunk;
} workload_seat;

/* Chunks of the plan, as the lists count them. */
workload_schedule workload_schedule_make(const halley_plan *plan);
/* Stages that hold weights twice: both streams of DualPipe pass through every stage. */
bool workload_schedule_is_bidirectional(halley_schedule kind);

/* HALLEY_EINVAL with the nearest valid value when the schedule cannot run. Interleaved
 * 1F1B is checked with the layers it cuts, in workload/plan.c. */
halley_status workload_schedule_check(const workload_schedule *s, halley_error *err);

/* Places a micro-batch passes through, and which seat the i-th of them is. */
uint32_t workload_schedule_places(const workload_schedule *s);
workload_seat workload_schedule_seat(const workload_schedule *s, uint32_t place,
                                     uint32_t micro_batch);
/* The other way. */
uint32_t workload_schedule_place(const workload_schedule *s, workload_seat seat);
/* The first of its micro-batches that passes through a chunk, and how many do. */
uint32_t workload_schedule_first(const workload_schedule *s, uint32_t chunk);
uint32_t workload_schedule_each(const workload_schedule *s);

/* Room that a stage's list needs at most, in passes. */
size_t workload_schedule_room(const workload_schedule *s);
/* Write the list of a stage; returns its length. */
size_t workload_schedule_list(workload_pass *out, const workload_schedule *s,
                              uint32_t stage);

/*
 * Micro-batches whose activations a stage holds when it holds most of them, by chunk.
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
    double joint; /* time of a joint pass against its two passes; 0 = 1 */
    /* Until the neighbour has a tensor: [i] between stages i and i + 1, the last one
     * between the last stage and the first; NULL = at once. */
    const double *hops_s;
    double blocked; /* share of a hop that the sender waits */
} workload_schedule_times;

/*
 * From the first pass to the last, every stage running its list: a pass starts when its
 * stage is free and its input has arrived. Schedules of very many micro-batches are
 * extended from a shorter walk by the period of their rounds. *with_s has the hops,
 * *without_s has none. HALLEY_EINVAL when stages wait for each other for ever (a list
 * that breaks its rule), HALLEY_ENOMEM.
 */
halley_status workload_schedule_walk(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err);
/* The same (with hops) by the lists of all passes, none of them extended: the slow way,
 * for tests. */
halley_status workload_schedule_walk_lists(double *out_s, const workload_schedule *s,
                                           const workload_schedule_times *t,
                                           halley_error *err);
/* The same in closed form: exact for equal stages without hops, near it otherwise. Here
 * `passes` has one entry per stage: a micro-batch through all its chunks (with two
 * streams the mean of both). */
double workload_schedule_form(const workload_schedule *s,
                              const workload_schedule_times *t);

#endif
