/*
 * The network that writes programs, compiled with double, so that the gradient of its
 * whole loss can be compared with central differences; test_neural_train.c trains it in
 * float.
 */
#include "learn/neural/neural_pass.h"
#include "neural_example.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void programs_are_cut_where_an_item_depends_on_its_layer(void **state)
{
    (void)state;
    neural_net net;
    neural_net_make(&net, &example_shape);
    /* begin | work | work, begin (which depends on nothing) | ( | reduce | ) */
    const uint32_t items[] = {BEGIN,       WORK_FIRST, WORK,        BEGIN,
                              NEURAL_OPEN, REDUCE,     NEURAL_CLOSE};
    const uint32_t first_value[] = {0, 0, 0, 0, 0, 0, 0};
    const float values[2] = {0};
    const neural_program p = {
        .n_items = 7, .items = items, .first_value = first_value, .values = values};
    const neural_program *const list[] = {&p};
    arena memory = {0};
    neural_batch b;
    assert_int_equal(neural_batch_make(&b, &net, list, 1, &memory, NULL), HALLEY_OK);
    const uint32_t rows[] = {0, 1, 2, 2, 3, 4, 5};
    assert_memory_equal(b.row, rows, sizeof rows);
    const uint32_t kinds[] = {NEURAL_STEP_ITEMS, NEURAL_STEP_ITEMS, NEURAL_STEP_ITEMS + 1,
                              NEURAL_STEP_OPEN,  NEURAL_STEP_ITEMS, NEURAL_STEP_CLOSE,
                              NEURAL_STEP_END};
    assert_int_equal(b.n_rows, 7);
    assert_memory_equal(b.kind, kinds, sizeof kinds);
    /* reduce depends on the last work, two operators ago */
    assert_int_equal(b.edges[b.first_edge[5]].item, 2);
    assert_int_equal(b.edges[b.first_edge[5]].slot, 1);
    arena_fini(&memory);
}

static void edges_of_its_own_lead_as_far_back_as_they_say(void **state)
{
    (void)state;
    neural_net net;
    neural_net_make(&net, &example_shape);
    /* begin | ( | work, work | work, on both of them and on what is behind the loop | )
     */
    const uint32_t items[] = {BEGIN, NEURAL_OPEN,     WORK,
                              BEGIN, NEURAL_FREE + 1, NEURAL_CLOSE};
    const uint32_t backs[] = {0, 0, 0, 0, 7, 0};
    const uint32_t first_value[] = {0, 0, 0, 0, 0, 0};
    const float values[2] = {0};
    const neural_program p = {.n_items = 6,
                              .items = items,
                              .first_value = first_value,
                              .values = values,
                              .backs = backs};
    const neural_program *const list[] = {&p};
    arena memory = {0};
    neural_batch b;
    assert_int_equal(neural_batch_make(&b, &net, list, 1, &memory, NULL), HALLEY_OK);
    const uint32_t rows[] = {0, 1, 2, 2, 3, 4};
    assert_memory_equal(b.row, rows, sizeof rows);
    assert_int_equal(b.op[4], 1);
    assert_int_equal(b.first_edge[5] - b.first_edge[4], 2);
    assert_int_equal(b.edges[b.first_edge[4]].item, 3);
    assert_int_equal(b.edges[b.first_edge[4] + 1].item, 2);
    arena_fini(&memory);
}

typedef struct whole {
    neural_net net;
    example examples[3];
    const neural_program *programs[3];
    double *param, *grad;
} whole;

static double loss_of(const whole *w, double *grad)
{
    arena memory = {0};
    const nn_run run = {.param = w->param, .grad = grad};
    neural_loss loss;
    assert_int_equal(neural_pass(&loss, &run, &w->net, w->programs, 3, &memory, NULL),
                     HALLEY_OK);
    arena_fini(&memory);
    assert_int_equal(loss.n_items, 7 + 7 + 4);
    return neural_loss_per_item(&loss) * (double)loss.n_items;
}

static void the_gradient_of_the_whole_loss_is_that_of_differences(void **state)
{
    (void)state;
    whole w = {0};
    neural_net_make(&w.net, &example_shape);
    const size_t n = w.net.layout.n;
    w.param = calloc(n, sizeof *w.param);
    w.grad = calloc(n, sizeof *w.grad);
    neural_net_init(&w.net, w.param, 5);
    rng r = rng_seed(11);
    for (size_t i = 0; i < n; i++) /* none at the 0 where it starts */
        w.param[i] += 0.05 * rng_normal(&r);
    for (size_t i = 0; i < 3; i++) {
        example_make(&w.examples[i], 2 + 1.5 * (double)i);
        w.programs[i] = &w.examples[i].program;
    }
    w.examples[2].program.n_items = 4; /* a shorter one: its loop never closes */
    w.examples[1].values[2] = NEURAL_UNKNOWN;
    w.examples[0].items[4] = NEURAL_FREE + 2; /* with edges to the last and the third */
    w.examples[0].backs[4] = 5;
    w.examples[1].items[6] = NEURAL_FREE + 3; /* nobody knows on what */
    w.examples[1].backs[6] = NEURAL_UNTOLD;
    loss_of(&w, w.grad);
    size_t n_moved = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 499 != 0 && i + 100 < n) /* some of every layer */
            continue;
        const double keep = w.param[i], h = 1e-5;
        w.param[i] = keep + h;
        const double above = loss_of(&w, NULL);
        w.param[i] = keep - h;
        const double below = loss_of(&w, NULL);
        w.param[i] = keep;
        const double measured = (above - below) / (2 * h);
        n_moved += fabs(measured) > 1e-4;
        if (fabs(measured - w.grad[i]) > 1e-5 * (1 + fabs(measured)))
            fail_msg("gradient %zu of %zu is %.10g, differences give %.10g", i, n,
                     w.grad[i], measured);
    }
    assert_true(n_moved > 100);
    free(w.param);
    free(w.grad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_cut_where_an_item_depends_on_its_layer),
        cmocka_unit_test(edges_of_its_own_lead_as_far_back_as_they_say),
        cmocka_unit_test(the_gradient_of_the_whole_loss_is_that_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
