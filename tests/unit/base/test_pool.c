/* The thread pool. */
#include "base/pool.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

typedef struct squares {
    uint64_t of[N];
    uint32_t n_threads;
    size_t fails_from, fails_every;
} squares;

static halley_status square(void *context, size_t i, uint32_t worker, halley_error *err)
{
    squares *s = context;
    s->of[i] = i * i;
    if (s->n_threads > 0 && worker >= s->n_threads)
        return error_set(err, HALLEY_EINVAL, "worker %u of %u", worker, s->n_threads);
    if (s->fails_every > 0 && i >= s->fails_from &&
        (i - s->fails_from) % s->fails_every == 0)
        return error_set(err, HALLEY_ELIMIT, "task %zu failed", i);
    return HALLEY_OK;
}

static void every_task_runs_once_whatever_the_thread_count(void **state)
{
    (void)state;
    for (uint32_t n_threads = 0; n_threads < 9; n_threads++) {
        squares s = {.n_threads = n_threads};
        assert_int_equal(pool_run(n_threads, N, square, &s, NULL), HALLEY_OK);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(s.of[i], i * i);
    }
}

static void no_tasks_are_no_error(void **state)
{
    (void)state;
    assert_int_equal(pool_run(4, 0, square, NULL, NULL), HALLEY_OK);
    assert_true(pool_cores() >= 1);
}

static void the_lowest_failure_is_reported(void **state)
{
    (void)state;
    for (uint32_t n_threads = 1; n_threads < 9; n_threads++) {
        for (int round = 0; round < 20; round++) {
            squares s = {.n_threads = n_threads, .fails_from = 37, .fails_every = 1};
            halley_error err = {0};
            assert_int_equal(pool_run(n_threads, N, square, &s, &err), HALLEY_ELIMIT);
            assert_string_equal(err.text, "task 37 failed");
            for (size_t i = 0; i < 37; i++)
                assert_int_equal(s.of[i], i * i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once_whatever_the_thread_count),
        cmocka_unit_test(no_tasks_are_no_error),
        cmocka_unit_test(the_lowest_failure_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
