/*
 * Pipeline schedules as lists of passes, for stage r of p and m micro-batches. F is
 * forward, B input gradient, W weight gradient. A B without a separate W includes it.
 *
 * GPipe (Huang et al. 2019): all F, then all B. 1F1B (Narayanan et al. 2019): p - 1 - r
 * passes ahead, then F and B in turn. Interleaved (Narayanan et al. 2021): micro-batches
 * go through the v chunks of a stage in rounds of p; 2 (p - 1 - r) + (v - 1) p passes
 * ahead. Breadth-first (Lamy-Poirier 2023): all micro-batches go through a chunk before
 * the next one.
 *
 * ZB-H1 and ZB-H2 (Qi et al. 2024): 1F1B with separate W, which fills the bubble; H2 runs
 * twice as far ahead. ZBV (same authors): two chunks in a V shape, so that the first rank
 * holds both the first and the last chunk. DualPipe (DeepSeek-V3 2024): two streams from
 * both ends. In the middle phase, F of one and B of the other run as one overlapped pass.
 */
#include "workload/schedule.h"

#include "base/error.h"

#include <assert.h>

typedef struct list_writer {
    workload_schedule s;
    uint32_t stage;
    workload_pass *out;
    size_t n;
    uint32_t made[WORKLOAD_N_PASSES][2]; /* by kind and chunk, if there are two */
} list_writer;

static void put_pass(list_writer *w, workload_pass_kind kind, uint32_t chunk,
                     uint32_t micro_batch)
{
    assert(chunk < w->s.chunks && micro_batch < w->s.micro_batches);
    assert(w->n < workload_schedule_room(&w->s));
    w->out[w->n++] = (workload_pass){
        .kind = (uint8_t)kind, .chunk = (uint16_t)chunk, .micro_batch = micro_batch};
}

/* Append the next micro-batch of this kind and chunk. */
static void put_next(list_writer *w, workload_pass_kind kind, uint32_t chunk)
{
    assert(chunk < 2);
    put_pass(w, kind, chunk,
             workload_schedule_first(&w->s, chunk) + w->made[kind][chunk]++);
}

static void put_times(list_writer *w, workload_pass_kind kind, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++)
        put_next(w, kind, 0);
}

/* Append the k-th forward (or backward) pass of rounds of p micro-batches, chunk by
 * chunk. A last round may be short. The rule of interleaving forbids this, and most such
 * schedules deadlock. */
static void put_in_round(list_writer *w, uint32_t k, workload_pass_kind kind)
{
    const uint32_t v = w->s.chunks, p = w->s.stages;
    if (v == 1) {
        put_pass(w, kind, 0, k);
        return;
    }
    const uint32_t round = k / (p * v), left = w->s.micro_batches - round * p;
    const uint32_t size = left < p ? left : p, in = k - round * p * v;
    const uint32_t chunk = in / size;
    put_pass(w, kind, kind == WORKLOAD_PASS_FORWARD ? chunk : v - 1 - chunk,
             round * p + in % size);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* 1F1B; interleaved if there are several chunks. */
static void list_1f1b(list_writer *w)
{
    const uint32_t p = w->s.stages, v = w->s.chunks, behind = p - 1 - w->stage;
    const uint32_t n = w->s.micro_batches * v;
    const uint32_t ahead = least(n, v > 1 ? 2 * behind + (v - 1) * p : behind);
    for (uint32_t k = 0; k < ahead; k++)
        put_in_round(w, k, WORKLOAD_PASS_FORWARD);
    for (uint32_t k = 0; k < n; k++) {
        if (ahead + k < n)
            put_in_round(w, ahead + k, WORKLOAD_PASS_FORWARD);
        put_in_round(w, k, WORKLOAD_PASS_BACKWARD);
    }
}

/* GPipe; breadth-first if there are several chunks. */
static void list_gpipe(list_writer *w)
{
    const uint32_t v = w->s.chunks;
    for (uint32_t c = 0; c < v; c++)
        for (uint32_t i = 0; i < w->s.micro_batches; i++)
            put_pass(w, WORKLOAD_PASS_FORWARD, c, i);
    for (uint32_t c = 0; c < v; c++)
        for (uint32_t i = 0; i < w->s.micro_batches; i++)
            put_pass(w, WORKLOAD_PASS_BACKWARD, v - 1 - c, i);
}

static void list_zero_bubble(list_writer *w, uint32_t times)
{
    const uint32_t m = w->s.micro_batches, lag = times * w->stage;
    const uint32_t ahead = least(m, times * (w->s.stages - 1 - w->stage));
    put_times(w, WORKLOAD_PASS_FORWARD, ahead);
    for (uint32_t done = 0, weights = 0; done < m;) {
        const bool drains = ahead + done >= m;
        if (!drains)
            put_next(w, WORKLOAD_PASS_FORWARD, 0);
        put_next(w, WORKLOAD_PASS_INPUT, 0);
        done++;
        if (drains || done - weights > lag) {
            put_next(w, WORKLOAD_PASS_WEIGHT, 0);
            weights++;
        }
    }
    put_times(w, WORKLOAD_PASS_WEIGHT, m - w->made[WORKLOAD_PASS_WEIGHT][0]);
}

static void list_zb_h1(list_writer *w)
{
    list_zero_bubble(w, 1);
}

static void list_zb_h2(list_writer *w)
{
    list_zero_bubble(w, 2);
}

/* The number of remaining passes of this kind through a chunk. */
static uint32_t count_left(const list_writer *w, workload_pass_kind kind, uint32_t chunk)
{
    return workload_schedule_each(&w->s) - w->made[kind][chunk];
}

static void put_if_left(list_writer *w, workload_pass_kind kind, uint32_t chunk)
{
    if (count_left(w, kind, chunk) > 0)
        put_next(w, kind, chunk);
}

/* Append B directly followed by its W. */
static void put_both(list_writer *w, uint32_t chunk)
{
    if (count_left(w, WORKLOAD_PASS_INPUT, chunk) == 0)
        return;
    put_next(w, WORKLOAD_PASS_INPUT, chunk);
    put_next(w, WORKLOAD_PASS_WEIGHT, chunk);
}

static void list_zbv(list_writer *w)
{
    const uint32_t p = w->s.stages, r = w->stage;
    for (uint32_t i = 0; i < 2 * (p - r) - 1; i++)
        put_if_left(w, WORKLOAD_PASS_FORWARD, 0);
    for (uint32_t i = 0; i < r; i++) {
        put_if_left(w, WORKLOAD_PASS_FORWARD, 1);
        put_if_left(w, WORKLOAD_PASS_FORWARD, 0);
    }
    for (uint32_t i = 0; i < p - r; i++) {
        put_if_left(w, WORKLOAD_PASS_FORWARD, 1);
        put_both(w, 1);
    }
    while (count_left(w, WORKLOAD_PASS_FORWARD, 1) > 0) {
        put_if_left(w, WORKLOAD_PASS_FORWARD, 0);
        put_both(w, 0);
        put_next(w, WORKLOAD_PASS_FORWARD, 1);
        put_both(w, 1);
    }
    for (uint32_t i = 0; i < r; i++) {
        put_if_left(w, WORKLOAD_PASS_INPUT, 0);
        put_if_left(w, WORKLOAD_PASS_INPUT, 1);
    }
    for (uint32_t i = 0; i < p - r; i++) {
        put_if_left(w, WORKLOAD_PASS_INPUT, 0);
        put_if_left(w, WORKLOAD_PASS_WEIGHT, 0);
    }
    for (uint32_t c = 2; c-- > 0;)
        while (count_left(w, WORKLOAD_PASS_WEIGHT, c) > 0)
            put_next(w, WORKLOAD_PASS_WEIGHT, c);
}

/* DualPipe: the passes that a rank has deferred, oldest first. */
typedef struct dual_writer {
    list_writer *w;
    uint32_t swap; /* 1 on the second half of the ranks: streams swapped */
    uint32_t n_put_off, n_made;
    workload_pass *put_off; /* at the end of the list's buffer */
} dual_writer;

static uint32_t next_of_stream(dual_writer *d, workload_pass_kind kind, uint32_t stream)
{
    list_writer *w = d->w;
    /* Backward passes of both kinds share one count. */
    const uint32_t at =
        kind == WORKLOAD_PASS_FORWARD ? WORKLOAD_PASS_FORWARD : WORKLOAD_PASS_BACKWARD;
    return workload_schedule_first(&w->s, stream) + w->made[at][stream]++;
}

static void put_stream(dual_writer *d, workload_pass_kind kind, uint32_t stream)
{
    const uint32_t at = stream ^ d->swap, mb = next_of_stream(d, kind, at);
    put_pass(d->w, kind, at, mb);
    if (kind != WORKLOAD_PASS_INPUT)
        return;
    /* The buffer has a place for every W: deferred passes are stored at its end. */
    d->put_off[-(ptrdiff_t)++d->n_put_off] = (workload_pass){
        .kind = WORKLOAD_PASS_WEIGHT, .chunk = (uint16_t)at, .micro_batch = mb};
}

/* B directly followed by its W; the neighbour gets the gradient after B. */
static void put_backward(dual_writer *d, uint32_t stream)
{
    const uint32_t at = stream ^ d->swap;
    const uint32_t mb = next_of_stream(d, WORKLOAD_PASS_INPUT, at);
    put_pass(d->w, WORKLOAD_PASS_INPUT, at, mb);
    put_pass(d->w, WORKLOAD_PASS_WEIGHT, at, mb);
}

static void put_weight(dual_writer *d)
{
    assert(d->n_made < d->n_put_off);
    const workload_pass p = d->put_off[-(ptrdiff_t)++d->n_made];
    put_pass(d->w, WORKLOAD_PASS_WEIGHT, p.chunk, p.micro_batch);
}

/* Forward of one stream and backward of the other, as one overlapped pass. */
static void put_joint(dual_writer *d, uint32_t forward)
{
    put_stream(d, WORKLOAD_PASS_FORWARD, forward);
    d->w->out[d->w->n - 1].joint = true;
    put_stream(d, WORKLOAD_PASS_BACKWARD, !forward);
}

static void start_dual(dual_writer *d, uint32_t half, uint32_t q)
{
    for (uint32_t i = 0; i < 2 * (half - q - 1); i++)
        put_stream(d, WORKLOAD_PASS_FORWARD, 0);
    for (uint32_t i = 0; i <= q; i++) {
        put_stream(d, WORKLOAD_PASS_FORWARD, 0);
        put_stream(d, WORKLOAD_PASS_FORWARD, 1);
    }
    for (uint32_t i = 0; i < half - q - 1; i++) {
        put_stream(d, WORKLOAD_PASS_INPUT, 1);
        put_weight(d);
        put_stream(d, WORKLOAD_PASS_FORWARD, 1);
    }
}

static void end_dual(dual_writer *d, uint32_t half, uint32_t q)
{
    for (uint32_t i = 0; i < half - q - 1; i++) {
        put_backward(d, 1);
        put_joint(d, 1);
    }
    for (uint32_t i = 0; i < 2 * (q + 1); i++) {
        if (i < q + 1)
            put_backward(d, i % 2 == 0);
        else
            put_stream(d, WORKLOAD_PASS_INPUT, i % 2 == 0);
    }
    for (uint32_t i = 0; i < half - q - 1; i++) {
        put_weight(d);
        put_stream(d, WORKLOAD_PASS_INPUT, 0);
    }
    while (d->n_made < d->n_put_off)
        put_weight(d);
}

static void list_dualpipe(list_writer *w)
{
    const uint32_t p = w->s.stages, half = p / 2, r = w->stage;
    const uint32_t q = least(r, p - 1 - r);
    dual_writer d = {
        .w = w, .swap = r >= half, .put_off = w->out + workload_schedule_room(&w->s)};
    start_dual(&d, half, q);
    for (uint32_t i = 0; i < w->s.micro_batches / 2 - p + q + 1; i++) {
        if (i == 0 && q == half - 1) { /* the two middle ranks cannot overlap these yet */
            put_stream(&d, WORKLOAD_PASS_FORWARD, 0);
            put_backward(&d, 1);
        } else {
            put_joint(&d, 0);
        }
        put_joint(&d, 1);
    }
    end_dual(&d, half, q);
}

typedef struct schedule_row {
    const char *name;
    void (*list)(list_writer *w);
    bool splits, two_ways;
} schedule_row;

static const schedule_row rows[HALLEY_N_SCHEDULES] = {
    [HALLEY_SCHEDULE_1F1B] = {"1f1b", list_1f1b, false, false},
    [HALLEY_SCHEDULE_GPIPE] = {"gpipe", list_gpipe, false, false},
    [HALLEY_SCHEDULE_BREADTH_FIRST] = {"breadth-first", list_gpipe, false, false},
    [HALLEY_SCHEDULE_ZB_H1] = {"zb-h1", list_zb_h1, true, false},
    [HALLEY_SCHEDULE_ZB_H2] = {"zb-h2", list_zb_h2, true, false},
    [HALLEY_SCHEDULE_ZBV] = {"zbv", list_zbv, true, false},
    [HALLEY_SCHEDULE_DUALPIPE] = {"dualpipe", list_dualpipe, true, true},
};

workload_schedule workload_schedule_make(const halley_plan *plan)
{
    const uint32_t v = plan->virtual_stages > 0 ? plan->virtual_stages : 1;
    return (workload_schedule){
        .kind = plan->schedule,
        .stages = plan->pp > 0 ? plan->pp : 1,
        .chunks = workload_schedule_is_bidirectional(plan->schedule) ? 2 : v,
        .micro_batches = halley_plan_micro_batches(plan)};
}

bool workload_schedule_is_bidirectional(halley_schedule kind)
{
    assert((unsigned)kind < HALLEY_N_SCHEDULES);
    return rows[kind].two_ways;
}

uint32_t workload_schedule_places(const workload_schedule *s)
{
    return rows[s->kind].two_ways ? s->stages : s->stages * s->chunks;
}

uint32_t workload_schedule_first(const workload_schedule *s, uint32_t chunk)
{
    return rows[s->kind].two_ways && chunk > 0 ? s->micro_batches / 2 : 0;
}

uint32_t workload_schedule_each(const workload_schedule *s)
{
    return rows[s->kind].two_ways ? s->micro_batches / 2 : s->micro_batches;
}

workload_seat workload_schedule_seat(const workload_schedule *s, uint32_t place,
                                     uint32_t micro_batch)
{
    const uint32_t p = s->stages;
    assert(place < workload_schedule_places(s) && micro_batch < s->micro_batches);
    if (rows[s->kind].two_ways)
        return micro_batch < s->micro_batches / 2 ? (workload_seat){place, 0}
                                                  : (workload_seat){p - 1 - place, 1};
    if (s->kind == HALLEY_SCHEDULE_ZBV && place >= p)
        return (workload_seat){2 * p - 1 - place, 1};
    return (workload_seat){place % p, place / p};
}

uint32_t workload_schedule_place(const workload_schedule *s, workload_seat seat)
{
    const uint32_t p = s->stages;
    assert(seat.stage < p && seat.chunk < s->chunks);
    if (seat.chunk == 0)
        return seat.stage;
    if (rows[s->kind].two_ways)
        return p - 1 - seat.stage;
    return s->kind == HALLEY_SCHEDULE_ZBV ? 2 * p - 1 - seat.stage
                                          : seat.chunk * p + seat.stage;
}

size_t workload_schedule_room(const workload_schedule *s)
{
    if (rows[s->kind].two_ways) /* and the same number of deferred passes at its end */
        return (size_t)4 * s->micro_batches;
    return (size_t)(rows[s->kind].splits ? 3 : 2) * s->micro_batches * s->chunks;
}

size_t workload_schedule_list(workload_pass *out, const workload_schedule *s,
                              uint32_t stage)
{
    assert(stage < s->stages && (unsigned)s->kind < HALLEY_N_SCHEDULES);
    list_writer w = {.s = *s, .stage = stage, .out = out};
    rows[s->kind].list(&w);
    assert(w.n <= workload_schedule_room(s));
    return w.n;
}

static halley_status refuse(halley_error *err, const workload_schedule *s,
                            const char *what, uint32_t is, uint32_t nearest)
{
    return error_set(err, HALLEY_EINVAL,
                     "schedule %s needs %s, not %u; the nearest valid value is %u",
                     rows[s->kind].name, what, is, nearest);
}

static halley_status check_dualpipe(const workload_schedule *s, halley_error *err)
{
    const uint32_t p = s->stages, m = s->micro_batches;
    if (p % 2 != 0)
        return refuse(err, s, "an even number of pipeline stages", p, p + 1);
    if (m < 2 * p)
        return refuse(err, s, "at least two micro-batches per pipeline stage", m, 2 * p);
    return m % 2 == 0 ? HALLEY_OK
                      : refuse(err, s, "an even number of micro-batches", m, m + 1);
}

halley_status workload_schedule_check(const workload_schedule *s, halley_error *err)
{
    const uint32_t p = s->stages, v = s->chunks, m = s->micro_batches;
    switch (s->kind) {
    case HALLEY_SCHEDULE_GPIPE:
    case HALLEY_SCHEDULE_ZB_H1:
    case HALLEY_SCHEDULE_ZB_H2:
        if (v != 1)
            return refuse(err, s, "virtual 1 (breadth-first and 1f1b interleave)", v, 1);
        if (s->kind == HALLEY_SCHEDULE_ZB_H2 && m < 2 * p - 1)
            return refuse(err, s, "at least 2 pp - 1 micro-batches", m, 2 * p - 1);
        return HALLEY_OK;
    case HALLEY_SCHEDULE_BREADTH_FIRST:
        return v >= 2 ? HALLEY_OK : refuse(err, s, "virtual of at least 2", v, 2);
    case HALLEY_SCHEDULE_ZBV:
        if (v != 2)
            return refuse(err, s, "virtual 2", v, 2);
        return m >= 2 * p - 1
                   ? HALLEY_OK
                   : refuse(err, s, "at least 2 pp - 1 micro-batches", m, 2 * p - 1);
    case HALLEY_SCHEDULE_DUALPIPE:
        return check_dualpipe(s, err);
    case HALLEY_SCHEDULE_1F1B:
    case HALLEY_N_SCHEDULES:
        break;
    }
    return HALLEY_OK;
}
