/* Which of two designs is faster, and what is a tie. */
#include "halley/score.h"
#include "unit.h"

#include <math.h>

/* Predicted differences and how often the faster of two published runs was the one that
 * was predicted to be: 54 to 58, 75 and 70, 79, 89 and 99 % of open and kept pairs. */
static void probabilities_are_those_of_published_pairs(void **state)
{
    (void)state;
    static const struct {
        double ratio, low, high;
    } pairs[] = {{1.01, 0.51, 0.60}, {1.035, 0.62, 0.75}, {1.075, 0.74, 0.80},
                 {1.15, 0.86, 0.91}, {1.35, 0.95, 0.99},  {1.6, 0.98, 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const double p = halley_faster(1, pairs[i].ratio, HALLEY_ALIKE_DEVICE);
        assert_true(p >= pairs[i].low && p <= pairs[i].high);
    }
}

static void one_of_two_is_faster_and_more_so_with_the_difference(void **state)
{
    (void)state;
    double before = 0;
    for (int i = -30; i <= 30; i++) {
        const double other_s = exp(0.02 * i);
        for (int alike = 0; alike <= HALLEY_ALIKE_LITTLE; alike++) {
            const double p = halley_faster(1, other_s, (halley_alike)alike);
            assert_true(fabs(p + halley_faster(other_s, 1, (halley_alike)alike) - 1) <
                        1e-12);
        }
        const double p = halley_faster(1, other_s, HALLEY_ALIKE_DEVICE);
        assert_true(p > before);
        before = p;
    }
}

static void ties_end_where_one_is_sure(void **state)
{
    (void)state;
    static const double shares[] = {0.09, 0.11, 0.14};
    for (int alike = 0; alike <= HALLEY_ALIKE_LITTLE; alike++) {
        const double share = halley_tie_share((halley_alike)alike);
        assert_true(fabs(share - shares[alike]) < 0.006);
        assert_true(fabs(halley_faster(1, 1 + share, (halley_alike)alike) -
                         halley_sure()) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_published_pairs),
        cmocka_unit_test(one_of_two_is_faster_and_more_so_with_the_difference),
        cmocka_unit_test(ties_end_where_one_is_sure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
