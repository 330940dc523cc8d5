/*
 * halley/plan_keys.h - the keys of a plan, listed once: plan files, the options of
 * commands and their pages are made from these lists.
 *
 * To add a key: a row here, a row in the table of workload/plan_file.c, the member of
 * halley_plan, and what it does to time, memory and traces.
 */
#ifndef HALLEY_PLAN_KEYS_H
#define HALLEY_PLAN_KEYS_H

#include "halley/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(ID, "key", "VALUE", "what it is") */
#define HALLEY_PLAN_VALUES(X)                                                            \
    X(GLOBAL_BATCH, "global-batch", "N", "sequences in a step")                          \
    X(SEQ, "seq", "N", "tokens in a sequence (default: the model's)")                    \
    X(DTYPE, "dtype", "bf16|fp16|fp32|tf32|fp8|fp4|int8", "type of the products")        \
    X(TP, "tp", "N", "NPUs that share a layer (tensor parallel)")                        \
    X(PP, "pp", "N", "pipeline stages")                                                  \
    X(DP, "dp", "N", "copies of the model (default: what remains of the NPUs)")          \
    X(CP, "cp", "N", "NPUs that share a sequence (context parallel)")                    \
    X(EP, "ep", "N", "NPUs that share the experts")                                      \
    X(VIRTUAL, "virtual", "N", "chunks of layers per stage, interleaved")                \
    X(MICRO_BATCH, "micro-batch", "N", "sequences of a micro-batch")                     \
    X(ZERO, "zero", "0-3",                                                               \
      "what data-parallel ranks share out: 1 optimizer, 2 gradients, 3 weights")         \
    X(FSDP, "fsdp", "N|all",                                                             \
      "gather weights layer by layer from N ranks; fewer than "                          \
      "all: hybrid shard; 0 = off")                                                      \
    X(RECOMPUTE, "recompute",                                                            \
      "none|selective|selective-op|full|minimal|qkv|modules|kept",                       \
      "what the backward pass computes again")                                           \
    X(RECOMPUTE_EVERY, "recompute-every", "K",                                           \
      "with full recomputation: keep the input of one layer in K")                       \
    X(RECOMPUTE_LAYERS, "recompute-layers", "N",                                         \
      "recompute only the first N layers of each stage (default: 0, all)")               \
    X(RANK_ORDER, "rank-order", "ORDER",                                                 \
      "innermost first, such as tp-cp-dp-pp (the default), in which ranks are numbered") \
    X(FP8_RECIPE, "fp8-recipe", "tensor|row|block|mx|nv",                                \
      "what one scale is for; block: in software, mx and nv: in hardware")               \
    X(GRADIENT_BYTES, "gradient-bytes", "2|4", "of a gradient on the wire")              \
    X(OFFLOAD_TIER, "offload-tier", "N",                                                 \
      "memory tier offloaded classes go to, 1 is the first after the device's own "      \
      "(default: the fastest)")                                                          \
    X(LORA, "lora", "N",                                                                 \
      "train adapters of rank N beside frozen weights (LoRA on the attention "           \
      "projections); 0 = train everything")                                              \
    X(SCHEDULE, "schedule", "1f1b|gpipe|breadth-first|zb-h1|zb-h2|zbv|dualpipe",         \
      "of the pipeline; 1f1b interleaves with virtual > 1")                              \
    X(ATTENTION, "attention", "flash|unfused|old",                                       \
      "kernel; old: fused, but written for an earlier generation")                       \
    X(ETP, "etp", "N", "ranks that share each expert")                                   \
    X(ZERO_GROUP, "zero-group", "N",                                                     \
      "ranks that share the optimizer, ZeRO 1 and 2 (default 0: all)")                   \
    X(DISPATCHER, "dispatcher", "all-to-all|deepep|hybridep",                            \
      "how routed tokens reach their experts")                                           \
    X(CAPACITY, "capacity", "X",                                                         \
      "capacity factor of experts, padded or dropped (default 0: dropless)")             \
    X(EXPERT_SKEW, "expert-skew", "X",                                                   \
      "load of the fullest expert rank beyond the mean, as a share (default 0)")         \
    X(GRAPHS, "graphs", "none|router|layer|full",                                        \
      "what is captured in graphs and needs no host time")                               \
    X(KERNELS, "kernels", "fused|eager", "norms and activations: fused or one by one")   \
    X(BF16_LAYERS, "bf16-layers", "N", "layers that stay in bf16, half at each end")     \
    X(GATHER, "gather", "step|micro-batch",                                              \
      "with fsdp: how often weights are gathered (default: once per step with pipeline " \
      "stages, else in every micro-batch)")                                              \
    X(FP8_PARAMS, "fp8-params", "yes|no",                                                \
      "with fp8: weights are held in fp8 alone (default: yes)")                          \
    X(GRADIENT_MEMORY, "gradient-memory", "BYTES",                                       \
      "held per gradient (default: by type and stack)")                                  \
    X(OPTIMIZER_MEMORY, "optimizer-memory", "BYTES",                                     \
      "held per parameter by the optimizer (default: by type and stack)")                \
    X(OFFLOAD_LAYERS, "offload-layers", "N",                                             \
      "with offloaded activations: of N layers of each stage (default 0: all)")

/* X(ID, "key", negatable, "what it is") */
#define HALLEY_PLAN_SWITCHES(X)                                                          \
    X(SEQUENCE_PARALLEL, "sequence-parallel", true,                                      \
      "split tokens between tensor-parallel blocks (default: with tp)")                  \
    X(KEEP_GATHERED, "keep-gathered", false,                                             \
      "with fsdp: weights stay whole from the forward to the backward pass")             \
    X(EMBEDDINGS_AS_LAYERS, "embeddings-as-layers", false,                               \
      "stages count embedding and head as one layer each")                               \
    X(SPREAD, "spread", false,                                                           \
      "what does not fit lies in the next memory tier, all classes in proportion")       \
    X(NO_OVERLAP, "no-overlap", false, "communication never hides behind compute")       \
    X(FP8_ATTENTION, "fp8-attention", false, "attention in fp8")                         \
    X(ZERO_OWNER, "zero-owner", false,                                                   \
      "ZeRO 1 in whole tensors: reduced to and broadcast from their owners")             \
    X(FP8_DISPATCH, "fp8-dispatch", false, "routed tokens travel in fp8")                \
    X(OVERLAP_EP, "overlap-ep", false,                                                   \
      "expert messages run under the compute of another micro-batch")

/* X(ID, "key", "VALUE", "what it is"): more than one value, joined by + or , in a text */
#define HALLEY_PLAN_LISTS(X)                                                             \
    X(STAGE_LAYERS, "stage-layers", "N,N,...",                                           \
      "layers of each pipeline stage in turn (default: even)")                           \
    X(EXPOSE, "expose", "KIND", "communication that never hides: tp, cp, ep, pp or dp")  \
    X(OFFLOAD, "offload", "CLASS",                                                       \
      "keep optimizer, gradients, weights or activations in the next memory tier")       \
    X(RECOMPUTE_MODULES, "recompute-modules", "MODULE",                                  \
      "with recompute modules: layernorm, core-attn, mla-up-proj, moe-act, mlp, moe or " \
      "shared-experts")                                                                  \
    X(RECOMPUTE_KEEP, "recompute-keep", "TENSOR",                                        \
      "with recompute kept: input, qkv, context, out, mlpwi or mlpwo")                   \
    X(RECOMPUTE_OFFLOAD, "recompute-offload", "TENSOR",                                  \
      "with recompute kept: tensors that are kept in the next memory tier")

#define HALLEY_PLAN_ID(id, ...) HALLEY_KEY_##id,
typedef enum halley_plan_key {
    HALLEY_PLAN_VALUES(HALLEY_PLAN_ID) HALLEY_PLAN_SWITCHES(HALLEY_PLAN_ID)
        HALLEY_PLAN_LISTS(HALLEY_PLAN_ID) HALLEY_N_PLAN_KEYS
} halley_plan_key;
#undef HALLEY_PLAN_ID

/* ZeRO 1, sequence parallel where there is tensor parallelism; else all zero. */
void halley_plan_default(halley_plan *out);
/*
 * Set one key from a text, as on a command line: "8", "full", "yes",
 * "optimizer+gradients". Lists add up. HALLEY_EINVAL for what cannot be.
 */
halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err);
/*
 * Set the keys that a plan file (YAML or JSON) names; the others stay as they are.
 * In *given (may be NULL) a bit 1 << key is set for each.
 */
halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err);

/* The same from the text of such a file; `name` stands for its path in errors. */
halley_status halley_plan_parse(halley_plan *plan, uint64_t *given, const char *text,
                                size_t n, const char *name, halley_error *err);

/*
 * The value of one key as JSON: 8, "full", true, ["optimizer"]. *out is the caller's to
 * free; NULL when the key has no value in this plan. Reading what is printed for every
 * key gives the same plan.
 */
halley_status halley_plan_print(char **out, const halley_plan *plan, halley_plan_key key,
                                halley_error *err);
/* "micro-batch"; lent, static. */
const char *halley_plan_key_name(halley_plan_key key);
/*
 * The words that a key takes, or of which its list is made, up to a NULL; NULL for keys
 * that take something else. Lent, static.
 */
const char *const *halley_plan_key_words(halley_plan_key key);
/* True where a key takes several of its words, or numbers. */
bool halley_plan_key_is_list(halley_plan_key key);

#ifdef __cplusplus
}
#endif
#endif
