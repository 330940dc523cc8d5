/*
 * halley/plan_keys.h - the keys of a plan. Plan files, command-line options and their
 * manual pages are generated from these lists.
 *
 * To add a key, add a row here, a row in the table of workload/plan_file.c and the member
 * of halley_plan. Then implement its effect on time, memory and traces.
 */
#ifndef HALLEY_PLAN_KEYS_H
#define HALLEY_PLAN_KEYS_H

#include "halley/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(ID, "key", "VALUE", "what it is", "default", "example") */
#define HALLEY_PLAN_VALUES(X)                                                            \
    X(GLOBAL_BATCH, "global-batch", "N",                                                 \
      "sequences per training step, over all data-parallel ranks", "dp x micro-batch",   \
      "1024")                                                                            \
    X(SEQ, "seq", "N", "tokens per sequence", "the model's, else 8192", "8192")          \
    X(DTYPE, "dtype", "bf16|fp16|fp32|tf32|fp8|fp4|int8",                                \
      "number format of the matmuls", "bf16", "fp8")                                     \
    X(TP, "tp", "N", "tensor parallelism: ranks that split every layer", "1", "8")       \
    X(PP, "pp", "N", "pipeline parallelism: number of stages", "1", "4")                 \
    X(DP, "dp", "N", "data parallelism: replicas of the model", "the remaining ranks",   \
      "16")                                                                              \
    X(CP, "cp", "N", "context parallelism: ranks that split every sequence", "1", "2")   \
    X(EP, "ep", "N", "expert parallelism: ranks that split the experts", "1", "8")       \
    X(VIRTUAL, "virtual", "N",                                                           \
      "model chunks per pipeline stage, for interleaved schedules", "1", "2")            \
    X(MICRO_BATCH, "micro-batch", "N", "sequences per micro-batch", "1", "2")            \
    X(ZERO, "zero", "0-3",                                                               \
      "ZeRO stage: 1 shards optimizer states, 2 also gradients, 3 also weights", "1",    \
      "2")                                                                               \
    X(FSDP, "fsdp", "N|all",                                                             \
      "shard weights over N ranks and gather them layer by layer; fewer than all is "    \
      "hybrid sharding",                                                                 \
      "0, off", "all")                                                                   \
    X(RECOMPUTE, "recompute",                                                            \
      "none|selective|selective-op|full|minimal|qkv|modules|kept",                       \
      "activations that the backward pass recomputes", "none", "selective")              \
    X(RECOMPUTE_EVERY, "recompute-every", "K",                                           \
      "with full recomputation: keep the input of every K-th layer", "1", "2")           \
    X(RECOMPUTE_LAYERS, "recompute-layers", "N",                                         \
      "recompute only the first N layers of each stage", "0, all", "4")                  \
    X(RANK_ORDER, "rank-order", "ORDER",                                                 \
      "order in which ranks are numbered, innermost dimension first", "tp-cp-dp-pp",     \
      "tp-dp-pp-cp")                                                                     \
    X(FP8_RECIPE, "fp8-recipe", "tensor|row|block|mx|nv",                                \
      "what one scaling factor covers; block scales in software, mx and nv in hardware", \
      "tensor, of fp4 nv or mx", "mx")                                                   \
    X(GRADIENT_BYTES, "gradient-bytes", "2|4", "bytes per gradient in a reduction", "2", \
      "4")                                                                               \
    X(OFFLOAD_TIER, "offload-tier", "N",                                                 \
      "memory tier that offloaded classes go to; 1 is the first after the device's own " \
      "memory",                                                                          \
      "the fastest", "1")                                                                \
    X(LORA, "lora", "N",                                                                 \
      "train LoRA adapters of rank N on the attention projections and freeze the "       \
      "weights",                                                                         \
      "0, train all weights", "16")                                                      \
    X(SCHEDULE, "schedule", "1f1b|gpipe|breadth-first|zb-h1|zb-h2|zbv|dualpipe",         \
      "pipeline schedule; 1f1b is interleaved when virtual is more than 1", "1f1b",      \
      "zb-h1")                                                                           \
    X(ATTENTION, "attention", "flash|unfused|old",                                       \
      "attention kernel; old is fused, but written for an earlier generation of "        \
      "devices",                                                                         \
      "flash", "unfused")                                                                \
    X(ETP, "etp", "N", "expert tensor parallelism: ranks that split each expert", "1",   \
      "2")                                                                               \
    X(ZERO_GROUP, "zero-group", "N",                                                     \
      "with ZeRO 1 and 2: ranks that shard one copy of the optimizer states", "0, all",  \
      "8")                                                                               \
    X(DISPATCHER, "dispatcher", "all-to-all|deepep|hybridep",                            \
      "how tokens are dispatched to their experts", "all-to-all", "deepep")              \
    X(CAPACITY, "capacity", "X",                                                         \
      "capacity factor of the experts; tokens are padded or dropped to it",              \
      "0, dropless", "1.25")                                                             \
    X(EXPERT_SKEW, "expert-skew", "X",                                                   \
      "load of the busiest expert rank above the mean, as a fraction", "0", "0.2")       \
    X(GRAPHS, "graphs", "none|router|layer|full",                                        \
      "what is captured in CUDA graphs and needs no host time", "none", "layer")         \
    X(KERNELS, "kernels", "fused|eager",                                                 \
      "run norms and activations fused or one by one", "fused", "eager")                 \
    X(BF16_LAYERS, "bf16-layers", "N",                                                   \
      "with fp8: layers that stay in bf16, half at each end of the model", "0", "2")     \
    X(GATHER, "gather", "step|micro-batch", "with fsdp: how often weights are gathered", \
      "once per step with pipeline stages, else in every micro-batch", "step")           \
    X(FP8_PARAMS, "fp8-params", "yes|no", "with fp8: store weights in fp8 only", "yes",  \
      "no")                                                                              \
    X(GRADIENT_MEMORY, "gradient-memory", "BYTES", "bytes stored per gradient",          \
      "by number format and stack", "4")                                                 \
    X(OPTIMIZER_MEMORY, "optimizer-memory", "BYTES",                                     \
      "bytes that the optimizer stores per parameter", "by number format and stack",     \
      "12")                                                                              \
    X(OPTIMIZER, "optimizer", "adam|sgd|adagrad",                                        \
      "optimizer of the weights: what it stores for each", "adam", "sgd")                \
    X(TABLE_OPTIMIZER, "table-optimizer", "row-wise-adagrad|adagrad|sgd|adam",           \
      "optimizer of embedding tables; row-wise Adagrad stores 4 bytes per row",          \
      "row-wise-adagrad", "adagrad")                                                     \
    X(OFFLOAD_LAYERS, "offload-layers", "N",                                             \
      "with offloaded activations: layers of each stage that are offloaded", "0, all",   \
      "4")

/* X(ID, "key", negatable, "what it is", "default", "example"); no example for switches */
#define HALLEY_PLAN_SWITCHES(X)                                                          \
    X(SEQUENCE_PARALLEL, "sequence-parallel", true,                                      \
      "sequence parallelism: split tokens between tensor-parallel blocks",               \
      "yes with tp above 1", NULL)                                                       \
    X(KEEP_GATHERED, "keep-gathered", false,                                             \
      "with fsdp: keep gathered weights from the forward to the backward pass", "no",    \
      NULL)                                                                              \
    X(EMBEDDINGS_AS_LAYERS, "embeddings-as-layers", false,                               \
      "count the embedding and the head as one layer each when stages are cut", "no",    \
      NULL)                                                                              \
    X(SPREAD, "spread", false,                                                           \
      "spill whatever does not fit to the next memory tier, proportionally across all "  \
      "classes",                                                                         \
      "no", NULL)                                                                        \
    X(NO_OVERLAP, "no-overlap", false, "never overlap communication with compute", "no", \
      NULL)                                                                              \
    X(FP8_ATTENTION, "fp8-attention", false, "compute attention in fp8", "no", NULL)     \
    X(ZERO_OWNER, "zero-owner", false,                                                   \
      "ZeRO 1 with whole tensors: reduce each to its owner, which broadcasts it", "no",  \
      NULL)                                                                              \
    X(FP8_DISPATCH, "fp8-dispatch", false, "dispatch tokens to experts in fp8", "no",    \
      NULL)                                                                              \
    X(OVERLAP_EP, "overlap-ep", false,                                                   \
      "overlap expert communication with the compute of another micro-batch", "no",      \
      NULL)

/* Like HALLEY_PLAN_VALUES, but with more than one value, joined by + or a comma in a
 * text. */
#define HALLEY_PLAN_LISTS(X)                                                             \
    X(STAGE_LAYERS, "stage-layers", "N,N,...", "layers of each pipeline stage", "even",  \
      "24,25,25,22")                                                                     \
    X(EXPOSE, "expose", "KIND",                                                          \
      "communication that never overlaps with compute: tp, cp, ep, pp or dp", "none",    \
      "tp")                                                                              \
    X(OFFLOAD, "offload", "CLASS",                                                       \
      "store optimizer, gradients, weights or activations in the next memory tier",      \
      "none", "optimizer")                                                               \
    X(RECOMPUTE_MODULES, "recompute-modules", "MODULE",                                  \
      "with recompute modules: layernorm, core-attn, mla-up-proj, moe-act, mlp, moe or " \
      "shared-experts",                                                                  \
      "none", "core-attn")                                                               \
    X(RECOMPUTE_KEEP, "recompute-keep", "TENSOR",                                        \
      "with recompute kept, what to keep: input, qkv, context, out, mlpwi or "           \
      "mlpwo",                                                                           \
      "none", "qkv")                                                                     \
    X(RECOMPUTE_OFFLOAD, "recompute-offload", "TENSOR",                                  \
      "with recompute kept: the kept tensors to store in the next memory tier", "none",  \
      "qkv")

#define HALLEY_PLAN_ID(id, ...) HALLEY_KEY_##id,
typedef enum halley_plan_key {
    HALLEY_PLAN_VALUES(HALLEY_PLAN_ID) HALLEY_PLAN_SWITCHES(HALLEY_PLAN_ID)
        HALLEY_PLAN_LISTS(HALLEY_PLAN_ID) HALLEY_N_PLAN_KEYS
} halley_plan_key;
#undef HALLEY_PLAN_ID

/* ZeRO 1, and sequence parallelism with tensor parallelism; everything else is zero. */
void halley_plan_default(halley_plan *out);
/* Set one key from a text, as on a command line: "8", "full", "yes",
 * "optimizer+gradients". Further calls for a list add to it. HALLEY_EINVAL: the value is
 * not possible. */
halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err);
/* Set the keys that a plan file (YAML or JSON) contains; the others do not change. Each
 * key that is set also sets its bit 1 << key in *given (may be NULL). */
halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err);

/* The same from the text of such a file; errors show `name` in place of the path. */
halley_status halley_plan_parse(halley_plan *plan, uint64_t *given, const char *text,
                                size_t n, const char *name, halley_error *err);

/* The value of one key as JSON: 8, "full", true, ["optimizer"]. The caller frees *out; it
 * is NULL if the key has no value in this plan. Reading the printed values of all keys
 * gives the same plan. */
halley_status halley_plan_print(char **out, const halley_plan *plan, halley_plan_key key,
                                halley_error *err);
/* "micro-batch"; lent, static. */
const char *halley_plan_key_name(halley_plan_key key);
/*
 * Find the key for a word of other training programs: "tensor-model-parallel-size" and
 * "tensor" mean tp. *is_alias (may be NULL) is true if the word is an option of such a
 * program with the same values; command lines accept those. Other words only serve "did
 * you mean". _ is read as -. Returns false if no key matches.
 */
bool halley_plan_key_find(halley_plan_key *out, bool *is_alias, const char *word);
/* The words that a key accepts, or that its list may contain, up to a NULL. NULL for keys
 * with other values. Lent, static. */
const char *const *halley_plan_key_words(halley_plan_key key);
/* True if a key takes several words or numbers. */
bool halley_plan_key_is_list(halley_plan_key key);

#ifdef __cplusplus
}
#endif
#endif
