/* Launch files: Megatron's arguments in their wrappings, and those of other programs. */
#include "base/str.h"
#include "cases.h"
#include "halley/launch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZES                                                                            \
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "     \
    "--vocab-size 32000 --micro-batch-size 1 "

static halley_launch *read_named(const char *text, const char *name,
                                 const halley_launch_opts *opts)
{
    halley_launch *l = NULL;
    halley_error err = {0};
    if (halley_launch_parse(&l, text, strlen(text), name, opts, &err) != HALLEY_OK)
        fail_msg("%s\n%.500s", err.text, text);
    return l;
}

static halley_launch *read_script(const char *text)
{
    return read_named(text, "run.sh", NULL);
}

static void expect_key(const halley_launch *l, halley_plan_key key, const char *wanted)
{
    const char *got = halley_launch_value(l, key);
    if (got == NULL || strcmp(got, wanted) != 0)
        fail_msg("key %d is %s, not %s", (int)key, got != NULL ? got : "absent", wanted);
}

/* A script has a value, and is freed. */
static void expect_script(const char *text, halley_plan_key key, const char *wanted)
{
    halley_launch *l = read_script(text);
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

static bool has_note(const halley_launch *l, halley_import_list list, const char *words)
{
    const halley_import *import = halley_launch_import(l);
    for (uint32_t i = 0; i < halley_import_count(import); i++) {
        const halley_import_entry e = halley_import_get(import, i);
        if (e.list == list && (strstr(e.key, words) || strstr(e.value, words)))
            return true;
    }
    return false;
}

static void absent_arguments_mean_what_megatron_means(void **state)
{
    (void)state;
    halley_launch *l = read_script(SIZES "--bf16");
    const halley_model *m = halley_launch_model(l);
    assert_non_null(m);
    assert_int_equal(m->ffn, 4 * 4096);
    assert_int_equal(m->kv_heads, 32);
    assert_int_equal(m->vocab, 32000);
    assert_true(m->tied);
    assert_false(m->gated);
    expect_key(l, HALLEY_KEY_ZERO, "0");
    expect_key(l, HALLEY_KEY_SEQUENCE_PARALLEL, "no");
    expect_key(l, HALLEY_KEY_GRADIENT_BYTES, "4");
    expect_key(l, HALLEY_KEY_DTYPE, "bf16");
    expect_key(l, HALLEY_KEY_EXPOSE, "dp");
    assert_null(halley_launch_value(l, HALLEY_KEY_GLOBAL_BATCH));
    /* 32 layers with biases and layer norms, one embedding, no learned positions stated
     */
    const double h = 4096, layer = 4 * h * h + 4 * h + 8 * h * h + 5 * h + 4 * h;
    assert_true(halley_model_params(m) == 32 * layer + 32000 * h + 2 * h);
    halley_launch_free(l);
}

static void vocabularies_are_padded_by_tensor_parallelism(void **state)
{
    (void)state;
    static const char *const rest =
        "--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --seq-length 128 "
        "--micro-batch-size 1 --merge-file merges.txt --tensor-model-parallel-size ";
    static const struct {
        const char *tp;
        uint32_t vocab;
    } cases[] = {{"1", 50304}, {"2", 50432}, {"8", 51200}};
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", rest, cases[i].tp);
        halley_launch *l = read_script(text);
        assert_int_equal(halley_launch_model(l)->vocab, cases[i].vocab);
        halley_launch_free(l);
    }
}

static void variables_arrays_and_defaults_are_followed(void **state)
{
    (void)state;
    expect_script(
        "GBS=$(( 4 * (2 + 6) % 33 ))\nA=( # the batch\n --global-batch-size $GBS\n)\n"
        "A+=(\"--bf16 --fp16\")\ntorchrun x.py ${A[@]} " SIZES,
        HALLEY_KEY_GLOBAL_BATCH, "32");
    expect_script("PP=${NOT_SET:-4}\nexport Q=\"--pipeline-model-parallel-size $PP\"\n"
                  "python t.py $Q " SIZES,
                  HALLEY_KEY_PP, "4");
    expect_script(": ${PP:=2}\npython t.py --pipeline-model-parallel-size=${PP} " SIZES,
                  HALLEY_KEY_PP, "2");
    expect_script(
        "A=\"--a\"\nA=\"$A --pipeline-model-parallel-size 8\"\r\npython t.py $A " SIZES
        "\r\n",
        HALLEY_KEY_PP, "8");
    expect_script(
        "TP='2'\nsrun bash -c '$RUN t.py --tensor-model-parallel-size $TP " SIZES "'\n",
        HALLEY_KEY_TP, "2");
    expect_script(
        "sbatch <<EOT\nTP=4\npython t.py --tensor-model-parallel-size \\$TP " SIZES
        "\nEOT\n",
        HALLEY_KEY_TP, "4");
    expect_script("eval \"python t.py --tensor-model-parallel-size 2 " SIZES "\"\n",
                  HALLEY_KEY_TP, "2");
}

static void conditions_are_decided_where_they_can_be(void **state)
{
    (void)state;
    static const struct {
        const char *condition, *wanted;
    } cases[] = {
        {"[ $A = 1 ]", "2"},
        {"[[ \"$A\" == \"1\" && $A -lt 2 ]]", "2"},
        {"[[ $A -eq 2 ]] || [ -n \"$NEVER\" ]", "1"},
        {"! [[ $A -ge 2 ]]", "2"},
        {"[ -z \"$1\" ]", "2"},
        {"(( A + 1 == 2 ))", "2"},
        {"[ $# -gt 0 ]", "1"},
        {"test $A -ne 1", "1"},
        {"[[ abc == a* ]]", "2"},
        {"[ -f /etc/passwd ]", "1"}, /* not decided: no branch is taken */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "A=1\nTP=1\nif %s; then\n  TP=2\nfi\n"
                 "python t.py --tensor-model-parallel-size $TP " SIZES,
                 cases[i].condition);
        expect_script(text, HALLEY_KEY_TP, cases[i].wanted);
    }
    expect_script(
        "M=b\ncase \"$M\" in\n  a|x) TP=1 ;;\n  b) TP=8 ;;\n  *) TP=2 ;;\nesac\n"
        "python t.py --tensor-model-parallel-size $TP " SIZES,
        HALLEY_KEY_TP, "8");
    expect_script("[ -z \"$X\" ] && TP=4\n[ -n \"$X\" ] && TP=5\n"
                  "python t.py --tensor-model-parallel-size $TP " SIZES,
                  HALLEY_KEY_TP, "4");
    expect_script("while [[ $# -gt 0 ]]; do case $1 in --tp) TP=$2; shift;; esac; done\n"
                  "TP=${TP:-2}\npython t.py --tensor-model-parallel-size $TP " SIZES,
                  HALLEY_KEY_TP, "2");
}

static void values_that_need_a_program_are_refused_by_name(void **state)
{
    (void)state;
    expect_refused("NL=$(nproc)\n\npython t.py --num-layers $NL --hidden-size 8",
                   "run.sh",
                   "--num-layers comes from $NL, which line 1 takes from a command; give "
                   "--set NL=...");
    expect_refused(
        "python t.py --global-batch-size $GBS " SIZES, "run.sh",
        "--global-batch-size comes from $GBS, which the script never sets; give "
        "--set GBS=... or --global-batch");
    expect_refused(
        "for i in 1 2; do\nGBS=$i\ndone\npython t.py --global-batch-size $GBS " SIZES,
        "run.sh", "which the loop or function in line 2 sets");
    expect_refused("f() {\n GBS=3\n}\npython t.py --global-batch-size $GBS " SIZES,
                   "run.sh", "which the loop or function in line 2 sets");
    static const char *const sets[] = {"NL=2", "H=64"};
    const halley_launch_opts opts = {.sets = sets, .n_sets = 2};
    halley_launch *l =
        read_named("NL=$(nproc)\nH=128\npython t.py --num-layers $NL "
                   "--hidden-size $H --num-attention-heads 4 --seq-length 64 "
                   "--vocab-size 128 --micro-batch-size 1",
                   "run.sh", &opts);
    assert_int_equal(halley_launch_model(l)->layers, 2);
    assert_int_equal(halley_launch_model(l)->hidden, 64);
    halley_launch_free(l);
    const halley_launch_opts given = {.given = 1ull << HALLEY_KEY_GLOBAL_BATCH};
    l = read_named("python t.py --global-batch-size $GBS " SIZES, "run.sh", &given);
    assert_null(halley_launch_value(l, HALLEY_KEY_GLOBAL_BATCH));
    halley_launch_free(l);
}

static void bad_scripts_are_refused_with_a_sentence(void **state)
{
    (void)state;
    expect_refused("A=\"--num-layers 3\npython t.py $A", "run.sh", "\" is never closed");
    expect_refused("A=(--num-layers 3\npython", "run.sh", "( is never closed");
    expect_refused("--num-layers thirty --hidden-size 8", "run.sh",
                   "--num-layers must be a whole number, is \"thirty\"");
    expect_refused("--num-layers --hidden-size 8", "run.sh", "--num-layers has no value");
    expect_refused(SIZES "--pipeline-model-parallel-size 5", "run.sh",
                   "32 layers do not divide into 5 pipeline stages");
    expect_refused(SIZES "--overlap-param-gather", "run.sh", "needs a sharded optimizer");
    expect_refused(SIZES "--retro-add-retriever", "run.sh",
                   "--retro-add-retriever changes");
    expect_refused("import megatron\n\ndef recipe():\n  pass\n", "recipe.py",
                   "a Python recipe is never run");
    expect_refused(
        "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
        "--micro-batch-size 1 --tokenizer-model my.model",
        "run.sh", "give --vocab N");
    /* a variable of itself, an array of itself, doubling: an answer, not a hang */
    expect_refused("A=$A$A\npython t.py --num-layers $A", "run.sh",
                   "which the script never sets");
    char doubling[2048] = "A=xxxxxxxxxxxxxxxx\n";
    for (int i = 0; i < 60; i++)
        strcat(doubling, "A=\"$A$A\"\n");
    strcat(doubling, "python t.py --num-layers 4");
    expect_refused(doubling, "run.sh", "grow beyond");
}

static void later_and_unknown_arguments_are_said(void **state)
{
    (void)state;
    halley_launch *l =
        read_script(SIZES "--tensor-model-parallel-size 2 --frob 3 --lr 1e-4 "
                          "--tensor_model_parallel_size=4");
    expect_key(l, HALLEY_KEY_TP, "4");
    assert_true(has_note(l, HALLEY_IMPORT_NOTE, "given twice (2, then 4)"));
    assert_true(has_note(l, HALLEY_IMPORT_UNKNOWN, "--frob"));
    assert_true(has_note(l, HALLEY_IMPORT_IGNORED, "--lr"));
    halley_launch_free(l);
}

static void layouts_and_layer_lists_are_expanded(void **state)
{
    (void)state;
    static const char *const base =
        "--num-layers 61 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 "
        "--vocab-size 128 --micro-batch-size 1 --pipeline-model-parallel-size 8 ";
    char text[1024];
    snprintf(text, sizeof text, "%s--pipeline-model-parallel-layout 'Et|(tt|)*30mL'",
             base);
    halley_launch *l = read_script(text);
    expect_key(l, HALLEY_KEY_VIRTUAL, "4");
    expect_key(l, HALLEY_KEY_STAGE_LAYERS, "7,8,8,8,8,8,8,6");
    halley_launch_free(l);
    snprintf(text, sizeof text,
             "%s--pipeline-model-parallel-layout Et*5|(t*8|)*6t*8L --num-experts 8 "
             "--moe-layer-freq ([0]*3+[1]*58) --moe-ffn-hidden-size 64",
             base);
    l = read_script(text);
    assert_int_equal(halley_launch_model(l)->dense_layers, 3);
    assert_int_equal(halley_launch_model(l)->experts, 8);
    halley_launch_free(l);
    snprintf(text, sizeof text, "%s--pipeline-model-parallel-layout Et|tL", base);
    expect_refused(text, "run.sh", "2 pieces and 2 layers");
    expect_refused(SIZES "--num-experts 8 --moe-layer-freq [0]*3+[1]", "run.sh",
                   "moe-layer-freq must be a number or a list of 32 layers");
}

static void a_part_of_a_configuration_is_a_plan(void **state)
{
    (void)state;
    halley_launch *l =
        read_named("model:\n  tensor_model_parallel_size: 4\n"
                   "  sequence_parallel: true\ntrain:\n  micro_batch_size: 2\n",
                   "override.yaml", NULL);
    assert_null(halley_launch_model(l));
    expect_key(l, HALLEY_KEY_TP, "4");
    expect_key(l, HALLEY_KEY_MICRO_BATCH, "2");
    halley_launch_free(l);
}

static void deepspeed_balances_its_stages(void **state)
{
    (void)state;
    static const char text[] =
        "deepspeed t.py --num-layers 70 --hidden-size 64 --num-attention-heads 4 "
        "--seq-length 8 --vocab-size 128 --micro-batch-size 1 --deepspeed "
        "--pipeline-model-parallel-size 12";
    expect_script(text, HALLEY_KEY_EMBEDDINGS_AS_LAYERS, "yes");
    expect_refused("deepspeed t.py --deepspeed --num-experts 32 64 " SIZES, "run.sh",
                   "layers with different numbers of experts");
    expect_script(SIZES "--recompute-granularity full --recompute-method block "
                        "--recompute-num-layers 0",
                  HALLEY_KEY_RECOMPUTE, "none");
}

static void slurm_and_torchrun_say_how_many(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t npus;
    } cases[] = {
        {"#SBATCH --nodes=128\n#SBATCH --gres=gpu:h100:4 # per node\npython t.py " SIZES,
         512},
        {"#SBATCH -N 4\n#SBATCH --gpus-per-node=8\npython t.py " SIZES, 32},
        {"torchrun --nproc-per-node 8 --nnodes=16 t.py " SIZES, 128},
        {"deepspeed --num_gpus 4 --num_nodes 2 t.py " SIZES, 8},
        {"torchrun --nproc_per_node 8 --nnodes $N t.py " SIZES, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_launch *l = read_script(cases[i].text);
        assert_int_equal(halley_launch_npus(l), cases[i].npus);
        halley_launch_free(l);
    }
}

static void printed_lists_and_json_are_the_same_arguments(void **state)
{
    (void)state;
    halley_launch *l = read_named(
        "using world size: 16\n  add_bias_linear ................ False\n"
        "  bf16 ........................... True\n  hidden_size .................... "
        "2048\n"
        "  num_attention_heads ............ 16\n  num_layers ..................... 24\n"
        "  padded_vocab_size .............. 50304\n  seq_length ..................... "
        "2048\n"
        "  micro_batch_size ............... 2\n  swiglu ......................... False\n"
        "  num_experts .................... None\n  world_size ..................... 16\n"
        "  tensor_model_parallel_size ..... 2\n",
        "log.txt", NULL);
    assert_int_equal(halley_launch_model(l)->layers, 24);
    assert_int_equal(halley_launch_npus(l), 16);
    expect_key(l, HALLEY_KEY_TP, "2");
    expect_key(l, HALLEY_KEY_MICRO_BATCH, "2");
    halley_launch_free(l);
    l = read_named("{\"num_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "
                   "\"seq_length\": 128, \"micro_batch_size\": 1, \"vocab_size\": 128, "
                   "\"pipeline_model_parallel_size\": 2, \"swiglu\": true}",
                   "args.json", NULL);
    assert_true(halley_launch_model(l)->gated);
    expect_key(l, HALLEY_KEY_PP, "2");
    halley_launch_free(l);
}

/* The name of the program is looked at after all arguments are split. */
static void a_program_among_the_arguments_of_a_file_counts(void **state)
{
    (void)state;
    halley_launch *l = read_named("--bf16\npretrain_t5.py " SIZES, "arguments.txt", NULL);
    assert_non_null(strstr(halley_launch_model(l)->untimed, "T5"));
    halley_launch_free(l);
}

static void deepspeed_batches_must_agree(void **state)
{
    (void)state;
    halley_launch *l =
        read_named("{\"train_batch_size\": 64, \"gradient_accumulation_steps\": "
                   "2, \"train_micro_batch_size_per_gpu\": 4, "
                   "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
                   "{\"device\": \"cpu\"}}, \"bf16\": {\"enabled\": \"auto\"}, "
                   "\"fp16\": {\"enabled\": true, \"loss_scale\": 1e14}}",
                   "ds.json", NULL);
    assert_null(halley_launch_model(l));
    assert_int_equal(halley_launch_npus(l), 8);
    expect_key(l, HALLEY_KEY_FSDP, "all");
    expect_key(l, HALLEY_KEY_OFFLOAD, "optimizer");
    expect_key(l, HALLEY_KEY_DTYPE, "fp16");
    halley_launch_free(l);
    expect_refused("{\"train_batch_size\": 65, \"gradient_accumulation_steps\": 2, "
                   "\"train_micro_batch_size_per_gpu\": 4}",
                   "ds.json", "train_batch_size 65 is not a multiple of");
    expect_refused("cat <<EOT > c.json\n{\"train_batch_size\": 64, "
                   "\"train_micro_batch_size_per_gpu\": 2}\nEOT\ndeepspeed t.py " SIZES,
                   "run.sh", "the arguments say 1");
}

static void torchtitan_counts_its_batch_per_rank(void **state)
{
    (void)state;
    static const char text[] =
        "# for 64 GPUs\n[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\n"
        "  \"float8\", # fp8\n]\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n"
        "[parallelism]\ndata_parallel_replicate_degree = 2\ntensor_parallel_degree = 2\n"
        "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n";
    halley_launch *l = read_named(text, "a.toml", NULL);
    halley_plan plan;
    halley_error err = {0};
    halley_plan_default(&plan);
    assert_int_equal(halley_launch_plan(&plan, NULL, l, 64, 0, &err), HALLEY_OK);
    assert_int_equal(plan.global_batch, 64);
    assert_int_equal(plan.fsdp, 16);
    assert_int_equal(plan.tp, 2);
    expect_key(l, HALLEY_KEY_RECOMPUTE, "selective-op");
    expect_key(l, HALLEY_KEY_DTYPE, "fp8");
    halley_launch_free(l);
    expect_refused("[model]\nname = \"llama3\"\nflavor = \"9B\"\n", "a.toml",
                   "llama3/9B (name/flavor) is not known");
    const halley_launch_opts opts = {.plan_only = true};
    l = read_named("[model]\nname = \"llama3\"\nflavor = \"9B\"\n", "a.toml", &opts);
    assert_null(halley_launch_model(l));
    halley_launch_free(l);
    expect_refused("[model]\nname = \"llama3\nflavor = 1\n", "a.toml", "never closed");
    expect_refused(
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
        "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"DualPipeV\"\n",
        "a.toml", "DualPipeV is not modelled");
}

static void maxtext_counts_its_batch_per_device(void **state)
{
    (void)state;
    halley_launch *l =
        read_named("base_config: base.yml\nmodel_name: llama3-8b\n"
                   "per_device_batch_size: 0.5\nici_tensor_parallelism: 4\n"
                   "remat_policy: minimal\nmax_target_length: 4096\n",
                   "a.yml", NULL);
    halley_plan plan;
    halley_error err = {0};
    halley_plan_default(&plan);
    assert_int_equal(halley_launch_plan(&plan, NULL, l, 32, 0, &err), HALLEY_OK);
    assert_int_equal(plan.global_batch, 16);
    assert_int_equal(plan.micro_batch, 2);
    assert_int_equal(plan.recompute, HALLEY_RECOMPUTE_MINIMAL);
    halley_launch_free(l);
    expect_refused("base_config: base.yml\nmodel_name: llama9-8b\n", "a.yml",
                   "llama9-8b");
    expect_refused("base_config: base.yml\nremat_policy: clever\n", "a.yml",
                   "remat_policy clever is not modelled");
}

/* ---- written plans read back the same, four times ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t choose(uint64_t *state, const uint32_t *of, uint32_t n)
{
    return of[next_random(state) % n];
}

static void make_plan(halley_plan *p, uint64_t *state)
{
    static const uint32_t degrees[] = {1, 2, 4}, batches[] = {1, 2, 3}, dps[] = {2, 4, 6};
    static const halley_dtype types[] = {HALLEY_BF16, HALLEY_FP16, HALLEY_FP8,
                                         HALLEY_FP32};
    halley_plan_default(p);
    p->tp = choose(state, degrees, 3);
    p->pp = choose(state, degrees, 3);
    p->cp = choose(state, degrees, 2);
    p->dp = choose(state, dps, 3);
    p->virtual_stages = p->pp > 1 ? choose(state, degrees, 2) : 1;
    p->micro_batch = choose(state, batches, 3);
    p->global_batch = p->micro_batch * p->dp * p->pp * choose(state, batches, 3);
    p->seq = 2048 * choose(state, batches, 3);
    p->dtype = types[next_random(state) % 4];
    if (p->dtype == HALLEY_FP8)
        p->recipe = (halley_fp8_recipe)(next_random(state) % 3);
    p->gradient_bytes = next_random(state) % 2 ? 2 : 4;
    p->zero = (uint32_t)(next_random(state) % 4);
    p->sequence_parallel = p->tp > 1 && next_random(state) % 2;
    p->recompute = next_random(state) % 3 == 0   ? HALLEY_RECOMPUTE_FULL
                   : next_random(state) % 2 == 0 ? HALLEY_RECOMPUTE_SELECTIVE
                                                 : HALLEY_RECOMPUTE_NONE;
    if (p->recompute == HALLEY_RECOMPUTE_FULL && next_random(state) % 2)
        p->recompute_layers = choose(state, batches, 3);
    else if (p->recompute == HALLEY_RECOMPUTE_FULL)
        p->recompute_every = choose(state, batches, 2);
    p->expose = (next_random(state) % 2 ? HALLEY_EXPOSE_DP : 0) |
                (p->tp > 1 && next_random(state) % 2 ? HALLEY_EXPOSE_TP : 0) |
                (p->pp > 1 && next_random(state) % 2 ? HALLEY_EXPOSE_PP : 0);
    if (next_random(state) % 4 == 0)
        p->attention = HALLEY_ATTENTION_UNFUSED;
}

static void expect_same_plan(const halley_plan *a, const char *text, const char *name,
                             const halley_model *model)
{
    halley_error err = {0};
    halley_plan b;
    halley_launch *l = read_named(text, name, NULL);
    halley_plan_default(&b);
    const uint32_t npus = a->tp * a->pp * a->cp * a->dp;
    if (halley_launch_plan(&b, NULL, l, npus, 0, &err) != HALLEY_OK)
        fail_msg("%s\n%.500s", err.text, text);
    b.dp = a->dp;
    if (halley_plan_check(&b, halley_launch_model(l), npus, &err) != HALLEY_OK)
        fail_msg("%s\n%.500s", err.text, text);
#define SAME(member)                                                                     \
    if (a->member != b.member)                                                           \
    fail_msg("%s\n" #member " is %u, was %u", text, (unsigned)b.member,                  \
             (unsigned)a->member)
    SAME(tp);
    SAME(pp);
    SAME(cp);
    SAME(virtual_stages);
    SAME(micro_batch);
    SAME(global_batch);
    SAME(seq);
    SAME(dtype);
    SAME(recipe);
    SAME(gradient_bytes);
    SAME(zero);
    SAME(fsdp);
    SAME(sequence_parallel);
    SAME(recompute);
    SAME(recompute_layers);
    SAME(expose);
    SAME(attention);
#undef SAME
    if ((a->recompute_every > 1 || b.recompute_every > 1) &&
        a->recompute_every != b.recompute_every)
        fail_msg("%s\nrecompute_every", text);
    const halley_model *m = halley_launch_model(l);
    assert_int_equal(m->layers, model->layers);
    assert_int_equal(m->hidden, model->hidden);
    assert_int_equal(m->kv_heads, model->kv_heads);
    assert_int_equal(m->ffn, model->ffn);
    assert_int_equal(m->vocab, model->vocab);
    assert_int_equal(m->gated, model->gated);
    halley_launch_free(l);
}

/* The lines "--x v" as a script: values through variables, arguments through arrays. */
static void write_script(strbuf *out, const char *arguments, uint64_t *state)
{
    str rest = str_from(arguments), line;
    uint32_t n = 0;
    strbuf_add(out, STR("#!/bin/bash\nset -e\nARGS=()\n"));
    while (str_next(&rest, '\n', &line)) {
        str name = line;
        const char *blank = memchr(line.at, ' ', line.n);
        if (line.n == 0)
            continue;
        if (blank != NULL)
            name.n = (size_t)(blank - line.at);
        if (blank != NULL && next_random(state) % 2)
            strbuf_printf(out, "V%u=\"%.*s\"\nARGS+=(%.*s ${V%u}) # %u\n", n,
                          (int)(line.n - name.n - 1), blank + 1, (int)name.n, name.at, n,
                          n);
        else if (next_random(state) % 2)
            strbuf_printf(out, "ARGS+=(\n    \"%.*s\"\n)\n", (int)line.n, line.at);
        else
            strbuf_printf(out, "MORE=\"$MORE_ARGS ${MORE:-} \\\n  %.*s\"\n", (int)line.n,
                          line.at);
        n++;
    }
    strbuf_add(out, STR("torchrun --nproc_per_node 1 train.py ${ARGS[@]} \\\n  $MORE\n"));
}

static void write_yaml(strbuf *out, const char *arguments)
{
    str rest = str_from(arguments), line;
    strbuf_add(out, STR("ENV_VARS:\n  A: 1\nMODEL_ARGS:\n"));
    while (str_next(&rest, '\n', &line)) {
        const char *blank = memchr(line.at, ' ', line.n);
        if (line.n == 0)
            continue;
        if (blank == NULL)
            strbuf_printf(out, "  %.*s: true\n", (int)line.n, line.at);
        else
            strbuf_printf(out, "  %.*s: \"%s%.*s\"\n", (int)(blank - line.at), line.at,
                          "", (int)(line.n - (size_t)(blank + 1 - line.at)), blank + 1);
    }
}

/* NeMo's names where they are not Megatron's. */
static const struct {
    const char *from, *to;
} nemo_names[] = {
    {"seq-length", "  encoder_seq_length"},
    {"num-virtual-stages-per-pipeline-rank", "  virtual_pipeline_model_parallel_size"},
    {"untie-embeddings-and-output-weights",
     "  share_embeddings_and_output_weights: false"},
    {"disable-bias-linear", "  bias: false"},
    {"swiglu", "  activation: fast-swiglu"},
    {"recompute-granularity", "  activations_checkpoint_granularity"},
    {"recompute-method", "  activations_checkpoint_method"},
    {"recompute-num-layers", "  activations_checkpoint_num_layers"},
    {"tp-comm-overlap", "  ub_tp_comm_overlap: true"},
    {"no-overlap-p2p-communication", "  overlap_p2p_comm: false"},
    {"num-query-groups", "  num_query_groups"},
};

static void write_nemo_line(strbuf *out, str name, str value)
{
    for (size_t i = 0; i < sizeof nemo_names / sizeof *nemo_names; i++)
        if (str_eq(name, str_from(nemo_names[i].from))) {
            strbuf_printf(out, "%s", nemo_names[i].to);
            if (value.n > 0)
                strbuf_printf(out, ": %.*s", (int)value.n, value.at);
            strbuf_add_char(out, '\n');
            return;
        }
    strbuf_add(out, STR("  "));
    for (size_t i = 0; i < name.n; i++)
        strbuf_add_char(out, name.at[i] == '-' ? '_' : name.at[i]);
    strbuf_printf(out, ": %.*s\n", value.n > 0 ? (int)value.n : 4,
                  value.n > 0 ? value.at : "true");
}

static void write_nemo(strbuf *out, const char *arguments)
{
    str rest = str_from(arguments), line;
    strbuf_add(out, STR("trainer:\n  num_nodes: 1\n  devices: 0\nmodel:\n"));
    while (str_next(&rest, '\n', &line)) {
        const char *blank = memchr(line.at, ' ', line.n);
        if (line.n < 3)
            continue;
        const size_t end = blank != NULL ? (size_t)(blank - line.at) : line.n;
        const str value = {line.at + end + (blank != NULL),
                           line.n - end - (blank != NULL)};
        write_nemo_line(out, (str){line.at + 2, end - 2}, value);
    }
}

static void written_plans_read_back_the_same(void **state)
{
    (void)state;
    halley_model model;
    halley_error err = {0};
    uint64_t seed = 88172645463325252u;
    assert_int_equal(halley_model_load(&model, "llama3-8b", &err), HALLEY_OK);
    for (uint32_t done = 0; done < cases_count(1000);) {
        halley_plan plan;
        char *text, *left_out;
        strbuf script = {0}, yaml = {0}, nemo = {0};
        make_plan(&plan, &seed);
        if (halley_plan_check(&plan, &model, 0, &err) != HALLEY_OK)
            continue; /* not every draw can be run */
        done++;
        assert_int_equal(halley_launch_write(&text, &left_out, HALLEY_LAUNCH_MEGATRON,
                                             &model, &plan, &err),
                         HALLEY_OK);
        assert_null(left_out);
        expect_same_plan(&plan, text, "arguments.txt", &model);
        write_script(&script, text, &seed);
        expect_same_plan(&plan, script.at, "run.sh", &model);
        write_yaml(&yaml, text);
        expect_same_plan(&plan, yaml.at, "args.yaml", &model);
        write_nemo(&nemo, text);
        expect_same_plan(&plan, nemo.at, "nemo.yaml", &model);
        strbuf_fini(&script);
        strbuf_fini(&yaml);
        strbuf_fini(&nemo);
        free(text);
        free(left_out);
    }
    halley_model_fini(&model);
}

static void every_form_is_read_back(void **state)
{
    (void)state;
    halley_model model;
    halley_error err = {0};
    assert_int_equal(halley_model_load(&model, "llama3-70b", &err), HALLEY_OK);
    halley_plan plan;
    halley_plan_default(&plan);
    plan.tp = 8;
    plan.dp = 8;
    plan.global_batch = 64;
    plan.fsdp = HALLEY_FSDP_ALL;
    plan.zero = 3;
    plan.recompute = HALLEY_RECOMPUTE_FULL;
    plan.gradient_bytes = 4;
    plan.micro_batch = 8;
    assert_int_equal(halley_plan_check(&plan, &model, 64, &err), HALLEY_OK);
    static const char *const names[] = {"a.txt", "a.json", "a.toml", "a.yml"};
    for (unsigned i = 0; i < HALLEY_N_LAUNCH_FORMS; i++) {
        char *text, *left_out;
        halley_plan back;
        assert_int_equal(halley_launch_write(&text, &left_out, (halley_launch_form)i,
                                             &model, &plan, &err),
                         HALLEY_OK);
        halley_launch *l = read_named(text, names[i], NULL);
        halley_plan_default(&back);
        assert_int_equal(halley_launch_plan(&back, NULL, l, 64, 0, &err), HALLEY_OK);
        assert_int_equal(back.tp, 8);
        assert_int_equal(back.global_batch, 64);
        assert_int_equal(back.micro_batch, 8);
        assert_int_equal(back.recompute, HALLEY_RECOMPUTE_FULL);
        assert_int_equal(back.gradient_bytes, 4);
        halley_launch_free(l);
        free(text);
        free(left_out);
    }
    halley_model_fini(&model);
}

static void every_name_of_a_model_is_a_preset(void **state)
{
    (void)state;
    static const char *const flavors[][2] = {
        {"llama3", "405B"},      {"llama4", "17bx16e"}, {"deepseek_v3", "16B"},
        {"deepseek_v3", "671B"}, {"qwen3", "0.6B"},     {"qwen3", "14B"},
        {"qwen3", "235B-A22B"},  {"gpt_oss", "20b"}};
    for (size_t i = 0; i < sizeof flavors / sizeof *flavors; i++) {
        char text[256];
        snprintf(text, sizeof text, "[model]\nname = \"%s\"\nflavor = \"%s\"\n",
                 flavors[i][0], flavors[i][1]);
        halley_launch *l = read_named(text, "a.toml", NULL);
        assert_true(halley_model_params(halley_launch_model(l)) > 5e8);
        halley_launch_free(l);
    }
}

static void reading_is_bounded_in_time(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "A=\"$A $A\"\n",    "((((",    "$((1+",           "A+=($A)\n",     "${A:-",
        "if [ $A ]; then ", "B=$B$A;", "--num-layers 3 ", "case x in a) ", "x=y\n"};
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 64);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t n = 0;
        memcpy(text, "--num-layers 1\n", 15);
        for (n = 15; n + strlen(pieces[i]) < SIZE; n += strlen(pieces[i]))
            memcpy(text + n, pieces[i], strlen(pieces[i]));
        halley_launch *l = NULL;
        const clock_t from = clock();
        if (halley_launch_parse(&l, text, n, "run.sh", NULL, NULL) == HALLEY_OK)
            halley_launch_free(l);
        const double s = (double)(clock() - from) / CLOCKS_PER_SEC;
        if (s > 1) /* 0.1 s in a release build; ten times that with sanitizers */
            fail_msg("%s: %d ms", pieces[i], (int)(1000 * s));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_arguments_mean_what_megatron_means),
        cmocka_unit_test(vocabularies_are_padded_by_tensor_parallelism),
        cmocka_unit_test(variables_arrays_and_defaults_are_followed),
        cmocka_unit_test(conditions_are_decided_where_they_can_be),
        cmocka_unit_test(values_that_need_a_program_are_refused_by_name),
        cmocka_unit_test(bad_scripts_are_refused_with_a_sentence),
        cmocka_unit_test(later_and_unknown_arguments_are_said),
        cmocka_unit_test(layouts_and_layer_lists_are_expanded),
        cmocka_unit_test(a_part_of_a_configuration_is_a_plan),
        cmocka_unit_test(deepspeed_balances_its_stages),
        cmocka_unit_test(slurm_and_torchrun_say_how_many),
        cmocka_unit_test(printed_lists_and_json_are_the_same_arguments),
        cmocka_unit_test(a_program_among_the_arguments_of_a_file_counts),
        cmocka_unit_test(deepspeed_batches_must_agree),
        cmocka_unit_test(torchtitan_counts_its_batch_per_rank),
        cmocka_unit_test(maxtext_counts_its_batch_per_device),
        cmocka_unit_test(written_plans_read_back_the_same),
        cmocka_unit_test(every_form_is_read_back),
        cmocka_unit_test(every_name_of_a_model_is_a_preset),
        cmocka_unit_test(reading_is_bounded_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
