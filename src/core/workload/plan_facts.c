/* The keys of a plan, and the three whose values are stored in a way of their own. */
#include "workload/plan_facts.h"

#include "base/fact_rows.h"
#include "halley/plan_keys.h"
#include "workload/plan_file.h"

#include <assert.h>

/* In the order of the enums and bits of halley/plan.h. After the number formats come
 * abbreviations for a format and a recipe. */
static const char *const dtypes[] = {"bf16", "fp16",  "fp32",  "tf32",  "fp8", "fp4",
                                     "int8", "mxfp8", "mxfp4", "nvfp4", NULL};
static const struct {
    halley_dtype dtype;
    halley_fp8_recipe recipe;
} short_dtypes[] = {{HALLEY_FP8, HALLEY_FP8_MX},
                    {HALLEY_FP4, HALLEY_FP8_MX},
                    {HALLEY_FP4, HALLEY_FP8_NV}};
const char *const workload_schedule_names[HALLEY_N_SCHEDULES + 1] = {
    "1f1b", "gpipe", "breadth-first", "zb-h1", "zb-h2", "zbv", "dualpipe", NULL};
const char *const workload_recipe_names[HALLEY_N_RECIPES + 1] = {"tensor", "row", "block",
                                                                 "mx",     "nv",  NULL};
const char *const workload_recompute_names[HALLEY_N_RECOMPUTE + 1] = {
    "none", "selective", "selective-op", "full", "minimal",
    "qkv",  "modules",   "kept",         NULL};
const char *const workload_order_names[HALLEY_RANK_ORDERS + 1] = {
    "tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp",
    "tp-pp-dp-cp", "cp-tp-dp-pp", "cp-tp-pp-dp", "cp-dp-tp-pp", "cp-dp-pp-tp",
    "cp-pp-tp-dp", "cp-pp-dp-tp", "dp-tp-cp-pp", "dp-tp-pp-cp", "dp-cp-tp-pp",
    "dp-cp-pp-tp", "dp-pp-tp-cp", "dp-pp-cp-tp", "pp-tp-cp-dp", "pp-tp-dp-cp",
    "pp-cp-tp-dp", "pp-cp-dp-tp", "pp-dp-tp-cp", "pp-dp-cp-tp", NULL};
static const char *const optimizers[HALLEY_N_OPTIMIZERS + 1] = {"adam", "sgd", "adagrad",
                                                                NULL};
static const char *const table_optimizers[HALLEY_N_TABLE_OPTIMIZERS + 1] = {
    "row-wise-adagrad", "adagrad", "sgd", "adam", NULL};
static const char *const modules[] = {"layernorm",      "core-attn", "mla-up-proj",
                                      "moe-act",        "mlp",       "moe",
                                      "shared-experts", NULL};
static const char *const tensors[] = {"input", "qkv",   "context", "out",
                                      "mlpwi", "mlpwo", NULL};
static const char *const classes[] = {"optimizer", "gradients", "weights", "activations",
                                      NULL};
static const char *const exposed[] = {"tp", "cp", "ep", "pp", "dp", NULL};
_Static_assert(sizeof dtypes / sizeof *dtypes ==
                   HALLEY_N_DTYPES + sizeof short_dtypes / sizeof *short_dtypes + 1,
               "every number format has a word");

static halley_status set_dtype(const fact *f, void *to, str text, bool more,
                               halley_error *err)
{
    halley_plan *p = to;
    uint32_t word;
    (void)more;
    TRY(fact_find_word(&word, f, text, err));
    if (word < HALLEY_N_DTYPES) {
        p->dtype = (halley_dtype)word;
        return HALLEY_OK;
    }
    p->dtype = short_dtypes[word - HALLEY_N_DTYPES].dtype;
    p->recipe = short_dtypes[word - HALLEY_N_DTYPES].recipe;
    p->given |= UINT64_C(1) << HALLEY_KEY_FP8_RECIPE;
    return HALLEY_OK;
}

static double get_dtype(const void *from)
{
    return ((const halley_plan *)from)->dtype;
}

static double get_fp8_params(const void *from)
{
    return ((const halley_plan *)from)->fp8_params;
}

static void print_dtype(strbuf *to, const fact *f, const void *from)
{
    assert(((const halley_plan *)from)->dtype < HALLEY_N_DTYPES);
    strbuf_json(to, str_from(f->words[((const halley_plan *)from)->dtype]));
}

static halley_status set_fp8_params(const fact *f, void *to, str text, bool more,
                                    halley_error *err)
{
    const bool yes = str_eq(text, STR("yes")) || str_eq(text, STR("true"));
    (void)more;
    if (!yes && !str_eq(text, STR("no")) && !str_eq(text, STR("false")))
        return error_set(err, HALLEY_EINVAL, "%s must be yes or no, not \"%.*s\"", f->key,
                         STR_ARG(text));
    ((halley_plan *)to)->fp8_params = yes ? HALLEY_CHOICE_YES : HALLEY_CHOICE_NO;
    return HALLEY_OK;
}

static void print_fp8_params(strbuf *to, const fact *f, const void *from)
{
    const halley_choice choice = ((const halley_plan *)from)->fp8_params;
    (void)f;
    if (choice != HALLEY_CHOICE_DEFAULT)
        strbuf_add(to, choice == HALLEY_CHOICE_YES ? STR("true") : STR("false"));
}

static halley_status add_stage(const fact *f, halley_plan *p, str word, halley_error *err)
{
    uint64_t n;
    if (!str_to_u64(word, &n) || n == 0 || n > UINT8_MAX)
        return error_set(err, HALLEY_EINVAL,
                         "%s needs layers of a stage from 1 to %d, not \"%.*s\"", f->key,
                         UINT8_MAX, STR_ARG(word));
    if (p->n_stage_layers == HALLEY_MAX_STAGES)
        return error_set(err, HALLEY_ELIMIT, "%s has more than %d stages", f->key,
                         HALLEY_MAX_STAGES);
    p->stage_layers[p->n_stage_layers++] = (uint8_t)n;
    return HALLEY_OK;
}

static halley_status set_stages(const fact *f, void *to, str text, bool more,
                                halley_error *err)
{
    halley_plan *p = to;
    str part, word;
    if (!more)
        p->n_stage_layers = 0;
    while (str_next(&text, '+', &part))
        while (str_next(&part, ',', &word))
            TRY(add_stage(f, p, str_trim(word), err));
    return HALLEY_OK;
}

static void print_stages(strbuf *to, const fact *f, const void *from)
{
    const halley_plan *p = from;
    (void)f;
    for (uint32_t i = 0; i < p->n_stage_layers; i++)
        strbuf_printf(to, "%s%u", i > 0 ? ", " : "[", p->stage_layers[i]);
    if (p->n_stage_layers > 0)
        strbuf_add_char(to, ']');
}

/* clang-format off */
#define THIS halley_plan
#define KEY(id) [HALLEY_KEY_##id] =
const fact_table workload_plan_facts = {"Plan", "the parallelization; a valid \"plan\" of a request", sizeof(THIS), (const fact[]){
    KEY(GLOBAL_BATCH) IN("global-batch", global_batch, 1, 4e9, "N", "sequences per training step, over all data-parallel ranks", "dp x micro-batch", "1024", .also = "gbs global-batch-size train-batch-size; batch batch-size", .rare = true),
    KEY(SEQ) IN("seq", seq, 1, 1e9, "N", "tokens per sequence", "the model's, else 8192", "8192", .also = "seq-length seq-len sequence-length max-seq-len; context-length", .rare = true),
    KEY(DTYPE) IN_OWN("dtype", set_dtype, print_dtype, "bf16|fp16|fp32|tf32|fp8|fp4|int8", "number format of the matmuls", "bf16", "fp8", .words = dtypes, .get = get_dtype, .also = "; precision"),
    KEY(TP) IN("tp", tp, 1, 1e6, "N", "tensor parallelism: ranks that split every layer", "1", "8", .also = "tensor-model-parallel-size tensor-parallel-size tensor-parallel-degree; tensor tensor-parallel", .rare = true),
    KEY(PP) IN("pp", pp, 1, 1e6, "N", "pipeline parallelism: number of stages", "1", "4", .also = "pipeline-model-parallel-size pipeline-parallel-size pipeline-parallel-degree; pipeline pipeline-parallel stages", .rare = true),
    KEY(DP) IN("dp", dp, 1, 1e8, "N", "data parallelism: replicas of the model", "the remaining ranks", "16", .also = "data-parallel-size; data-parallel-replicate-degree data data-parallel replicas", .rare = true),
    KEY(CP) IN("cp", cp, 1, 1e6, "N", "context parallelism: ranks that split every sequence", "1", "2", .also = "context-parallel-size context-parallel-degree; context context-parallel", .rare = true),
    KEY(EP) IN("ep", ep, 1, 1e6, "N", "expert parallelism: ranks that split the experts", "1", "8", .also = "expert-model-parallel-size expert-parallel-size expert-parallel-degree; expert expert-parallel", .rare = true),
    KEY(VIRTUAL) IN("virtual", virtual_stages, 1, 1e4, "N", "model chunks per pipeline stage, for interleaved schedules", "1", "2", .also = "virtual-pipeline-model-parallel-size vpp; virtual-stages", .rare = true),
    KEY(MICRO_BATCH) IN("micro-batch", micro_batch, 1, 1e8, "N", "sequences per micro-batch", "1", "2", .also = "mbs micro-batch-size train-micro-batch-size-per-gpu; local-batch-size", .rare = true),
    KEY(ZERO) IN("zero", zero, 0, 3, "0-3", "ZeRO stage: 1 shards optimizer states, 2 also gradients, 3 also weights", "1", "2", .also = "zero-stage"),
    KEY(FSDP) IN("fsdp", fsdp, 0, 1e8, "N|all", "shard weights over N ranks and gather them layer by layer; fewer than all is hybrid sharding", "0, off", "all", .all = "all", .also = "; data-parallel-shard-degree"),
    KEY(RECOMPUTE) IN_WORD("recompute", recompute, workload_recompute_names, "activations that the backward pass recomputes", "none", "selective", .also = "recompute-granularity; activation-checkpointing checkpointing"),
    KEY(RECOMPUTE_EVERY) IN("recompute-every", recompute_every, 1, 1e5, "K", "with full recomputation: keep the input of every K-th layer", "1", "2", .rare = true),
    KEY(RECOMPUTE_LAYERS) IN("recompute-layers", recompute_layers, 0, 1e5, "N", "recompute only the first N layers of each stage", "0, all", "4"),
    KEY(RANK_ORDER) IN_WORD("rank-order", rank_order, workload_order_names, "order in which ranks are numbered, innermost dimension first", "tp-cp-dp-pp", "tp-dp-pp-cp", .value = "ORDER"),
    KEY(FP8_RECIPE) IN_WORD("fp8-recipe", recipe, workload_recipe_names, "what one scaling factor covers; block scales in software, mx and nv in hardware", "tensor, of fp4 nv or mx", "mx"),
    KEY(GRADIENT_BYTES) IN("gradient-bytes", gradient_bytes, 2, 4, "2|4", "bytes per gradient in a reduction", "2", "4", .rare = true),
    KEY(OFFLOAD_TIER) IN("offload-tier", offload_tier, 1, 16, "N", "memory tier that offloaded classes go to; 1 is the first after the device's own memory", "the fastest", "1", .rare = true),
    KEY(LORA) IN("lora", lora, 0, 65536, "N", "train LoRA adapters of rank N on the attention projections and freeze the weights", "0, train all weights", "16", .also = "lora-rank"),
    KEY(SCHEDULE) IN_WORD("schedule", schedule, workload_schedule_names, "pipeline schedule; 1f1b is interleaved when virtual is more than 1", "1f1b", "zb-h1"),
    KEY(ATTENTION) IN_WORD("attention", attention, WORDS("flash", "unfused", "old"), "attention kernel; old is fused, but written for an earlier generation of devices", "flash", "unfused"),
    KEY(ETP) IN("etp", etp, 1, 1e6, "N", "expert tensor parallelism: ranks that split each expert", "1", "2", .also = "expert-tensor-parallel-size", .rare = true),
    KEY(ZERO_GROUP) IN("zero-group", zero_group, 0, 1e8, "N", "with ZeRO 1 and 2: ranks that shard one copy of the optimizer states", "0, all", "8"),
    KEY(DISPATCHER) IN_WORD("dispatcher", dispatcher, WORDS("all-to-all", "deepep", "hybridep"), "how tokens are dispatched to their experts", "all-to-all", "deepep"),
    KEY(CAPACITY) IN("capacity", capacity, 0, 100, "X", "capacity factor of the experts; tokens are padded or dropped to it", "0, dropless", "1.25", .also = "moe-expert-capacity-factor"),
    KEY(EXPERT_SKEW) IN("expert-skew", expert_skew, 0, 100, "X", "load of the busiest expert rank above the mean, as a fraction", "0", "0.2"),
    KEY(GRAPHS) IN_WORD("graphs", graphs, WORDS("none", "router", "layer", "full"), "what is captured in CUDA graphs and needs no host time", "none", "layer"),
    KEY(KERNELS) IN_WORD("kernels", eager_kernels, WORDS("fused", "eager"), "run norms and activations fused or one by one", "fused", "eager"),
    KEY(BF16_LAYERS) IN("bf16-layers", bf16_layers, 0, 1e5, "N", "with fp8: layers that stay in bf16, half at each end of the model", "0", "2"),
    KEY(GATHER) IN_WORD("gather", gather, WORDS("default", "step", "micro-batch"), "with fsdp: how often weights are gathered", "once per step with pipeline stages, else in every micro-batch", "step", .value = "step|micro-batch"),
    KEY(FP8_PARAMS) IN_OWN("fp8-params", set_fp8_params, print_fp8_params, "yes|no", "with fp8: store weights in fp8 only", "yes", "no", .get = get_fp8_params, .rare = true, .is_fixed = true),
    KEY(GRADIENT_MEMORY) IN("gradient-memory", gradient_memory, 0, 16, "BYTES", "bytes stored per gradient", "by number format and stack", "4"),
    KEY(OPTIMIZER_MEMORY) IN("optimizer-memory", optimizer_memory, 0, 64, "BYTES", "bytes that the optimizer stores per parameter", "by number format and stack", "12"),
    KEY(OPTIMIZER) IN_WORD("optimizer", optimizer, optimizers, "optimizer of the weights: what it stores for each", "adam", "sgd"),
    KEY(TABLE_OPTIMIZER) IN_WORD("table-optimizer", table_optimizer, table_optimizers, "optimizer of embedding tables; row-wise Adagrad stores 4 bytes per row", "row-wise-adagrad", "adagrad"),
    KEY(OFFLOAD_LAYERS) IN("offload-layers", offload_layers, 0, 1e5, "N", "with offloaded activations: layers of each stage that are offloaded", "0, all", "4"),
    KEY(SEQUENCE_PARALLEL) IN_FLAG("sequence-parallel", sequence_parallel, "sequence parallelism: split tokens between tensor-parallel blocks", "yes with tp above 1"),
    KEY(KEEP_GATHERED) IN_FLAG("keep-gathered", fsdp_keep, "with fsdp: keep gathered weights from the forward to the backward pass", "no"),
    KEY(EMBEDDINGS_AS_LAYERS) IN_FLAG("embeddings-as-layers", embeddings_as_layers, "count the embedding and the head as one layer each when stages are cut", "no"),
    KEY(SPREAD) IN_FLAG("spread", spread, "spill whatever does not fit to the next memory tier, proportionally across all classes", "no"),
    KEY(NO_OVERLAP) IN_FLAG("no-overlap", no_overlap, "never overlap communication with compute", "no"),
    KEY(FP8_ATTENTION) IN_FLAG("fp8-attention", fp8_attention, "compute attention in fp8", "no"),
    KEY(ZERO_OWNER) IN_FLAG("zero-owner", zero_owner, "ZeRO 1 with whole tensors: reduce each to its owner, which broadcasts it", "no"),
    KEY(FP8_DISPATCH) IN_FLAG("fp8-dispatch", fp8_dispatch, "dispatch tokens to experts in fp8", "no"),
    KEY(OVERLAP_EP) IN_FLAG("overlap-ep", overlap_ep, "overlap expert communication with the compute of another micro-batch", "no"),
    KEY(STAGE_LAYERS) IN_OWN("stage-layers", set_stages, print_stages, "N,N,...", "layers of each pipeline stage", "even", "24,25,25,22", .rare = true, .is_list = true, .is_fixed = true),
    KEY(EXPOSE) IN_BITS("expose", expose, exposed, "KIND", "communication that never overlaps with compute: tp, cp, ep, pp or dp", "tp"),
    KEY(OFFLOAD) IN_BITS("offload", offload, classes, "CLASS", "store optimizer, gradients, weights or activations in the next memory tier", "optimizer", .also = "; cpu-offload"),
    KEY(RECOMPUTE_MODULES) IN_BITS("recompute-modules", recompute_modules, modules, "MODULE", "with recompute modules: layernorm, core-attn, mla-up-proj, moe-act, mlp, moe or shared-experts", "core-attn"),
    KEY(RECOMPUTE_KEEP) IN_BITS("recompute-keep", recompute_keep, tensors, "TENSOR", "with recompute kept, what to keep: input, qkv, context, out, mlpwi or mlpwo", "qkv"),
    KEY(RECOMPUTE_OFFLOAD) IN_BITS("recompute-offload", recompute_offload, tensors, "TENSOR", "with recompute kept: the kept tensors to store in the next memory tier", "qkv"),
    [HALLEY_N_PLAN_KEYS] = {0}}};
#undef THIS
