/* Hybrids: layers that carry a state. Operators are compared with counts made the slow
 * way, by walking the loops of the published algorithms; sizes are those of published
 * models. */
#include "halley/error_bar.h"
#include "halley/estimate.h"
#include "halley/model.h"
#include "unit.h"
#include "workload/ops.h"
#include "workload/recurrent.h"
#include "workload/states.h"

#include <math.h>
#include <string.h>

static void assert_near(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%g is not %g", a, b);
}

/* A small model whose layers are all of one kind. */
static halley_model make_model(halley_mixer mixer)
{
    halley_model m = {.layers = 4,
                      .hidden = 64,
                      .vocab = 512,
                      .seq = 64,
                      .mixed = true,
                      .recurrent = {.mixer = mixer,
                                    .layers = 4,
                                    .heads = 8,
                                    .groups = 4,
                                    .key_dim = 16,
                                    .value_dim = 8,
                                    .conv = 4,
                                    .chunk = 16}};
    strcpy(m.name, "small");
    if (mixer == HALLEY_MIXER_MAMBA)
        m.recurrent = (halley_recurrent){.mixer = mixer,
                                         .layers = 4,
                                         .heads = 128,
                                         .groups = 1,
                                         .key_dim = 16,
                                         .value_dim = 1,
                                         .conv = 4,
                                         .dt_rank = 4,
                                         .chunk = 1};
    if (mixer == HALLEY_MIXER_LIGHTNING) {
        m.recurrent.groups = 8;
        m.recurrent.key_dim = 8;
        m.recurrent.conv = 0;
    }
    assert_int_equal(halley_model_check(&m, NULL), HALLEY_OK);
    return m;
}

/* Multiply-adds of an m x k by k x n matmul, one by one. */
static double walk_matmul(uint32_t m, uint32_t n, uint32_t k)
{
    double flops = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t x = 0; x < k; x++)
                flops += 2;
    return flops;
}

/* The mixer of a layer, token by token and chunk by chunk, without projections. */
static double walk_mixer(const halley_recurrent *r, uint32_t tokens)
{
    const uint32_t q = r->chunk, n = r->key_dim, p = r->value_dim;
    double flops = 0;
    if (r->mixer == HALLEY_MIXER_MAMBA) { /* 9 per token, channel and state */
        for (uint32_t t = 0; t < tokens; t++)
            for (uint32_t c = 0; c < r->heads; c++)
                for (uint32_t s = 0; s < n; s++)
                    flops += 3 /* discretize */ + 1 /* exp */ + 3 /* step */ + 2 /* y */;
        return flops;
    }
    for (uint32_t first = 0; first < tokens; first += q) {
        for (uint32_t g = 0; g < r->groups && r->mixer == HALLEY_MIXER_MAMBA2; g++)
            flops += walk_matmul(q, q, n); /* C B' */
        for (uint32_t h = 0; h < r->heads; h++) {
            if (r->mixer != HALLEY_MIXER_MAMBA2)
                flops += walk_matmul(q, q, n); /* Q K' */
            flops += walk_matmul(q, p, q);     /* scores times values */
            flops += walk_matmul(n, p, q);     /* the chunk's share of the state */
            flops += walk_matmul(q, p, n);     /* queries times state */
            if (r->mixer != HALLEY_MIXER_DELTA_NET)
                continue;
            flops += walk_matmul(q, q, n);                        /* K K' */
            flops += walk_matmul(q, p, n);                        /* W S */
            flops += walk_matmul(q, n, q) + walk_matmul(q, p, q); /* W, U */
        }
    }
    return flops;
}

static workload_layer make_layer(const halley_model *m, uint32_t tp, uint32_t seq)
{
    halley_stack stack;
    halley_stack_default(&stack);
    halley_plan p = {.tp = tp,
                     .pp = 1,
                     .cp = 1,
                     .dp = 1,
                     .ep = 1,
                     .etp = 1,
                     .micro_batch = 1,
                     .virtual_stages = 1,
                     .seq = seq};
    workload_layer l = {0};
    const workload_shape s = workload_shape_make(m, &p, &stack);
    workload_layer_make(&l, m, &p, &stack, &s, m->experts > 0);
    return l;
}

static double sum_mixer(const workload_layer *l)
{
    double flops = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const workload_op *op = &l->ops[i];
        if (op->part == WORKLOAD_PART_MIXER && op->kind != WORKLOAD_GEMM &&
            strcmp(op->name, "short convolution") != 0 &&
            strcmp(op->name, "state passing") != 0 &&
            strcmp(op->name, "triangular inverse") != 0)
            flops += op->flops * (op->repeat > 0 ? op->repeat : 1);
    }
    return flops;
}

static void operators_have_the_flops_of_the_published_loops(void **state)
{
    (void)state;
    for (int i = HALLEY_MIXER_MAMBA; i < HALLEY_N_MIXERS; i++) {
        const halley_model m = make_model((halley_mixer)i);
        const workload_layer l = make_layer(&m, 1, 64);
        assert_near(sum_mixer(&l), walk_mixer(&m.recurrent, 64), 1);
    }
}

/* Dao and Gu 2024, section 6.3: with Q = N = P one head has four batched matmuls of T N^2
 * multiply-adds each. */
static void mamba2_with_equal_sizes_has_four_matmuls_of_t_n_squared(void **state)
{
    (void)state;
    halley_model m = make_model(HALLEY_MIXER_MAMBA2);
    m.recurrent.heads = m.recurrent.groups = 1;
    m.recurrent.key_dim = m.recurrent.value_dim = m.recurrent.chunk = 32;
    const workload_layer l = make_layer(&m, 1, 256);
    assert_near(sum_mixer(&l), 2 * 4 * 256.0 * 32 * 32, 1);
}

/* Gu and Dao 2023, section 3.3.2: the fused scan moves what is linear in tokens and
 * channels, N times less than the states would be. */
static void the_scan_does_not_move_its_states(void **state)
{
    (void)state;
    const halley_model m = make_model(HALLEY_MIXER_MAMBA);
    const workload_layer l = make_layer(&m, 1, 64);
    for (uint32_t i = 0; i < l.n; i++)
        if (strcmp(l.ops[i].name, "selective scan") == 0) {
            const double states = 64.0 * 128 * 16 * 2;
            assert_true(l.ops[i].bytes_f < states * 4 / 16 * 1.1);
            assert_true(l.ops[i].bytes_f >= 64.0 * 128 * 2 * 3); /* x, step, result */
            assert_true(l.ops[i].flops_b > 2 * l.ops[i].flops);
            return;
        }
    fail_msg("no scan");
}

static void tensor_parallelism_cuts_all_but_what_groups_share(void **state)
{
    (void)state;
    for (int i = HALLEY_MIXER_MAMBA; i < HALLEY_N_MIXERS; i++) {
        const halley_model m = make_model((halley_mixer)i);
        const workload_layer whole = make_layer(&m, 1, 64), cut = make_layer(&m, 4, 64);
        assert_near(4 * sum_mixer(&cut), sum_mixer(&whole), 1);
        assert_true(cut.weights < whole.weights / 2);
        assert_true(cut.weights > whole.weights / 4.001);
    }
}

/* Time is linear in the sequence; that of attention is not. */
static void mixers_are_linear_in_the_sequence(void **state)
{
    (void)state;
    for (int i = HALLEY_MIXER_MAMBA; i < HALLEY_N_MIXERS; i++) {
        const halley_model m = make_model((halley_mixer)i);
        const workload_layer one = make_layer(&m, 1, 64), two = make_layer(&m, 1, 128);
        assert_near(2 * sum_mixer(&one), sum_mixer(&two), 1);
        assert_near(halley_model_step_flops(&m, 1, 128),
                    2 * halley_model_step_flops(&m, 1, 64),
                    halley_model_step_flops(&m, 1, 64) * 1e-9);
    }
}

/* Weights of the operators of a rank are what the count of parameters says. */
static void layers_hold_their_parameters(void **state)
{
    (void)state;
    for (int i = HALLEY_MIXER_MAMBA; i < HALLEY_N_MIXERS; i++) {
        const halley_model m = make_model((halley_mixer)i);
        const workload_layer l = make_layer(&m, 1, 64);
        const double mixer = workload_recurrent_params(&m.recurrent, m.hidden);
        assert_near(l.weights, mixer + 2 * m.hidden, 1);
    }
}

/* The average layer of a hybrid times its layers is the sum of its layers. */
static void a_hybrid_is_the_sum_of_its_layers(void **state)
{
    (void)state;
    halley_model pure = make_model(HALLEY_MIXER_MAMBA2), plain = pure, mixed = pure;
    plain.mixed = false;
    plain.recurrent = (halley_recurrent){0};
    plain.heads = 8;
    plain.ffn = 256;
    assert_int_equal(halley_model_check(&plain, NULL), HALLEY_OK);
    mixed.heads = 8;
    mixed.ffn = 256;
    mixed.attention_layers = 1;
    mixed.ffn_layers = 1;
    mixed.recurrent.layers = 3;
    assert_int_equal(halley_model_check(&mixed, NULL), HALLEY_OK);
    const workload_layer a = make_layer(&plain, 1, 64), b = make_layer(&pure, 1, 64),
                         c = make_layer(&mixed, 1, 64);
    assert_near(4 * c.weights, a.weights + 3 * b.weights, 1);
    assert_near(4 * sum_mixer(&c), 3 * sum_mixer(&b), 1);
}

static halley_model load_hybrid(const char *text)
{
    halley_model m;
    halley_error err = {0};
    if (halley_model_parse(&m, NULL, text, strlen(text), "config.json", &err) !=
        HALLEY_OK)
        fail_msg("%s", err.text);
    return m;
}

static const char jamba[] = /* 1.5 Large: 398 B, 94 B active (model card) */
    "{\"model_type\":\"jamba\",\"hidden_size\":8192,\"intermediate_size\":24576,"
    "\"num_hidden_layers\":72,\"num_attention_heads\":64,\"num_key_value_heads\":8,"
    "\"num_experts\":16,\"num_experts_per_tok\":2,\"vocab_size\":65536,"
    "\"attn_layer_period\":8,\"attn_layer_offset\":4,\"expert_layer_period\":2,"
    "\"expert_layer_offset\":1,\"mamba_d_state\":16,\"mamba_d_conv\":4,"
    "\"mamba_expand\":2,\"mamba_dt_rank\":512,\"tie_word_embeddings\":false}";

static void jamba_is_timed_as_what_it_is(void **state)
{
    (void)state;
    const halley_model m = load_hybrid(jamba);
    assert_int_equal(m.attention_layers, 9);
    assert_int_equal(m.recurrent.layers, 63);
    assert_int_equal(m.ffn_layers, 36);
    assert_int_equal(m.expert_layers, 36);
    assert_true(m.untimed[0] == '\0');
    assert_near(halley_model_params(&m), 398e9, 2e9);
    assert_near(halley_model_active_params(&m), 94e9, 1e9);
    /* Nearly all parameters of a token are multiplied once. */
    const double flops = halley_model_step_flops(&m, 1, 4096) / 4096 / 6;
    assert_near(flops, halley_model_active_params(&m), 3e9);
    assert_true(fabs(m.extra_params) < 0.001 * halley_model_params(&m));
}

static void a_step_with_unmeasured_layers_says_so(void **state)
{
    (void)state;
    const halley_model m = load_hybrid(jamba);
    halley_cluster *c;
    halley_stack stack;
    halley_error err = {0};
    halley_stack_default(&stack);
    assert_int_equal(halley_cluster_load(&c, "dgx-h100:256", &err), HALLEY_OK);
    halley_plan p = {.tp = 8, .pp = 8, .dp = 4, .global_batch = 64, .seq = 4096};
    if (halley_plan_check(&p, &m, 256, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate e;
    halley_estimate_run(&e, &m, &p, c, &stack);
    assert_true(isfinite(e.step_s) && e.step_s > 0);
    halley_error_bar bar;
    char text[HALLEY_ERROR_BAR_TEXT];
    assert_int_equal(halley_error_bar_find(&bar, &m, &p, c, &stack, NULL, &err),
                     HALLEY_OK);
    halley_error_bar_print(text, &bar);
    assert_non_null(strstr(text, "No measured run of this layer kind: Mamba layers"));
    assert_false(bar.measured);
    halley_cluster_free(c);
}

static void tp_and_cp_must_divide_the_heads_of_recurrent_layers(void **state)
{
    (void)state;
    halley_error err = {0};
    halley_model m = make_model(HALLEY_MIXER_MAMBA2);
    halley_plan p = {.tp = 3};
    assert_int_equal(halley_plan_check(&p, &m, 0, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "tp 3 does not divide 8 heads; nearest 2, 4"));
    p = (halley_plan){.tp = 4, .cp = 4};
    assert_int_equal(halley_plan_check(&p, &m, 0, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "cp 4 does not divide the 2 heads"));
}

static void contradicting_layers_are_refused(void **state)
{
    (void)state;
    halley_error err = {0};
    halley_model m = make_model(HALLEY_MIXER_MAMBA2);
    m.attention_layers = 1; /* and four others, of four */
    assert_int_equal(halley_model_check(&m, &err), HALLEY_EINVAL);
    m = make_model(HALLEY_MIXER_DELTA_NET);
    m.recurrent.value_dim = 0;
    assert_int_equal(halley_model_check(&m, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "gated delta-net layers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_have_the_flops_of_the_published_loops),
        cmocka_unit_test(mamba2_with_equal_sizes_has_four_matmuls_of_t_n_squared),
        cmocka_unit_test(the_scan_does_not_move_its_states),
        cmocka_unit_test(tensor_parallelism_cuts_all_but_what_groups_share),
        cmocka_unit_test(mixers_are_linear_in_the_sequence),
        cmocka_unit_test(layers_hold_their_parameters),
        cmocka_unit_test(a_hybrid_is_the_sum_of_its_layers),
        cmocka_unit_test(jamba_is_timed_as_what_it_is),
        cmocka_unit_test(a_step_with_unmeasured_layers_says_so),
        cmocka_unit_test(tp_and_cp_must_divide_the_heads_of_recurrent_layers),
        cmocka_unit_test(contradicting_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
