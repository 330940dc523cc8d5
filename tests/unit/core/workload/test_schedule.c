/* Pipeline schedules: lists that are complete and in order, times and activations as
 * published, walk against closed form. */
#include "base/rng.h"
#include "cases.h"
#include "unit.h"
#include "workload/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* All stages and chunks with the same passes; F, B, W are of a whole stage. */
static workload_schedule_times make_equal(workload_pass_times passes[MOST],
                                          const workload_schedule *s, double f, double b,
                                          double w)
{
    const double parts = workload_schedule_is_bidirectional(s->kind) ? 1 : s->chunks;
    assert_true(s->stages * s->chunks <= MOST);
    for (uint32_t i = 0; i < s->stages * s->chunks; i++)
        passes[i] = (workload_pass_times){f / parts, b / parts, w / parts};
    return (workload_schedule_times){.passes = passes};
}

static double walk_of(const workload_schedule *s, const workload_schedule_times *t)
{
    double out = -1, without = -1;
    halley_error err = {0};
    const halley_status status = workload_schedule_walk(&out, &without, s, t, &err);
    if (status != HALLEY_OK)
        fail_msg("%s", err.text);
    return out;
}

/* The closed form takes stages as a whole. */
static double form_of(const workload_schedule *s, const workload_schedule_times *t)
{
    workload_pass_times stages[MOST] = {0};
    const double parts = workload_schedule_is_bidirectional(s->kind) ? 2 : 1;
    for (uint32_t i = 0; i < s->stages * s->chunks; i++) {
        workload_pass_times *to = &stages[i / s->chunks];
        to->forward_s += t->passes[i].forward_s / parts;
        to->input_s += t->passes[i].input_s / parts;
        to->weight_s += t->passes[i].weight_s / parts;
    }
    workload_schedule_times whole = *t;
    whole.passes = stages;
    return workload_schedule_form(s, &whole);
}

static const struct {
    halley_schedule kind;
    uint32_t p, v, m;
    double b, w, joint, bubble; /* F = 1 */
} bubbles[] = {
    {HALLEY_SCHEDULE_1F1B, 4, 1, 16, 1, 1, 0, 9},
    {HALLEY_SCHEDULE_1F1B, 8, 1, 32, 1, 1, 0, 21},
    {HALLEY_SCHEDULE_GPIPE, 4, 1, 16, 1, 1, 0, 9},
    {HALLEY_SCHEDULE_GPIPE, 8, 1, 4, 1, 1, 0, 21},
    {HALLEY_SCHEDULE_1F1B, 4, 2, 16, 1, 1, 0, 4.5},
    {HALLEY_SCHEDULE_1F1B, 8, 2, 32, 1, 1, 0, 10.5},
    {HALLEY_SCHEDULE_BREADTH_FIRST, 4, 2, 16, 1, 1, 0, 4.5},
    {HALLEY_SCHEDULE_BREADTH_FIRST, 8, 2, 16, 1, 1, 0, 10.5},
    {HALLEY_SCHEDULE_ZB_H1, 4, 1, 16, 1, 1, 0, 3},
    {HALLEY_SCHEDULE_ZB_H1, 8, 1, 32, 1, 1, 0, 7},
    {HALLEY_SCHEDULE_ZB_H1, 4, 1, 16, 1.1, 1.1, 0, 3.3},
    {HALLEY_SCHEDULE_ZB_H1, 8, 1, 32, 1.1, 1.1, 0, 7.7},
    {HALLEY_SCHEDULE_ZB_H1, 4, 1, 16, 1, 0.9, 0, 3.3},
    {HALLEY_SCHEDULE_ZB_H1, 8, 1, 32, 1, 0.9, 0, 7.7},
    {HALLEY_SCHEDULE_ZB_H1, 4, 1, 16, 1.2, 0.8, 0, 4.2},
    {HALLEY_SCHEDULE_ZB_H1, 8, 1, 32, 1.2, 0.8, 0, 9.8},
    {HALLEY_SCHEDULE_ZB_H2, 4, 1, 16, 1, 1, 0, 3},
    {HALLEY_SCHEDULE_ZB_H2, 8, 1, 32, 1, 1, 0, 7},
    {HALLEY_SCHEDULE_ZBV, 4, 2, 16, 1, 1, 0, 1.5},
    {HALLEY_SCHEDULE_ZBV, 8, 2, 32, 1, 1, 0, 3.5},
    {HALLEY_SCHEDULE_ZBV, 4, 2, 16, 1.2, 0.8, 0, 1.8},
    {HALLEY_SCHEDULE_ZBV, 8, 2, 32, 1.2, 0.8, 0, 4.2},
    {HALLEY_SCHEDULE_DUALPIPE, 4, 2, 16, 1, 1, 0, 2},
    {HALLEY_SCHEDULE_DUALPIPE, 8, 2, 32, 1, 1, 0, 6},
    {HALLEY_SCHEDULE_DUALPIPE, 16, 2, 64, 1, 1, 0, 14},
    {HALLEY_SCHEDULE_DUALPIPE, 4, 2, 16, 1.2, 0.8, 0, 2.0},
    {HALLEY_SCHEDULE_DUALPIPE, 8, 2, 32, 1.2, 0.8, 0, 6.4},
    {HALLEY_SCHEDULE_DUALPIPE, 4, 2, 16, 1, 1, 0.8, 42.8 - 48},
};
enum { N_BUBBLES = sizeof bubbles / sizeof *bubbles };

/* The i-th case: its schedule and passes. */
typedef struct bubble_case {
    workload_schedule s;
    workload_pass_times passes[MOST];
    workload_schedule_times t;
} bubble_case;

static void make_bubble_case(bubble_case *out, int i)
{
    out->s =
        (workload_schedule){bubbles[i].kind, bubbles[i].p, bubbles[i].v, bubbles[i].m};
    out->t = make_equal(out->passes, &out->s, 1, bubbles[i].b, bubbles[i].w);
    out->t.joint = bubbles[i].joint;
}

static void bubbles_are_the_published_ones(void **state)
{
    (void)state;
    for (int i = 0; i < N_BUBBLES; i++) {
        bubble_case c;
        make_bubble_case(&c, i);
        const double busy = c.s.micro_batches * (1 + bubbles[i].b + bubbles[i].w);
        const double is = walk_of(&c.s, &c.t) - busy;
        if (fabs(is - bubbles[i].bubble) > 0.001 * fabs(bubbles[i].bubble))
            fail_msg("case %d: bubble %g, not %g", i, is, bubbles[i].bubble);
    }
}

/* The closed form is that of equal stages, where it is stated to be exact. */
static void forms_are_exact_for_equal_stages(void **state)
{
    (void)state;
    for (int i = 0; i < N_BUBBLES; i++) {
        bubble_case c;
        make_bubble_case(&c, i);
        if (c.s.kind == HALLEY_SCHEDULE_DUALPIPE && bubbles[i].b != 1)
            continue; /* the form is 2.6 and 7.8 there */
        const double walk = walk_of(&c.s, &c.t), form = form_of(&c.s, &c.t);
        if (fabs(form / walk - 1) > 0.001)
            fail_msg("case %d: form %g, walk %g", i, form, walk);
    }
}

/* Every micro-batch passes every chunk once forward and once backward, in order. */
static void check_list(const workload_schedule *s, uint32_t stage)
{
    const size_t room = workload_schedule_room(s);
    workload_pass *list = malloc(room * sizeof *list);
    assert_non_null(list);
    const size_t n = workload_schedule_list(list, s, stage);
    const uint32_t each = workload_schedule_each(s);
    for (uint32_t c = 0; c < s->chunks; c++) {
        uint32_t count[WORKLOAD_N_PASSES] = {0};
        const uint32_t first = workload_schedule_first(s, c);
        uint32_t backward = 0;
        for (size_t i = 0; i < n; i++) {
            const workload_pass *p = &list[i];
            if (p->chunk != c)
                continue;
            if (p->kind == WORKLOAD_PASS_FORWARD)
                assert_int_equal(p->micro_batch, first + count[p->kind]);
            if (p->kind == WORKLOAD_PASS_BACKWARD || p->kind == WORKLOAD_PASS_INPUT) {
                assert_int_equal(p->micro_batch, first + backward);
                assert_true(backward < count[WORKLOAD_PASS_FORWARD]);
                backward++;
            }
            if (p->kind == WORKLOAD_PASS_WEIGHT)
                assert_true(p->micro_batch < first + backward);
            count[p->kind]++;
        }
        assert_int_equal(count[WORKLOAD_PASS_FORWARD], each);
        assert_int_equal(backward, each);
        assert_int_equal(count[WORKLOAD_PASS_WEIGHT], count[WORKLOAD_PASS_INPUT]);
    }
    free(list);
}

/* The most of forward passes less used-up ones along the list of a stage. */
static uint32_t count_flight(const workload_schedule *s, uint32_t stage)
{
    workload_pass *list = malloc(workload_schedule_room(s) * sizeof *list);
    assert_non_null(list);
    const size_t n = workload_schedule_list(list, s, stage);
    uint32_t held = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].kind == WORKLOAD_PASS_FORWARD)
            held++;
        else if (list[i].kind != WORKLOAD_PASS_INPUT)
            held--;
        most = held > most ? held : most;
    }
    free(list);
    return most;
}

static uint32_t sum_flights(const workload_schedule *s, uint32_t stage)
{
    uint32_t flights[MOST], sum = 0;
    workload_schedule_flights(flights, s, stage);
    for (uint32_t c = 0; c < s->chunks; c++)
        sum += flights[c];
    return sum;
}

static workload_schedule draw_schedule(rng *r)
{
    workload_schedule s = {.kind = (halley_schedule)rng_below(r, HALLEY_N_SCHEDULES),
                           .stages = 1 + (uint32_t)rng_below(r, 8),
                           .chunks = 1,
                           .micro_batches = 1 + (uint32_t)rng_below(r, 40)};
    if (s.kind == HALLEY_SCHEDULE_1F1B && rng_below(r, 2)) {
        s.chunks = 2 + (uint32_t)rng_below(r, 3);
        s.micro_batches = s.stages * (1 + (uint32_t)rng_below(r, 5));
    }
    if (s.kind == HALLEY_SCHEDULE_BREADTH_FIRST)
        s.chunks = 2 + (uint32_t)rng_below(r, 3);
    if (s.kind == HALLEY_SCHEDULE_ZBV || s.kind == HALLEY_SCHEDULE_DUALPIPE)
        s.chunks = 2;
    return s;
}

static void lists_are_complete_and_flights_are_their_peaks(void **state)
{
    (void)state;
    rng r = rng_seed(1);
    uint32_t n_valid = 0;
    for (uint32_t i = 0; i < cases_count(3000); i++) {
        const workload_schedule s = draw_schedule(&r);
        if (workload_schedule_check(&s, NULL) != HALLEY_OK)
            continue;
        n_valid++;
        for (uint32_t stage = 0; stage < s.stages; stage++) {
            check_list(&s, stage);
            const uint32_t is = sum_flights(&s, stage), most = count_flight(&s, stage);
            /* Zero-bubble lists hold fewer on some stages when there are few. */
            const bool bound =
                s.kind == HALLEY_SCHEDULE_ZB_H1 || s.kind == HALLEY_SCHEDULE_ZB_H2;
            if (bound ? is < most : is != most)
                fail_msg("schedule %d p %u v %u m %u stage %u: %u in flight, not %u",
                         (int)s.kind, s.stages, s.chunks, s.micro_batches, stage, is,
                         most);
        }
    }
    assert_true(n_valid > cases_count(1000));
}

static void flights_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        halley_schedule kind;
        uint32_t v, flights[4];
    } cases[] = {
        {HALLEY_SCHEDULE_1F1B, 1, {4, 3, 2, 1}},
        {HALLEY_SCHEDULE_1F1B, 2, {11, 9, 7, 5}},
        {HALLEY_SCHEDULE_1F1B, 4, {19, 17, 15, 13}},
        {HALLEY_SCHEDULE_GPIPE, 1, {16, 16, 16, 16}},
        {HALLEY_SCHEDULE_ZB_H1, 1, {4, 4, 4, 4}},
        {HALLEY_SCHEDULE_ZB_H2, 1, {7, 7, 7, 7}},
        {HALLEY_SCHEDULE_ZBV, 2, {8, 8, 8, 8}}, /* chunks: 4 micro-batches */
        {HALLEY_SCHEDULE_DUALPIPE, 2, {5, 5, 5, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const workload_schedule s = {cases[i].kind, 4, cases[i].v, 16};
        for (uint32_t stage = 0; stage < 4; stage++)
            assert_int_equal(sum_flights(&s, stage), cases[i].flights[stage]);
    }
}

/* Unequal stages: nothing deadlocks, and the form is as near as its head says. */
static void forms_are_near_the_walk(void **state)
{
    (void)state;
    rng r = rng_seed(2);
    double sum[HALLEY_N_SCHEDULES] = {0}, worst[HALLEY_N_SCHEDULES] = {0};
    uint32_t n[HALLEY_N_SCHEDULES] = {0};
    for (uint32_t i = 0; i < cases_count(6000); i++) {
        const workload_schedule s = draw_schedule(&r);
        workload_pass_times passes[MOST];
        if (workload_schedule_check(&s, NULL) != HALLEY_OK)
            continue;
        workload_schedule_times t = make_equal(passes, &s, 1, 1, 1);
        for (uint32_t k = 0; k < s.stages * s.chunks; k++) {
            const double slow = 0.7 + 0.6 * rng_unit(&r);
            passes[k].forward_s *= slow;
            passes[k].input_s *= slow;
            passes[k].weight_s *= slow;
        }
        const double walk = walk_of(&s, &t), form = form_of(&s, &t);
        const double error = fabs(form / walk - 1);
        sum[s.kind] += error;
        worst[s.kind] = fmax(worst[s.kind], error);
        n[s.kind]++;
    }
    for (int k = 0; k < HALLEY_N_SCHEDULES; k++) {
        assert_true(n[k] > cases_count(50));
        print_message("schedule %d: form %.2f %% from the walk, worst %.1f %%\n", k,
                      100 * sum[k] / n[k], 100 * worst[k]);
    }
    assert_true(sum[HALLEY_SCHEDULE_GPIPE] / n[HALLEY_SCHEDULE_GPIPE] < 1e-9);
    assert_true(sum[HALLEY_SCHEDULE_1F1B] / n[HALLEY_SCHEDULE_1F1B] < 0.02);
}

static void a_broken_rule_is_a_deadlock_and_is_refused(void **state)
{
    (void)state;
    const workload_schedule wrong[] = {
        {HALLEY_SCHEDULE_GPIPE, 4, 2, 8},    {HALLEY_SCHEDULE_BREADTH_FIRST, 4, 1, 8},
        {HALLEY_SCHEDULE_ZB_H1, 4, 2, 8},    {HALLEY_SCHEDULE_ZB_H2, 4, 1, 6},
        {HALLEY_SCHEDULE_ZBV, 4, 2, 6},      {HALLEY_SCHEDULE_ZBV, 4, 1, 16},
        {HALLEY_SCHEDULE_DUALPIPE, 3, 2, 8}, {HALLEY_SCHEDULE_DUALPIPE, 4, 2, 9},
        {HALLEY_SCHEDULE_DUALPIPE, 4, 2, 6},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        halley_error err = {0};
        assert_int_equal(workload_schedule_check(&wrong[i], &err), HALLEY_EINVAL);
        assert_non_null(strstr(err.text, "nearest valid value"));
    }
}

/* Long schedules are extended from a part; they equal the whole walk. */
static void many_micro_batches_extend_a_walk(void **state)
{
    (void)state;
    const workload_schedule s = {HALLEY_SCHEDULE_1F1B, 8, 2, 80000};
    workload_pass_times passes[MOST];
    const workload_schedule_times t = make_equal(passes, &s, 1, 1, 1);
    assert_true(fabs(walk_of(&s, &t) / (3 * 80000 + 10.5) - 1) < 1e-9);
}

/* Chunks as models have them, equal but for the ends and perhaps one, or with any times;
 * hops of any length. */
static void draw_times(rng *r, workload_pass_times *passes, double *hops_s,
                       const workload_schedule *s)
{
    const uint32_t p = s->stages, v = s->chunks, n = p * v;
    const bool equal = rng_unit(r) < 0.6;
    const uint32_t odd = rng_unit(r) < 0.3 ? (uint32_t)(rng_unit(r) * n) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool end = i == 0 || i == n - 1 || i == odd;
        const double slow = equal && !end ? 1 : 0.5 + rng_unit(r);
        passes[i] = (workload_pass_times){slow, slow * 1.1, slow * 0.9};
    }
    const double hop_s = rng_unit(r) < 0.3 ? 2 : 0.05;
    for (uint32_t i = 0; i < p; i++)
        hops_s[i] = equal ? hop_s : hop_s * rng_unit(r);
}

static workload_schedule draw_wave(rng *r)
{
    workload_schedule s = {HALLEY_SCHEDULE_1F1B, 1 + (uint32_t)(rng_unit(r) * 12), 1, 1};
    const uint32_t most = rng_unit(r) < 0.5 ? 4 : 16;
    s.chunks = 1 + (uint32_t)(rng_unit(r) * most);
    s.micro_batches = s.chunks > 1 ? s.stages * (1 + (uint32_t)(rng_unit(r) * 20))
                                   : 1 + (uint32_t)(rng_unit(r) * 200);
    return s;
}

static void check_lists(const workload_schedule *s, const workload_schedule_times *t,
                        double walk_s, uint32_t i)
{
    double whole_s = -1;
    assert_int_equal(workload_schedule_walk_lists(&whole_s, s, t, NULL), HALLEY_OK);
    if (!(fabs(walk_s / whole_s - 1) < 1e-9))
        fail_msg("case %u: p %u, v %u, m %u: %.17g, by lists %.17g", i, s->stages,
                 s->chunks, s->micro_batches, walk_s, whole_s);
}

/* Waves skip what repeats; the lists, pass by pass, give the same time, with hops and
 * without. */
static void waves_take_as_long_as_the_lists(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    for (uint32_t i = 0; i < cases_count(4000); i++) {
        const workload_schedule s = draw_wave(&r);
        workload_pass_times passes[12 * 16];
        double hops_s[12], with_s = -1, without_s = -1;
        draw_times(&r, passes, hops_s, &s);
        workload_schedule_times t = {.passes = passes,
                                     .hops_s = rng_unit(&r) < 0.7 ? hops_s : NULL,
                                     .blocked = rng_unit(&r) < 0.3 ? 1 : rng_unit(&r)};
        assert_int_equal(workload_schedule_walk(&with_s, &without_s, &s, &t, NULL),
                         HALLEY_OK);
        check_lists(&s, &t, with_s, i);
        t.hops_s = NULL;
        check_lists(&s, &t, without_s, i);
    }
}

/* Schedules that are walked by their lists are walked with hops and without, too. */
static void every_walk_has_hops_and_none(void **state)
{
    (void)state;
    rng r = rng_seed(6);
    for (int kind = 0; kind < HALLEY_N_SCHEDULES; kind++) {
        const bool two = kind == HALLEY_SCHEDULE_ZBV ||
                         kind == HALLEY_SCHEDULE_DUALPIPE ||
                         kind == HALLEY_SCHEDULE_BREADTH_FIRST;
        const workload_schedule s = {(halley_schedule)kind, 4, two ? 2 : 1, 16};
        workload_pass_times passes[MOST];
        double hops_s[4], with_s = -1, without_s = -1;
        draw_times(&r, passes, hops_s, &s);
        workload_schedule_times t = {.passes = passes, .hops_s = hops_s, .blocked = 0.5};
        assert_int_equal(workload_schedule_walk(&with_s, &without_s, &s, &t, NULL),
                         HALLEY_OK);
        assert_true(with_s > without_s);
        check_lists(&s, &t, with_s, (uint32_t)kind);
        t.hops_s = NULL;
        check_lists(&s, &t, without_s, (uint32_t)kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles_are_the_published_ones),
        cmocka_unit_test(forms_are_exact_for_equal_stages),
        cmocka_unit_test(lists_are_complete_and_flights_are_their_peaks),
        cmocka_unit_test(flights_are_the_published_ones),
        cmocka_unit_test(forms_are_near_the_walk),
        cmocka_unit_test(a_broken_rule_is_a_deadlock_and_is_refused),
        cmocka_unit_test(many_micro_batches_extend_a_walk),
        cmocka_unit_test(waves_take_as_long_as_the_lists),
        cmocka_unit_test(every_walk_has_hops_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
