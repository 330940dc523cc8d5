/* What interruptions leave of the time: against a slow search and a simulation. */
#include "base/rng.h"
#include "halley/estimate.h"
#include "unit.h"

#include <math.h>

/* Mean wall time of a stretch of work with its checkpoint, stretch by stretch. */
static double mean_stretch_s(double work, double checkpoint, double restart, double mtbf)
{
    double wall = 0;
    const int n = 200000;
    rng r = rng_seed(5);
    for (int i = 0; i < n; i++) {
        double left = work + checkpoint;
        for (;;) {
            const double until = -mtbf * log(1 - rng_unit(&r));
            if (until >= left) {
                wall += left;
                break;
            }
            wall += until;
            left = restart + work + checkpoint; /* a restart may be interrupted, too */
        }
    }
    return wall / n;
}

static halley_failures machine(double mtbf_h, double checkpoint_s, double restart_s)
{
    return (halley_failures){.npu_mtbf_s = mtbf_h * 3600,
                             .checkpoint_s = checkpoint_s,
                             .restart_s = restart_s};
}

static void goodput_is_what_a_simulation_of_failures_finds(void **state)
{
    (void)state;
    static const double rows[][3] = {/* NPUs, checkpoint s, restart s */
                                     {1024, 60, 600},
                                     {16384, 60, 600},
                                     {131072, 30, 120}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const halley_failures p = machine(50000, rows[i][1], rows[i][2]);
        halley_goodput g;
        halley_goodput_run(&g, &p, rows[i][0]);
        const double wall =
            mean_stretch_s(g.interval_s, rows[i][1], rows[i][2], g.mtbf_s);
        assert_true(fabs(g.share / (g.interval_s / wall) - 1) < 0.005);
    }
}

static double lost(double w, double c, double r, double m)
{
    return m * exp(r / m) * expm1((w + c) / m) / w;
}

static void no_other_interval_is_better_by_more_than_a_thousandth(void **state)
{
    (void)state;
    static const double npus[] = {8, 1024, 16384, 131072, 1e6};
    const halley_failures p = machine(50000, 60, 600);
    for (size_t i = 0; i < sizeof npus / sizeof *npus; i++) {
        halley_goodput g;
        halley_goodput_run(&g, &p, npus[i]);
        double best = INFINITY;
        for (double w = 1; w < 1e8; w *= 1.01)
            best = fmin(best, lost(w, 60, 600, g.mtbf_s));
        assert_true(lost(g.interval_s, 60, 600, g.mtbf_s) < best * 1.001);
    }
}

static void what_never_fails_loses_nothing(void **state)
{
    (void)state;
    const halley_failures p = machine(0, 60, 600);
    halley_goodput g;
    halley_goodput_run(&g, &p, 1024);
    assert_true(g.share == 1 && isinf(g.mtbf_s));
}

static void more_npus_make_less_of_the_time(void **state)
{
    (void)state;
    const halley_failures p = machine(50000, 60, 600);
    double before = 1;
    for (double n = 1; n < 1e9; n *= 4) {
        halley_goodput g;
        halley_goodput_run(&g, &p, n);
        assert_true(g.share >= 0 && g.share <= before);
        before = g.share;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goodput_is_what_a_simulation_of_failures_finds),
        cmocka_unit_test(no_other_interval_is_better_by_more_than_a_thousandth),
        cmocka_unit_test(what_never_fails_loses_nothing),
        cmocka_unit_test(more_npus_make_less_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
