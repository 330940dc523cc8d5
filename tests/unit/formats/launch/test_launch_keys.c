/* Keys of launch files that change time or memory: each is read, or refused by name. */
#include "halley/launch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_launch *read_named(const char *text, const char *name)
{
    halley_launch *l = NULL;
    halley_error err = {0};
    if (halley_launch_parse(&l, text, strlen(text), name, NULL, &err) != HALLEY_OK)
        fail_msg("%s\n%.500s", err.text, text);
    return l;
}

static void expect_key(const halley_launch *l, halley_plan_key key, const char *wanted)
{
    const char *got = halley_launch_value(l, key);
    if (got == NULL || strcmp(got, wanted) != 0)
        fail_msg("key %d is %s, not %s", (int)key, got != NULL ? got : "absent", wanted);
}

static void expect_read(const char *text, const char *name, halley_plan_key key,
                        const char *wanted)
{
    halley_launch *l = read_named(text, name);
    expect_key(l, key, wanted);
    halley_launch_free(l);
}

static void expect_refused(const char *text, const char *name, const char *words)
{
    halley_launch *l = NULL;
    halley_error err = {0};
    if (halley_launch_parse(&l, text, strlen(text), name, NULL, &err) == HALLEY_OK) {
        halley_launch_free(l);
        fail_msg("not refused: %s", text);
    }
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

#define TITAN "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"

static void older_torchtitan_files_state_their_degrees_elsewhere(void **state)
{
    (void)state;
    static const char text[] =
        TITAN "[training]\nbatch_size = 8\ntensor_parallel_degree = 4\n"
              "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 3\n"
              "fp8_linear = \"dynamic\"\n[experimental]\ncontext_parallel_degree = 2\n"
              "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"gpipe\"\n"
              "enable_async_tensor_parallel = true\n";
    halley_launch *l = read_named(text, "a.toml");
    expect_key(l, HALLEY_KEY_TP, "4");
    expect_key(l, HALLEY_KEY_PP, "4");
    expect_key(l, HALLEY_KEY_CP, "2");
    expect_key(l, HALLEY_KEY_FSDP, "6");
    expect_key(l, HALLEY_KEY_SCHEDULE, "gpipe");
    expect_key(l, HALLEY_KEY_MICRO_BATCH, "2");
    expect_key(l, HALLEY_KEY_DTYPE, "fp8");
    assert_null(halley_launch_value(l, HALLEY_KEY_EXPOSE));
    halley_launch_free(l);
    expect_read(TITAN "[training]\ndata_parallel_type = \"ddp\"\n", "a.toml",
                HALLEY_KEY_ZERO, "0");
    expect_refused(TITAN "[training]\nbatch_size = 6\n[experimental]\n"
                         "pipeline_parallel_degree = 4\n",
                   "a.toml", "not a multiple of the 4 micro-batches");
    expect_refused(TITAN
                   "[experimental]\npipeline_parallel_split_points = [\"layers.4\"]\n",
                   "a.toml", "stages of its own");
}

static void torchtitan_compiles_what_its_components_name(void **state)
{
    (void)state;
    expect_read(TITAN "[compile]\nenable = true\n", "a.toml", HALLEY_KEY_KERNELS,
                "fused");
    expect_read(TITAN "[compile]\nenable = true\ncomponents = [\"loss\"]\n", "a.toml",
                HALLEY_KEY_KERNELS, "eager");
    expect_read(TITAN "[training]\ndtype = \"bfloat16\"\n", "a.toml",
                HALLEY_KEY_OPTIMIZER_MEMORY, "4");
    expect_refused(TITAN "[optimizer]\nearly_step_in_backward = true\n", "a.toml",
                   "within the backward pass");
}

static void torchtitan_splits_experts_by_tensor_parallelism_without_ep(void **state)
{
    (void)state;
#define MOE                                                                              \
    "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n[parallelism]\n"                 \
    "tensor_parallel_degree = 4\n"
    expect_read(MOE, "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_tensor_parallel_degree = 1\n", "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_parallel_degree = 8\n", "a.toml", HALLEY_KEY_ETP, "1");
    expect_read(MOE "expert_parallel_degree = 8\nexpert_tensor_parallel_degree = 4\n",
                "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_parallel_comm_backend = \"deepep\"\n", "a.toml",
                HALLEY_KEY_DISPATCHER, "deepep");
}

#define SIZES                                                                            \
    "--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "       \
    "--vocab-size 32000 --micro-batch-size 1 --bf16 "

static double count_params(const char *text, const char *name)
{
    halley_launch *l = read_named(text, name);
    const halley_model *m = halley_launch_model(l);
    assert_non_null(m);
    const double n = halley_model_params(m);
    halley_launch_free(l);
    return n;
}

static bool has_note(const char *text, const char *words)
{
    halley_launch *l = read_named(text, "run.sh");
    const halley_import *import = halley_launch_import(l);
    bool found = false;
    for (uint32_t i = 0; i < halley_import_count(import); i++)
        found = found || strstr(halley_import_get(import, i).value, words) != NULL;
    halley_launch_free(l);
    return found;
}

static void positions_of_kind_none_have_no_weights(void **state)
{
    (void)state;
    const char *with = SIZES "--max-position-embeddings 512 ";
    const double learned = count_params(with, "run.sh");
    assert_true(learned == count_params(SIZES "--position-embedding-type none "
                                              "--max-position-embeddings 512",
                                        "run.sh") +
                               512.0 * 1024);
}

static void arguments_that_change_the_shape_are_counted(void **state)
{
    (void)state;
    const double h = 1024, layers = 4, plain = count_params(SIZES, "run.sh");
    /* 4 of 16 kv heads: keys and values shrink to a quarter, with their biases */
    assert_true(count_params(SIZES "--num-key-value-heads 4", "run.sh") ==
                plain - layers * 2 * 0.75 * (h * h + h));
    /* a gate as wide as the feed-forward, which stays 4 x hidden */
    assert_true(count_params(SIZES "--glu-activation geglu", "run.sh") ==
                plain + layers * (4 * h * h + 4 * h));
    assert_true(count_params(SIZES "--qk-layernorm", "run.sh") ==
                plain + layers * 4 * 64); /* weights and biases */
    assert_true(count_params(SIZES "--softmax-type learnable", "run.sh") ==
                plain + layers * 16);
    /* the vocabulary of the model that was distilled into, not of the teacher */
    halley_launch *l =
        read_named("--num-layers 4 --hidden-size 1024 --micro-batch-size 1 "
                   "--num-attention-heads 16 --seq-length 512 "
                   "--tokenizer-model me/DeepSeek-R1-Distill-Qwen-7B",
                   "run.sh");
    assert_int_equal(halley_launch_model(l)->vocab, 151936);
    halley_launch_free(l);
    l = read_named(SIZES "--num-experts 16 --moe-router-num-groups 8 "
                         "--moe-router-group-topk 4",
                   "run.sh");
    assert_int_equal(halley_launch_model(l)->router_groups, 8);
    assert_int_equal(halley_launch_model(l)->router_top_groups, 4);
    halley_launch_free(l);
}

static void t5_has_an_encoder_and_cross_attention(void **state)
{
    (void)state;
    const char *text = "python pretrain_t5.py --encoder-num-layers 3 "
                       "--decoder-num-layers 2 --hidden-size 1024 "
                       "--num-attention-heads 16 --seq-length 512 --micro-batch-size 1 "
                       "--tokenizer-type BertWordPieceCase --vocab-extra-ids 100 "
                       "--max-position-embeddings 512";
    const double h = 1024, attention = 4 * h * h + 4 * h, mlp = 8 * h * h + 5 * h,
                 vocab = 29184; /* 28996 + 2 + 100, padded */
    assert_true(count_params(text, "run.sh") ==
                vocab * h + vocab + 512 * h + 3 * (attention + mlp + 4 * h) +
                    2 * (2 * attention + mlp + 6 * h) + 4 * h);
}

static void a_language_model_with_images_has_its_own_sequence(void **state)
{
    (void)state;
    expect_read(SIZES "--decoder-seq-length 2048 --language-model-type mistral_7b",
                "run.sh", HALLEY_KEY_SEQ, "2048");
    expect_refused(SIZES "--language-model-type mistral_7b --freeze-LM", "run.sh",
                   "frozen weights");
}

static void optimizer_states_are_as_wide_as_their_formats(void **state)
{
    (void)state;
#define AWARE SIZES "--use-distributed-optimizer --use-precision-aware-optimizer "
    expect_read(AWARE "--exp-avg-dtype bf16 --exp-avg-sq-dtype fp8", "run.sh",
                HALLEY_KEY_OPTIMIZER_MEMORY, "5");
    expect_read(AWARE "--main-params-dtype fp16 --main-grads-dtype bf16", "run.sh",
                HALLEY_KEY_GRADIENT_MEMORY, "2");
    expect_read(SIZES "--optimizer sgd", "run.sh", HALLEY_KEY_OPTIMIZER_MEMORY, "8");
    halley_launch *l = read_named(SIZES "--exp-avg-dtype bf16", "run.sh");
    assert_null(halley_launch_value(l, HALLEY_KEY_OPTIMIZER_MEMORY));
    halley_launch_free(l);
    expect_refused(AWARE "--exp-avg-dtype int3", "run.sh", "must be fp32, bf16");
#define SHARDED SIZES "--use-megatron-fsdp --megatron-fsdp-main-grads-dtype "
    expect_read(SHARDED "fp32 --megatron-fsdp-grad-comm-dtype bf16", "run.sh",
                HALLEY_KEY_GRADIENT_BYTES, "2");
    expect_read(SHARDED "bf16", "run.sh", HALLEY_KEY_GRADIENT_MEMORY, "2");
    expect_read(SIZES "--fp8-format hybrid", "run.sh", HALLEY_KEY_FP8_PARAMS, "no");
}

static void programs_without_fused_attention_are_known(void **state)
{
    (void)state;
    expect_read(SIZES "--deepspeed", "run.sh", HALLEY_KEY_ATTENTION, "unfused");
    expect_read(SIZES "--transformer-impl local", "run.sh", HALLEY_KEY_ATTENTION,
                "unfused");
    halley_launch *l = read_named(SIZES "--deepspeed --use-flash-attn-v2", "run.sh");
    assert_null(halley_launch_value(l, HALLEY_KEY_ATTENTION));
    halley_launch_free(l);
}

static void megatron_deepspeed_has_its_own_experts(void **state)
{
    (void)state;
#define EXPERTS                                                                          \
    SIZES "--deepspeed --num-experts 8 --moe-expert-parallel-size 2 "                    \
          "--tensor-model-parallel-size 2 "
    expect_read(EXPERTS, "run.sh", HALLEY_KEY_CAPACITY, "1");
    expect_read(EXPERTS, "run.sh", HALLEY_KEY_ETP, "1");
    expect_read(EXPERTS "--moe-train-capacity-factor 1.5", "run.sh", HALLEY_KEY_CAPACITY,
                "1.5");
    expect_read(EXPERTS "--enable-expert-tensor-parallelism", "run.sh", HALLEY_KEY_ETP,
                "2");
    expect_read(SIZES "--pipeline-model-parallel-size 2 --enable-zbh1-pipeline", "run.sh",
                HALLEY_KEY_SCHEDULE, "zb-h1");
}

static void what_is_timed_as_something_else_is_said(void **state)
{
    (void)state;
    assert_true(has_note(SIZES "--context-parallel-size 2 --cp-comm-type a2a", "a ring"));
    assert_false(has_note(SIZES "--context-parallel-size 2", "a ring"));
    assert_true(has_note(SIZES "--tensor-model-parallel-size 2 --partition-activations",
                         "counts them whole"));
    expect_read(SIZES "--num-experts 8 --moe-layer-recompute", "run.sh",
                HALLEY_KEY_RECOMPUTE_MODULES, "moe");
    expect_refused(SIZES "--checkpoint-in-cpu", "run.sh", "in host memory");
    expect_refused(SIZES "--kd", "run.sh", "a teacher runs, too");
    expect_refused(SIZES "--tensor-parallel-num-weight-shards 2", "run.sh",
                   "weights sharded within tensor parallelism");
    /* escaped for a second shell */
    halley_launch *l =
        read_named(SIZES "--pipeline-model-parallel-size 2 "
                         "--pipeline-model-parallel-layout 'Et\\|\\(t\\|\\)*2tL'",
                   "run.sh");
    expect_key(l, HALLEY_KEY_VIRTUAL, "2");
    halley_launch_free(l);
}

#define NEMO                                                                             \
    "trainer:\n  devices: 8\n  num_nodes: 1\nmodel:\n  tensor_model_parallel_size: 1\n"  \
    "  micro_batch_size: 1\n  global_batch_size: 8\n  encoder_seq_length: 512\n"         \
    "  num_layers: 4\n  hidden_size: 1024\n  num_attention_heads: 16\n"

static void nemo_files_say_what_is_frozen_and_adapted(void **state)
{
    (void)state;
    const halley_launch_opts opts = {.may_lack_vocab = true};
    static const char lacking[] = NEMO "  tokenizer:\n    library: sentencepiece\n";
    halley_launch *l = NULL;
    halley_error err = {0};
    assert_int_equal(
        halley_launch_parse(&l, lacking, strlen(lacking), "a.yaml", &opts, &err),
        HALLEY_OK);
    assert_int_equal(halley_launch_model(l)->vocab, 0); /* and not GPT-2's */
    halley_launch_free(l);
    expect_refused(NEMO "  mm_cfg:\n    llm:\n      freeze: true\n", "a.yaml",
                   "model.mm_cfg.llm.freeze changes the run");
    expect_refused(NEMO "  peft:\n    peft_scheme: ptuning\n", "a.yaml",
                   "peft_scheme ptuning is not modelled");
    expect_read(NEMO "  peft:\n    peft_scheme: lora\n    lora_tuning:\n"
                     "      adapter_dim: 32\n",
                "a.yaml", HALLEY_KEY_LORA, "32");
    expect_read(NEMO "peft:\n  dim: 16\n", "a.yaml", HALLEY_KEY_LORA, "16");
    expect_refused(NEMO "  teacher:\n    hidden_size: 8\n", "a.yaml", "a teacher");
}

#define MAXTEXT                                                                          \
    "per_device_batch_size: 1\nbase_emb_dim: 256\nbase_num_query_heads: 4\n"             \
    "base_num_kv_heads: 2\nhead_dim: 64\nbase_mlp_dim: 512\nvocab_size: 1000\n"          \
    "base_num_decoder_layers: 4\n"

static void maxtext_blocks_say_what_sizes_do_not(void **state)
{
    (void)state;
    const double h = 256, layer = 3 * h * h + 3 * h * 512, ends = 2 * 1000 * h + h;
    assert_true(count_params(MAXTEXT, "a.yml") == ends + 4 * (layer + 2 * h));
    /* one entry is a layer with a window and one without, with two more norms each */
    halley_launch *l =
        read_named(MAXTEXT "decoder_block: gemma2\nuse_post_attn_norm: true\n"
                           "use_post_ffw_norm: true\n"
                           "sliding_window_size: 128\n",
                   "a.yml");
    const halley_model *m = halley_launch_model(l);
    assert_int_equal(m->layers, 8);
    assert_int_equal(m->window, 128);
    assert_int_equal(m->window_every, 2);
    assert_true(halley_model_params(m) == ends + 8 * (layer + 4 * h));
    halley_launch_free(l);
    /* every second layer has experts, and no window without a block that has one */
    l = read_named(MAXTEXT
                   "num_experts: 8\nnum_experts_per_tok: 2\nbase_moe_mlp_dim: 128\n"
                   "interleave_moe_layer_step: 2\nsliding_window_size: 128\n"
                   "n_routing_groups: 4\ntopk_routing_group: 2\n"
                   "mtp_num_layers: 1\n",
                   "a.yml");
    m = halley_launch_model(l);
    assert_int_equal(m->moe_every, 2);
    assert_int_equal(m->window, 0);
    assert_int_equal(m->router_groups, 4);
    assert_int_equal(m->mtp, 1);
    halley_launch_free(l);
    expect_refused(MAXTEXT "decoder_block: qwen3_next\n", "a.yml",
                   "decoder_block qwen3_next is not modelled");
    expect_refused(MAXTEXT "mhc_expansion_rate: 4\n", "a.yml",
                   "several residual streams");
    expect_read(MAXTEXT "mhc_expansion_rate: 1\nengram_layers: []\n", "a.yml",
                HALLEY_KEY_TP, "1");
}

static void maxtext_scales_grow_a_model_in_turns(void **state)
{
    (void)state;
    static const struct {
        const char *scale;
        uint32_t hidden, heads, ffn, layers;
    } cases[] = {{"1", 256, 4, 512, 4},
                 {"2", 256, 8, 1024, 4},
                 {"4", 512, 8, 1024, 4},
                 {"8", 512, 8, 1024, 8},
                 {"128", 1024, 32, 4096, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, MAXTEXT "global_parameter_scale: %s\n",
                 cases[i].scale);
        halley_launch *l = read_named(text, "a.yml");
        const halley_model *m = halley_launch_model(l);
        assert_int_equal(m->hidden, cases[i].hidden);
        assert_int_equal(m->heads, cases[i].heads);
        assert_int_equal(m->ffn, cases[i].ffn);
        assert_int_equal(m->layers, cases[i].layers);
        halley_launch_free(l);
    }
    expect_refused(MAXTEXT "global_parameter_scale: 3\n", "a.yml", "a power of 2");
}

static void maxtext_kernels_and_overrides_are_read(void **state)
{
    (void)state;
    expect_read(MAXTEXT "attention: dot_product\n", "a.yml", HALLEY_KEY_ATTENTION,
                "unfused");
#define DENSE MAXTEXT "num_experts: 8\nsparse_matmul: false\n"
    expect_read(DENSE "capacity_factor: 1.25\n", "a.yml", HALLEY_KEY_CAPACITY, "1.25");
    expect_refused(DENSE, "a.yml", "every expert works on every token");
    expect_read(MAXTEXT "ici_fsdp_parallelism: 1\nici_data_parallelism: 8\n"
                        "shard_optimizer_over_data: true\n",
                "a.yml", HALLEY_KEY_ZERO, "1");
    halley_launch *l = read_named("model_name: llama3-8b\nper_device_batch_size: 1\n"
                                  "base_num_decoder_layers: 4\n",
                                  "a.yml");
    assert_int_equal(halley_launch_model(l)->layers, 4);
    halley_launch_free(l);
}

static void a_script_knows_its_own_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/halley-launch-XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.sh", folder);
    snprintf(other, sizeof other, "%s/common.sh", folder);
    static const char nested[] = "A=1 source \"$(dirname -- \"$(readlink -f -- "
                                 "\"${BASH_SOURCE[0]}\")\")/common.sh\"\n";
    static const char *const ways[] = {
        "P=\"${BASH_SOURCE[0]}\"\nsource $(dirname $P)/common.sh\n",
        "D=\"$( cd \"$( dirname \"$0\" )\" > /dev/null && pwd )\"\n. $D/common.sh\n",
        nested};
    FILE *f = fopen(other, "w");
    assert_non_null(f);
    fputs("PP=2\n", f);
    fclose(f);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%spython t.py --pipeline-model-parallel-size $PP " SIZES "\n",
                ways[i]);
        fclose(f);
        halley_launch *l = NULL;
        halley_error err = {0};
        if (halley_launch_load(&l, path, NULL, &err) != HALLEY_OK)
            fail_msg("%s: %s", ways[i], err.text);
        expect_key(l, HALLEY_KEY_PP, "2");
        halley_launch_free(l);
    }
    remove(path);
    remove(other);
    remove(folder);
    /* a folder above the script's is not known */
    expect_refused("D=$(dirname $(dirname $0))\npython t.py "
                   "--pipeline-model-parallel-size $D " SIZES,
                   "run.sh", "comes from $D, which line 1 takes from a command");
}

static void what_is_missing_is_named_with_a_remedy(void **state)
{
    (void)state;
    expect_refused(
        "printf -v PP \"%s\" 4\npython t.py --pipeline-model-parallel-size $PP " SIZES,
        "run.sh", "comes from $PP, which line 1 takes from a command");
    expect_refused("#!/bin/bash\nexport A=1\nbash other.sh: x\n", "run.sh",
                   "no command with --num-layers");
    expect_refused("--num-layers 4 --hidden-size 64 --num-attention-heads 4 "
                   "--vocab-size 100 --micro-batch-size 1",
                   "run.sh", "--seq-length is missing; give --seq N");
    static const char tree[] =
        "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n  --num-attention-heads: "
        "4\n"
        "  --seq-length: 64\n  --vocab-size: 100\n  --micro-batch-size: 1\n"
        "  --pipeline-model-parallel-size: ${PP}\n";
    expect_refused(tree, "a.yaml",
                   "comes from ${PP}, which the file does not set; give "
                   "--set PP=... or --pp");
    const char *const sets[] = {"PP=2"};
    const halley_launch_opts opts = {.sets = sets, .n_sets = 1};
    halley_launch *l = NULL;
    halley_error err = {0};
    assert_int_equal(halley_launch_parse(&l, tree, strlen(tree), "a.yaml", &opts, &err),
                     HALLEY_OK);
    expect_key(l, HALLEY_KEY_PP, "2");
    halley_launch_free(l);
    expect_read(NEMO "  pipeline_model_parallel_size: ${oc.env:STAGES,4}\n", "a.yaml",
                HALLEY_KEY_PP, "4");
    assert_true(has_note(SIZES "--spec my.module get_spec", "my.module get_spec"));
    assert_false(
        has_note(SIZES "--spec megatron.core.mamba_layer_specs", "specification"));
}

static void a_part_of_a_configuration_leaves_the_rest_open(void **state)
{
    (void)state;
    halley_launch *l = read_named("model:\n  tensor_model_parallel_size: 4\ntrain:\n"
                                  "  global_batch_size: 8\nddp:\n"
                                  "  use_distributed_optimizer: true\n",
                                  "override.yaml");
    expect_key(l, HALLEY_KEY_TP, "4");
    expect_key(l, HALLEY_KEY_ZERO, "1");
    assert_null(halley_launch_value(l, HALLEY_KEY_DTYPE)); /* the recipe's, not fp32 */
    assert_null(halley_launch_value(l, HALLEY_KEY_EXPOSE));
    assert_null(halley_launch_value(l, HALLEY_KEY_GRADIENT_BYTES));
    halley_launch_free(l);
}

static void a_key_that_is_given_twice_counts_once(void **state)
{
    (void)state;
    halley_launch *l = read_named(
        "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n  --seq-length: 64\n"
        "  --num-attention-heads: 4\n  --vocab-size: 100\n  --micro-batch-size: 1\n"
        "  --ffn-hidden-size: 128\n  --bf16: true\n  --ffn-hidden-size: 512\n",
        "a.yaml");
    assert_non_null(halley_launch_model(l));
    assert_int_equal(halley_launch_model(l)->ffn, 512);
    expect_key(l, HALLEY_KEY_DTYPE, "bf16");
    halley_launch_free(l);
    expect_refused("#!/bin/bash\npython t.py --num-layers: 4 --colour red\n", "run.sh",
                   "no command with --num-layers");
}

static void files_of_other_programs_are_refused_by_name(void **state)
{
    (void)state;
    expect_refused("{\n  # comment\n  \"pipe_parallel_size\": 2,\n  \"num_layers\": 4,\n"
                   "  \"hidden_size\": 64, \"train_micro_batch_size_per_gpu\": 4\n}\n",
                   "a.yml", "a configuration of GPT-NeoX is not read");
    expect_refused("model:\n  name: mpt_causal_lm\nglobal_train_batch_size: 256\n",
                   "a.yaml", "a configuration of LLM Foundry is not read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_torchtitan_files_state_their_degrees_elsewhere),
        cmocka_unit_test(torchtitan_compiles_what_its_components_name),
        cmocka_unit_test(torchtitan_splits_experts_by_tensor_parallelism_without_ep),
        cmocka_unit_test(positions_of_kind_none_have_no_weights),
        cmocka_unit_test(arguments_that_change_the_shape_are_counted),
        cmocka_unit_test(t5_has_an_encoder_and_cross_attention),
        cmocka_unit_test(a_language_model_with_images_has_its_own_sequence),
        cmocka_unit_test(optimizer_states_are_as_wide_as_their_formats),
        cmocka_unit_test(programs_without_fused_attention_are_known),
        cmocka_unit_test(megatron_deepspeed_has_its_own_experts),
        cmocka_unit_test(what_is_timed_as_something_else_is_said),
        cmocka_unit_test(nemo_files_say_what_is_frozen_and_adapted),
        cmocka_unit_test(maxtext_blocks_say_what_sizes_do_not),
        cmocka_unit_test(maxtext_scales_grow_a_model_in_turns),
        cmocka_unit_test(maxtext_kernels_and_overrides_are_read),
        cmocka_unit_test(a_part_of_a_configuration_leaves_the_rest_open),
        cmocka_unit_test(a_key_that_is_given_twice_counts_once),
        cmocka_unit_test(files_of_other_programs_are_refused_by_name),
        cmocka_unit_test(a_script_knows_its_own_folder),
        cmocka_unit_test(what_is_missing_is_named_with_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
