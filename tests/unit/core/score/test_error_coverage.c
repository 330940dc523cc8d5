/* How far error bars hold for runs that made none of them; each source left out. */
#include "cases.h"
#include "halley/error_bar.h"
#include "unit.h"

/* Each source left out in turn: on the mean over sources, 60 to 85 % of its runs are
 * within "typical" and 90 % within "bound". */
static void bars_hold_for_sources_that_no_constant_has_seen(void **state)
{
    (void)state;
    if (cases_share() < 100)
        skip(); /* it is a statistic over all sources */
    halley_error_coverage c;
    halley_error err = {0};
    if (halley_error_bars_make(&c, NULL, NULL, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_true(c.n_sources >= 20 && c.n_runs > 1000 && c.n_covered == c.n_sources);
    if (c.typical < 0.60 || c.typical > 0.85 || c.bound < 0.90)
        fail_msg("%.3f within typical, %.3f within bound", c.typical, c.bound);
    for (uint32_t i = 0; i < c.n_covered; i++)
        assert_true(c.covered[i].n_runs > 0 &&
                    c.covered[i].typical <= c.covered[i].bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_hold_for_sources_that_no_constant_has_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
