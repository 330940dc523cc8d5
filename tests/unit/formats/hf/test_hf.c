/* Hugging Face configurations: parameters to the last one, defaults, refusals. The texts
 * hold the sizes of published models, which are facts; the counts are those of the
 * published weights. */
#include "halley/model.h"
#include "hf/hf_model.h"
#include "hf/json_text.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

typedef struct outcome {
    halley_status status;
    halley_model model;
    halley_import *import;
    halley_error err;
} outcome;

static outcome read_text(const char *text)
{
    outcome o = {.import = import_new("Hugging Face configuration")};
    conf_file file;
    o.status = import_json_parse(&file, str_from(text), "config.json", &o.err);
    if (o.status == HALLEY_OK) {
        o.status = import_hf_read(&o.model, o.import, &file, &o.err);
        conf_fini(&file);
    }
    return o;
}

static void expect_params(const char *text, double all, double active)
{
    outcome o = read_text(text);
    if (o.status != HALLEY_OK)
        fail_msg("%s: %s", text, o.err.text);
    if (halley_model_params(&o.model) != all)
        fail_msg("%.60s: %.0f parameters, not %.0f", text, halley_model_params(&o.model),
                 all);
    if (halley_model_active_params(&o.model) != active)
        fail_msg("%.60s: %.0f active parameters, not %.0f", text,
                 halley_model_active_params(&o.model), active);
    halley_import_free(o.import);
}

static bool has_entry(const halley_import *import, halley_import_list list,
                      const char *key)
{
    for (uint32_t i = 0; i < halley_import_count(import); i++)
        if (halley_import_get(import, i).list == list &&
            strcmp(halley_import_get(import, i).key, key) == 0)
            return true;
    return false;
}

static const char llama3_8b[] =
    "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"
    "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
    "\"vocab_size\":128256,\"max_position_embeddings\":131072,"
    "\"rope_scaling\":{\"original_max_position_embeddings\":8192}}";

static void counts_are_those_of_the_published_weights(void **state)
{
    (void)state;
    expect_params(llama3_8b, 8030261248, 8030261248);
    /* one key-value head whatever num_kv_heads says; tied; one norm */
    expect_params("{\"model_type\":\"falcon\",\"hidden_size\":4544,"
                  "\"num_hidden_layers\":32,\"num_attention_heads\":71,"
                  "\"num_kv_heads\":71,\"vocab_size\":65024,\"multi_query\":true,"
                  "\"parallel_attn\":true,\"bias\":false}",
                  6921720704, 6921720704);
    /* head size is not hidden / heads; experts; norm of q and k */
    expect_params("{\"model_type\":\"qwen3_moe\",\"hidden_size\":2048,"
                  "\"num_hidden_layers\":48,\"num_attention_heads\":32,"
                  "\"num_key_value_heads\":4,\"head_dim\":128,\"vocab_size\":151936,"
                  "\"intermediate_size\":6144,\"moe_intermediate_size\":768,"
                  "\"num_experts\":128,\"num_experts_per_tok\":8}",
                  30532122624, 3353032704);
    /* learned positions, biases, tied by family */
    expect_params("{\"model_type\":\"gpt2\",\"n_embd\":1600,\"n_layer\":48,"
                  "\"n_head\":25,\"n_positions\":1024,\"vocab_size\":50257}",
                  1557611200, 1557611200);
    /* an encoder */
    expect_params("{\"model_type\":\"bert\",\"hidden_size\":1024,"
                  "\"num_hidden_layers\":24,\"num_attention_heads\":16,"
                  "\"intermediate_size\":4096,\"vocab_size\":30522,"
                  "\"max_position_embeddings\":512,\"type_vocab_size\":2}",
                  335141888, 335141888);
    /* a diffusion transformer */
    expect_params("{\"_class_name\":\"DiTTransformer2DModel\","
                  "\"num_attention_heads\":16,\"attention_head_dim\":72,"
                  "\"num_layers\":28,\"in_channels\":4,\"out_channels\":8,"
                  "\"sample_size\":32,\"patch_size\":2,\"num_embeds_ada_norm\":1000}",
                  675129632, 675129632);
}

static void absent_takes_the_default_and_null_means_none(void **state)
{
    (void)state;
    outcome absent = read_text("{\"model_type\":\"mistral\"}");
    assert_int_equal(absent.status, HALLEY_OK);
    assert_int_equal(absent.model.window, 4096);
    assert_true(halley_model_params(&absent.model) == 7241732096);
    assert_true(has_entry(absent.import, HALLEY_IMPORT_ASSUMED, "sliding_window"));
    halley_import_free(absent.import);
    outcome none = read_text("{\"model_type\":\"mistral\",\"sliding_window\":null}");
    assert_int_equal(none.status, HALLEY_OK);
    assert_int_equal(none.model.window, 0);
    halley_import_free(none.import);
}

static void keys_without_influence_change_nothing(void **state)
{
    (void)state;
    outcome o = read_text("{\"model_type\":\"llama\",\"hidden_act\":\"relu\","
                          "\"torch_dtype\":\"float16\",\"frobnicate\":7,"
                          "\"time_step_limit\":[0.0,Infinity],\"x\":NaN}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_true(halley_model_params(&o.model) ==
                6738415616); /* Llama 2 7B, all default */
    assert_true(has_entry(o.import, HALLEY_IMPORT_UNKNOWN, "frobnicate"));
    assert_true(has_entry(o.import, HALLEY_IMPORT_IGNORED, "torch_dtype"));
    halley_import_free(o.import);
}

static void the_longest_context_is_not_the_training_sequence(void **state)
{
    (void)state;
    outcome o = read_text(llama3_8b);
    assert_int_equal(o.status, HALLEY_OK);
    assert_int_equal(o.model.seq, 8192);
    assert_true(has_entry(o.import, HALLEY_IMPORT_ASSUMED, "seq"));
    halley_import_free(o.import);
}

static void the_type_may_come_from_the_architecture(void **state)
{
    (void)state;
    outcome o = read_text("{\"architectures\":[\"LlamaForCausalLM\"]}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_true(halley_model_params(&o.model) == 6738415616);
    halley_import_free(o.import);
}

static void recurrent_layers_are_counted_and_described(void **state)
{
    (void)state;
    outcome o = read_text("{\"model_type\":\"mamba\",\"hidden_size\":2560,"
                          "\"num_hidden_layers\":64,\"vocab_size\":50280,"
                          "\"state_size\":16,\"intermediate_size\":5120,"
                          "\"conv_kernel\":4,\"time_step_rank\":160}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_true(halley_model_params(&o.model) == 2768345600);
    assert_int_equal(halley_model_check_timed(&o.model, NULL), HALLEY_OK);
    assert_int_equal(o.model.recurrent.mixer, HALLEY_MIXER_MAMBA);
    assert_int_equal(o.model.recurrent.layers, 64);
    halley_import_free(o.import);
}

static void layers_that_cannot_be_timed_are_counted_and_named(void **state)
{
    (void)state;
    outcome o = read_text("{\"model_type\":\"t5\",\"d_model\":512}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_true(halley_model_params(&o.model) == 60506624); /* t5-small */
    halley_error err = {0};
    assert_int_equal(halley_model_check_timed(&o.model, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "an encoder and a decoder"));
    halley_import_free(o.import);
}

static void what_cannot_be_read_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"model_type\":\"kimi_k3\"}", "kimi_k3\" is not known; nearest: kimi_k2"},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":0}", "num_hidden_layers"},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":-1}", "num_hidden_layers"},
        {"{\"model_type\":\"llama\",\"hidden_size\":1.5}", "hidden_size"},
        {"{\"model_type\":\"llama\",\"hidden_size\":NaN}", "hidden_size"},
        {"{\"model_type\":\"llama\",\"hidden_size\":\"big\"}", "hidden_size"},
        {"{\"model_type\":\"llama\",\"tie_word_embeddings\":3}", "tie_word_embeddings"},
        {"{\"model_type\":\"mixtral\",\"num_local_experts\":2,"
         "\"num_experts_per_tok\":4}",
         "experts per token"},
        {"{\"model_type\":\"gemma3_text\",\"layer_types\":[\"full_attention\"]}",
         "layer_types"},
        {"{\"model_type\":\"nemotron_h\",\"num_hidden_layers\":2,"
         "\"hybrid_override_pattern\":\"MX\"}",
         "unknown kind of layer at place 2"},
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":999999999}", "layers"},
        {"{\"weight_map\":{}}", "index of weight files"},
        {"{\"peft_type\":\"LORA\"}", "adapter"},
        {"{\"tokenizer_class\":\"X\"}", "tokenizer"},
        {"{\"dim\":4096,\"n_layers\":32}", "Meta"},
        {"{}", "has no model_type"},
        {"{\"_class_name\":\"UNet2DConditionModel\"}", "UNet2DConditionModel"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = read_text(cases[i].text);
        if (o.status == HALLEY_OK || strstr(o.err.text, cases[i].part) == NULL)
            fail_msg("%s: %s", cases[i].text, o.err.text);
        halley_import_free(o.import);
    }
}

#define MOE                                                                              \
    "{\"model_type\":\"deepseek_v3\",\"hidden_size\":64,\"num_hidden_layers\":4,"        \
    "\"n_routed_experts\":16,\"n_group\":8,\"topk_group\":"

static void what_changes_time_without_weights_is_read(void **state)
{
    (void)state;
    outcome o = read_text(MOE "4}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_int_equal(o.model.router_groups, 8);
    assert_int_equal(o.model.router_top_groups, 4);
    halley_import_free(o.import);
    o = read_text(MOE "8}"); /* every group: no limit */
    assert_int_equal(o.status, HALLEY_OK);
    assert_int_equal(o.model.router_groups, 0);
    halley_import_free(o.import);
    o = read_text("{\"model_type\":\"gpt_oss\"}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_true(o.model.sinks);
    halley_import_free(o.import);
    static const struct {
        const char *text;
        bool parallel;
    } cases[] = {{"{\"model_type\":\"gptj\"}", true},
                 {"{\"model_type\":\"gpt_neox\"}", true},
                 {"{\"model_type\":\"gpt_neox\",\"use_parallel_residual\":false}", false},
                 {"{\"model_type\":\"cohere2\"}", true},
                 {"{\"model_type\":\"llama\"}", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o = read_text(cases[i].text);
        assert_int_equal(o.status, HALLEY_OK);
        assert_int_equal(o.model.parallel_block, cases[i].parallel);
        halley_import_free(o.import);
    }
}

static void one_number_per_layer_must_be_one_number(void **state)
{
    (void)state;
    const double h = 64, layer = 2 * h + 4 * h * h + 2 * 16 + 5 * 3 * h * 32 + 4 * h;
    expect_params("{\"model_type\":\"hunyuan_v1_moe\",\"hidden_size\":64,"
                  "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"vocab_size\":100,"
                  "\"intermediate_size\":32,\"num_experts\":4,\"moe_topk\":[2,2],"
                  "\"moe_intermediate_size\":[32,32],\"tie_word_embeddings\":true}",
                  100 * h + h + 2 * layer, 100 * h + h + 2 * (layer - 2 * 3 * h * 32));
    outcome o = read_text("{\"model_type\":\"hunyuan_v1_moe\",\"num_experts\":4,"
                          "\"moe_topk\":[2,1]}");
    assert_int_not_equal(o.status, HALLEY_OK);
    assert_non_null(strstr(o.err.text, "moe_topk differs between layers"));
    halley_import_free(o.import);
}

static void a_list_of_layers_says_how_many_there_are(void **state)
{
    (void)state;
    outcome o = read_text("{\"model_type\":\"nemotron_h\",\"layers_block_type\":"
                          "[\"mamba\",\"moe\",\"attention\"]}");
    assert_int_equal(o.status, HALLEY_OK);
    assert_int_equal(o.model.layers, 3);
    halley_import_free(o.import);
    o = read_text("{\"model_type\":\"glm_moe_dsa\",\"num_hidden_layers\":2,"
                  "\"layer_types\":[\"deepseek_sparse_attention\",\"full_attention\"]}");
    assert_int_equal(o.status, HALLEY_OK);
    halley_import_free(o.import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_time_without_weights_is_read),
        cmocka_unit_test(one_number_per_layer_must_be_one_number),
        cmocka_unit_test(a_list_of_layers_says_how_many_there_are),
        cmocka_unit_test(counts_are_those_of_the_published_weights),
        cmocka_unit_test(absent_takes_the_default_and_null_means_none),
        cmocka_unit_test(keys_without_influence_change_nothing),
        cmocka_unit_test(the_longest_context_is_not_the_training_sequence),
        cmocka_unit_test(the_type_may_come_from_the_architecture),
        cmocka_unit_test(recurrent_layers_are_counted_and_described),
        cmocka_unit_test(layers_that_cannot_be_timed_are_counted_and_named),
        cmocka_unit_test(what_cannot_be_read_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
