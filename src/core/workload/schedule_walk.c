/*
 * The walk: every stage runs its list. A pass starts when its stage is free and its input
 * has arrived, one hop after the neighbour made it. Stages take turns, and each advances
 * as far as its inputs are known. The cost is therefore linear in the number of passes.
 *
 * With very many micro-batches, a walk stops after some rounds of p. It is extended by
 * the time that the last round added: by then, every round takes as long as the one
 * before it. 1F1B needs no lists: schedule_wave.c walks it.
 */
#include "base/array.h"
#include "base/error.h"
#include "workload/schedule.h"
#include "workload/schedule_wave.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The maximum number of passes of one walk, and its minimum number of rounds. */
enum { MOST_PASSES = 1 << 18, FEWEST_ROUNDS = 6 };

typedef struct walk {
    workload_schedule s;
    const workload_schedule_times *t;
    uint32_t n_places;
    workload_pass *lists; /* of all stages, `room` each */
    size_t room;
    size_t *n, *at;    /* by stage: length of its list, the pass it is at */
    double *free_s;    /* by stage */
    double *made_s[2]; /* [micro-batch * places + place]: forward, input gradient; NaN */
} walk;

static double get_made(const walk *w, int direction, uint32_t micro_batch, uint32_t place)
{
    return w->made_s[direction][(size_t)micro_batch * w->n_places + place];
}

/* The hop from a stage to the one at a place, or back. */
static double get_hop(const walk *w, uint32_t stage, uint32_t place, uint32_t micro_batch)
{
    const uint32_t other = workload_schedule_seat(&w->s, place, micro_batch).stage;
    if (other == stage || w->t->hops_s == NULL)
        return 0;
    const uint32_t low = other < stage ? other : stage, high = other + stage - low;
    return w->t->hops_s[high == low + 1 ? low : w->s.stages - 1];
}

/* When the input of a pass arrives; NaN if not known yet. */
static double find_input(const walk *w, uint32_t stage, const workload_pass *p)
{
    const uint32_t place =
        workload_schedule_place(&w->s, (workload_seat){stage, p->chunk});
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    if (p->kind == WORKLOAD_PASS_WEIGHT || (forward && place == 0))
        return 0;
    if (!forward && place + 1 == w->n_places)
        return get_made(w, 0, p->micro_batch, place);
    const uint32_t from = forward ? place - 1 : place + 1;
    const double made = get_made(w, !forward, p->micro_batch, from);
    return made + get_hop(w, stage, from, p->micro_batch);
}

static double get_duration(const walk *w, uint32_t stage, const workload_pass *p)
{
    const workload_pass_times *t = &w->t->passes[stage * w->s.chunks + p->chunk];
    switch (p->kind) {
    case WORKLOAD_PASS_FORWARD:
        return t->forward_s;
    case WORKLOAD_PASS_BACKWARD:
        return t->input_s + t->weight_s;
    case WORKLOAD_PASS_INPUT:
        return t->input_s;
    default:
        return t->weight_s;
    }
}

/* How long the sender of a pass's result is blocked. */
static double get_blocked(const walk *w, uint32_t stage, const workload_pass *p)
{
    const uint32_t place =
        workload_schedule_place(&w->s, (workload_seat){stage, p->chunk});
    if (p->kind == WORKLOAD_PASS_WEIGHT)
        return 0;
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    if (forward ? place + 1 == w->n_places : place == 0)
        return 0;
    const uint32_t to = forward ? place + 1 : place - 1;
    return w->t->blocked * get_hop(w, stage, to, p->micro_batch);
}

static void note_made(walk *w, uint32_t stage, const workload_pass *p, double end_s)
{
    const uint32_t place =
        workload_schedule_place(&w->s, (workload_seat){stage, p->chunk});
    if (p->kind != WORKLOAD_PASS_WEIGHT)
        w->made_s[p->kind != WORKLOAD_PASS_FORWARD]
                 [(size_t)p->micro_batch * w->n_places + place] = end_s;
}

/* Run the next pass of a stage, or the next two if they are joint; false if their input
 * is not known yet. */
static bool run_pass(walk *w, uint32_t stage)
{
    const workload_pass *p = &w->lists[stage * w->room + w->at[stage]];
    const uint32_t n = p->joint ? 2 : 1;
    double start = w->free_s[stage], duration = 0, blocked = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double input = find_input(w, stage, p + i);
        if (isnan(input))
            return false;
        start = fmax(start, input);
        duration += get_duration(w, stage, p + i);
        blocked += get_blocked(w, stage, p + i);
    }
    if (n > 1 && w->t->joint > 0)
        duration *= w->t->joint;
    for (uint32_t i = 0; i < n; i++)
        note_made(w, stage, p + i, start + duration);
    w->free_s[stage] = start + duration + blocked;
    w->at[stage] += n;
    return true;
}

static halley_status run_stages(walk *w, double *out_s, halley_error *err)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < w->s.stages; i++)
            while (w->at[i] < w->n[i] && run_pass(w, i))
                moved = true;
    }
    *out_s = 0;
    for (uint32_t i = 0; i < w->s.stages; i++) {
        if (w->at[i] < w->n[i])
            return error_set(err, HALLEY_EINVAL,
                             "the pipeline schedule deadlocks: stage %u of %u waits for "
                             "ever with %u micro-batches in %u chunks",
                             i, w->s.stages, w->s.micro_batches, w->s.chunks);
        *out_s = fmax(*out_s, w->free_s[i]);
    }
    return HALLEY_OK;
}

halley_status workload_schedule_walk_lists(double *out_s, const workload_schedule *s,
                                           const workload_schedule_times *t,
                                           halley_error *err)
{
    walk w = {.s = *s, .t = t, .n_places = workload_schedule_places(s)};
    const size_t p = s->stages, cells = (size_t)s->micro_batches * w.n_places;
    w.room = workload_schedule_room(s);
    w.lists = mem_array(p * w.room, sizeof *w.lists);
    w.n = mem_array_zero(2 * p, sizeof *w.n);
    w.free_s = mem_array_zero(p, sizeof *w.free_s);
    w.made_s[0] = mem_array(2 * cells, sizeof **w.made_s);
    halley_status status = HALLEY_ENOMEM;
    if (w.lists != NULL && w.n != NULL && w.free_s != NULL && w.made_s[0] != NULL) {
        w.at = w.n + p;
        w.made_s[1] = w.made_s[0] + cells;
        for (size_t i = 0; i < 2 * cells; i++)
            w.made_s[0][i] = NAN;
        for (uint32_t i = 0; i < p; i++)
            w.n[i] = workload_schedule_list(w.lists + i * w.room, s, i);
        status = run_stages(&w, out_s, err);
    } else {
        error_nomem(err);
    }
    free(w.lists);
    free(w.n);
    free(w.free_s);
    free(w.made_s[0]);
    return status;
}

static halley_status walk_all(double *with_s, double *without_s,
                              const workload_schedule *s,
                              const workload_schedule_times *t, halley_error *err)
{
    if (workload_schedule_is_wave(s))
        return workload_schedule_wave(with_s, without_s, s, t, err);
    workload_schedule_times no_hops = *t;
    no_hops.hops_s = NULL;
    TRY(workload_schedule_walk_lists(with_s, s, t, err));
    if (t->hops_s != NULL)
        return workload_schedule_walk_lists(without_s, s, &no_hops, err);
    *without_s = *with_s;
    return HALLEY_OK;
}

/* The number of micro-batches of a walk that represents a longer one: whole rounds
 * fewer. */
static uint32_t cut_micro_batches(const workload_schedule *s)
{
    const uint32_t p = s->stages;
    const uint64_t each = (uint64_t)3 * p * s->chunks;
    uint64_t most = MOST_PASSES / each;
    if (most < (uint64_t)FEWEST_ROUNDS * p)
        most = (uint64_t)FEWEST_ROUNDS * p;
    if (s->micro_batches <= most)
        return s->micro_batches;
    return s->micro_batches - (uint32_t)((s->micro_batches - most + p - 1) / p) * p;
}

halley_status workload_schedule_walk(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err)
{
    assert(s->stages > 0 && s->chunks > 0 && s->micro_batches > 0);
    assert(t->blocked >= 0 && t->blocked <= 1 && t->joint >= 0);
    const uint32_t cut = cut_micro_batches(s), p = s->stages;
    double with, without;
    workload_schedule part = *s;
    part.micro_batches = cut;
    halley_status status = walk_all(&with, &without, &part, t, err);
    if (status != HALLEY_OK)
        return status;
    if (cut < s->micro_batches) {
        double before_with, before_without;
        const uint32_t n_more = (s->micro_batches - cut) / p;
        assert(cut > p && (s->micro_batches - cut) % p == 0);
        part.micro_batches = cut - p;
        status = walk_all(&before_with, &before_without, &part, t, err);
        if (status != HALLEY_OK)
            return status;
        with += (with - before_with) * n_more;
        without += (without - before_without) * n_more;
    }
    *with_s = with;
    *without_s = without;
    return HALLEY_OK;
}
