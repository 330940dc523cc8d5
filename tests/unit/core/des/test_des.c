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
        assert_int_equal(e.event, i);
        assert_int_equal(e.at, 7);
        if (i < 500) /* joins those of this instant, at the end */
            des_queue_push(&q, 7, 1000 + i);
    }
    for (uint64_t i = 1000; i < 1500; i++) {
        assert_true(des_queue_pop(&q, &e));
        assert_int_equal(e.event, i);
    }
    assert_true(des_queue_is_empty(&q));
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
            assert_int_equal(e.event, all[done].seq);
            done++;
        }
        assert_true(des_queue_is_empty(&q));
        assert_false(q.failed);
        des_queue_fini(&q);
    }
}

/* The obvious queue with cancellation: an array that is searched. */
typedef struct slow_event {
    uint64_t at, seq;
    bool timer, gone;
    des_timer handle;
} slow_event;

/* Of one instant, ordinary events come before timers. */
static bool leaves_before(const slow_event *a, const slow_event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->timer != b->timer ? b->timer : a->seq < b->seq;
}

static slow_event *find_next(slow_event *all, size_t n)
{
    slow_event *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (!all[i].gone && (best == NULL || leaves_before(&all[i], best)))
            best = &all[i];
    return best;
}

static void cancel_some(slow_event *all, size_t n, des_queue *q, rng *r)
{
    for (size_t i = 0; i < n; i++) {
        if (!all[i].timer || rng_below(r, 8) > 0)
            continue;
        assert_int_equal(des_timer_cancel(q, all[i].handle), !all[i].gone);
        all[i].gone = true;
        assert_false(des_timer_cancel(q, all[i].handle));
    }
}

static void cancelled_timers_never_leave_and_the_rest_keeps_its_order(void **state)
{
    (void)state;
    enum { EVENTS = 400 };
    static slow_event all[EVENTS];
    for (uint64_t seed = 0; seed < 60; seed++) {
        rng r = rng_seed(seed);
        des_queue q = {0};
        des_event e;
        size_t n = 0;
        for (;;) {
            while (n < EVENTS && rng_below(&r, 3) > 0) {
                all[n] = (slow_event){.at = q.now + draw_delay(&r, (int)(seed % 3)),
                                      .seq = n,
                                      .timer = rng_below(&r, 2)};
                if (all[n].timer)
                    all[n].handle = des_timer_set(&q, all[n].at, n);
                else
                    des_queue_push(&q, all[n].at, n);
                n++;
            }
            cancel_some(all, n, &q, &r);
            slow_event *next = find_next(all, n);
            assert_int_equal(des_queue_is_empty(&q), next == NULL);
            assert_int_equal(des_queue_pop(&q, &e), next != NULL);
            if (next == NULL && n == EVENTS)
                break;
            if (next == NULL)
                continue;
            assert_int_equal(e.at, next->at);
            assert_int_equal(e.event, next->seq);
            assert_int_equal(q.now, next->at);
            next->gone = true;
        }
        assert_false(q.failed);
        des_queue_fini(&q);
    }
}

static void a_timer_set_anew_ten_thousand_times_is_one_timer(void **state)
{
    (void)state;
    des_queue q = {0};
    des_event e;
    des_timer timer = {0};
    for (uint64_t i = 0; i < 10000; i++) {
        assert_int_equal(des_timer_cancel(&q, timer), i > 0);
        timer = des_timer_set(&q, 1000000 - i, i);
    }
    assert_int_equal(q.timers.n, 1);
    assert_int_equal(q.timers.n_slots, 1);
    assert_true(des_queue_pop(&q, &e));
    assert_int_equal(e.event, 9999);
    assert_false(des_queue_pop(&q, &e));
    assert_int_equal(q.now, 1000000 - 9999); /* cancelled timers do not move the clock */
    des_queue_fini(&q);
}

typedef struct flusher {
    des_queue *q;
    uint32_t n_calls, n_pending;
} flusher;

static bool flush_pending(void *context)
{
    flusher *f = context;
    f->n_calls++;
    if (f->n_pending == 0)
        return false;
    f->n_pending--;
    des_queue_push(f->q, f->q->now, 100);
    return true;
}

static void
the_flush_comes_after_the_events_of_an_instant_and_before_its_timers(void **state)
{
    (void)state;
    static const uint64_t order[] = {1, 2, 100, 50, 3};
    des_queue q = {0};
    flusher f = {.q = &q, .n_pending = 1};
    des_event e;
    q.flush = flush_pending;
    q.flush_context = &f;
    des_queue_push(&q, 0, 1);
    des_timer_set(&q, 0, 50);
    des_queue_push(&q, 0, 2);
    des_queue_push(&q, 5, 3);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        assert_true(des_queue_pop(&q, &e));
        assert_int_equal(e.event, order[i]);
    }
    assert_false(des_queue_pop(&q, &e));
    assert_int_equal(f.n_pending, 0);
    assert_true(f.n_calls >= 3);
    des_queue_fini(&q);
}

static halley_status set_many(void *context, halley_error *err)
{
    (void)context;
    des_queue q = {0};
    for (uint64_t i = 0; i < 100; i++)
        des_timer_set(&q, i % 5, i);
    const bool failed = q.failed;
    des_queue_fini(&q);
    return failed ? error_nomem(err) : HALLEY_OK;
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
    q.failed = false;
    assert_int_equal(des_timer_set(&q, 9, 2).slot, 0);
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
    assert_true(alloc_fail_everywhere(set_many, NULL) > 3);
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
        cmocka_unit_test(cancelled_timers_never_leave_and_the_rest_keeps_its_order),
        cmocka_unit_test(a_timer_set_anew_ten_thousand_times_is_one_timer),
        cmocka_unit_test(
            the_flush_comes_after_the_events_of_an_instant_and_before_its_timers),
        cmocka_unit_test(a_time_in_the_past_is_noted),
        cmocka_unit_test(no_memory_is_noted),
        cmocka_unit_test(chunks_are_shared_between_times),
        cmocka_unit_test(ticks_are_cut_as_x86_cuts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
