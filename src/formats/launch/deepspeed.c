/*
 * DeepSpeed's JSON: a plan without a model. "auto" is treated as absent. Two of global
 * batch, batch per GPU and accumulation steps are enough. If all three are given, they
 * determine the number of data-parallel ranks.
 */
#include "base/number/number.h"
#include "launch/tree.h"

#include <stdio.h>
#include <string.h>

enum { NO_KEY = -1 };

static const launch_key keys[] = {
    {"train-batch-size", LAUNCH_READ, NULL, "global-batch"},
    {"train-micro-batch-size-per-gpu", LAUNCH_READ, NULL, "micro-batch"},
    {"gradient-accumulation-steps", LAUNCH_READ, "1", "global = micro x this x dp"},
    {"zero-optimization.stage", LAUNCH_READ, "0", "zero; 3 is fsdp"},
    {"zero-optimization.offload-*", LAUNCH_READ, "none", "offload"},
    {"zero-optimization.zero-hpz-partition-size", LAUNCH_READ, "1", "fsdp N"},
    {"zero-optimization.mics-shard-size", LAUNCH_READ, "-1", "fsdp N"},
    {"zero-optimization.overlap-comm", LAUNCH_READ, "yes with stage 3", "expose dp"},
    {"zero-optimization.cpu-offload", LAUNCH_READ, "no", "offload optimizer (older)"},
    {"zero-optimization.zero-quantized-*", LAUNCH_REFUSED, NULL,
     "weights or gradients travel quantized"},
    {"bf16.enabled", LAUNCH_READ, "no", "dtype"},
    {"bfloat16.enabled", LAUNCH_READ, "no", "dtype"},
    {"fp16.enabled", LAUNCH_READ, "no", "dtype"},
    {"communication-data-type", LAUNCH_READ, "the dtype", "gradient-bytes"},
    {"data-types.grad-accum-dtype", LAUNCH_READ, NULL, "gradient-memory"},
    {"activation-checkpointing.*", LAUNCH_READ, NULL, "recompute full"},
    {"tensor-parallel.autotp-size", LAUNCH_READ, "1", "tp"},
    {"tensor-parallel.tp-size", LAUNCH_READ, "1", "tp"},
    {"pipeline.stages", LAUNCH_READ, "1", "pp"},
    {"sequence-parallel-size", LAUNCH_READ, "1", "cp"},
    {"optimizer.type", LAUNCH_READ, "AdamW", "Adam and kin"},
    {"compression-training.*", LAUNCH_REFUSED, NULL, "weights are compressed"},
    {"sparse-attention.*", LAUNCH_REFUSED, NULL, "sparse attention"},
    {"progressive-layer-drop.*", LAUNCH_REFUSED, NULL, "layers are left out"},
    {"zero-optimization.*", LAUNCH_FREE, NULL, NULL},
    {"bf16.*", LAUNCH_FREE, NULL, NULL},
    {"bfloat16.*", LAUNCH_FREE, NULL, NULL},
    {"fp16.*", LAUNCH_FREE, NULL, NULL},
    {"amp.*", LAUNCH_FREE, NULL, NULL},
    {"optimizer.*", LAUNCH_FREE, NULL, NULL},
    {"scheduler.*", LAUNCH_FREE, NULL, NULL},
    {"aio.*", LAUNCH_FREE, NULL, NULL},
    {"pipeline.*", LAUNCH_FREE, NULL, NULL},
    {"steps-per-print", LAUNCH_FREE, NULL, NULL},
    {"gradient-clipping", LAUNCH_FREE, NULL, NULL},
    {"prescale-gradients", LAUNCH_FREE, NULL, NULL},
    {"gradient-predivide-factor", LAUNCH_FREE, NULL, NULL},
    {"wall-clock-breakdown", LAUNCH_FREE, NULL, NULL},
    {"memory-breakdown", LAUNCH_FREE, NULL, NULL},
    {"dump-state", LAUNCH_FREE, NULL, NULL},
    {"zero-allow-untested-optimizer", LAUNCH_FREE, NULL, NULL},
    {"zero-force-ds-cpu-optimizer", LAUNCH_FREE, NULL, NULL},
    {"flops-profiler.*", LAUNCH_FREE, NULL, NULL},
    {"tensorboard.*", LAUNCH_FREE, NULL, NULL},
    {"wandb.*", LAUNCH_FREE, NULL, NULL},
    {"csv-monitor.*", LAUNCH_FREE, NULL, NULL},
    {"comms-logger.*", LAUNCH_FREE, NULL, NULL},
    {"checkpoint.*", LAUNCH_FREE, NULL, NULL},
    {"data-efficiency.*", LAUNCH_FREE, NULL, NULL},
    {"curriculum-learning.*", LAUNCH_FREE, NULL, NULL},
    {"elasticity.*", LAUNCH_FREE, NULL, NULL},
    {"autotuning.*", LAUNCH_FREE, NULL, NULL},
    {"sparse-gradients", LAUNCH_FREE, NULL, NULL},
    {"disable-allgather", LAUNCH_FREE, NULL, NULL},
    {"communication-*", LAUNCH_FREE, NULL, NULL},
    {"data-types.*", LAUNCH_FREE, NULL, NULL},
    {"tensor-parallel.*", LAUNCH_FREE, NULL, NULL},
};

/* "auto" leaves the choice to the launcher: it is treated as absent. */
static void drop_auto(launch_args *a)
{
    for (size_t i = 0; i < a->list.n; i++)
        if (str_eq(a->list.at[i].value, STR("auto"))) {
            a->list.at[i].is_off = true;
            import_add(a->launch->import, HALLEY_IMPORT_ASSUMED, a->list.at[i].name,
                       STR("auto"));
        }
}

static uint32_t get_set_number(const halley_launch *l, halley_plan_key key,
                               uint32_t otherwise)
{
    uint64_t n;
    return l->value[key] != NULL && str_to_u64(str_from(l->value[key]), &n) ? (uint32_t)n
                                                                            : otherwise;
}

/* Set a number that the arguments around the JSON may already have set. */
static void set_agreed(launch_args *a, halley_plan_key key, uint32_t value,
                       const char *name)
{
    const uint32_t before = get_set_number(a->launch, key, 0);
    if (value == 0)
        return;
    if (before > 0 && before != value && a->launch->has_model)
        launch_args_fail(a, HALLEY_EINVAL,
                         "the DeepSpeed configuration has %s %u, the arguments say %u",
                         name, value, before);
    launch_set_number(a->launch, key, value);
}

static void read_batches(launch_args *a)
{
    halley_launch *l = a->launch;
    const uint32_t global =
        launch_args_whole(a, "train-batch-size", 0, HALLEY_KEY_GLOBAL_BATCH);
    const uint32_t micro =
        launch_args_whole(a, "train-micro-batch-size-per-gpu", 0, HALLEY_KEY_MICRO_BATCH);
    const uint32_t steps = launch_args_whole(a, "gradient-accumulation-steps", 0, NO_KEY);
    set_agreed(a, HALLEY_KEY_MICRO_BATCH, micro, "train_micro_batch_size_per_gpu");
    set_agreed(a, HALLEY_KEY_GLOBAL_BATCH, global, "train_batch_size");
    const uint64_t part = (uint64_t)micro * steps;
    const uint32_t model_parallel = get_set_number(l, HALLEY_KEY_TP, 1) *
                                    get_set_number(l, HALLEY_KEY_PP, 1) *
                                    get_set_number(l, HALLEY_KEY_CP, 1);
    if (part == 0 || a->status != HALLEY_OK)
        return;
    if (global > 0 && global % part != 0) {
        launch_args_fail(
            a, HALLEY_EINVAL,
            "train_batch_size %u is not a multiple of "
            "train_micro_batch_size_per_gpu %u x gradient_accumulation_steps %u",
            global, micro, steps);
    } else if (global > 0 && l->npus == 0) {
        l->npus = (uint32_t)(global / part) * model_parallel;
        import_add_number(l->import, HALLEY_IMPORT_ASSUMED, STR("npus"), l->npus);
    } else if (global > 0 && l->npus > 0 && l->npus % model_parallel == 0 &&
               global / part != l->npus / model_parallel) {
        launch_args_fail(a, HALLEY_EINVAL,
                         "train_batch_size %u is not train_micro_batch_size_per_gpu %u x "
                         "gradient_accumulation_steps %u x %u data-parallel ranks",
                         global, micro, steps, l->npus / model_parallel);
    } else if (global == 0) {
        l->local_batch = (double)part;
    }
}

/* Read the name of a device: 0 none, 1 cpu, 2 nvme. */
static uint32_t read_deepspeed_device(launch_args *a, const char *name)
{
    const str device = launch_args_text(a, name, STR("none"), NO_KEY);
    if (str_eq(device, STR("cpu")))
        return 1;
    if (str_eq(device, STR("nvme")))
        return 2;
    if (!str_eq(device, STR("none")))
        launch_args_fail(a, HALLEY_EINVAL, "the offload device \"%.*s\" is not known",
                         STR_ARG(device));
    return 0;
}

static void read_deepspeed_offload(launch_args *a)
{
    uint32_t optimizer =
        read_deepspeed_device(a, "zero-optimization.offload-optimizer.device");
    const uint32_t weights =
        read_deepspeed_device(a, "zero-optimization.offload-param.device");
    if (launch_args_has(a, "zero-optimization.cpu-offload"))
        optimizer = 1;
    if (optimizer + weights == 0)
        return;
    launch_set(a->launch, HALLEY_KEY_OFFLOAD,
               optimizer > 0 && weights > 0 ? "optimizer+weights"
               : optimizer > 0              ? "optimizer"
                                            : "weights");
    if (optimizer == 2 || weights == 2)
        launch_set(a->launch, HALLEY_KEY_OFFLOAD_TIER, "2");
}

static void read_zero(launch_args *a)
{
    halley_launch *l = a->launch;
    const uint32_t stage =
        launch_args_whole(a, "zero-optimization.stage", 0, HALLEY_KEY_ZERO);
    const uint32_t shards = launch_args_whole(
        a, "zero-optimization.zero-hpz-partition-size", 1, HALLEY_KEY_FSDP);
    const str mics =
        launch_args_text(a, "zero-optimization.mics-shard-size", STR("-1"), NO_KEY);
    uint64_t mics_shards = 0;
    if (stage > 3) {
        launch_args_fail(a, HALLEY_EINVAL,
                         "zero_optimization.stage must be 0 to 3, is %u", stage);
        return;
    }
    const bool is_bloom =
        stage == 0 && l->has_model && launch_args_has(a, "bf16.enabled");
    launch_set_number(l, HALLEY_KEY_ZERO, is_bloom ? 1 : stage);
    if (is_bloom)
        import_note(l->import,
                    "Megatron-DeepSpeed shards the optimizer itself with bf16 and "
                    "stage 0: zero 1.");
    l->value[HALLEY_KEY_FSDP] = NULL;
    l->replicas = 0;
    if (stage == 3) {
        launch_set(l, HALLEY_KEY_FSDP, "all");
        l->replicas = 1;
        if (shards > 1)
            launch_set_number(l, HALLEY_KEY_FSDP, shards);
        else if (str_to_u64(mics, &mics_shards) && mics_shards > 1)
            launch_set_number(l, HALLEY_KEY_FSDP, mics_shards);
    }
    const bool overlaps = launch_args_has(a, "zero-optimization.overlap-comm");
    if (!overlaps &&
        (stage < 3 || launch_args_find(a, "zero-optimization.overlap-comm") != NULL) &&
        stage > 0 && !l->has_model)
        launch_set(l, HALLEY_KEY_EXPOSE, "dp");
}

static void read_types(launch_args *a)
{
    halley_launch *l = a->launch;
    const bool bf16 = launch_args_has(a, "bf16.enabled bfloat16.enabled");
    const bool fp16 = launch_args_has(a, "fp16.enabled");
    if (bf16 || fp16 || !l->has_model)
        launch_set(l, HALLEY_KEY_DTYPE, bf16 ? "bf16" : fp16 ? "fp16" : "fp32");
    const str wire = launch_args_text(a, "communication-data-type", STR(""), NO_KEY);
    if (wire.n > 0)
        launch_set(l, HALLEY_KEY_GRADIENT_BYTES,
                   str_contains(wire, STR("32")) ? "4" : "2");
    launch_args_has(a, "data-types.grad-accum-dtype");
}

static void read_deepspeed_rest(launch_args *a)
{
    static const struct {
        const char *name;
        halley_plan_key key;
    } numbers[] = {{"tensor-parallel.autotp-size tensor-parallel.tp-size", HALLEY_KEY_TP},
                   {"pipeline.stages", HALLEY_KEY_PP},
                   {"sequence-parallel-size", HALLEY_KEY_CP}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const uint32_t n = launch_args_whole(a, numbers[i].name, 0, (int)numbers[i].key);
        if (n > 0)
            launch_set_number(a->launch, numbers[i].key, n);
    }
    for (size_t i = 0; i < a->list.n; i++)
        if (str_starts(a->list.at[i].name, STR("activation-checkpointing."))) {
            char name[160];
            snprintf(name, sizeof name, "%.*s", STR_ARG(a->list.at[i].name));
            launch_args_find(a, name);
            launch_set(a->launch, HALLEY_KEY_RECOMPUTE, "full");
        }
}

static void read_optimizer(launch_args *a)
{
    static const char *const known[] = {
        "Adam", "Lion", "Muon", "OneBit", "ZeroOne", "DeepSpeedCPUAdam", "FusedAdam"};
    const str type = launch_args_text(a, "optimizer.type", STR("AdamW"), NO_KEY);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_starts(type, str_from(known[i])))
            return;
    import_note(a->launch->import,
                "The optimizer %.*s is counted with the memory of Adam.", STR_ARG(type));
}

void launch_deepspeed_read(launch_args *outer, const conf_file *file)
{
    launch_args a = {.launch = outer->launch,
                     .opts = outer->opts,
                     .script = outer->script,
                     .dashes = "",
                     .err = outer->err};
    launch_tree_flatten(&a, file->root);
    drop_auto(&a);
    read_deepspeed_rest(&a);
    read_zero(&a);
    read_types(&a);
    read_deepspeed_offload(&a);
    read_batches(&a);
    read_optimizer(&a);
    if (a.status == HALLEY_OK)
        launch_args_rest(&a, keys, sizeof keys / sizeof *keys);
    outer->status = a.status;
    launch_args_fini(&a);
}
