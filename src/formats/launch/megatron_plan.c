/*
 * The plan of a Megatron argument list. Megatron's defaults for absent arguments are also
 * set here: no sequence parallelism, a replicated optimizer, gradients of four bytes with
 * bf16, communication that does not overlap.
 */
#include "base/number/number.h"
#include "launch/args.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NO_KEY = -1, MAX_LAYOUT = 4096 };

typedef struct degrees {
    uint32_t tp, pp, cp, ep, virtual;
} degrees;

static uint32_t read_megatron_degree(launch_args *a, const char *names,
                                     halley_plan_key key)
{
    const uint32_t n = launch_args_whole(a, names, 1, (int)key);
    if (n == 0)
        launch_args_fail(a, HALLEY_EINVAL, "%s%.*s must be at least 1", a->dashes,
                         (int)strcspn(names, " "), names);
    launch_set_number(a->launch, key, n);
    return n > 0 ? n : 1;
}

/* ---- --pipeline-model-parallel-layout ---- */
typedef struct layout_reader {
    str rest;
    char *out;
    size_t n;
    uint32_t depth;
    bool ok;
} layout_reader;

static uint32_t take_times(layout_reader *l)
{
    if (l->rest.n < 2 || l->rest.at[0] != '*')
        return 1;
    size_t n = 1;
    uint32_t times = 0;
    while (n < l->rest.n && isdigit((unsigned char)l->rest.at[n]) && times < MAX_LAYOUT)
        times = times * 10 + (uint32_t)(l->rest.at[n++] - '0');
    l->ok = l->ok && n > 1;
    l->rest = (str){l->rest.at + n, l->rest.n - n};
    return times;
}

static void repeat_tail(layout_reader *l, size_t from, uint32_t times)
{
    const size_t length = l->n - from;
    if (times == 0)
        l->n = from;
    for (uint32_t i = 1; i < times && l->ok; i++) {
        l->ok = l->n + length <= MAX_LAYOUT;
        if (l->ok)
            memcpy(l->out + l->n, l->out + from, length);
        l->n += l->ok ? length : 0;
    }
}

/* Parse items up to the end or ')': a letter, or ( items ), each with *times. */
static void expand_layout(layout_reader *l)
{
    while (l->ok && l->rest.n > 0 && l->rest.at[0] != ')') {
        const char c = l->rest.at[0];
        const size_t from = l->n;
        l->rest = (str){l->rest.at + 1, l->rest.n - 1};
        if (isspace((unsigned char)c) || strchr(",\"'\\", c) != NULL)
            continue; /* a backslash is for a shell that reads the words again */
        if (c == '(') {
            l->ok = ++l->depth <= 16;
            expand_layout(l);
            l->depth--;
            l->ok = l->ok && l->rest.n > 0;
            if (l->ok)
                l->rest = (str){l->rest.at + 1, l->rest.n - 1};
        } else {
            l->ok = strchr("EtmL|", c) != NULL && l->n < MAX_LAYOUT;
            if (l->ok)
                l->out[l->n++] = c;
        }
        repeat_tail(l, from, take_times(l));
    }
}

static void set_stages(launch_args *a, const uint32_t *layers, uint32_t n)
{
    strbuf text = {0};
    bool even = true;
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(&text, "%s%u", i > 0 ? "," : "", layers[i]);
        even = even && layers[i] == layers[0];
    }
    if (!even && !text.failed)
        launch_set(a->launch, HALLEY_KEY_STAGE_LAYERS, text.at);
    strbuf_fini(&text);
}

static void read_layout(launch_args *a, degrees *d, str layout)
{
    char flat[MAX_LAYOUT] = {0};
    uint32_t layers[HALLEY_MAX_STAGES] = {0}, pieces = 1, total = 0;
    layout_reader l = {.rest = layout, .out = flat, .ok = true};
    expand_layout(&l);
    if (!l.ok || l.rest.n > 0 || d->pp > HALLEY_MAX_STAGES) {
        launch_args_fail(
            a, HALLEY_EFORMAT,
            "the pipeline layout \"%.*s\" cannot be read; it is made of E, t, "
            "m, L, |, ( ) and *n",
            STR_ARG(layout));
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        if (flat[i] == 't') {
            layers[(pieces - 1) % d->pp]++;
            total++;
        }
        pieces += flat[i] == '|';
    }
    if (pieces % d->pp != 0 || total != a->launch->model.layers) {
        launch_args_fail(
            a, HALLEY_EINVAL,
            "the pipeline layout has %u pieces and %u layers; %u stages and %u "
            "layers need others",
            pieces, total, d->pp, a->launch->model.layers);
        return;
    }
    d->virtual = pieces / d->pp;
    set_stages(a, layers, d->pp);
}

static void read_virtual(launch_args *a, degrees *d)
{
    const uint32_t layers = a->launch->model.layers;
    const uint32_t of_stage = launch_args_whole(
        a, "num-layers-per-virtual-pipeline-stage", 0, HALLEY_KEY_VIRTUAL);
    const uint32_t chunks = launch_args_whole(a, "num-virtual-stages-per-pipeline-rank",
                                              0, HALLEY_KEY_VIRTUAL);
    if (chunks > 0) {
        d->virtual = d->pp > 1 ? chunks : 1;
    } else if (of_stage > 0 && d->pp > 1) {
        if (layers == 0)
            launch_args_fail(a, HALLEY_EINVAL,
                             "%snum-layers-per-virtual-pipeline-stage needs the model's "
                             "layers, which the file does not state",
                             a->dashes);
        else if (layers % d->pp != 0 || layers / d->pp % of_stage != 0)
            launch_args_fail(a, HALLEY_EINVAL,
                             "%u layers on %u stages cannot be cut into chunks of %u "
                             "(%snum-layers-per-virtual-pipeline-stage)",
                             layers, d->pp, of_stage, a->dashes);
        else
            d->virtual = layers / d->pp / of_stage;
    }
}

static void refuse_uneven(launch_args *a, uint32_t layers, uint32_t stages)
{
    launch_args_fail(
        a, HALLEY_EINVAL,
        "%u layers do not divide into %u pipeline stages, and the file names "
        "no uneven ones",
        layers, stages);
}

/* First and last stage have their own sizes, and the rest is even. */
static void read_uneven(launch_args *a, const degrees *d)
{
    uint32_t layers[HALLEY_MAX_STAGES];
    const uint32_t all = a->launch->model.layers;
    const uint32_t first =
        launch_args_whole(a, "decoder-first-pipeline-num-layers", 0, NO_KEY);
    const uint32_t last =
        launch_args_whole(a, "decoder-last-pipeline-num-layers", 0, NO_KEY);
    const uint32_t n = d->pp - (first > 0) - (last > 0);
    if (d->pp > HALLEY_MAX_STAGES || first + last > all || n == 0 ||
        (all - first - last) % n != 0) {
        refuse_uneven(a, all, d->pp);
        return;
    }
    for (uint32_t i = 0; i < d->pp; i++)
        layers[i] = (all - first - last) / n;
    layers[0] = first > 0 ? first : layers[0];
    layers[d->pp - 1] = last > 0 ? last : layers[d->pp - 1];
    set_stages(a, layers, d->pp);
}

/* Embedding or head counts as a layer. */
static bool read_accounted(launch_args *a, const degrees *d)
{
    const bool first = launch_args_has(a, "account-for-embedding-in-pipeline-split");
    const bool last = launch_args_has(a, "account-for-loss-in-pipeline-split");
    uint32_t layers[HALLEY_MAX_STAGES];
    const uint32_t units = a->launch->model.layers + first + last;
    if (!first && !last)
        return false;
    if (units % d->pp != 0 || d->pp > HALLEY_MAX_STAGES) {
        refuse_uneven(a, units, d->pp);
        return true;
    }
    if (first && last) {
        launch_set(a->launch, HALLEY_KEY_EMBEDDINGS_AS_LAYERS, "yes");
        return true;
    }
    for (uint32_t i = 0; i < d->pp; i++)
        layers[i] = units / d->pp;
    layers[first ? 0 : d->pp - 1]--;
    set_stages(a, layers, d->pp);
    return true;
}

/* DeepSpeed balances stages itself, and may count embedding and head as layers. */
static bool read_deepspeed_stages(launch_args *a, const degrees *d)
{
    const str method = launch_args_text(a, "pp-partition-method", STR(""), NO_KEY);
    const uint32_t layers = a->launch->model.layers;
    if (method.n == 0 && !launch_args_has(a, "deepspeed deepspeed-config"))
        return false;
    if (layers % d->pp != 0 && (layers + 2) % d->pp == 0)
        launch_assume(a->launch, HALLEY_KEY_EMBEDDINGS_AS_LAYERS, "yes");
    else if (layers % d->pp != 0)
        import_note(a->launch->import, "%u layers on %u stages are uneven.", layers,
                    d->pp);
    return true;
}

static void read_megatron_stages(launch_args *a, degrees *d)
{
    const str layout =
        launch_args_text(a, "pipeline-model-parallel-layout", STR(""), NO_KEY);
    d->virtual = 1;
    if (layout.n > 0) {
        read_layout(a, d, layout);
    } else {
        read_virtual(a, d);
        if (launch_args_has(a, "decoder-first-pipeline-num-layers "
                               "decoder-last-pipeline-num-layers"))
            read_uneven(a, d);
        else if (!read_accounted(a, d) && !read_deepspeed_stages(a, d) &&
                 a->launch->model.layers % d->pp != 0 &&
                 (a->opts->given >> HALLEY_KEY_PP & 1) == 0)
            refuse_uneven(a, a->launch->model.layers, d->pp);
    }
    launch_set_number(a->launch, HALLEY_KEY_VIRTUAL, d->virtual);
}

/* "0:384 200B:768 400B:1152": use the last size. */
static uint32_t read_schedule_end(launch_args *a)
{
    const str text =
        launch_args_text(a, "step-batch-size-schedule", STR(""), HALLEY_KEY_GLOBAL_BATCH);
    str last = text;
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] == ':')
            last = (str){text.at + i + 1, text.n - i - 1};
    uint64_t n = 0;
    if (text.n > 0 && (!str_to_u64(str_trim(last), &n) || n > UINT32_MAX))
        launch_args_fail(a, HALLEY_EFORMAT,
                         "%sstep-batch-size-schedule is written like \"0:384 200B:768\"",
                         a->dashes);
    return (uint32_t)n;
}

static void read_megatron_batch(launch_args *a)
{
    const uint32_t micro =
        launch_args_whole(a, "micro-batch-size batch-size micro-batch-size-per-gpu", 0,
                          HALLEY_KEY_MICRO_BATCH);
    if (micro == 0 && a->status == HALLEY_OK) {
        if ((a->opts->given >> HALLEY_KEY_MICRO_BATCH & 1) == 0)
            launch_assume(a->launch, HALLEY_KEY_MICRO_BATCH, "1");
    } else {
        launch_set_number(a->launch, HALLEY_KEY_MICRO_BATCH, micro);
    }
    const uint32_t stated =
        launch_args_whole(a, "global-batch-size", 0, HALLEY_KEY_GLOBAL_BATCH);
    const uint32_t end = read_schedule_end(a);
    if (end > 0 || stated > 0)
        launch_set_number(a->launch, HALLEY_KEY_GLOBAL_BATCH, end > 0 ? end : stated);
    if (a->launch->model.seq > 0)
        launch_set_number(a->launch, HALLEY_KEY_SEQ, a->launch->model.seq);
    else if ((a->opts->given >> HALLEY_KEY_SEQ & 1) != 0 || !a->launch->has_model)
        return;
    else if (a->opts->may_lack_vocab) /* only to display the file */
        import_note(a->launch->import,
                    "The sequence length is not stated. Give --seq N.");
    else
        launch_args_fail(a, HALLEY_EFORMAT, "%sseq-length is missing; give --seq N",
                         a->dashes);
}

static void read_megatron_precision(launch_args *a)
{
    static const struct {
        const char *word, *recipe;
    } recipes[] = {{"delayed", "tensor"},  {"tensorwise", "tensor"},
                   {"blockwise", "block"}, {"mxfp8", "mx"},
                   {"rowwise", "row"},     {"custom", "tensor"}};
    halley_launch *l = a->launch;
    const bool fp8 = launch_args_has(a, "fp8-format fp8-e4m3 fp8-hybrid");
    const bool fp4 = launch_args_has(a, "fp4-format");
    const bool bf16 = launch_args_has(a, "bf16"), fp16 = launch_args_has(a, "fp16");
    launch_set(l, HALLEY_KEY_DTYPE,
               fp4    ? "fp4"
               : fp8  ? "fp8"
               : bf16 ? "bf16"
               : fp16 ? "fp16"
                      : "fp32");
    const str recipe = launch_args_text(a, "fp8-recipe", STR("delayed"), NO_KEY);
    launch_args_find(a, "fp4-recipe");
    for (size_t i = 0; fp8 && i < sizeof recipes / sizeof *recipes; i++)
        if (str_eq(recipe, str_from(recipes[i].word)))
            launch_set(l, HALLEY_KEY_FP8_RECIPE, recipes[i].recipe);
    if (fp4)
        launch_set(l, HALLEY_KEY_FP8_RECIPE, "nv");
    if (fp8) /* primary weights stay in bf16 unless they are gathered in fp8 */
        launch_set(l, HALLEY_KEY_FP8_PARAMS,
                   launch_args_has(a, "fp8-param-gather") ? "yes" : "no");
    if (fp8 && launch_args_has(a, "first-last-layers-bf16"))
        launch_set_number(
            l, HALLEY_KEY_BF16_LAYERS,
            launch_args_whole(a, "num-layers-at-start-in-bf16", 1, NO_KEY) +
                launch_args_whole(a, "num-layers-at-end-in-bf16", 1, NO_KEY));
    const bool wide = launch_args_has(a, "accumulate-allreduce-grads-in-fp32");
    const bool narrow = launch_args_has(a, "grad-reduce-in-bf16");
    const char *bytes = narrow || (fp16 && !wide) ? "2" : "4";
    launch_set(l, HALLEY_KEY_GRADIENT_BYTES, bytes);
    launch_set(l, HALLEY_KEY_GRADIENT_MEMORY, bytes);
}

/* Megatron's FSDP, by its sharding strategy. */
static void read_strategy(launch_args *a)
{
    static const struct {
        const char *word, *zero;
    } strategies[] = {{"no_shard", "0"},
                      {"optim", "1"},
                      {"optim_grads", "2"},
                      {"optim_grads_params", "3"}};
    const str word = launch_args_text(a, "data-parallel-sharding-strategy",
                                      STR("optim_grads_params"), NO_KEY);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        if (!str_eq(word, str_from(strategies[i].word)))
            continue;
        launch_set(a->launch, HALLEY_KEY_ZERO, strategies[i].zero);
        if (i == 3)
            launch_set(a->launch, HALLEY_KEY_FSDP, "all");
        a->launch->replicas = i == 3;
        return;
    }
    launch_args_fail(a, HALLEY_EINVAL,
                     "%sdata-parallel-sharding-strategy \"%.*s\" is not known", a->dashes,
                     STR_ARG(word));
}

static void read_megatron_sharding(launch_args *a)
{
    halley_launch *l = a->launch;
    const bool distributed = launch_args_has(a, "use-distributed-optimizer");
    const bool torch_fsdp = launch_args_has(a, "use-torch-fsdp2");
    const uint32_t stage = launch_args_whole(a, "zero-stage", 0, HALLEY_KEY_ZERO);
    if (stage > 3)
        launch_args_fail(a, HALLEY_EINVAL, "%szero-stage must be 0 to 3, is %u",
                         a->dashes, stage);
    launch_set_number(l, HALLEY_KEY_ZERO, stage > 0 ? stage : distributed);
    if (launch_args_has(a, "use-megatron-fsdp use-custom-fsdp")) {
        read_strategy(a);
    } else if (torch_fsdp || stage == 3) {
        launch_set(l, HALLEY_KEY_ZERO, "3");
        launch_set(l, HALLEY_KEY_FSDP, "all");
        l->replicas = 1;
    }
    l->zero_shards = launch_args_whole(a, "num-distributed-optimizer-instances", 1,
                                       HALLEY_KEY_ZERO_GROUP);
    const char *zero = l->value[HALLEY_KEY_ZERO];
    if (launch_args_has(a, "overlap-param-gather") && zero != NULL && zero[0] == '0')
        launch_args_fail(a, HALLEY_EINVAL,
                         "%soverlap-param-gather needs a sharded optimizer "
                         "(%suse-distributed-optimizer)",
                         a->dashes, a->dashes);
}

/* Set "core_attn moe_act" as "core-attn+moe-act". */
static void set_modules(launch_args *a, str words)
{
    char text[256];
    size_t n = 0;
    for (size_t i = 0; i < words.n && n + 1 < sizeof text; i++) {
        const char c = words.at[i];
        text[n++] = c == '_' ? '-' : (c == ' ' || c == ',') ? '+' : c;
    }
    text[n] = '\0';
    if (strcmp(text, "core-attn") == 0) {
        launch_set(a->launch, HALLEY_KEY_RECOMPUTE, "selective");
        return;
    }
    launch_set(a->launch, HALLEY_KEY_RECOMPUTE, "modules");
    launch_set(a->launch, HALLEY_KEY_RECOMPUTE_MODULES, text);
}

static void read_full(launch_args *a, const char *method_names)
{
    halley_launch *l = a->launch;
    const str method = launch_args_text(a, method_names, STR("uniform"), NO_KEY);
    const uint32_t n = launch_args_whole(a,
                                         "recompute-num-layers "
                                         "activations-checkpoint-num-layers "
                                         "checkpoint-num-layers",
                                         1, NO_KEY);
    const bool is_block = str_eq(method, STR("block"));
    launch_set(l, HALLEY_KEY_RECOMPUTE, is_block && n == 0 ? "none" : "full");
    if (is_block && n == 0)
        return; /* no layer of a stage is recomputed */
    if (is_block)
        launch_set_number(l, HALLEY_KEY_RECOMPUTE_LAYERS, n);
    else if (n > 1)
        launch_set_number(l, HALLEY_KEY_RECOMPUTE_EVERY, n);
}

static void read_megatron_recomputation(launch_args *a)
{
    const str granularity =
        launch_args_text(a, "recompute-granularity", STR(""), HALLEY_KEY_RECOMPUTE);
    const bool selective = launch_args_has(a, "recompute-activations") ||
                           str_eq(granularity, STR("selective"));
    const bool old = launch_args_has(a, "checkpoint-activations "
                                        "deepspeed-activation-checkpointing") ||
                     launch_args_has(a, "activations-checkpoint-method");
    launch_set(a->launch, HALLEY_KEY_RECOMPUTE, "none");
    if (str_eq(granularity, STR("full")))
        read_full(a, "recompute-method");
    else if (selective)
        set_modules(a,
                    launch_args_text(a, "recompute-modules", STR("core_attn"), NO_KEY));
    else if (old)
        read_full(a, "activations-checkpoint-method");
    else if (granularity.n > 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "%srecompute-granularity must be selective or full, is \"%.*s\"",
                         a->dashes, STR_ARG(granularity));
    if (launch_args_has(a, "moe-layer-recompute") && a->launch->model.experts > 0 &&
        !str_eq(granularity, STR("full")))
        set_modules(a, selective ? STR("core_attn moe") : STR("moe"));
    launch_args_has(a, "recompute-modules");
    launch_args_has(a, "recompute-method");
    launch_args_has(a, "recompute-num-layers");
}

static void read_overlap(launch_args *a, const degrees *d)
{
    char text[32] = "";
    const bool reduce = launch_args_has(a, "overlap-grad-reduce");
    const bool gather = launch_args_has(a, "overlap-param-gather");
    if (!reduce && !gather)
        strcat(text, "dp");
    if (!launch_args_has(a, "tp-comm-overlap") && d->tp > 1)
        strcat(text, text[0] != '\0' ? "+tp" : "tp");
    if (launch_args_has(a, "no-overlap-p2p-communication") && d->pp > 1)
        strcat(text, text[0] != '\0' ? "+pp" : "pp");
    if (text[0] != '\0')
        launch_set(a->launch, HALLEY_KEY_EXPOSE, text);
    if (launch_args_has(a, "overlap-moe-expert-parallel-comm"))
        launch_set(a->launch, HALLEY_KEY_OVERLAP_EP, "yes");
}

static void read_megatron_offload(launch_args *a)
{
    halley_launch *l = a->launch;
    const uint32_t layers = launch_args_whole(a, "cpu-offloading-num-layers", 0, NO_KEY);
    const bool optimizer = launch_args_has(a, "optimizer-cpu-offload cpu-optimizer");
    const double part = launch_args_real(a, "optimizer-offload-fraction", 1, NO_KEY);
    if (optimizer && part != 1 && part != 0)
        launch_args_fail(
            a, HALLEY_EINVAL,
            "%soptimizer-offload-fraction %s is not modelled; halley offloads "
            "all of the optimizer or nothing",
            a->dashes, number_digits(part, 3).at);
    if (optimizer && part != 0)
        launch_set(l, HALLEY_KEY_OFFLOAD,
                   layers > 0 ? "optimizer+activations" : "optimizer");
    else if (layers > 0)
        launch_set(l, HALLEY_KEY_OFFLOAD, "activations");
    if (layers > 0)
        launch_set_number(l, HALLEY_KEY_OFFLOAD_LAYERS, layers);
}

/* True for programs that use fused attention only on request. These are
 * Megatron-DeepSpeed, releases of Megatron-LM before Transformer Engine (detected by
 * arguments that were renamed later), and layers that do not use it. */
static bool has_old_attention(launch_args *a)
{
    const str layers = launch_args_text(a, "transformer-impl", STR(""), NO_KEY);
    return launch_args_has(a, "deepspeed deepspeed-config DDP-impl "
                              "checkpoint-activations activations-checkpoint-method "
                              "model-parallel-size") ||
           str_eq(layers, STR("local"));
}

static void read_kernels(launch_args *a)
{
    halley_launch *l = a->launch;
    const str backend = launch_args_text(a, "attention-backend", STR("auto"), NO_KEY);
    const bool flash = launch_args_has(a, "use-flash-attn use-flash-attn-v1 "
                                          "use-flash-attn-v2 use-flash-attn-triton "
                                          "use-flash-attn-builder");
    if (str_eq(backend, STR("unfused")) || str_eq(backend, STR("local")))
        launch_set(l, HALLEY_KEY_ATTENTION, "unfused");
    else if (!flash && l->has_model && has_old_attention(a))
        launch_assume(l, HALLEY_KEY_ATTENTION, "unfused");
    const bool graphs = launch_args_has(a, "cuda-graph-impl enable-cuda-graph "
                                           "external-cuda-graph");
    const str scope = launch_args_text(a, "cuda-graph-scope", STR("full"), NO_KEY);
    if (graphs)
        launch_set(l, HALLEY_KEY_GRAPHS,
                   str_contains(scope, STR("full_iteration")) ? "full"
                   : str_contains(scope, STR("router"))       ? "router"
                                                              : "layer");
}

static void read_dispatcher(launch_args *a)
{
    halley_launch *l = a->launch;
    const str type =
        launch_args_text(a, "moe-token-dispatcher-type", STR("allgather"), NO_KEY);
    const str backend =
        launch_args_text(a, "moe-flex-dispatcher-backend", STR("deepep"), NO_KEY);
    const bool deepep =
        launch_args_has(a, "moe-enable-deepep") || str_eq(type, STR("flex"));
    const double capacity = launch_args_real(a, "moe-expert-capacity-factor", 0, NO_KEY);
    if (l->model.experts == 0)
        return;
    launch_set(l, HALLEY_KEY_DISPATCHER,
               !deepep                            ? "all-to-all"
               : str_eq(backend, STR("hybridep")) ? "hybridep"
                                                  : "deepep");
    if (str_eq(type, STR("allgather")))
        import_note(l->import, "Tokens are sent to experts by all-gather in this file; "
                               "halley times an all-to-all.");
    if (capacity > 0)
        launch_set(l, HALLEY_KEY_CAPACITY, number_shortest(capacity).at);
}

/* Megatron-DeepSpeed drops tokens beyond a capacity, unless a flag forbids it. */
static void read_deepspeed_capacity(launch_args *a)
{
    const double capacity = launch_args_real(a, "moe-train-capacity-factor", 1, NO_KEY);
    if (a->launch->model.experts > 0 &&
        launch_args_has(a, "moe-expert-parallel-size deepspeed deepspeed-config") &&
        !launch_args_has(a, "disable-moe-token-dropping"))
        launch_set(a->launch, HALLEY_KEY_CAPACITY, number_shortest(capacity).at);
}

/* Note features that halley times as something else. */
static void note_substitutes(launch_args *a, const degrees *d)
{
    halley_import *import = a->launch->import;
    const str cp = launch_args_text(a, "cp-comm-type", STR("p2p"), NO_KEY);
    if (d->cp > 1 &&
        (!str_starts(cp, STR("p2p")) || launch_args_has(a, "ds-sequence-parallel-size")))
        import_note(import,
                    "Context parallelism exchanges heads by all-to-all or gathers "
                    "keys in this file; halley times a ring.");
    if (launch_args_has(a, "distribute-saved-activations "
                           "distribute-checkpointed-activations partition-activations") &&
        d->tp > 1)
        import_note(import, "Saved activations are split over tensor-parallel ranks in "
                            "this file; halley counts them whole on each.");
    if (launch_args_whole(a, "tensor-parallel-num-weight-shards", 1, NO_KEY) > 1 ||
        launch_args_whole(a, "expert-tensor-parallel-num-weight-shards", 1, NO_KEY) > 1)
        launch_args_fail(a, HALLEY_EINVAL,
                         "%stensor-parallel-num-weight-shards is not modelled (weights "
                         "sharded within tensor parallelism)",
                         a->dashes);
    if (launch_args_has(a, "checkpoint-in-cpu"))
        launch_args_fail(
            a, HALLEY_EINVAL,
            "%scheckpoint-in-cpu is not modelled (saved layer inputs in host "
            "memory)",
            a->dashes);
}

/* Check the rules whose violation makes Megatron stop. */
static void check_degrees(launch_args *a, const degrees *d)
{
    const halley_model *m = &a->launch->model;
    const uint64_t model_parallel = (uint64_t)d->tp * d->pp * d->cp;
    const uint32_t world = a->launch->npus;
    if (d->cp > 1 && m->seq % (2 * d->cp) != 0)
        launch_args_fail(
            a, HALLEY_EINVAL,
            "the sequence %u is not a multiple of 2 x context parallelism %u", m->seq,
            d->cp);
    if (m->experts > 0 && m->experts % d->ep != 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "expert parallelism %u does not divide the %u experts", d->ep,
                         m->experts);
    if (world > 0 && world < model_parallel)
        import_note(
            a->launch->import,
            "The file starts %u GPUs, fewer than tp %u x pp %u x cp %u = %llu; -c "
            "decides.",
            world, d->tp, d->pp, d->cp, (unsigned long long)model_parallel);
    else if (world > 0 && world % model_parallel != 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "tp %u x pp %u x cp %u does not divide the %u GPUs of the file",
                         d->tp, d->pp, d->cp, world);
}

/* ---- how many GPUs ---- */

static uint32_t read_batch_number(const shell_script *script, const char *const *names,
                                  size_t n)
{
    for (size_t i = 0; i < script->batch.n; i++) {
        const str line = script->batch.at[i];
        for (size_t k = 0; k < n; k++) {
            if (!str_starts(line, str_from(names[k])))
                continue;
            str rest = {line.at + strlen(names[k]), line.n - strlen(names[k])};
            if (rest.n == 0 || strchr("= :\t", rest.at[0]) == NULL)
                continue;
            const char *colon = memrchr(rest.at, ':', rest.n); /* gpu:h100:8 */
            const char *from = colon != NULL ? colon + 1 : rest.at + 1;
            size_t digits = 0;
            const size_t left = rest.n - (size_t)(from - rest.at);
            while (digits < left && isdigit((unsigned char)from[digits]))
                digits++;
            uint64_t value;
            if (str_to_u64((str){from, digits}, &value) && value <= 1000000)
                return (uint32_t)value;
        }
    }
    return 0;
}

static uint32_t read_batch_size(const shell_script *script)
{
    static const char *const nodes[] = {"--nodes", "-N"};
    static const char *const gpus[] = {"--gres=gpu", "--gres gpu", "--gpus-per-node"};
    static const char *const tasks[] = {"--ntasks-per-node"};
    const uint32_t n = read_batch_number(script, nodes, 2);
    uint32_t per_node = read_batch_number(script, gpus, 3);
    if (per_node == 0)
        per_node = read_batch_number(script, tasks, 1);
    return n > 0 ? n * per_node : 0;
}

/* A number of the launcher; 0 if absent or unknown ("auto", a variable). */
static uint32_t peek_number(launch_args *a, const char *names)
{
    const launch_arg *arg = launch_args_find(a, names);
    str value = arg != NULL ? str_trim(arg->value) : (str){"", 0}, word;
    uint64_t n;
    return str_next(&value, ' ', &word) && str_to_u64(word, &n) && n <= 1000000
               ? (uint32_t)n
               : 0;
}

static void read_world(launch_args *a)
{
    const uint32_t world = peek_number(a, "world-size");
    const uint32_t of_node = peek_number(a, "nproc-per-node num-gpus");
    const bool has_nodes = launch_args_has(a, "nnodes num-nodes");
    const uint32_t nodes = peek_number(a, "nnodes num-nodes");
    if (world > 0)
        a->launch->npus = world;
    else if (of_node > 0 && (nodes > 0 || !has_nodes))
        a->launch->npus = of_node * (has_nodes ? nodes : 1);
    else if (a->script != NULL)
        a->launch->npus = read_batch_size(a->script);
}

static void read_megatron_plan(launch_args *a)
{
    halley_launch *l = a->launch;
    degrees d = {0};
    d.tp = read_megatron_degree(a, "tensor-model-parallel-size model-parallel-size",
                                HALLEY_KEY_TP);
    d.pp = read_megatron_degree(a, "pipeline-model-parallel-size", HALLEY_KEY_PP);
    if (launch_args_has(a, "no-pipeline-parallel")) {
        d.pp = 1;
        launch_set(l, HALLEY_KEY_PP, "1");
    }
    d.cp = read_megatron_degree(a, "context-parallel-size ds-sequence-parallel-size",
                                HALLEY_KEY_CP);
    d.ep = read_megatron_degree(a, "expert-model-parallel-size moe-expert-parallel-size",
                                HALLEY_KEY_EP);
    const bool whole_experts = launch_args_has(a, "moe-expert-parallel-size") &&
                               !launch_args_has(a, "enable-expert-tensor-parallelism");
    const uint32_t etp = launch_args_whole(a, "expert-tensor-parallel-size",
                                           whole_experts ? 1 : d.tp, HALLEY_KEY_ETP);
    if (l->model.experts > 0 || launch_args_has(a, "expert-tensor-parallel-size"))
        launch_set_number(l, HALLEY_KEY_ETP, etp);
    if (a->status != HALLEY_OK)
        return;
    read_world(a);
    read_megatron_stages(a, &d);
    read_megatron_batch(a);
    const bool split = launch_args_has(a, "sequence-parallel");
    launch_set(l, HALLEY_KEY_SEQUENCE_PARALLEL, split && d.tp > 1 ? "yes" : "no");
    if (split && d.tp == 1)
        import_note(l->import, "%ssequence-parallel has no effect at tp 1.", a->dashes);
    read_megatron_precision(a);
    read_megatron_sharding(a);
    read_megatron_recomputation(a);
    read_overlap(a, &d);
    read_megatron_offload(a);
    read_kernels(a);
    read_dispatcher(a);
    read_deepspeed_capacity(a);
    launch_megatron_states(a);
    note_substitutes(a, &d);
    if (launch_args_has(a, "enable-zbh1-pipeline") && d.pp > 1)
        launch_set(l, HALLEY_KEY_SCHEDULE, "zb-h1");
    if (launch_args_has(a, "use-tp-pp-dp-mapping"))
        launch_set(l, HALLEY_KEY_RANK_ORDER, "tp-cp-pp-dp");
    if (a->status == HALLEY_OK)
        check_degrees(a, &d);
}

/* Alternative names in printed lists and other programs. */
static const struct {
    const char *from, *to;
    bool negated;
} aliases[] = {
    {"add-bias-linear", "disable-bias-linear", true},
    {"add-position-embedding", "no-position-embedding", true},
    {"overlap-p2p-comm", "no-overlap-p2p-communication", true},
    {"share-embeddings-and-output-weights", "untie-embeddings-and-output-weights", true},
    {"fp8", "fp8-format", false},
    {"fp4", "fp4-format", false},
    {"num-moe-experts", "num-experts", false},
    {"virtual-pipeline-model-parallel-size", "num-virtual-stages-per-pipeline-rank",
     false},
    {"fp8-param", "fp8-param-gather", false},
};

static void rename_aliases(launch_args *a)
{
    for (size_t i = 0; i < a->list.n; i++)
        for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
            launch_arg *arg = &a->list.at[i];
            if (!str_eq(arg->name, str_from(aliases[k].from)))
                continue;
            arg->name = str_from(aliases[k].to);
            arg->is_off = arg->is_off != aliases[k].negated;
            if (aliases[k].negated && !arg->is_off)
                arg->value = STR("true");
        }
}

/* True if the arguments describe a model. Otherwise they are a part of a configuration: a
 * plan. */
static bool has_shape(launch_args *a)
{
    static const char *const names[] = {"num-layers",
                                        "hidden-size",
                                        "num-attention-heads",
                                        "decoder-num-layers",
                                        "encoder-num-layers",
                                        "hybrid-layer-pattern",
                                        "hybrid-override-pattern"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (launch_args_find(a, names[i]) != NULL)
            return true;
    return false;
}

void launch_megatron_read(launch_args *a)
{
    rename_aliases(a);
    if (has_shape(a))
        launch_megatron_model(a);
    else if (a->launch->has_model) /* by name */
        a->launch->model.seq =
            launch_args_whole(a, "seq-length", a->launch->model.seq, HALLEY_KEY_SEQ);
    else
        a->launch->model.seq = launch_args_whole(a, "seq-length", 0, HALLEY_KEY_SEQ);
    if (a->status == HALLEY_OK)
        read_megatron_plan(a);
    if (a->status != HALLEY_OK)
        return;
    launch_args_find(a, "deepspeed-config");
    launch_args_rest(a, launch_megatron_keys, launch_n_megatron_keys);
}
