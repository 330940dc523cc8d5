/* The verdict on a step: which loss names it, and what is added. */
#include "report/losses.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const char *describe(double work, double network, double bubble)
{
    static char text[REPORT_LOSSES_TEXT];
    const report_loss parts[] = {
        {REPORT_LOSS_NONE, work, "matmuls"},
        {REPORT_LOSS_COMMUNICATION, network, "exposed data-parallel communication"},
        {REPORT_LOSS_BUBBLE, bubble, "pipeline bubble"},
    };
    report_losses_describe(text, parts, 3, "the step");
    return text;
}

static void a_small_loss_does_not_name_the_step(void **state)
{
    (void)state;
    assert_string_equal(describe(9, 1, 0),
                        "compute-bound: 90 % of the step is matmuls. Also 10 % is "
                        "exposed data-parallel communication");
    assert_string_equal(describe(9.5, 0.5, 0),
                        "compute-bound: 95 % of the step is matmuls");
}

static void the_largest_loss_names_the_step_and_the_second_is_added(void **state)
{
    (void)state;
    assert_string_equal(describe(6, 1.5, 2.5),
                        "bound by the pipeline: 25 % of the step is pipeline bubble. "
                        "Also 15 % is exposed data-parallel communication");
    assert_string_equal(describe(6, 3.5, 0.5),
                        "communication-bound: 35 % of the step is exposed data-parallel "
                        "communication");
}

static void parts_without_time_and_rounding_below_zero_do_not_count(void **state)
{
    (void)state;
    assert_string_equal(describe(0, 0, 0), "there is no time to judge");
    assert_string_equal(describe(1, -1e-16, 0),
                        "compute-bound: 100 % of the step is matmuls");
    assert_non_null(strstr(describe(0, 1, 0), "communication-bound: 100 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_loss_does_not_name_the_step),
        cmocka_unit_test(the_largest_loss_names_the_step_and_the_second_is_added),
        cmocka_unit_test(parts_without_time_and_rounding_below_zero_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
