/* The ranks of a job seen together, with jobs of which everything is known. */
#include "base/rng.h"
#include "halley/recording_job.h"
#include "make_trace.h"

#include <math.h>
#include <stdio.h>

enum { N_RANKS = 5, N_COLLECTIVES = 40 };

/* What is built into a job. */
typedef struct plan {
    double slow[N_RANKS];      /* factor of the rank's own work; 0 = 1 */
    int64_t clock_ns[N_RANKS]; /* how far its clock is ahead */
    uint64_t transfer_ns;
} plan;

typedef struct truth {
    double wait_s, transfer_s;
    uint64_t n_last[N_RANKS];
} truth;

static void put_event(halley_builder *b, uint64_t id, const char *class_name,
                      int64_t begin_ns, int64_t end_ns)
{
    halley_builder_node(b, id, HALLEY_NODE_COMP, text("kernel"));
    halley_builder_attr_text(b, "kernel_class", text(class_name));
    halley_builder_attr_u64(b, "start_ns", (uint64_t)begin_ns);
    halley_builder_attr_u64(b, "duration_ns", (uint64_t)(end_ns - begin_ns));
}

/* Ranks compute, then meet in an all-reduce that ends for all of them at once. */
static halley_trace_set *make_job(const plan *p, truth *t, uint64_t seed)
{
    rng random = rng_seed(seed);
    halley_builder *b[N_RANKS];
    halley_trace *traces[N_RANKS];
    int64_t now_ns[N_RANKS];
    *t = (truth){0};
    for (uint32_t r = 0; r < N_RANKS; r++) {
        b[r] = make_start();
        now_ns[r] = 1000000;
    }
    for (uint64_t k = 0; k < N_COLLECTIVES; k++) {
        int64_t last_ns = 0;
        uint32_t last = 0;
        for (uint32_t r = 0; r < N_RANKS; r++) {
            const double factor = p->slow[r] > 0 ? p->slow[r] : 1;
            const double own_ns = 200000 * factor + (double)rng_below(&random, 2000);
            const int64_t end_ns = now_ns[r] + (int64_t)own_ns;
            put_event(b[r], 1 + 2 * k, "matmul", now_ns[r] + p->clock_ns[r],
                      end_ns + p->clock_ns[r]);
            now_ns[r] = end_ns;
            if (now_ns[r] > last_ns) {
                last_ns = now_ns[r];
                last = r;
            }
        }
        t->n_last[last]++;
        t->transfer_s += N_RANKS * (double)p->transfer_ns * 1e-9;
        for (uint32_t r = 0; r < N_RANKS; r++) {
            const int64_t end_ns = last_ns + (int64_t)p->transfer_ns;
            t->wait_s += (double)(last_ns - now_ns[r]) * 1e-9;
            put_event(b[r], 2 + 2 * k, "comm.all_reduce", now_ns[r] + p->clock_ns[r],
                      end_ns + p->clock_ns[r]);
            now_ns[r] = end_ns;
        }
    }
    for (uint32_t r = 0; r < N_RANKS; r++)
        traces[r] = make_finish(b[r]);
    return make_set(traces, N_RANKS);
}

static void assert_near(double value, double expected, double error)
{
    assert_true(fabs(value - expected) <= error);
}

static halley_job *analyse(const halley_trace_set *set)
{
    halley_job *job;
    halley_error err = {0};
    if (halley_job_analyse(&job, set, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return job;
}

static void sum_ranks(const halley_job *job, double *wait_s, double *transfer_s)
{
    *wait_s = *transfer_s = 0;
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        *wait_s += job->ranks[r].wait_s;
        *transfer_s += job->ranks[r].transfer_s;
    }
}

static void waiting_transfer_and_clocks_are_those_built_in(void **state)
{
    (void)state;
    const plan p = {.slow = {[2] = 1.3},
                    .clock_ns = {[1] = 37000000, [3] = -500000, [4] = 12345},
                    .transfer_ns = 20000};
    truth t;
    halley_trace_set *const set = make_job(&p, &t, 1);
    halley_job *const job = analyse(set);
    double wait_s, transfer_s;
    sum_ranks(job, &wait_s, &transfer_s);
    assert_int_equal(job->n_collectives, N_COLLECTIVES);
    assert_near(wait_s, t.wait_s, 1e-9);
    assert_near(transfer_s, t.transfer_s, 1e-9);
    for (uint32_t r = 0; r < N_RANKS; r++) {
        assert_near(job->ranks[r].offset_s, (double)p.clock_ns[r] * 1e-9, 1e-9);
        assert_int_equal(job->ranks[r].n_last, t.n_last[r]);
    }
    halley_job_free(job);
    halley_trace_set_free(set);
}

static void a_slow_rank_is_named_with_where_it_is_slow(void **state)
{
    (void)state;
    const plan p = {.slow = {[2] = 1.2}, .transfer_ns = 20000};
    truth t;
    halley_trace_set *const set = make_job(&p, &t, 2);
    halley_job *const job = analyse(set);
    assert_int_equal(job->n_stragglers, 1);
    assert_int_equal(job->stragglers[0].rank, 2);
    assert_string_equal(job->stragglers[0].class_name, "compute");
    assert_true(job->stragglers[0].excess_s > 0.9 * N_COLLECTIVES * 40e-6);
    assert_true(job->typical_rank != 2);
    halley_job_free(job);
    halley_trace_set_free(set);
}

static void two_slow_ranks_are_both_named(void **state)
{
    (void)state;
    const plan p = {.slow = {[1] = 1.25, [4] = 1.25}, .transfer_ns = 20000};
    truth t;
    halley_trace_set *const set = make_job(&p, &t, 3);
    halley_job *const job = analyse(set);
    assert_int_equal(job->n_stragglers, 2);
    assert_int_equal(job->stragglers[0].rank + job->stragglers[1].rank, 5);
    halley_job_free(job);
    halley_trace_set_free(set);
}

static void nobody_is_named_if_all_are_alike(void **state)
{
    (void)state;
    const plan p = {.transfer_ns = 80000};
    truth t;
    for (uint64_t seed = 0; seed < 20; seed++) {
        halley_trace_set *const set = make_job(&p, &t, 100 + seed);
        halley_job *const job = analyse(set);
        assert_int_equal(job->n_stragglers, 0);
        assert_null(strstr(job->verdict, "waiting-bound"));
        halley_job_free(job);
        halley_trace_set_free(set);
    }
}

static void a_job_that_waits_is_waiting_bound(void **state)
{
    (void)state;
    const plan p = {.slow = {[0] = 2}, .transfer_ns = 5000};
    truth t;
    halley_trace_set *const set = make_job(&p, &t, 4);
    halley_job *const job = analyse(set);
    assert_non_null(strstr(job->verdict, "waiting-bound"));
    assert_non_null(strstr(job->verdict, "rank 0"));
    /* every collective waits for rank 0 */
    const double expected = N_COLLECTIVES * (401e-6 + 5e-6);
    assert_true(fabs(job->as_recorded_s / expected - 1) < 0.01);
    halley_job_free(job);
    halley_trace_set_free(set);
}

static void one_rank_is_no_job(void **state)
{
    (void)state;
    halley_builder *const b = make_start();
    put_event(b, 1, "comm.all_reduce", 0, 1000);
    halley_trace *const trace = make_finish(b);
    halley_trace_set *const set = make_set(&trace, 1);
    halley_job *job;
    halley_error err = {0};
    assert_int_equal(halley_job_analyse(&job, set, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "at least two ranks"));
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_transfer_and_clocks_are_those_built_in),
        cmocka_unit_test(a_slow_rank_is_named_with_where_it_is_slow),
        cmocka_unit_test(two_slow_ranks_are_both_named),
        cmocka_unit_test(nobody_is_named_if_all_are_alike),
        cmocka_unit_test(a_job_that_waits_is_waiting_bound),
        cmocka_unit_test(one_rank_is_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
