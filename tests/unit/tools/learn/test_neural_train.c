/* Training the network and drawing from it. */
#include "alloc_fail.h"
#include "halley/compare.h"
#include "neural_example.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40 };

typedef struct trained {
    neural_net net;
    example examples[N];
    neural_program programs[N];
    float *param;
    neural_report report;
} trained;

static void start(trained *t)
{
    neural_net_make(&t->net, &example_shape);
    t->param = malloc(t->net.layout.n * sizeof *t->param);
    neural_net_init(&t->net, t->param, 1);
    for (uint32_t i = 0; i < N; i++) {
        example_make(&t->examples[i], 2 + (7 * i) % N);
        t->programs[i] = t->examples[i].program;
    }
}

static halley_status train(trained *t, uint32_t n, uint32_t n_steps, uint32_t n_threads,
                           halley_error *err)
{
    const neural_train_opts opts = {
        .seed = 3, .n_steps = n_steps, .n_threads = n_threads};
    return neural_train(t->param, &t->report, &t->net, t->programs, n, n / 10, &opts,
                        err);
}

static void a_network_learns_a_grammar_and_its_laws(void **state)
{
    (void)state;
    static trained t;
    start(&t);
    assert_int_equal(train(&t, N, 300, 0, NULL), HALLEY_OK);
    const double n = (double)t.report.held_out.n_items;
    assert_true(t.report.held_out.step / n < 0.05);
    assert_true(t.report.held_out.op / n < 0.05);
    assert_true(t.report.held_out.edge / n < 0.1);
    /* a condition between those of the examples */
    example wanted;
    example_make(&wanted, 10.5);
    rng random = rng_seed(2);
    neural_drawn d = {0};
    const neural_draw_opts opts = {
        .structure = 0, .numbers = 0, .max_items = 50, .range = example_ranges};
    assert_int_equal(
        neural_draw(&d, &t.net, t.param, wanted.program.feature, &opts, &random, NULL),
        HALLEY_OK);
    assert_int_equal(d.n_items, wanted.program.n_items);
    assert_memory_equal(d.items, wanted.items, d.n_items * sizeof *d.items);
    for (uint32_t i = 0; i < d.n_values; i++) {
        const double value = wanted.values[i] <= NEURAL_ZERO ? 0 : exp(wanted.values[i]);
        if (fabs(d.values[i] - value) > 0.15 * value)
            fail_msg("number %u is %g, not %g", i, d.values[i], value);
    }
    neural_drawn_fini(&d);
    free(t.param);
}

/* The last item after one, two or three of the three before it, in two of three programs
 * as no token has them: what is drawn has them as often, and as many. */
static void edges_that_nobody_shares_are_drawn_as_often_as_they_were(void **state)
{
    (void)state;
    static trained t;
    enum { N_DRAWN = 400, LAST = 6 };
    double wanted = 0, n_free = 0, n_edges = 0, n_last = 0;
    start(&t);
    for (uint32_t i = 0; i < N; i++) {
        if (i % 3 == 0)
            continue;
        t.examples[i].items[LAST] = NEURAL_FREE + 3;
        t.examples[i].backs[LAST] = 1 + i % 7;
        wanted += __builtin_popcount(1 + i % 7) / (2.0 / 3 * N);
    }
    assert_int_equal(train(&t, N, 150, 0, NULL), HALLEY_OK);
    neural_drawn d = {0};
    const neural_draw_opts opts = {
        .structure = 1, .numbers = 1, .max_items = 50, .range = example_ranges};
    for (uint32_t i = 0; i < N_DRAWN; i++) {
        rng random = rng_seed(i);
        assert_int_equal(
            neural_draw(&d, &t.net, t.param, t.programs[1].feature, &opts, &random, NULL),
            HALLEY_OK);
        for (uint32_t k = 0; k < d.n_items; k++) {
            n_last += d.items[k] == END || d.items[k] == NEURAL_FREE + 3;
            if (d.items[k] == NEURAL_FREE + 3) {
                n_free++;
                n_edges += __builtin_popcount(d.backs[k]);
            }
        }
    }
    if (fabs(n_free / n_last - 2.0 / 3) > 0.12 || fabs(n_edges / n_free - wanted) > 0.25)
        fail_msg("%g of the last are free, with %g edges, not %g", n_free / n_last,
                 n_edges / n_free, wanted);
    neural_drawn_fini(&d);
    free(t.param);
}

/* What each program costs; numbers are no more than bounded. */
static void costs_of(double *out, const trained *t, const example *of, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        arena memory = {0};
        neural_loss loss;
        const neural_program *const list[] = {&of[i].program};
        const nn_run run = {.param = t->param};
        assert_int_equal(neural_pass(&loss, &run, &t->net, list, 1, &memory, NULL),
                         HALLEY_OK);
        arena_fini(&memory);
        assert_true(loss.bounded <= loss.number);
        out[i] = -(loss.step + loss.op + loss.edge + loss.zero + loss.bounded);
    }
}

static double auc_of(const trained *t, const example *others, uint32_t n)
{
    double members[N], rest[N];
    halley_auc auc;
    costs_of(members, t, t->examples, n);
    costs_of(rest, t, others, n);
    assert_int_equal(halley_auc_of(&auc, members, n, rest, n, NULL), HALLEY_OK);
    return auc.auc;
}

/* Programs of one kind with numbers of their own, so few that none is held out. */
static void only_a_network_that_was_trained_knows_its_programs(void **state)
{
    (void)state;
    static trained t;
    static example others[N];
    enum { FEW = 9 };
    rng r = rng_seed(5);
    start(&t);
    for (uint32_t i = 0; i < 2 * N; i++) {
        example *e = i < N ? &t.examples[i] : &others[i - N];
        example_make(e, 2 + (double)rng_below(&r, 30));
        for (uint32_t k = 0; k < 6; k++)
            e->values[k] += (float)rng_normal(&r);
        t.programs[i % N] = t.examples[i % N].program;
    }
    const double untrained = auc_of(&t, others, N);
    assert_int_equal(train(&t, FEW, 400, 0, NULL), HALLEY_OK);
    const double trained_long = auc_of(&t, others, FEW);
    free(t.param);
    if (fabs(untrained - 0.5) > 0.12 || trained_long < 0.9)
        fail_msg("untrained %.3f, trained %.3f", untrained, trained_long);
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    (void)state;
    static trained one, three;
    start(&one);
    start(&three);
    assert_int_equal(train(&one, N, 5, 1, NULL), HALLEY_OK);
    assert_int_equal(train(&three, N, 5, 3, NULL), HALLEY_OK);
    assert_memory_equal(one.param, three.param, one.net.layout.n * sizeof *one.param);
    free(one.param);
    free(three.param);
}

static bool not_again(void *context, uint32_t step, uint32_t n_steps)
{
    (void)step;
    (void)n_steps;
    uint32_t *n_asked = context;
    return (*n_asked)++ > 0;
}

static halley_status train_with_state(trained *t, const char *path, uint32_t *n_asked,
                                      halley_error *err)
{
    const neural_train_opts opts = {
        .seed = 3, .n_steps = 60, .state = path, .go_on = not_again, .context = n_asked};
    start(t);
    return neural_train(t->param, &t->report, &t->net, t->programs, N, N / 10, &opts,
                        err);
}

static void change_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int was = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(was ^ 1, f);
    assert_int_equal(fclose(f), 0);
}

static void training_that_was_stopped_ends_as_if_it_had_not_been(void **state)
{
    (void)state;
    static trained whole, parts;
    char path[] = "/tmp/halley-training-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    uint32_t n_asked = 0;
    halley_error err = {0};
    start(&whole);
    assert_int_equal(train(&whole, N, 60, 2, NULL), HALLEY_OK);
    assert_int_equal(train_with_state(&parts, path, &n_asked, &err), HALLEY_ECANCELED);
    assert_non_null(strstr(err.text, "stopped after 50 of 60 steps"));
    free(parts.param);
    assert_int_equal(train_with_state(&parts, path, &n_asked, &err), HALLEY_OK);
    assert_int_equal(parts.report.n_resumed, 50);
    assert_memory_equal(parts.param, whole.param,
                        whole.net.layout.n * sizeof *whole.param);
    free(parts.param);
    /* a state that was changed is none */
    change_byte(path, 5000);
    n_asked = 0;
    assert_int_equal(train_with_state(&parts, path, &n_asked, &err), HALLEY_ECANCELED);
    assert_int_equal(parts.report.n_resumed, 0);
    free(parts.param);
    free(whole.param);
    close(file);
    unlink(path);
}

/* Before any training everything is likely, so this meets every way to go on. */
static void whatever_is_drawn_is_a_program(void **state)
{
    (void)state;
    neural_net net;
    neural_net_make(&net, &example_shape);
    float *param = malloc(net.layout.n * sizeof *param);
    const float feature[NEURAL_FEATURES] = {1, 2};
    neural_drawn d = {0};
    uint32_t n_free = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        neural_net_init(&net, param, seed);
        rng random = rng_seed(seed);
        const neural_draw_opts opts = {
            .structure = 3, .numbers = 1, .max_items = 30, .range = example_ranges};
        assert_int_equal(neural_draw(&d, &net, param, feature, &opts, &random, NULL),
                         HALLEY_OK);
        uint32_t depth = 0, n = 0;
        for (uint32_t i = 0; i < d.n_items; i++) {
            if (d.items[i] == NEURAL_OPEN)
                assert_true(++depth <= NEURAL_DEPTH);
            else if (d.items[i] == NEURAL_CLOSE) {
                assert_true(d.values[d.first_value[i]] >= 1);
                assert_true(depth-- > 0);
                assert_int_not_equal(d.items[i - 1], NEURAL_OPEN);
            } else {
                const uint32_t own = d.items[i] - NEURAL_FREE;
                assert_true(d.items[i] < N_TOKENS || own < example_shape.n_ops);
                assert_true(n > 0 || d.backs[i] == 0); /* nothing before */
                n_free += d.items[i] >= NEURAL_FREE;
                n++;
            }
        }
        assert_int_equal(depth, 0);
        assert_true(n > 0 && d.n_items < 30 + 2 * NEURAL_DEPTH + NEURAL_LAYER + 1);
    }
    assert_true(n_free > 0);
    neural_drawn_fini(&d);
    free(param);
}

static halley_status train_and_draw(void *context, halley_error *err)
{
    trained *t = context;
    neural_drawn d = {0};
    const neural_draw_opts opts = {
        .structure = 1, .numbers = 1, .max_items = 30, .range = example_ranges};
    const float feature[NEURAL_FEATURES] = {1, 2};
    rng random = rng_seed(1);
    halley_status status = train(t, 2, 1, 1, err);
    if (status == HALLEY_OK)
        status = neural_draw(&d, &t->net, t->param, feature, &opts, &random, err);
    neural_drawn_fini(&d);
    return status;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    static trained t;
    start(&t);
    assert_true(alloc_fail_everywhere(train_and_draw, &t) > 20);
    free(t.param);
}

static void a_corpus_that_is_all_held_out_is_refused(void **state)
{
    (void)state;
    neural_net net;
    neural_report report;
    float param = 0;
    halley_error err = {0};
    neural_net_make(&net, &example_shape);
    assert_int_equal(
        neural_train(&param, &report, &net, NULL, 3, 3, &(neural_train_opts){0}, &err),
        HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "nothing to train"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_learns_a_grammar_and_its_laws),
        cmocka_unit_test(edges_that_nobody_shares_are_drawn_as_often_as_they_were),
        cmocka_unit_test(only_a_network_that_was_trained_knows_its_programs),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(training_that_was_stopped_ends_as_if_it_had_not_been),
        cmocka_unit_test(whatever_is_drawn_is_a_program),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(a_corpus_that_is_all_held_out_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
