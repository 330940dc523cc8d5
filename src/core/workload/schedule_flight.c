/*
 * Activations in flight. A stage holds activations from the forward pass until the
 * backward pass uses them up (if gradients are split, until the weight gradient). The
 * result is the maximum of this number along the stage's list, chunk by chunk.
 *
 * 1F1B holds p - i micro-batches on stage i; interleaved, the forward passes it runs
 * ahead plus one. GPipe and breadth-first hold all, ZB-H1 p, ZB-H2 2p - 1. The others are
 * counted on a list of a few rounds, after which nothing grows.
 */
#include "workload/schedule.h"

#include <assert.h>

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Interleaved: count the first `n` forward passes by chunk. */
static void count_rounds(uint32_t *flights, const workload_schedule *s, uint32_t n)
{
    const uint32_t p = s->stages, v = s->chunks, round = n / (p * v), in = n % (p * v);
    for (uint32_t c = 0; c < v; c++) {
        const uint32_t rest = in > c * p ? at_most(in - c * p, p) : 0;
        flights[c] = at_most(round * p + rest, s->micro_batches);
    }
}

/* The maximum number held at any time along a list of `n` passes. */
static void count_list(uint32_t *flights, const workload_schedule *s, uint32_t stage,
                       const workload_pass *list, size_t n)
{
    uint32_t held[2] = {0}, most = 0;
    assert(s->chunks <= 2 && stage < s->stages);
    (void)stage; /* for release builds */
    flights[0] = flights[s->chunks - 1] = 0;
    for (size_t i = 0; i < n; i++) {
        const workload_pass *p = &list[i];
        if (p->kind == WORKLOAD_PASS_INPUT)
            continue;
        if (p->kind != WORKLOAD_PASS_FORWARD) {
            assert(held[p->chunk] > 0);
            held[p->chunk]--;
            continue;
        }
        held[p->chunk]++;
        if (held[0] + held[1] <= most)
            continue;
        most = held[0] + held[1];
        for (uint32_t c = 0; c < s->chunks; c++)
            flights[c] = held[c];
    }
}

/* Count with the list of a few rounds. */
static void count_listed(uint32_t *flights, const workload_schedule *s, uint32_t stage)
{
    enum { ROUNDS = 3 };
    workload_schedule few = *s;
    workload_pass list[2 * 3 * ROUNDS * HALLEY_MAX_STAGES];
    few.micro_batches = at_most(s->micro_batches, ROUNDS * s->stages);
    few.micro_batches -= few.micro_batches % 2 != s->micro_batches % 2 ? 1 : 0;
    assert(workload_schedule_room(&few) <= sizeof list / sizeof *list);
    count_list(flights, &few, stage, list, workload_schedule_list(list, &few, stage));
}

void workload_schedule_flights(uint32_t *flights, const workload_schedule *s,
                               uint32_t stage)
{
    const uint32_t p = s->stages, m = s->micro_batches, v = s->chunks;
    const uint32_t behind = p - 1 - stage;
    assert(stage < p);
    switch (s->kind) {
    case HALLEY_SCHEDULE_1F1B:
        if (v > 1)
            count_rounds(flights, s, at_most(m * v, 2 * behind + (v - 1) * p + 1));
        else
            flights[0] = at_most(m, p - stage);
        return;
    case HALLEY_SCHEDULE_ZB_H1:
    case HALLEY_SCHEDULE_ZB_H2:
        flights[0] = at_most(m, s->kind == HALLEY_SCHEDULE_ZB_H1 ? p : 2 * p - 1);
        return;
    case HALLEY_SCHEDULE_ZBV:
    case HALLEY_SCHEDULE_DUALPIPE:
        count_listed(flights, s, stage);
        return;
    case HALLEY_SCHEDULE_GPIPE:
    case HALLEY_SCHEDULE_BREADTH_FIRST:
    case HALLEY_N_SCHEDULES:
        break;
    }
    for (uint32_t c = 0; c < v; c++)
        flights[c] = m;
}
