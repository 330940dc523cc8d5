/* The event queue against an obvious one: a sorted array with sequence numbers. */
#include "alloc_fail.h"
#include "base/error.h"
#include "base/rng.h"
#include "des/queue.h"
#include "des/ticks.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

static void events_at_one_instant_leave_in_the_order_they_came(void **state)
{
    (void)state;
    des_queue q = {0};
    des_event e;
    for (uint64_t i = 0; i < 1000; i++)
        des_queue_push(&q, 7, i);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(des_queue_pop(&q, &e));
        assert_int_equal(e.what, i);
        assert_int_equal(e.at, 7);
        if (i < 500) /* joins those of this instant, at the end */
            des_queue_push(&q, 7, 1000 + i);
    }
    for (uint64_t i = 1000; i < 1500; i++) {
        assert_true(des_queue_pop(&q, &e));
        assert_int_equal(e.what, i);
    }
    assert_true(des_queue_empty(&q));
    assert_false(des_queue_pop(&q, &e));
    des_queue_fini(&q);
}

typedef struct slow {
    uint64_t at, seq;
} slow;

static int earlier(const void *a, const void *b)
{
    const slow *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->seq < y->seq ? -1 : 1;
}

enum { N = 4000 };

/* Delays of one kind: equal ones, small ones, and far jumps. */
static uint64_t draw_delay(rng *r, int kind)
{
    if (kind == 0)
        return rng_below(r, 3);
    return kind == 1 ? rng_below(r, 1000) : rng_u64(r) >> (20 + rng_below(r, 40));
}

static void the_order_is_time_then_arrival(void **state)
{
    (void)state;
    static slow all[N];
    for (int kind = 0; kind < 3; kind++) {
        rng r = rng_seed((uint64_t)kind);
        des_queue q = {0};
        des_event e;
        size_t n = 0, done = 0;
        while (done < N) {
            while (n < N && (n == done || rng_below(&r, 2))) {
                all[n] = (slow){q.now + draw_delay(&r, kind), n};
                des_queue_push(&q, all[n].at, n);
                n++;
            }
            qsort(all + done, n - done, sizeof *all, earlier);
            assert_true(des_queue_pop(&q, &e));
            assert_int_equal(e.at, all[done].at);
            assert_int_equal(e.what, all[done].seq);
            done++;
        }
        assert_true(des_queue_empty(&q));
        assert_false(q.failed);
        des_queue_fini(&q);
    }
}

static void a_time_in_the_past_is_noted(void **state)
{
    (void)state;
    des_queue q = {0};
    des_event e;
    des_queue_push(&q, 10, 1);
    assert_true(des_queue_pop(&q, &e));
    des_queue_push(&q, 9, 2);
    assert_true(q.failed);
    des_queue_fini(&q);
}

static halley_status push_many(void *context, halley_error *err)
{
    (void)context;
    des_queue q = {0};
    for (uint64_t i = 0; i < 1000; i++)
        des_queue_push(&q, i % 5, i);
    const bool failed = q.failed;
    des_queue_fini(&q);
    return failed ? error_nomem(err) : HALLEY_OK;
}

static void no_memory_is_noted(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(push_many, NULL) > 3);
}

static void chunks_are_shared_between_times(void **state)
{
    (void)state;
    des_queue q = {0};
    des_event e;
    for (uint64_t round = 0; round < 100; round++) {
        for (uint64_t i = 0; i < 10000; i++)
            des_queue_push(&q, q.now + 1 + i % 7, i);
        while (des_queue_pop(&q, &e))
            ;
    }
    assert_true(q.n_chunks < 10000 / DES_CHUNK_EVENTS + 20);
    des_queue_fini(&q);
}

static void ticks_are_cut_as_x86_cuts_them(void **state)
{
    (void)state;
    assert_int_equal(ticks_from(0.999), 0);
    assert_int_equal(ticks_from(5382.9), 5382);
    assert_true(ticks_from(9.3e18) == UINT64_C(9300000000000000000));
    assert_true(ticks_from(NAN) == UINT64_C(1) << 63);
    assert_int_equal(ticks_from(INFINITY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_at_one_instant_leave_in_the_order_they_came),
        cmocka_unit_test(the_order_is_time_then_arrival),
        cmocka_unit_test(a_time_in_the_past_is_noted),
        cmocka_unit_test(no_memory_is_noted),
        cmocka_unit_test(chunks_are_shared_between_times),
        cmocka_unit_test(ticks_are_cut_as_x86_cuts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
