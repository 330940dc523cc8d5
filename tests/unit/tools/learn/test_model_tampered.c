/* Models that somebody changed: refused, or of use. The hash of the file is right. */
#include "folder.h"
#include "halley/learn.h"
#include "learn/model/model.h"
#include "unit.h"

#include <math.h>

static int set_up(void **state)
{
    const halley_learn_opts opts = {.min_support = 2};
    const char *const from = ".";
    if (folder_enter(state) != 0)
        return -1;
    for (uint32_t i = 0; i < 8; i++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "toy-%u", i);
        folder_transformer(prefix, 4 + 2 * i);
    }
    return halley_learn("M.hsm", &from, 1, &opts, NULL, NULL) == HALLEY_OK ? 0 : -1;
}

static void no_change(synth_model *m)
{
    (void)m;
}

/* Each was found by the fuzzer to take minutes, to crash or to read beyond an array. */
static void endless_stages(synth_model *m)
{
    const uint32_t law = map64_find(&m->law_of, synth_set_law_key(0, FIELD_STAGES));
    assert_int_not_equal(law, HASH_NONE);
    m->laws.at[law].coefficient[FEATURE_ONE] = 40;
}

static void no_fields(synth_model *m)
{
    for (size_t i = 0; i < m->ops.n; i++)
        m->ops.at[i].n_fields = 0;
}

static void distance_of_an_operator(synth_model *m)
{
    m->refs.at[0] = (model_ref){.kind = REF_BACK, .n = 1, .op = 4000000000U};
}

static void loops_that_run_less_than_never(synth_model *m)
{
    for (size_t i = 0; i < m->loops.n; i++)
        m->loops.at[i].exact =
            (model_count_law){.plus = -1e300, .n_terms = 2, .is_found = 1};
}

static void factor_that_is_not_there(synth_model *m)
{
    m->loops.at[0].exact.factor[1][2] = MODEL_FACTORS;
}

static void three_terms(synth_model *m)
{
    m->loops.at[0].exact.n_terms = 3;
}

static void no_number(synth_model *m)
{
    m->loops.at[0].exact.times[0] = NAN;
}

static void loop_that_is_not_there(synth_model *m)
{
    m->loop_ids.at[0] = (uint32_t)m->loops.n;
}

/* A token of a side node, one of many before an operator, and who has it. */
static uint32_t add_side(synth_model *m)
{
    const model_ref next = {.kind = REF_NEXT, .n = UINT16_MAX};
    const uint32_t token = synth_token_add(m, 0, &next, 1);
    assert_int_not_equal(token, MODEL_NONE);
    assert_true(array_push(&m->sides, (model_side){0, token, 1, 0}));
    return token;
}

static void nodes_that_nothing_waits_for(synth_model *m)
{
    (void)add_side(m);
}

static void program_of_side_nodes(synth_model *m)
{
    m->symbols.at[0] = add_side(m);
}

static void side_of_a_program_that_is_not_there(synth_model *m)
{
    (void)add_side(m);
    m->sides.at[m->sides.n - 1].skeleton = (uint32_t)m->skeletons.n;
}

static void side_in_more_sets_than_there_are(synth_model *m)
{
    (void)add_side(m);
    m->sides.at[m->sides.n - 1].n_sets = UINT32_MAX;
}

static void side_as_part_of_the_program(synth_model *m)
{
    assert_true(array_push(&m->sides, (model_side){0, m->symbols.at[0], 1, 0}));
}

/* Any end will do, if there is one. */
static void make_some(const halley_synth *synth, halley_status expected)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        halley_trace_set *set = NULL;
        const halley_synth_opts opts = {.seed = seed, .n_ranks = 4};
        const halley_status status = halley_synth_make(&set, synth, &opts, NULL, NULL);
        assert_true(status == HALLEY_OK || expected != HALLEY_OK);
        if (status == HALLEY_OK)
            halley_trace_set_free(set);
    }
}

static void tampered_models_are_refused_or_of_use(void **state)
{
    static const struct {
        void (*change)(synth_model *);
        bool loads, makes;
    } cases[] = {
        {no_change, true, true},
        {endless_stages, true, false},
        {no_fields, true, false},
        {distance_of_an_operator, false, false},
        {loops_that_run_less_than_never, true, false},
        {factor_that_is_not_there, false, false},
        {three_terms, false, false},
        {no_number, false, false},
        {loop_that_is_not_there, false, false},
        {nodes_that_nothing_waits_for, true, true},
        {program_of_side_nodes, false, false},
        {side_of_a_program_that_is_not_there, false, false},
        {side_in_more_sets_than_there_are, false, false},
        {side_as_part_of_the_program, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        synth_model m;
        halley_synth *synth = NULL;
        assert_int_equal(synth_model_load(&m, "M.hsm", NULL), HALLEY_OK);
        assert_true(m.loops.n > 0 && m.refs.n > 0 && m.laws.n > 0);
        cases[i].change(&m);
        assert_int_equal(synth_model_save(&m, "T.hsm", NULL), HALLEY_OK);
        synth_model_fini(&m);
        const halley_status status = halley_synth_load(&synth, "T.hsm", NULL);
        assert_int_equal(status == HALLEY_OK, cases[i].loads);
        if (status != HALLEY_OK)
            continue;
        make_some(synth, cases[i].makes ? HALLEY_OK : HALLEY_EINVAL);
        halley_synth_free(synth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tampered_models_are_refused_or_of_use, set_up,
                                        folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
