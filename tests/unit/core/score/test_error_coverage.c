/* How far error bars hold for runs that made none of them; takes a minute. */
#include "cases.h"
#include "halley/error_bar.h"
#include "unit.h"

/* Sources left out in turn: 60 to 80 % of their runs within "typical", 90 % within
 * "bound". */
static void bars_hold_for_sources_that_made_none_of_them(void **state)
{
    (void)state;
    if (cases_share() < 100)
        skip(); /* it is a statistic over all sources */
    halley_error_coverage c;
    halley_error err = {0};
    if (halley_error_bars_make(&c, NULL, NULL, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_true(c.n_classes >= 20 && c.n_runs > 1000);
    if (c.typical < 0.60 || c.typical > 0.80 || c.bound < 0.90)
        fail_msg("%.3f within typical, %.3f within bound", c.typical, c.bound);
    assert_true(c.n_covered >= 15);
    for (uint32_t i = 0; i < c.n_covered; i++) {
        const halley_class_coverage *k = &c.covered[i];
        assert_true(k->n_runs >= 20 && k->typical <= k->bound);
        if (k->bound < 0.80)
            fail_msg("%s: %.3f within bound", k->class_name, k->bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_hold_for_sources_that_made_none_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
