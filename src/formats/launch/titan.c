/*
 * torchtitan's TOML. The model is a name and a flavor. Weights are always sharded (FSDP).
 * The batch is per data-parallel rank, so the global batch follows from the number of
 * GPUs.
 */
#include "base/number/number.h"
#include "base/number/whole.h"
#include "launch/tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NO_KEY = -1 };

#define READ(name, otherwise, doc)                                                       \
    {                                                                                    \
        name, LAUNCH_READ, otherwise, doc                                                \
    }
static const launch_key keys[] = {
    READ("model.name", NULL, "with the flavor: the model"),
    READ("model.flavor", NULL, "with the name: the model"),
    READ("model.converters", "none", "float8 or mx: dtype fp8"),
    READ("model.print-after-conversion", "no", "no influence"),
    READ("training.local-batch-size", "8", "sequences of a data-parallel rank"),
    READ("training.batch-size", "8", "the same (older)"),
    READ("training.global-batch-size", "-1: local x dp", "global-batch"),
    READ("training.seq-len", "2048", "seq"),
    READ("training.mixed-precision-param", "bfloat16", "dtype"),
    READ("training.mixed-precision-reduce", "float32", "gradient-bytes"),
    READ("training.enable-cpu-offload", "no", "offload weights and optimizer"),
    READ("training.compile", "no", "kernels (older)"),
    READ("training.fp8-linear", "none", "dtype fp8 (older)"),
    READ("training.dtype", "float32", "gradient-memory and optimizer-memory"),
    READ("training.data-parallel-type", "fsdp", "ddp: replicas only (older)"),
    /* Degrees were keys of training and experimental until 2025. */
    READ("training.data-parallel-degree", "-1: the rest", "fsdp (older)"),
    READ("training.data-parallel-shard-degree", "-1: the rest", "fsdp (older)"),
    READ("training.data-parallel-replicate-degree", "1", "copies (older)"),
    READ("training.tensor-parallel-degree", "1", "tp (older)"),
    READ("training.fsdp-reshard-after-forward", "default", "gather (older)"),
    READ("experimental.pipeline-parallel-degree", "1", "pp (older)"),
    READ("experimental.context-parallel-degree", "1", "cp (older)"),
    READ("experimental.pipeline-parallel-schedule", "1F1B", "schedule (older)"),
    READ("experimental.pipeline-parallel-microbatches", "pp", "micro-batch (older)"),
    READ("experimental.enable-async-tensor-parallel", "no", "expose tp (older)"),
    READ("parallelism.data-parallel-shard-degree", "-1: the rest", "fsdp"),
    READ("parallelism.data-parallel-replicate-degree", "1", "copies of sharded weights"),
    READ("parallelism.tensor-parallel-degree", "1", "tp"),
    READ("parallelism.pipeline-parallel-degree", "1", "pp"),
    READ("parallelism.context-parallel-degree", "1", "cp"),
    READ("parallelism.expert-parallel-degree", "1", "ep"),
    READ("parallelism.expert-tensor-parallel-degree", "1; tp without ep", "etp"),
    READ("parallelism.expert-parallel-comm-backend", "standard", "dispatcher"),
    READ("parallelism.pipeline-parallel-schedule", "1F1B", "schedule"),
    READ("parallelism.pipeline-parallel-microbatch-size", "1", "micro-batch, with pp"),
    READ("parallelism.pipeline-parallel-layers-per-stage", NULL, "virtual"),
    READ("parallelism.pipeline-parallel-first-stage-less-layers", "1",
         "embeddings-as-layers"),
    READ("parallelism.pipeline-parallel-last-stage-less-layers", "1",
         "embeddings-as-layers"),
    READ("parallelism.fsdp-reshard-after-forward", "default", "gather"),
    READ("parallelism.enable-async-tensor-parallel", "no", "expose tp"),
    READ("activation-checkpoint.mode", "selective", "recompute"),
    READ("activation-checkpoint.selective-ac-option", "2", "op, or every n-th layer"),
    READ("compile.enable", "no", "kernels"),
    READ("compile.components", "model, loss", "kernels, if it holds the model"),
    READ("quantize.linear.float8.recipe-name", "tensorwise", "fp8-recipe"),
    READ("float8.recipe-name", "tensorwise", "fp8-recipe"),
    READ("float8.enable-float8-linear", "no", "dtype fp8 (older)"),
    {"parallelism.module-fqns-per-model-part", LAUNCH_REFUSED, NULL, "stages of its own"},
    {"parallelism.pipeline-parallel-split-points", LAUNCH_REFUSED, NULL,
     "stages of its own"},
    {"parallelism.pipeline-parallel-schedule-csv", LAUNCH_REFUSED, NULL,
     "a schedule of its own"},
    {"experimental.pipeline-parallel-split-points", LAUNCH_REFUSED, NULL,
     "stages of its own"},
    {"experimental.pipeline-parallel-schedule-csv", LAUNCH_REFUSED, NULL,
     "a schedule of its own"},
    {"optimizer.early-step-in-backward", LAUNCH_REFUSED, NULL,
     "the optimizer runs within the backward pass"},
    {"fault-tolerance.semi-sync-method", LAUNCH_REFUSED, NULL,
     "replicas are synchronized less than once per step"},
    {"parallelism.*", LAUNCH_FREE, NULL, NULL},
    {"activation-checkpoint.*", LAUNCH_FREE, NULL, NULL},
    {"training.*", LAUNCH_FREE, NULL, NULL},
    {"model.*", LAUNCH_FREE, NULL, NULL},
    {"job.*", LAUNCH_FREE, NULL, NULL},
    {"profiling.*", LAUNCH_FREE, NULL, NULL},
    {"metrics.*", LAUNCH_FREE, NULL, NULL},
    {"optimizer.*", LAUNCH_FREE, NULL, NULL},
    {"lr-scheduler.*", LAUNCH_FREE, NULL, NULL},
    {"checkpoint.*", LAUNCH_FREE, NULL, NULL},
    {"compile.*", LAUNCH_FREE, NULL, NULL},
    {"quantize.*", LAUNCH_FREE, NULL, NULL},
    {"float8.*", LAUNCH_FREE, NULL, NULL},
    {"mx.*", LAUNCH_FREE, NULL, NULL},
    {"validation.*", LAUNCH_FREE, NULL, NULL},
    {"comm.*", LAUNCH_FREE, NULL, NULL},
    {"experimental.*", LAUNCH_FREE, NULL, NULL},
    {"fault-tolerance.*", LAUNCH_FREE, NULL, NULL},
    {"memory-estimation.*", LAUNCH_FREE, NULL, NULL},
    {"debug.*", LAUNCH_FREE, NULL, NULL},
};

static void read_titan_model(launch_args *a)
{
    const str name = launch_args_text(a, "model.name", STR(""), NO_KEY);
    const str flavor = launch_args_text(a, "model.flavor", STR(""), NO_KEY);
    char both[128];
    snprintf(both, sizeof both, "%.*s/%.*s", STR_ARG(name), STR_ARG(flavor));
    const char *preset = launch_preset_of(STR("torchtitan"), str_from(both));
    if (preset == NULL && a->opts->plan_only)
        return;
    if (preset == NULL) {
        launch_args_fail(
            a, HALLEY_ENOTFOUND,
            "the model %s (name/flavor) is not known; give it with -m and this "
            "file with --plan",
            both);
        return;
    }
    a->status = halley_model_load(&a->launch->model, preset, a->err);
    a->launch->has_model = a->status == HALLEY_OK;
}

static uint32_t read_titan_degree(launch_args *a, const char *name, halley_plan_key key)
{
    const uint32_t n = launch_args_whole(a, name, 1, (int)key);
    launch_set_number(a->launch, key, n > 0 ? n : 1);
    return n > 0 ? n : 1;
}

/* -1 ("the rest") becomes 0. */
static uint32_t read_rest_number(launch_args *a, const char *name, uint32_t otherwise)
{
    const double n = launch_args_real(a, name, otherwise, NO_KEY);
    return n > 0 && n < 1e9 ? whole_u32(n) : 0;
}

static void read_titan_sharding(launch_args *a, uint32_t cp)
{
    halley_launch *l = a->launch;
    const uint32_t shards = read_rest_number(a,
                                             "parallelism.data-parallel-shard-degree "
                                             "training.data-parallel-shard-degree "
                                             "training.data-parallel-degree",
                                             0);
    const uint32_t copies =
        launch_args_whole(a,
                          "parallelism.data-parallel-replicate-degree "
                          "training.data-parallel-replicate-degree",
                          1, NO_KEY);
    const str type =
        launch_args_text(a, "training.data-parallel-type", STR("fsdp"), NO_KEY);
    l->replicas = copies > 0 ? copies : 1;
    launch_set(l, HALLEY_KEY_ZERO, "3");
    if ((copies > 1 && shards == 1) || str_eq(type, STR("ddp"))) { /* DDP */
        launch_set(l, HALLEY_KEY_ZERO, "0");
        l->replicas = 0;
    } else if (copies <= 1) {
        launch_set(l, HALLEY_KEY_FSDP, "all");
    } else if (shards > 1) {
        launch_set_number(l, HALLEY_KEY_FSDP, (uint64_t)shards * cp);
    }
}

static void read_schedule(launch_args *a, uint32_t pp)
{
    static const struct {
        const char *word, *key;
        uint32_t chunks;
    } schedules[] = {{"1F1B", "1f1b", 1},
                     {"Interleaved1F1B", "1f1b", 2},
                     {"interleaved_1f1b", "1f1b", 2},
                     {"GPipe", "gpipe", 1},
                     {"ZBVZeroBubble", "zbv", 1},
                     {"LoopedBFS", "breadth-first", 2}};
    const str word = launch_args_text(a,
                                      "parallelism.pipeline-parallel-schedule "
                                      "experimental.pipeline-parallel-schedule",
                                      STR("1F1B"), NO_KEY);
    const uint32_t of_stage =
        launch_args_whole(a, "parallelism.pipeline-parallel-layers-per-stage", 0, NO_KEY);
    launch_set(a->launch, HALLEY_KEY_VIRTUAL, "1");
    if (pp == 1)
        return;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        if (word.n != strlen(schedules[i].word) ||
            strncasecmp(word.at, schedules[i].word, word.n) != 0)
            continue;
        uint32_t chunks = schedules[i].chunks;
        const uint32_t layers = a->launch->model.layers;
        if (of_stage > 0 && chunks > 1)
            chunks = (layers + pp * of_stage - 1) / (pp * of_stage);
        launch_set(a->launch, HALLEY_KEY_SCHEDULE, schedules[i].key);
        launch_set_number(a->launch, HALLEY_KEY_VIRTUAL, chunks);
        return;
    }
    launch_args_fail(a, HALLEY_EINVAL, "the pipeline schedule %.*s is not modelled",
                     STR_ARG(word));
}

static void read_titan_stages(launch_args *a, uint32_t pp)
{
    const uint32_t first = launch_args_whole(
        a, "parallelism.pipeline-parallel-first-stage-less-layers", 1, NO_KEY);
    const uint32_t last = launch_args_whole(
        a, "parallelism.pipeline-parallel-last-stage-less-layers", 1, NO_KEY);
    if (pp == 1)
        return;
    if (first == 1 && last == 1)
        launch_set(a->launch, HALLEY_KEY_EMBEDDINGS_AS_LAYERS, "yes");
    else if (first != 0 || last != 0)
        launch_args_fail(
            a, HALLEY_EINVAL,
            "first and last stages with %u and %u layers less are not modelled "
            "(0 and 0, 1 and 1 are)",
            first, last);
}

/* Sequences per micro-batch of a pipeline. Older versions state the number of
 * micro-batches; its default is the number of stages. */
static uint32_t read_titan_micro_batch(launch_args *a, uint32_t local, uint32_t pp)
{
    const char *const names = "experimental.pipeline-parallel-microbatches";
    if (!launch_args_has(a, "experimental.pipeline-parallel-degree"))
        return launch_args_whole(a, "parallelism.pipeline-parallel-microbatch-size", 1,
                                 NO_KEY);
    const uint32_t n = launch_args_whole(a, names, pp, NO_KEY);
    if (pp > 1 && (n == 0 || local % n != 0))
        launch_args_fail(a, HALLEY_EINVAL,
                         "training.batch_size %u is not a multiple of the %u "
                         "micro-batches of the pipeline",
                         local, n);
    return n > 0 && local >= n ? local / n : 1;
}

static void read_titan_batch(launch_args *a, uint32_t pp)
{
    halley_launch *l = a->launch;
    const uint32_t local =
        launch_args_whole(a, "training.local-batch-size training.batch-size", 8, NO_KEY);
    const uint32_t global = read_rest_number(a, "training.global-batch-size", 0);
    const uint32_t micro = read_titan_micro_batch(a, local, pp);
    if (!launch_args_has(a, "training.local-batch-size training.batch-size"))
        import_add_number(l->import, HALLEY_IMPORT_ASSUMED, STR("local_batch"), local);
    l->local_batch = local;
    launch_set_number(l, HALLEY_KEY_MICRO_BATCH, pp > 1 ? micro : local);
    if (global > 0)
        launch_set_number(l, HALLEY_KEY_GLOBAL_BATCH, global);
    launch_set_number(l, HALLEY_KEY_SEQ,
                      launch_args_whole(a, "training.seq-len", 2048, HALLEY_KEY_SEQ));
}

static void read_titan_precision(launch_args *a)
{
    static const struct {
        const char *word, *recipe;
    } recipes[] = {{"rowwise", "row"}, {"tensorwise", "tensor"}, {"mx", "mx"}};
    halley_launch *l = a->launch;
    const str converters = launch_args_text(a, "model.converters", STR(""), NO_KEY);
    const str linear = launch_args_text(a, "training.fp8-linear", STR(""), NO_KEY);
    const bool fp8 = str_contains(converters, STR("float8")) || linear.n > 0 ||
                     launch_args_has(a, "float8.enable-float8-linear");
    const bool mx = str_contains(converters, STR("mx"));
    const str param =
        launch_args_text(a, "training.mixed-precision-param", STR("bfloat16"), NO_KEY);
    const str reduce =
        launch_args_text(a, "training.mixed-precision-reduce", STR("float32"), NO_KEY);
    launch_set(l, HALLEY_KEY_DTYPE,
               fp8 || mx                        ? "fp8"
               : str_contains(param, STR("bf")) ? "bf16"
                                                : "fp32");
    launch_set(l, HALLEY_KEY_GRADIENT_BYTES, str_contains(reduce, STR("32")) ? "4" : "2");
    const str whole = launch_args_text(a, "training.dtype", STR("float32"), NO_KEY);
    if (str_contains(whole, STR("bf"))) { /* there is no fp32 copy of the weights */
        launch_set(l, HALLEY_KEY_DTYPE, fp8 || mx ? "fp8" : "bf16");
        launch_set(l, HALLEY_KEY_GRADIENT_MEMORY, "2");
        launch_set(l, HALLEY_KEY_OPTIMIZER_MEMORY, "4");
    }
    const str recipe =
        launch_args_text(a, "quantize.linear.float8.recipe-name float8.recipe-name",
                         STR("tensorwise"), NO_KEY);
    for (size_t i = 0; (fp8 || mx) && i < sizeof recipes / sizeof *recipes; i++)
        if (str_starts(mx ? STR("mx") : recipe, str_from(recipes[i].word)))
            launch_set(l, HALLEY_KEY_FP8_RECIPE, recipes[i].recipe);
}

static void read_titan_recomputation(launch_args *a, uint32_t pp)
{
    halley_launch *l = a->launch;
    const str mode =
        launch_args_choice(a, "activation-checkpoint.mode", STR("selective"), NO_KEY);
    const launch_arg *option =
        launch_args_find(a, "activation-checkpoint.selective-ac-option");
    const str how = option != NULL ? option->value : STR("2");
    uint64_t every;
    if (str_eq(mode, STR("full")) || str_eq(mode, STR("selective")))
        launch_set(l, HALLEY_KEY_RECOMPUTE, "full");
    else if (str_eq(mode, STR("none")))
        launch_set(l, HALLEY_KEY_RECOMPUTE, "none");
    else
        launch_args_fail(a, HALLEY_EINVAL,
                         "activation_checkpoint.mode %.*s is not modelled",
                         STR_ARG(mode));
    if (!str_eq(mode, STR("selective")))
        return;
    if (str_eq(how, STR("op")))
        launch_set(l, HALLEY_KEY_RECOMPUTE, "selective-op");
    else if (str_to_u64(how, &every) && every > 1 && l->model.layers / pp / every > 0)
        launch_set_number(l, HALLEY_KEY_RECOMPUTE_LAYERS, l->model.layers / pp / every);
}

static void read_titan_rest(launch_args *a, uint32_t tp, uint32_t pp)
{
    halley_launch *l = a->launch;
    const str reshard = launch_args_text(a,
                                         "parallelism.fsdp-reshard-after-forward "
                                         "training.fsdp-reshard-after-forward",
                                         STR("default"), NO_KEY);
    const str backend = launch_args_text(a, "parallelism.expert-parallel-comm-backend",
                                         STR("standard"), NO_KEY);
    const str compiled =
        launch_args_text(a, "compile.components", STR("model loss"), NO_KEY);
    if (str_eq(reshard, STR("never")) && pp == 1)
        launch_set(l, HALLEY_KEY_GATHER, "step");
    if (str_eq(reshard, STR("always")) && pp > 1)
        launch_set(l, HALLEY_KEY_GATHER, "micro-batch");
    if (!launch_args_has(a, "parallelism.enable-async-tensor-parallel "
                            "experimental.enable-async-tensor-parallel") &&
        tp > 1)
        launch_set(l, HALLEY_KEY_EXPOSE, "tp");
    launch_set(l, HALLEY_KEY_KERNELS,
               launch_args_has(a, "compile.enable training.compile") &&
                       str_contains(compiled, STR("model"))
                   ? "fused"
                   : "eager");
    if (l->model.experts > 0 && str_eq(backend, STR("deepep")))
        launch_set(l, HALLEY_KEY_DISPATCHER, "deepep");
    else if (l->model.experts > 0 && !str_eq(backend, STR("standard")))
        launch_args_fail(a, HALLEY_EINVAL,
                         "expert_parallel_comm_backend %.*s is not modelled",
                         STR_ARG(backend));
    if (launch_args_has(a, "training.enable-cpu-offload"))
        launch_set(l, HALLEY_KEY_OFFLOAD, "optimizer+weights");
}

void launch_titan_read(launch_args *outer, const conf_file *file)
{
    launch_args a = {
        .launch = outer->launch, .opts = outer->opts, .dashes = "", .err = outer->err};
    launch_tree_flatten(&a, file->root);
    if (a.status == HALLEY_OK)
        read_titan_model(&a);
    const uint32_t tp = read_titan_degree(&a,
                                          "parallelism.tensor-parallel-degree "
                                          "training.tensor-parallel-degree",
                                          HALLEY_KEY_TP);
    const uint32_t pp = read_titan_degree(&a,
                                          "parallelism.pipeline-parallel-degree "
                                          "experimental.pipeline-parallel-degree",
                                          HALLEY_KEY_PP);
    const uint32_t cp = read_titan_degree(&a,
                                          "parallelism.context-parallel-degree "
                                          "experimental.context-parallel-degree",
                                          HALLEY_KEY_CP);
    const uint32_t ep =
        read_titan_degree(&a, "parallelism.expert-parallel-degree", HALLEY_KEY_EP);
    const uint32_t etp = launch_args_whole(
        &a, "parallelism.expert-tensor-parallel-degree", 1, HALLEY_KEY_ETP);
    if (a.launch->model.experts > 0) /* without ep, experts are split like all else */
        launch_set_number(a.launch, HALLEY_KEY_ETP, ep > 1 ? etp : tp);
    if (a.status == HALLEY_OK) {
        launch_set(a.launch, HALLEY_KEY_SEQUENCE_PARALLEL, tp > 1 ? "yes" : "no");
        read_titan_sharding(&a, cp);
        read_schedule(&a, pp);
        read_titan_stages(&a, pp);
        read_titan_batch(&a, pp);
        read_titan_precision(&a);
        read_titan_recomputation(&a, pp);
        read_titan_rest(&a, tp, pp);
    }
    if (a.status == HALLEY_OK)
        launch_args_rest(&a, keys, sizeof keys / sizeof *keys);
    outer->status = a.status;
    launch_args_fini(&a);
}
