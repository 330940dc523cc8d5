/* Sets of a folder that are drawn together. */
#include "learn/sample/sample.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { N_SETS = 100, N_FOLDERS = 400 };

/* Two families of 3 to 1, and sizes from 1 to 8: one in 30 and one in 4 has the largest,
 * all others are equally many. The time of a set is its size to the fourth. */
#define MEAN (0.75 * (4096 + 29 * (1 + 16 + 256) / 3.0) / 30 + 0.25 * (4096 + 273) / 4)
static void make_model(synth_model *m)
{
    assert_int_equal(synth_model_init(m, NULL), HALLEY_OK);
    model_condition family = {.n_sets = 400, .n_values = 2, .is_text = 1};
    model_condition size = {.n_sets = 400, .n_values = 4, .feature = FEATURE_CONDITIONS};
    family.name = synth_text_add(m, STR("family"));
    size.name = synth_text_add(m, STR("size"));
    for (uint32_t v = 0; v < 2; v++)
        family.values[v] =
            (model_value){.text = synth_text_add(m, v == 0 ? STR("few") : STR("many")),
                          .n_sets = 200,
                          .feature = MODEL_NONE};
    for (uint32_t v = 0; v < 4; v++)
        size.values[v] = (model_value){
            .number = exp2(v), .n_sets = 100, .text = MODEL_NONE, .feature = MODEL_NONE};
    assert_true(array_push(&m->conditions, family) && array_push(&m->conditions, size));
    model_law law = {.key = synth_set_law_key(0, FIELD_TIME), .n_sets = 400};
    law.coefficient[FEATURE_CONDITIONS] = 4;
    assert_true(array_push(&m->laws, law));
    assert_true(map64_set(&m->law_of, law.key, 0));
    joint_row rows[400];
    for (uint32_t i = 0; i < 400; i++) {
        for (uint32_t c = 0; c < JOINT_COLUMNS; c++)
            rows[i].value[c] = MODEL_ABSENT;
        rows[i].value[0] = i % 4 == 0;
        rows[i].value[1] = i % 4 == 0 ? i / 4 % 4 : i % 40 == 1 ? 3 : i % 3;
    }
    assert_true(joint_grow(m, rows, 400, 5, false));
}

static double time_of(const joint_row *row)
{
    return exp2(4.0 * row->value[1]);
}

static void shares_and_sums_are_those_of_the_model(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[N_SETS];
    make_model(&m);
    double sum = 0, square = 0, alone = 0;
    for (uint64_t seed = 0; seed < N_FOLDERS; seed++) {
        uint32_t n_many = 0;
        double time = 0;
        assert_int_equal(sample_plan(rows, N_SETS, &m, seed, 1, NULL), HALLEY_OK);
        for (uint32_t i = 0; i < N_SETS; i++) {
            n_many += rows[i].value[0] == 1;
            time += time_of(&rows[i]) / N_SETS;
            alone += time_of(&rows[i]) * time_of(&rows[i]) / N_SETS / N_FOLDERS;
        }
        assert_in_range(n_many, 24, 26);
        sum += time / N_FOLDERS;
        square += time * time / N_FOLDERS;
    }
    const double by_chance = (alone - sum * sum) / N_SETS;
    assert_true(fabs(sum / MEAN - 1) < 0.01);
    assert_true(square - sum * sum < 0.05 * by_chance);
    synth_model_fini(&m);
}

static void each_set_by_itself_is_a_draw_from_the_model(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[N_SETS];
    double mean = 0, share = 0;
    make_model(&m);
    for (uint64_t seed = 0; seed < 10 * N_FOLDERS; seed++) {
        assert_int_equal(sample_plan(rows, 3, &m, seed, 1, NULL), HALLEY_OK);
        mean += time_of(&rows[0]) / (10 * N_FOLDERS);
        share += (rows[0].value[0] == 1) / (10.0 * N_FOLDERS);
    }
    /* By chance alone the mean moves by 4 %, the share by 0.007. */
    assert_true(fabs(mean / MEAN - 1) < 0.15);
    assert_true(fabs(share - 0.25) < 0.025);
    synth_model_fini(&m);
}

static void the_same_seed_gives_the_same_sets_with_any_threads(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[3][N_SETS];
    make_model(&m);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sample_plan(rows[i], N_SETS, &m, i == 2 ? 8 : 7, i + 1, NULL),
                         HALLEY_OK);
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    assert_true(memcmp(rows[0], rows[2], sizeof rows[0]) != 0);
    synth_model_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_and_sums_are_those_of_the_model),
        cmocka_unit_test(each_set_by_itself_is_a_draw_from_the_model),
        cmocka_unit_test(the_same_seed_gives_the_same_sets_with_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
