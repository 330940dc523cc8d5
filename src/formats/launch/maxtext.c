/*
 * MaxText's YAML. The model is a name, or sizes with MaxText's own defaults. The batch is
 * per device. Parallelism is the combination of two meshes, inside a slice (ici) and
 * between slices (dcn). There, -1 takes the remaining devices.
 */
#include "base/number/number.h"
#include "base/number/whole.h"
#include "launch/tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NO_KEY = -1 };

#define READ(name, otherwise, doc)                                                       \
    {                                                                                    \
        name, LAUNCH_READ, otherwise, doc                                                \
    }
#define FREE(name)                                                                       \
    {                                                                                    \
        name, LAUNCH_FREE, NULL, NULL                                                    \
    }
#define REFUSED(name, doc)                                                               \
    {                                                                                    \
        name, LAUNCH_REFUSED, NULL, doc                                                  \
    }
static const launch_key keys[] = {
    READ("model-name", "default", "a model by name"),
    READ("base-emb-dim", "2048", "hidden"),
    READ("base-num-query-heads", "16", "heads"),
    READ("base-num-kv-heads", "16", "kv-heads"),
    READ("head-dim", "128", "head-dim"),
    READ("base-mlp-dim", "7168", "ffn"),
    READ("base-num-decoder-layers", "16", "layers"),
    READ("vocab-size", "32000", "vocab"),
    READ("mlp-activations", "silu, linear", "two: gated"),
    READ("logits-via-embedding", "no", "tied"),
    READ("num-experts", "1", "experts"),
    READ("num-experts-per-tok", "1", "top-k"),
    READ("base-moe-mlp-dim", "base-mlp-dim", "expert-ffn"),
    READ("shared-experts", "0", "shared-ffn, times expert-ffn"),
    READ("first-num-dense-layers", "0", "dense-layers"),
    READ("attention-type", "global", "mla: latent attention"),
    READ("q-lora-rank", "0", "of latent attention"),
    READ("kv-lora-rank", "512", "of latent attention"),
    READ("qk-nope-head-dim", "128", "of latent attention"),
    READ("qk-rope-head-dim", "64", "of latent attention"),
    READ("v-head-dim", "128", "of latent attention"),
    READ("per-device-batch-size", "12", "sequences of a device"),
    READ("gradient-accumulation-steps", "1", "times the batch"),
    READ("max-target-length", "2048", "seq"),
    READ("ici-*", "1; fsdp: the rest", "degrees inside a slice"),
    READ("dcn-*", "1; data: the rest", "degrees between slices"),
    READ("remat-policy", "full", "recompute"),
    READ("quantization", "none", "dtype"),
    READ("dtype", "bfloat16", "dtype"),
    READ("weight-dtype", "float32", "gradient-bytes"),
    READ("grad-dtype", "the weights'", "gradient-bytes"),
    READ("optimizer-memory-host-offload", "no", "offload optimizer"),
    READ("parameter-memory-host-offload", "no", "offload weights"),
    READ("num-layers-per-pipeline-stage", "1", "virtual"),
    READ("num-pipeline-repeats", NULL, "virtual"),
    READ("num-pipeline-microbatches", "stages", "micro-batch"),
    READ("num-slices", NULL, "slices"),
    READ("compile-topology-num-slices", NULL, "slices"),
    READ("sliding-window-size", "0", "window, by decoder-block"),
    READ("chunk-attn-window-size", "0", "window of llama4"),
    READ("decoder-block", "llama2", "windows, norms and biases; others are refused"),
    READ("global-parameter-scale", "1", "doubles heads, hidden and layers in turns"),
    READ("interleave-moe-layer-step", "1", "every n-th layer has experts"),
    READ("mtp-num-layers", "0", "mtp"),
    READ("n-routing-groups", "-1", "groups of experts"),
    READ("topk-routing-group", "-1", "groups that a token may use"),
    READ("routed-bias", "no", "one more weight per expert"),
    READ("capacity-factor", "-1: dropless", "capacity, without sparse-matmul"),
    READ("sparse-matmul", "yes", "no: with a capacity only"),
    READ("attention", "autoselected", "dot_product: unfused"),
    READ("attention-bias", "no", "biases"),
    READ("mlp-bias", "no", "biases"),
    READ("attention-sink", "no", "attention sinks"),
    READ("use-qk-norm", "no", "norms of query and key"),
    READ("use-post-attn-norm", "no", "one more norm"),
    READ("use-post-ffw-norm", "no", "one more norm"),
    READ("trainable-position-size", "-1", "learned positions"),
    READ("use-multimodal", "no", "a note"),
    READ("shard-optimizer-over-data", "no", "zero 1 where weights are replicated"),
    READ("key-proj", "remat", "as query-proj"),
    READ("value-proj", "remat", "as query-proj"),
    READ("qkv-proj", "remat", "as query-proj"),
    READ("decoder-layer-input", "device", "with remat-policy custom"),
    READ("context", "remat", "with remat-policy custom"),
    READ("query-proj", "remat", "with remat-policy custom; and the others"),
    READ("opt-type", "adamw", "optimizer"),
    REFUSED("custom-mesh", "a mesh of its own"),
    FREE("base-config"),
    FREE("run-name"),
    FREE("hardware"),
    FREE("steps"),
    FREE("use-iota-embed"),
    FREE("dataset-*"),
    FREE("reuse-example-batch"),
    FREE("enable-*"),
    FREE("max-segments-per-seq"),
    FREE("base-output-directory"),
    FREE("tokenizer-*"),
    FREE("learning-rate*"),
    FREE("adam-*"),
    FREE("checkpoint-*"),
    FREE("profiler*"),
    FREE("skip-*"),
    FREE("log-*"),
    FREE("gcs-*"),
    FREE("async-*"),
    FREE("load-*"),
    FREE("save-*"),
    FREE("eval-*"),
    FREE("hf-*"),
    FREE("grain-*"),
    FREE("sa-*"),
    FREE("xla-*"),
    FREE("logical-*"),
    FREE("mesh-axes"),
    FREE("data-sharding"),
    FREE("compile-*"),
    FREE("compiled-*"),
    FREE("jax-*"),
    FREE("monitor-*"),
    FREE("metrics-*"),
    FREE("tensorboard-*"),
    FREE("vertex-*"),
    FREE("use-vertex*"),
    FREE("use-*"),
    FREE("normalization-*"),
    FREE("rope-*"),
    FREE("dropout-*"),
    FREE("scan-layers"),
    FREE("param-scan-axis"),
    FREE("allow-split-physical-axes"),
    FREE("packing"),
    FREE("gradient-clipping-threshold"),
    FREE("weight-*"),
    FREE("init-*"),
    FREE("data-*"),
    FREE("goodput-*"),
    FREE("megablox"),
    FREE("routed-*"),
    FREE("mscale"),
    FREE("beta-*"),
    FREE("max-position-embeddings"),
    FREE("original-max-position-embeddings"),
    FREE("normalize-embedding-logits"),
    FREE("logits-dot-in-fp32"),
    FREE("fused-*"),
    FREE("inhomogeneous-layer-cycle-interval"),
    FREE("nope-layer-interval"),
    FREE("temperature-tuning"),
    FREE("mlp-activations-limit"),
    FREE("vision-encoder-block"),
    FREE("indexer-*"), /* without use-indexer */
    FREE("gdn-*"),     /* without a decoder-block that has it */
    FREE("num-vocab-tiling"),
    FREE("wi-tile-*"),
    FREE("wo-tile-*"),
    FREE("load-balance-*"),
    FREE("norm-topk-prob"),
    FREE("warmup-*"),
    FREE("cosine-*"),
    FREE("max-prefill-*"),
    FREE("prefill-*"),
    FREE("ar-*"),
    FREE("decode-*"),
    FREE("inference-*"),
    FREE("shard-mode"),
    FREE("override-model-config"),
    FREE("expansion-factor*"),
    FREE("prompt"),
    FREE("stack-*"),
    FREE("optimize-*"),
    FREE("matmul-precision"),
    FREE("cast-*"),
    FREE("float32-*"),
    FREE("attn-*"),
    FREE("final-*"),
    FREE("remat-policy-*"),
};

/* True if the file has a key, even with the value false. */
static bool is_given(const launch_args *a, const char *name)
{
    for (size_t i = 0; i < a->list.n; i++)
        if (str_eq(a->list.at[i].name, str_from(name)))
            return true;
    return false;
}

/* remat_policy as a kind of recomputation, with the tensors that are kept or
 * offloaded. */
static const struct {
    const char *word, *recompute, *keep, *offload;
} policies[] = {
    {"full", "full", NULL, NULL},
    {"none", "none", NULL, NULL},
    {"minimal", "minimal", NULL, NULL},
    {"minimal_with_context", "kept", "input+qkv+context+out+mlpwi+mlpwo", NULL},
    {"minimal_flash", "kept", "input+qkv+context+out+mlpwi+mlpwo", NULL},
    {"save_qkv_proj", "qkv", NULL, NULL},
    {"save_dot_except_mlp", "kept", "input+qkv+out", NULL},
    {"save_dot_except_mlpwi", "kept", "input+qkv+out+mlpwo", NULL},
    {"save_dot_with_context_except_mlp", "kept", "input+qkv+context+out", NULL},
    {"save_out_proj", "kept", "input+out", NULL},
    {"qkv_proj_offloaded", "kept", "input", "qkv"},
    {"minimal_offloaded", "kept", "input", "qkv+out+mlpwi+mlpwo"},
};

/* remat_policy custom: one word per tensor: device, offload or remat. */
static void read_custom_remat(launch_args *a)
{
    static const struct {
        const char *names, *tensor;
    } tensors[] = {{"decoder-layer-input", "input"},
                   {"query-proj key-proj value-proj qkv-proj", "qkv"},
                   {"context", "context"},
                   {"out-proj", "out"},
                   {"mlpwi mlpwi-0 mlpwi-1", "mlpwi"},
                   {"mlpwo", "mlpwo"}};
    char kept[64] = "", moved[64] = "";
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const str how = launch_args_text(a, tensors[i].names,
                                         i == 0 ? STR("device") : STR("remat"), NO_KEY);
        char *to = str_eq(how, STR("device"))    ? kept
                   : str_eq(how, STR("offload")) ? moved
                                                 : NULL;
        if (to != NULL)
            snprintf(to + strlen(to), 64 - strlen(to), "%s%s", to[0] != '\0' ? "+" : "",
                     tensors[i].tensor);
    }
    launch_set(a->launch, HALLEY_KEY_RECOMPUTE, "kept");
    if (kept[0] != '\0')
        launch_set(a->launch, HALLEY_KEY_RECOMPUTE_KEEP, kept);
    if (moved[0] != '\0')
        launch_set(a->launch, HALLEY_KEY_RECOMPUTE_OFFLOAD, moved);
}

static void read_remat(launch_args *a)
{
    const str word =
        launch_args_choice(a, "remat-policy", STR("full"), HALLEY_KEY_RECOMPUTE);
    if (str_eq(word, STR("custom"))) {
        read_custom_remat(a);
        return;
    }
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (!str_eq(word, str_from(policies[i].word)))
            continue;
        launch_set(a->launch, HALLEY_KEY_RECOMPUTE, policies[i].recompute);
        if (policies[i].keep != NULL)
            launch_set(a->launch, HALLEY_KEY_RECOMPUTE_KEEP, policies[i].keep);
        if (policies[i].offload != NULL)
            launch_set(a->launch, HALLEY_KEY_RECOMPUTE_OFFLOAD, policies[i].offload);
        return;
    }
    launch_args_fail(a, HALLEY_EINVAL, "remat_policy %.*s is not modelled",
                     STR_ARG(word));
}

/* The size of one axis in one mesh; -1 ("the rest") becomes 0. */
static uint32_t read_axis(launch_args *a, const char *mesh, const char *axis,
                          int otherwise)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%s-parallelism", mesh, axis);
    const double n = launch_args_real(a, name, otherwise, NO_KEY);
    if (n == 0 || n < -1 || n > 1e6 || n != floor(n))
        launch_args_fail(a, HALLEY_EINVAL, "%s_%s_parallelism must be a degree or -1",
                         mesh, axis);
    return n > 0 ? whole_u32(n) : 0;
}

static uint32_t read_maxtext_product(launch_args *a, const char *axis,
                                     halley_plan_key key)
{
    const uint32_t inside = read_axis(a, "ici", axis, 1),
                   between = read_axis(a, "dcn", axis, 1);
    if (inside == 0 || between == 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "%s parallelism -1 is not modelled; state the degree", axis);
    const uint32_t n = inside * between;
    launch_set_number(a->launch, key, n > 0 ? n : 1);
    return n > 0 ? n : 1;
}

static void refuse_axes(launch_args *a)
{
    static const char *const axes[] = {
        "sequence",       "tensor-transpose",       "tensor-sequence",
        "autoregressive", "context-autoregressive", "fsdp-transpose"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (read_axis(a, "ici", axes[i], 1) != 1 || read_axis(a, "dcn", axes[i], 1) != 1)
            launch_args_fail(a, HALLEY_EINVAL, "%s parallelism is not modelled", axes[i]);
}

static void read_maxtext_sharding(launch_args *a)
{
    halley_launch *l = a->launch;
    const uint32_t fsdp_in = read_axis(a, "ici", "fsdp", -1),
                   fsdp_out = read_axis(a, "dcn", "fsdp", 1);
    const uint32_t data_in = read_axis(a, "ici", "data", 1),
                   data_out = read_axis(a, "dcn", "data", -1);
    const double stated =
        launch_args_real(a, "num-slices compile-topology-num-slices", 1, NO_KEY);
    const uint32_t slices = stated >= 1 && stated < 1e6 ? (uint32_t)stated : 1;
    const uint32_t copies =
        (data_in > 0 ? data_in : 1) * (data_out > 0 ? data_out : slices);
    l->replicas = copies > 0 ? copies : 1;
    const bool sharded = launch_args_has(a, "shard-optimizer-over-data");
    if (fsdp_in == 1 && fsdp_out == 1) { /* only replicas */
        launch_set(l, HALLEY_KEY_ZERO, sharded ? "1" : "0");
        l->replicas = 0;
        return;
    }
    launch_set(l, HALLEY_KEY_ZERO, "3");
    if (fsdp_in > 0 && fsdp_out > 0 && copies > 1)
        launch_set_number(l, HALLEY_KEY_FSDP, (uint64_t)fsdp_in * fsdp_out);
    else if (copies == 1)
        launch_set(l, HALLEY_KEY_FSDP, "all");
}

static void read_maxtext_precision(launch_args *a)
{
    halley_launch *l = a->launch;
    const str quantized = launch_args_text(a, "quantization", STR(""), NO_KEY);
    const str type = launch_args_text(a, "dtype", STR("bfloat16"), NO_KEY);
    const str weights = launch_args_text(a, "weight-dtype", STR("float32"), NO_KEY);
    const str gradients = launch_args_text(a, "grad-dtype", weights, NO_KEY);
    const char *dtype = str_contains(type, STR("bf"))   ? "bf16"
                        : str_contains(type, STR("16")) ? "fp16"
                                                        : "fp32";
    if (str_contains(quantized, STR("int8")))
        dtype = "int8";
    else if (str_contains(quantized, STR("fp8")))
        dtype = "fp8";
    else if (quantized.n > 0)
        launch_args_fail(a, HALLEY_EINVAL, "quantization %.*s is not modelled",
                         STR_ARG(quantized));
    launch_set(l, HALLEY_KEY_DTYPE, dtype);
    launch_set(l, HALLEY_KEY_GRADIENT_BYTES,
               str_contains(gradients, STR("32")) ? "4" : "2");
}

static void read_pipeline(launch_args *a, uint32_t pp)
{
    const uint32_t of_stage =
        launch_args_whole(a, "num-layers-per-pipeline-stage", 1, NO_KEY);
    const double repeats = launch_args_real(a, "num-pipeline-repeats", -1, NO_KEY);
    uint32_t chunks = repeats >= 1 && repeats < 1e4 ? (uint32_t)repeats : 0;
    if (pp == 1)
        return;
    if (chunks == 0 && of_stage > 0)
        chunks = a->launch->model.layers / pp / of_stage;
    if (chunks == 0 || a->launch->model.layers % (pp * chunks) != 0)
        launch_args_fail(a, HALLEY_EINVAL,
                         "%u layers do not divide into %u stages of %u repeats",
                         a->launch->model.layers, pp, chunks);
    launch_set_number(a->launch, HALLEY_KEY_VIRTUAL, chunks > 0 ? chunks : 1);
}

/* The batch of a data-parallel rank is that of all devices that share a copy of the
 * model. */
static void read_maxtext_batch(launch_args *a, uint32_t tp, uint32_t pp, uint32_t cp)
{
    halley_launch *l = a->launch;
    const double device =
        launch_args_real(a, "per-device-batch-size", 12, HALLEY_KEY_MICRO_BATCH);
    const uint32_t steps = launch_args_whole(a, "gradient-accumulation-steps", 1, NO_KEY);
    const double stated = launch_args_real(a, "num-pipeline-microbatches", -1, NO_KEY);
    const uint32_t pieces = stated >= 1 && stated < 1e6 ? (uint32_t)stated : pp;
    const double micro = device * tp * cp * pp / (pp > 1 && pieces > 0 ? pieces : 1);
    if (!(device > 0) || micro < 1 || micro != floor(micro) || micro > 1e8)
        launch_args_fail(a, HALLEY_EINVAL,
                         "per_device_batch_size %s gives %s sequences to a micro-batch; "
                         "halley needs whole ones",
                         number_digits(device, 6).at, number_digits(micro, 6).at);
    else
        launch_set_number(l, HALLEY_KEY_MICRO_BATCH, whole_u64(micro));
    if (!launch_args_has(a, "per-device-batch-size"))
        import_add(l->import, HALLEY_IMPORT_ASSUMED, STR("per_device_batch"), STR("12"));
    l->npu_batch = device * (steps > 0 ? steps : 1);
    launch_set_number(l, HALLEY_KEY_SEQ,
                      launch_args_whole(a, "max-target-length", 2048, HALLEY_KEY_SEQ));
}

/* The attention kernel, and the method of expert dispatch. */
static void read_maxtext_kernels(launch_args *a)
{
    const str kernel = launch_args_text(a, "attention", STR("autoselected"), NO_KEY);
    const double capacity = launch_args_real(a, "capacity-factor", -1, NO_KEY);
    const launch_arg *sparse = launch_args_find(a, "sparse-matmul");
    const bool is_sparse = sparse != NULL || !is_given(a, "sparse-matmul");
    if (str_eq(kernel, STR("dot_product")))
        launch_set(a->launch, HALLEY_KEY_ATTENTION, "unfused");
    if (a->launch->model.experts == 0 || is_sparse)
        return;
    if (capacity > 0)
        launch_set(a->launch, HALLEY_KEY_CAPACITY, number_shortest(capacity).at);
    else
        launch_args_fail(a, HALLEY_EINVAL,
                         "sparse_matmul false without a capacity_factor is not modelled "
                         "(every expert works on every token)");
}

static void read_maxtext_offload(launch_args *a)
{
    const bool optimizer = launch_args_has(a, "optimizer-memory-host-offload");
    const bool weights = launch_args_has(a, "parameter-memory-host-offload");
    if (optimizer || weights)
        launch_set(a->launch, HALLEY_KEY_OFFLOAD,
                   optimizer && weights ? "optimizer+weights"
                   : optimizer          ? "optimizer"
                                        : "weights");
    const str type = launch_args_text(a, "opt-type", STR("adamw"), NO_KEY);
    if (!str_contains(type, STR("adam")))
        import_note(a->launch->import,
                    "The optimizer %.*s is counted with the memory of Adam.",
                    STR_ARG(type));
}

static void read_maxtext(launch_args *a)
{
    if (a->status == HALLEY_OK)
        launch_maxtext_model(a);
    if (a->status == HALLEY_OK) {
        const uint32_t tp = read_maxtext_product(a, "tensor", HALLEY_KEY_TP);
        const uint32_t pp = read_maxtext_product(a, "pipeline", HALLEY_KEY_PP);
        const uint32_t cp = read_maxtext_product(a, "context", HALLEY_KEY_CP);
        read_maxtext_product(a, "expert", HALLEY_KEY_EP);
        launch_set(a->launch, HALLEY_KEY_SEQUENCE_PARALLEL, tp > 1 ? "yes" : "no");
        refuse_axes(a);
        read_maxtext_sharding(a);
        read_pipeline(a, pp);
        read_maxtext_batch(a, tp, pp, cp);
        read_maxtext_precision(a);
        read_remat(a);
        read_maxtext_kernels(a);
        read_maxtext_offload(a);
    }
    if (a->status == HALLEY_OK)
        launch_args_rest(a, keys, sizeof keys / sizeof *keys);
}

void launch_maxtext_read(launch_args *outer, const conf_file *file)
{
    launch_args a = {
        .launch = outer->launch, .opts = outer->opts, .dashes = "", .err = outer->err};
    launch_tree_flatten(&a, file->root);
    read_maxtext(&a);
    outer->status = a.status;
    launch_args_fini(&a);
}

const char *const launch_maxtext_marks[] = {
    "per_device_batch_size=", "max_target_length=",
    "base_emb_dim=",          "base_num_decoder_layers=",
    "ici_fsdp_parallelism=",  "ici_tensor_parallelism=",
    "remat_policy=",          NULL};

/* A value of a command line; brackets, quotes and commas of a list are removed. */
static void add_maxtext_word(launch_args *a, str name, str value, uint32_t line)
{
    strbuf plain = {0};
    const bool is_list = value.n > 1 && value.at[0] == '[';
    for (size_t i = 0; i < value.n; i++) {
        const char c = value.at[i];
        if (!is_list || (c != '[' && c != ']' && c != '"' && c != '\''))
            strbuf_add_char(&plain, is_list && c == ',' ? ' ' : c);
    }
    if (plain.failed)
        a->status = error_nomem(a->err);
    else
        launch_args_add(a, name, strbuf_str(&plain), line);
    strbuf_fini(&plain);
}

void launch_maxtext_split(launch_args *a, str words, uint32_t line)
{
    a->dashes = "";
    while (words.n > 0 && a->status == HALLEY_OK) {
        const str word = launch_word_take(&words);
        const char *equals = word.n > 0 ? memchr(word.at, '=', word.n) : NULL;
        if (equals == NULL || word.at[0] == '-' || equals == word.at)
            continue; /* the program, its base file, launcher options */
        const str name = {word.at, (size_t)(equals - word.at)};
        if (memchr(name.at, SHELL_UNKNOWN, name.n) == NULL)
            add_maxtext_word(a, name, (str){equals + 1, word.n - name.n - 1}, line);
    }
    read_maxtext(a);
}
