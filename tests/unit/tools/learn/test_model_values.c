/* What a template says about the conditions of its sets. */
#include "learn/model/model_values.h"
#include "unit.h"

/* 400 sets: of 0 and 1 there are 40 each, of 2, 4 and 8 100, 100 and 80; 40 have none. */
static model_condition numbers(void)
{
    static const uint32_t n[] = {40, 40, 100, 100, 80};
    model_condition c = {.n_sets = 360, .n_values = 5};
    for (uint32_t v = 0; v < 5; v++)
        c.values[v] = (model_value){.number = v < 2 ? v : 1U << (v - 1), .n_sets = n[v]};
    return c;
}

typedef struct values {
    uint32_t n[6]; /* of the five, and none */
} values;

static values keep(const values *own, uint32_t k)
{
    const model_condition of = numbers();
    uint32_t all[MODEL_VALUES] = {0};
    values out;
    for (uint32_t v = 0; v < 5; v++)
        all[v] = own->n[v];
    all[MODEL_ABSENT] = own->n[5];
    model_values_keep(all, &of, 400, k);
    for (uint32_t v = 0; v < 5; v++)
        out.n[v] = all[v];
    out.n[5] = all[MODEL_ABSENT];
    return out;
}

static void counts_are_told_no_finer_than_they_pay_for(void **state)
{
    (void)state;
    static const struct {
        values own, told;
    } cases[] = {
        /* by chance: as in all sets */
        {{{2, 0, 3, 3, 1, 1}}, {{1, 1, 3, 2, 2, 1}}},
        /* all have more than one, how many is chance: as in all such sets */
        {{{0, 0, 10, 8, 10, 0}}, {{0, 0, 10, 10, 8, 0}}},
        /* all have 8 */
        {{{0, 0, 0, 0, 40, 0}}, {{0, 0, 0, 0, 40, 0}}},
        /* one has none: nothing is said about it */
        {{{0, 0, 0, 0, 40, 1}}, {{0, 0, 0, 0, 41, 0}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const values told = keep(&cases[i].own, 5);
        assert_memory_equal(told.n, cases[i].told.n, sizeof told.n);
    }
}

static void all_is_told_where_all_may_be_known(void **state)
{
    (void)state;
    const values own = {{2, 0, 3, 3, 1, 1}};
    const values told = keep(&own, 1);
    assert_memory_equal(told.n, own.n, sizeof own.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_told_no_finer_than_they_pay_for),
        cmocka_unit_test(all_is_told_where_all_may_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
