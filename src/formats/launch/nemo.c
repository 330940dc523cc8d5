/*
 * NeMo's and Megatron-Bridge's YAML. Most keys are Megatron's names with underscores, in
 * blocks (model, trainer.strategy, train, ddp, optim, ...). The others are renamed here.
 * A file with only a part of a configuration (an override file) gives a plan without a
 * model.
 */
#include "launch/tree.h"

#include <stdio.h>
#include <string.h>

typedef enum nemo_how {
    NEMO_COPY,
    NEMO_IF_FALSE, /* set a flag if the key is false */
    NEMO_IF_TRUE,
    NEMO_CALL
} nemo_how;

typedef struct nemo_key {
    const char *from; /* a path, or the last part of one */
    const char *to;   /* Megatron's argument */
    nemo_how how;
    void (*call)(launch_args *to, const launch_arg *arg);
} nemo_key;

/* `from` has dashes instead of underscores; both spellings are needed. */
static str write_underscores(char to[240], str name)
{
    size_t n = name.n < 239 ? name.n : 239;
    for (size_t i = 0; i < n; i++)
        to[i] = name.at[i] == '-' ? '_' : name.at[i];
    return (str){to, n};
}

static void add_flag(launch_args *to, const char *name, const launch_arg *arg)
{
    launch_args_add(to, str_from(name), STR("true"), arg->line);
}

static void read_nemo_groups(launch_args *to, const launch_arg *arg)
{
    launch_args_add(to, STR("num-query-groups"), arg->value, arg->line);
    if (!arg->is_off)
        add_flag(to, "group-query-attention", arg);
}

static void read_activation(launch_args *to, const launch_arg *arg)
{
    if (str_contains(arg->value, STR("glu")))
        add_flag(to, "gated-linear-unit", arg);
}

static void read_fp8(launch_args *to, const launch_arg *arg)
{
    if (!arg->is_off)
        launch_args_add(to, STR("fp8-format"), arg->value, arg->line);
}

/* "bf16-mixed", 16, "bf16_with_fp8_delayed_scaling_mixed", "bf16_with_mxfp8_mixed" ... */
static void read_nemo_precision(launch_args *to, const launch_arg *arg)
{
    static const struct {
        const char *word, *recipe;
    } recipes[] = {{"subchannel", "blockwise"}, {"blockwise", "blockwise"},
                   {"mxfp8", "mxfp8"},          {"delayed", "delayed"},
                   {"current", "tensorwise"},   {"fp8", "delayed"}};
    const str v = arg->value;
    if (str_contains(v, STR("bf16")))
        add_flag(to, "bf16", arg);
    else if (str_contains(v, STR("16")))
        add_flag(to, "fp16", arg);
    if (str_contains(v, STR("nvfp4"))) {
        launch_args_add(to, STR("fp4-format"), STR("e2m1"), arg->line);
        return;
    }
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (str_contains(v, str_from(recipes[i].word))) {
            launch_args_add(to, STR("fp8-format"), STR("hybrid"), arg->line);
            launch_args_add(to, STR("fp8-recipe"), str_from(recipes[i].recipe),
                            arg->line);
            return;
        }
}

static void read_optimizer_name(launch_args *to, const launch_arg *arg)
{
    if (str_contains(arg->value, STR("distributed")))
        add_flag(to, "use-distributed-optimizer", arg);
}

static void read_gradient_type(launch_args *to, const launch_arg *arg)
{
    if (str_contains(arg->value, STR("16")))
        add_flag(to, "grad-reduce-in-bf16", arg);
}

static void read_fp32_gradients(launch_args *to, const launch_arg *arg)
{
    add_flag(to,
             arg->is_off ? "grad-reduce-in-bf16" : "accumulate-allreduce-grads-in-fp32",
             arg);
}

static void read_nemo_fsdp(launch_args *to, const launch_arg *arg)
{
    if (!arg->is_off)
        add_flag(to, "use-torch-fsdp2", arg);
}

static void read_unpadded(launch_args *to, const launch_arg *arg)
{
    if (arg->is_off)
        launch_args_add(to, STR("make-vocab-size-divisible-by"), STR("0"), arg->line);
}

/* A tokenizer that is not from Megatron; its vocabulary is not GPT-2's. */
static void read_library(launch_args *to, const launch_arg *arg)
{
    if (!arg->is_off && !str_eq(arg->value, STR("megatron")))
        launch_args_add(to, STR("tokenizer-library"), arg->value, arg->line);
}

static void read_adapter_rank(launch_args *to, const launch_arg *arg)
{
    uint64_t rank;
    if (arg->is_off || !str_to_u64(arg->value, &rank) || rank == 0)
        return;
    char buffer[240];
    launch_set_number(to->launch, HALLEY_KEY_LORA, rank);
    import_add(to->launch->import, HALLEY_IMPORT_READ,
               write_underscores(buffer, arg->name), arg->value);
    import_note(to->launch->import,
                "LoRA adapters are timed on the attention projections only.");
}

static void read_adapter_kind(launch_args *to, const launch_arg *arg)
{
    if (!arg->is_off && !str_eq(arg->value, STR("lora")))
        launch_args_fail(to, HALLEY_EINVAL, "peft_scheme %.*s is not modelled",
                         STR_ARG(arg->value));
}

static void refuse_frozen(launch_args *to, const launch_arg *arg)
{
    char buffer[240];
    const str name = write_underscores(buffer, arg->name);
    if (!arg->is_off)
        launch_args_fail(to, HALLEY_EINVAL,
                         "%.*s changes the run in a way that halley cannot model yet "
                         "(frozen weights)",
                         STR_ARG(name));
}

static void note_tower(launch_args *to, const launch_arg *arg)
{
    (void)arg;
    import_note(to->launch->import, "The vision tower is neither counted nor timed.");
}

static const nemo_key nemo_keys[] = {
    {"tokenizer.library", NULL, NEMO_CALL, read_library},
    {"model.mm_cfg.llm.freeze", NULL, NEMO_CALL, refuse_frozen},
    {"model.freeze_language_model", NULL, NEMO_CALL, refuse_frozen},
    {"model.mm_cfg.vision_encoder.hidden_size", NULL, NEMO_CALL, note_tower},
    {"model.freeze_vision_model", NULL, NEMO_CALL, note_tower},
    {"peft.dim", NULL, NEMO_CALL, read_adapter_rank},
    {"model.peft.peft_scheme", NULL, NEMO_CALL, read_adapter_kind},
    {"model.encoder_seq_length", "seq-length", NEMO_COPY, NULL},
    {"model.data.seq_length", NULL, NEMO_COPY, NULL}, /* the model's counts */
    {"dataset.seq_length", NULL, NEMO_COPY, NULL},
    {"dataset.sequence_length", NULL, NEMO_COPY, NULL},
    {"model.num_query_groups", NULL, NEMO_CALL, read_nemo_groups},
    {"num_query_groups", NULL, NEMO_CALL, read_nemo_groups},
    {"activation", NULL, NEMO_CALL, read_activation},
    {"bias", "disable-bias-linear", NEMO_IF_FALSE, NULL},
    {"qkv_bias", "add-qkv-bias", NEMO_IF_TRUE, NULL},
    {"fp8", NULL, NEMO_CALL, read_fp8},
    {"fp8_e4m3", NULL, NEMO_COPY, NULL}, /* formats, which count only with fp8 */
    {"fp8_hybrid", NULL, NEMO_COPY, NULL},
    {"precision", NULL, NEMO_CALL, read_nemo_precision},
    {"mixed_precision", NULL, NEMO_CALL, read_nemo_precision},
    {"trainer.precision", NULL, NEMO_CALL, read_nemo_precision},
    {"model.vocab_size", "padded-vocab-size", NEMO_COPY, NULL},
    {"override_vocab_size", "padded-vocab-size", NEMO_COPY, NULL},
    {"should_pad_vocab", NULL, NEMO_CALL, read_unpadded},
    {"tokenizer.type", "tokenizer-name-or-path", NEMO_COPY, NULL},
    {"tokenizer.model", "tokenizer-model", NEMO_COPY, NULL},
    {"tokenizer.merge_file", NULL, NEMO_COPY, NULL}, /* tokenizer.type says it */
    {"tokenizer.vocab_file", NULL, NEMO_COPY, NULL},
    {"tokenizer.tokenizer_type", "tokenizer-type", NEMO_COPY, NULL},
    {"tokenizer.tokenizer_model", "tokenizer-model", NEMO_COPY, NULL},
    {"tokenizer.vocab_size", "vocab-size", NEMO_COPY, NULL},
    {"optim.name", NULL, NEMO_CALL, read_optimizer_name},
    {"overlap_grad_sync", "overlap-grad-reduce", NEMO_COPY, NULL},
    {"overlap_param_sync", "overlap-param-gather", NEMO_COPY, NULL},
    {"grad_sync_dtype", NULL, NEMO_CALL, read_gradient_type},
    {"grad_reduce_in_fp32", NULL, NEMO_CALL, read_fp32_gradients},
    {"ub_tp_comm_overlap", "tp-comm-overlap", NEMO_COPY, NULL},
    {"activations_checkpoint_granularity", "recompute-granularity", NEMO_COPY, NULL},
    {"activations_checkpoint_method", "recompute-method", NEMO_COPY, NULL},
    {"activations_checkpoint_num_layers", "recompute-num-layers", NEMO_COPY, NULL},
    {"activations_checkpoint_recompute", "recompute-modules", NEMO_COPY, NULL},
    {"model.fsdp", NULL, NEMO_CALL, read_nemo_fsdp},
    {"moe_router_topk", "moe-router-topk", NEMO_COPY, NULL},
    {"kv_channels", "kv-channels", NEMO_COPY, NULL},
    {"num_moe_experts", "num-experts", NEMO_COPY, NULL},
    {"model.encoder.num_layers", "encoder-num-layers", NEMO_COPY, NULL},
    {"model.decoder.num_layers", "decoder-num-layers", NEMO_COPY, NULL},
    {"optimizer_cpu_offload", "optimizer-cpu-offload", NEMO_COPY, NULL},
};

/* Blocks whose keys are Megatron's names. */
static const char *const blocks[] = {"model.optim.",
                                     "model.config.",
                                     "model.encoder.",
                                     "model.",
                                     "trainer.strategy.ddp.",
                                     "trainer.strategy.",
                                     "train.",
                                     "ddp.",
                                     "dist.",
                                     "comm_overlap.",
                                     "mixed_precision.",
                                     "optimizer.",
                                     "optim.config.",
                                     "optim.",
                                     "data.",
                                     ""};

static const char *const free_blocks[] = {
    "model.mm_cfg.",  "model.peft.",  "peft.",
    "model.decoder.", "exp_manager.", "run.",
    "hydra.",         "defaults",     "trainer.",
    "logger.",        "checkpoint.",  "dataset.",
    "model.data.",    "model.nsys",   "profiling",
    "scheduler.",     "model.sched",  "data.",
    "rng.",           "rerun_",       "ft.",
    "resume.",        "log.",         "nvrx",
    "straggler.",     "tokenizer.",   "model.tokenizer.",
    "inprocess",      "env",          "model.optim.",
    "optim.",         "optimizer."};

/* Keys without effect that Megatron does not have. */
static const char *const free_keys[] = {"mcore_gpt",
                                        "megatron_amp_O2",
                                        "native_amp",
                                        "pre_process",
                                        "post_process",
                                        "persist_layer_norm",
                                        "gradient_as_bucket_view",
                                        "grad_div_ar_fusion",
                                        "grad_allreduce_chunk_size_mb",
                                        "gradient_accumulation_fusion",
                                        "masked_softmax_fusion",
                                        "transformer_engine",
                                        "transformer_block_type",
                                        "headscale",
                                        "openai_gelu",
                                        "normalize_attention_scores",
                                        "attention_type",
                                        "onnx_safe",
                                        "apex_transformer_log_level",
                                        "sync_batch_comm",
                                        "resume_from_checkpoint",
                                        "use_scaled_init_method",
                                        "ffn_dropout",
                                        "do_layer_norm_weight_decay",
                                        "gc_interval",
                                        "num_micro_batches_with_partial",
                                        "activations_checkpoint_layers_per_pipeline",
                                        "apply_rope_fusion",
                                        "rotary_",
                                        "sharp",
                                        "use_emha",
                                        "reduce_amax",
                                        "use_flash_attention",
                                        "fsdp_",
                                        "batch_p2p_comm",
                                        "name",
                                        "restore_from",
                                        "precision",
                                        "params_dtype",
                                        "pipeline_dtype",
                                        "autocast",
                                        "_target_",
                                        "seed",
                                        "share_token",
                                        "hidden_act",
                                        "nsys",
                                        "bucket_cap_mb",
                                        "contiguous",
                                        "lr",
                                        "weight_decay",
                                        "betas",
                                        "sched",
                                        "dist_ckpt",
                                        "variable_seq_lengths",
                                        "cross_entropy",
                                        "average_in_collective",
                                        "enable_",
                                        "activation_func",
                                        "init_method",
                                        "output_layer",
                                        "bf16",
                                        "fp16",
                                        "bias_",
                                        "use_mcore",
                                        "moe_",
                                        "deallocate",
                                        "wgrad_",
                                        "defer_",
                                        "overlap_",
                                        "data_",
                                        "tp_comm_",
                                        "attention_",
                                        "window_",
                                        "cp_comm",
                                        "layernorm",
                                        "qk_",
                                        "scatter",
                                        "persist",
                                        "inference",
                                        "perform_init",
                                        "use_cpu_init",
                                        "finalize",
                                        "grad_scale",
                                        "no_sync",
                                        "timers",
                                        "cuda_graph",
                                        "calculate_per_token",
                                        "multi_latent"};

static bool begins_with_any(str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_starts(name, str_from(list[i])))
            return true;
    return false;
}

/* The key without its block's name. */
static str get_leaf(str path)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (str_starts(path, str_from(blocks[i])))
            return (str){path.at + strlen(blocks[i]), path.n - strlen(blocks[i])};
    return path;
}

static const nemo_key *find_nemo_key(str path, str leaf)
{
    const nemo_key *found = NULL;
    for (size_t i = 0; i < sizeof nemo_keys / sizeof *nemo_keys; i++) {
        const str from = str_from(nemo_keys[i].from);
        if (str_eq(path, from))
            return &nemo_keys[i];
        const bool tail = memchr(from.at, '.', from.n) != NULL && str_ends(path, from) &&
                          path.n > from.n && path.at[path.n - from.n - 1] == '.';
        if (str_eq(leaf, from) || tail)
            found = &nemo_keys[i];
    }
    return found;
}

static void apply_nemo_key(launch_args *to, const nemo_key *key, const launch_arg *arg)
{
    if (key->how == NEMO_CALL)
        key->call(to, arg);
    else if (key->to == NULL)
        return;
    else if (key->how == NEMO_COPY)
        launch_args_add(to, str_from(key->to), arg->value, arg->line);
    else if (arg->is_off == (key->how == NEMO_IF_FALSE))
        add_flag(to, key->to, arg);
}

/* True for names that launch_megatron_read renames; they count as known. */
static bool is_megatron_name(str leaf)
{
    static const char *const renamed[] = {"add-bias-linear",
                                          "add-position-embedding",
                                          "overlap-p2p-comm",
                                          "share-embeddings-and-output-weights",
                                          "virtual-pipeline-model-parallel-size",
                                          "fp8-param"};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (str_eq(leaf, str_from(renamed[i])))
            return true;
    const launch_key *key =
        launch_key_find(launch_megatron_keys, launch_n_megatron_keys, leaf);
    return key != NULL && key->meaning != LAUNCH_FREE;
}

static void rename_one(launch_args *to, const launch_arg *arg)
{
    char buffer[240];
    const str path = write_underscores(buffer, arg->name);
    const str leaf = get_leaf(path);
    const str dashed = {arg->name.at + (leaf.at - path.at), leaf.n};
    const nemo_key *key = find_nemo_key(path, leaf);
    if (key != NULL) {
        apply_nemo_key(to, key, arg);
        if (key->how == NEMO_COPY && key->to == NULL)
            import_add(to->launch->import, HALLEY_IMPORT_IGNORED, path, arg->value);
        return;
    }
    const bool in_free_block =
        begins_with_any(path, free_blocks, sizeof free_blocks / sizeof *free_blocks);
    if (memchr(dashed.at, '.', dashed.n) == NULL && is_megatron_name(dashed)) {
        launch_args_add(to, dashed, arg->value, arg->line);
        return;
    }
    const bool is_free =
        in_free_block ||
        begins_with_any(leaf, free_keys, sizeof free_keys / sizeof *free_keys) ||
        launch_key_find(launch_megatron_keys, launch_n_megatron_keys, dashed) != NULL;
    import_add(to->launch->import,
               is_free ? HALLEY_IMPORT_IGNORED : HALLEY_IMPORT_UNKNOWN, path, arg->value);
}

static const char *find_text(launch_args *a, const conf_file *file, const char *path)
{
    const conf_node *node = launch_tree_find(file->root, path);
    return node != NULL ? launch_tree_text(a, file->root, file->root, node) : NULL;
}

static uint32_t find_number(launch_args *a, const conf_file *file, const char *path)
{
    const char *text = find_text(a, file, path);
    uint64_t n;
    return text != NULL && str_to_u64(str_from(text), &n) && n < 10000000 ? (uint32_t)n
                                                                          : 0;
}

/* If the data's sequence length differs from the model's, report it. If the model has
 * none, use it. */
static void compare_sequences(launch_args *a, const conf_file *file)
{
    static const char *const paths[] = {"model.data.seq_length", "dataset.seq_length",
                                        "dataset.sequence_length", "data.seq_length"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const uint32_t data = find_number(a, file, paths[i]);
        if (data == 0)
            continue;
        uint32_t model = find_number(a, file, "model.encoder_seq_length");
        if (model == 0)
            model = find_number(a, file, "model.seq_length");
        if (model == 0 && !str_starts(str_from(paths[i]), STR("data.")))
            launch_args_add(a, STR("seq-length"), str_from(find_text(a, file, paths[i])),
                            0);
        else if (model != data && model != 0)
            import_note(a->launch->import, "The model's sequence (%u) counts; %s is %u.",
                        model, paths[i], data);
    }
}

static void read_provider(launch_args *a, const conf_file *file)
{
    const char *target = find_text(a, file, "model._target_");
    if (target == NULL || launch_args_has(a, "num-layers") || a->status != HALLEY_OK)
        return;
    const char *preset = launch_preset_of(STR("bridge"), str_from(target));
    if (preset == NULL)
        return;
    halley_model *m = &a->launch->model;
    a->status = halley_model_load(m, preset, a->err);
    a->launch->has_model = a->status == HALLEY_OK;
    import_add(a->launch->import, HALLEY_IMPORT_ASSUMED, STR("model"), str_from(preset));
}

static void refuse_sharding(launch_args *a, const conf_file *file)
{
    const char *fsdp = find_text(a, file, "model.fsdp");
    const char *how = find_text(a, file, "model.fsdp_sharding_strategy");
    if (fsdp == NULL || how == NULL ||
        (strcmp(fsdp, "true") != 0 && strcmp(fsdp, "True") != 0))
        return;
    if (strcmp(how, "full") != 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "fsdp_sharding_strategy %s is not modelled; halley models full",
                         how);
}

/* NeMo 1: the rank has an effect only with the scheme. */
static void read_old_adapters(launch_args *a, const conf_file *file)
{
    const char *scheme = find_text(a, file, "model.peft.peft_scheme");
    const uint32_t rank = find_number(a, file, "model.peft.lora_tuning.adapter_dim");
    if (scheme != NULL && strcmp(scheme, "lora") == 0 && rank > 0)
        launch_set_number(a->launch, HALLEY_KEY_LORA, rank);
}

/* An override file contains a part of a configuration. The rest is in a recipe, which
 * does not have Megatron's defaults. Keys that the file does not state are therefore left
 * unset. */
static void forget_unstated(launch_args *a)
{
    static const struct {
        halley_plan_key key;
        const char *names;
    } sources[] = {
        {HALLEY_KEY_DTYPE, "bf16 fp16 fp8-format fp4-format"},
        {HALLEY_KEY_GRADIENT_BYTES,
         "grad-reduce-in-bf16 accumulate-allreduce-grads-in-fp32 bf16 fp16"},
        {HALLEY_KEY_GRADIENT_MEMORY,
         "grad-reduce-in-bf16 accumulate-allreduce-grads-in-fp32 bf16 fp16"},
        {HALLEY_KEY_ZERO, "use-distributed-optimizer use-megatron-fsdp use-torch-fsdp2"},
        {HALLEY_KEY_EXPOSE, "overlap-grad-reduce overlap-param-gather tp-comm-overlap"},
        {HALLEY_KEY_RECOMPUTE, "recompute-granularity recompute-activations"},
        {HALLEY_KEY_TP, "tensor-model-parallel-size"},
        {HALLEY_KEY_PP, "pipeline-model-parallel-size"},
        {HALLEY_KEY_CP, "context-parallel-size"},
        {HALLEY_KEY_EP, "expert-model-parallel-size"},
        {HALLEY_KEY_VIRTUAL, "num-virtual-stages-per-pipeline-rank "
                             "num-layers-per-virtual-pipeline-stage"},
        {HALLEY_KEY_SEQUENCE_PARALLEL, "sequence-parallel"},
        {HALLEY_KEY_MICRO_BATCH, "micro-batch-size"},
    };
    bool forgotten = false;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        str names = str_from(sources[i].names), name;
        bool stated = false;
        while (str_next(&names, ' ', &name))
            for (size_t k = 0; k < a->list.n; k++)
                stated = stated || str_eq(a->list.at[k].name, name);
        if (stated || a->launch->value[sources[i].key] == NULL)
            continue;
        a->launch->value[sources[i].key] = NULL;
        forgotten = true;
    }
    if (forgotten)
        import_note(a->launch->import,
                    "This file is a part of a configuration; what it does not state is "
                    "left to -m, options and halley's defaults.");
}

void launch_nemo_read(launch_args *outer, const conf_file *file)
{
    launch_args leaves = {
        .launch = outer->launch, .opts = outer->opts, .dashes = "", .err = outer->err};
    launch_args a = leaves;
    launch_tree_flatten(&leaves, file->root);
    for (size_t i = 0; i < leaves.list.n && a.status == HALLEY_OK; i++)
        rename_one(&a, &leaves.list.at[i]);
    if (leaves.status != HALLEY_OK)
        a.status = leaves.status;
    compare_sequences(&a, file);
    outer->launch->npus = find_number(&a, file, "trainer.num_nodes") *
                          find_number(&a, file, "trainer.devices");
    read_provider(&a, file);
    refuse_sharding(&a, file);
    read_old_adapters(&a, file);
    if (launch_tree_find(file->root, "model.teacher") != NULL)
        launch_args_fail(
            &a, HALLEY_EINVAL,
            "model.teacher changes the run in a way that halley cannot model "
            "yet (a teacher runs, too)");
    const bool is_part = launch_tree_find(file->root, "trainer") == NULL &&
                         launch_tree_find(file->root, "model._target_") == NULL;
    if (a.status == HALLEY_OK)
        launch_megatron_read(&a);
    if (a.status == HALLEY_OK && is_part && !a.launch->has_model)
        forget_unstated(&a);
    outer->status = a.status;
    launch_args_fini(&leaves);
    launch_args_fini(&a);
}
