/*
 * The constants of training software: one table with the default, the bounds and the
 * prior spread around the default that `calibrate` uses. Some defaults come from a study
 * of public runs that was not fitted to any single stack. The others are counts of the
 * bytes that kernels move (bf16: copy 4 B per element, norm 4 forward and 6 backward,
 * residual 6, dropout 5).
 */
#include "halley/stack.h"

#include <string.h>

static const char counted[] = "bytes counted from the kernels";
static const char study[] = "study of 1,400 public runs, no single stack";
static const char study2[] = "study of 1,550 public runs, their recipes read";
static const char deep[] = "DeepSeek-V3 technical report, H800";
static const char zero_paper[] = "Rajbhandari et al. 2020, mixed-precision Adam";

#define FACTOR(key, value, min, max, spread, doc, source)                                \
    {                                                                                    \
        key, "", value, min, max, spread, false, doc, source                             \
    }
#define SHARE(key, value, spread, doc)                                                   \
    {                                                                                    \
        key, "", value, 0, 1, spread, true, doc, study                                   \
    }
#define AMOUNT(key, unit, value, min, max, spread, doc, source)                          \
    {                                                                                    \
        key, unit, value, min, max, spread, false, doc, source                           \
    }

static const halley_constant_info infos[HALLEY_N_CONSTANTS] = {
    [HALLEY_K_GEMM] = FACTOR("gemm", 1.0, 0.7, 1.5, 0.1,
                             "matmul time in training relative to a benchmark", study),
    [HALLEY_K_GEMM_FP8] = FACTOR("gemm-fp8", 1.0, 0.6, 1.6, 0.15,
                                 "additional factor for 8-bit matmuls", study),
    [HALLEY_K_GEMM_FP4] = FACTOR("gemm-fp4", 0.52, 0.3, 1.2, 0.2,
                                 "4-bit matmuls relative to 8-bit ones", study),
    [HALLEY_K_GEMM_MOE] = FACTOR("gemm-moe", 1.05, 0.7, 2.5, 0.2,
                                 "additional factor for grouped expert matmuls", study),
    [HALLEY_K_BATCHED] = FACTOR("batched", 1.0, 0.5, 2.5, 0.2,
                                "batched matmuls of unfused attention", study),
    [HALLEY_K_ATTENTION] = FACTOR("attention", 1.0, 0.5, 2.5, 0.15,
                                  "time of fused attention against the device's", study),
    [HALLEY_K_CP_SKEW] = FACTOR("cp-skew", 0.05, 0.001, 1.5, 1,
                                "imbalance of attention over context ranks", study),
    [HALLEY_K_HIDDEN] = AMOUNT("hidden-bytes", "B", 22, 8, 70, 0.3,
                               "traffic per hidden element, forward", counted),
    [HALLEY_K_BACKWARD] = FACTOR("backward-traffic", 1.6, 1, 3, 0.2,
                                 "traffic backward against forward", counted),
    [HALLEY_K_ACT] = FACTOR("activation-passes", 1.5, 0.8, 5, 0.3,
                            "passes over the feed-forward activation", counted),
    [HALLEY_K_ROPE] = FACTOR("rope-passes", 1.0, 0.1, 5, 0.4,
                             "passes over query, key and value", counted),
    [HALLEY_K_SOFTMAX_F] = AMOUNT("softmax-forward", "B", 9, 3, 20, 0.25,
                                  "traffic per attention score, forward", counted),
    [HALLEY_K_SOFTMAX_B] = AMOUNT("softmax-backward", "B", 11, 3, 24, 0.25,
                                  "traffic per attention score, backward", counted),
    [HALLEY_K_SOFTMAX_ODD] = FACTOR("softmax-refused", 1.6, 1, 4, 0.2,
                                    "softmax when the fused kernel refuses", study),
    [HALLEY_K_CAST] = AMOUNT("cast-bytes", "B", 3, 0.5, 16, 0.4,
                             "traffic per cast element, fp8 per tensor", counted),
    [HALLEY_K_CAST_ROW] =
        FACTOR("cast-row", 2, 1, 6, 0.3, "cast traffic with row-wise scales", study),
    [HALLEY_K_CAST_MX] = AMOUNT("cast-bytes-block", "B", 3.6, 0.5, 20, 0.4,
                                "traffic per cast element, block scales", counted),
    [HALLEY_K_CAST_FP4] = AMOUNT("cast-bytes-fp4", "B", 5.1, 0.5, 24, 0.4,
                                 "traffic per cast element, fp4", study),
    [HALLEY_K_PERMUTE] =
        FACTOR("permute-passes", 4.1, 0.5, 20, 0.4, "passes over routed tokens", counted),
    [HALLEY_K_LOSS] = AMOUNT("loss-bytes", "B", 16, 4, 40, 0.3,
                             "traffic per logit, both passes", counted),
    [HALLEY_K_HOST_F] = AMOUNT("host-forward", "s", 0.35e-3, 2e-5, 0.01, 0.5,
                               "host time per layer, forward", study),
    [HALLEY_K_HOST_B] = AMOUNT("host-backward", "s", 0.5e-3, 2e-5, 0.02, 0.5,
                               "host time per layer, backward", study),
    [HALLEY_K_HOST_TP] = AMOUNT("host-tp", "s", 0.1e-3, 1e-6, 0.01, 0.5,
                                "host time per layer when tensor parallel", study),
    [HALLEY_K_HOST_MOE] = AMOUNT("host-moe", "s", 1.83e-3, 5e-5, 0.05, 0.5,
                                 "host time per expert layer, forward", study),
    [HALLEY_K_HOST_ODD] = AMOUNT("host-softmax", "s", 0.1e-3, 1e-6, 0.01, 0.5,
                                 "host time per layer of unfused softmax", study),
    [HALLEY_K_HOST_SHARE] = FACTOR("host-share", 0.1, 0.001, 1, 0.7,
                                   "slow-down of the host by a full node", study),
    [HALLEY_K_TP_TIME] = FACTOR("tp-time", 1.0, 0.5, 3, 0.2,
                                "tensor-parallel collectives against the table", study),
    [HALLEY_K_TP_HIDDEN] =
        SHARE("tp-hidden", 0.35, 0.3,
              "share of tensor-parallel time that overlaps with compute"),
    [HALLEY_K_SP_EXTRA] =
        SHARE("sp-extra", 0.5, 0.3, "third gather of sequence parallelism, exposed"),
    [HALLEY_K_CP_HIDDEN] =
        SHARE("cp-hidden", 0.8, 0.2,
              "share of the context exchange that overlaps with compute"),
    [HALLEY_K_EP_HIDDEN] =
        SHARE("ep-hidden", 0, 0.3, "share of the all-to-all that overlaps with compute"),
    [HALLEY_K_EP_TIME] =
        FACTOR("ep-time", 2.1, 0.3, 5, 0.3, "plain all-to-all against the table", study2),
    [HALLEY_K_PP_HIDDEN] =
        SHARE("pp-hidden", 0, 0.3, "share of stage transfers that overlaps with compute"),
    [HALLEY_K_DP_HIDDEN] =
        SHARE("dp-hidden", 0.5, 0.3,
              "share of the gradient reduction that overlaps with the backward pass"),
    [HALLEY_K_DP_DRAG] =
        SHARE("dp-drag", 0.1, 0.1,
              "share of hidden gradient reduction that slows down the passes"),
    [HALLEY_K_DP_DRAG_STAGES] =
        SHARE("dp-drag-stages", 0.35, 0.1, "the same with pipeline stages"),
    [HALLEY_K_NETWORK] = FACTOR("network-time", 1.2, 0.5, 4, 0.3,
                                "collectives between nodes against the table", study),
    [HALLEY_K_FSDP_DRAG] = FACTOR(
        "fsdp-drag", 1.0, 0.001, 2, 0.6,
        "compute slowed while weights are gathered, share of the time their bytes take "
        "at scale-up bandwidth",
        study2),
    [HALLEY_K_ACCUMULATE] = AMOUNT("accumulate-bytes", "B", 5, 0.5, 40, 0.7,
                                   "gradient accumulation, per parameter", counted),
    [HALLEY_K_OPTIMIZER] = AMOUNT("optimizer-bytes", "B", 34, 20, 150, 0.3,
                                  "update, per parameter", counted),
    [HALLEY_K_GRADIENTS] = AMOUNT("gradient-bytes", "B", 8, 1, 40, 0.4,
                                  "norm and scaling, per parameter", counted),
    [HALLEY_K_STEP] = AMOUNT("step", "s", 0.02, 1e-4, 1, 0.7, "rest of a step", study),
    [HALLEY_K_MICRO] =
        AMOUNT("micro-batch", "s", 1e-3, 1e-6, 0.2, 1, "rest of a micro-batch", study),
    [HALLEY_K_RECOMPUTE] = SHARE("recompute-share", 0.5, 0.2,
                                 "share of forward matmuls that selective-op recomputes"),
    [HALLEY_K_GEMM_BLOCK] = FACTOR("gemm-block", 1.17, 1, 2, 0.1,
                                   "8-bit matmuls with block scales in software", deep),
    [HALLEY_K_CAST_BLOCK] =
        FACTOR("cast-block", 1.5, 1, 4, 0.2, "casts of block scales in software", deep),
    [HALLEY_K_FP8_ATTENTION] = FACTOR("attention-fp8", 0.83, 0.5, 1, 0.1,
                                      "attention in fp8 against 16 bits", study2),
    [HALLEY_K_SINKS] = FACTOR("attention-sinks", 3.3, 1, 6, 0.2,
                              "attention with sinks, without a fused kernel", study2),
    [HALLEY_K_EAGER] = FACTOR("eager-traffic", 1.95, 1, 4, 0.2,
                              "norm and activation traffic of eager kernels", study2),
    [HALLEY_K_EP_DEEPEP] = FACTOR("ep-time-deepep", 1.21, 0.3, 5, 0.3,
                                  "dispatch by DeepEP against the table", study2),
    [HALLEY_K_EP_HYBRIDEP] = FACTOR("ep-time-hybridep", 0.87, 0.2, 5, 0.3,
                                    "dispatch by HybridEP against the table", study2),
    [HALLEY_K_EP_NETWORK] = FACTOR("ep-network", 1.26, 0.5, 4, 0.3,
                                   "dispatch between nodes, further factor", study2),
    [HALLEY_K_EP_OVERLAP] =
        SHARE("ep-overlap", 0.68, 0.2, "dispatch that overlap-ep hides"),
    [HALLEY_K_HOST_DISPATCH] =
        FACTOR("host-all-to-all", 1.23, 1, 3, 0.2,
               "host time of expert layers with the plain all-to-all", study2),
    [HALLEY_K_HOST_ROUTER] =
        SHARE("host-router", 0.7, 0.2, "host time left with a captured router"),
    [HALLEY_K_HOST_LAYER] = SHARE("host-layer", 0.43, 0.2,
                                  "host time left with captured router and attention"),
    [HALLEY_K_HOST_WAIT] =
        AMOUNT("host-wait", "s", 2.1e-3, 1e-6, 0.02, 0.5,
               "an expert layer waits for its token counts, dropless", study2),
    [HALLEY_K_OWNER] = AMOUNT("zero-owner-time", "s", 2.9e-3, 1e-5, 0.05, 0.3,
                              "owner-wise ZeRO 1, per rank that shares", study2),
    [HALLEY_K_MEETING] =
        AMOUNT("meeting", "", 0.0035, 1e-5, 0.05, 0.5,
               "step time lost per doubling of the nodes, as a share", study2),
    [HALLEY_K_MEETING_FSDP] =
        AMOUNT("meeting-fsdp", "", 0.008, 1e-5, 0.05, 0.5,
               "the same with FSDP, where all meet in every layer", study2),
    [HALLEY_K_MEM_WEIGHT] =
        AMOUNT("memory-weight", "B", 2, 1, 8, 0.2, "weights, per parameter", zero_paper),
    [HALLEY_K_MEM_GRAD] = AMOUNT("memory-gradient", "B", 4, 0, 8, 0.2,
                                 "gradients, per parameter", zero_paper),
    [HALLEY_K_MEM_OPTIM] = AMOUNT("memory-optimizer", "B", 12, 0, 16, 0.2,
                                  "optimizer states, per parameter", zero_paper),
    [HALLEY_K_MEM_ACT] = FACTOR("memory-activation", 1.05, 0.5, 2, 0.1,
                                "activations against the count of tensors", study),
    [HALLEY_K_MEM_LOGIT] = AMOUNT("memory-logit", "B", 8, 1, 20, 0.3, "per logit", study),
    [HALLEY_K_MEM_HEAD] =
        FACTOR("memory-head", 2, 0.01, 4, 0.3, "copies of the head's gradient", study),
    [HALLEY_K_MEM_FIXED] = AMOUNT("memory-fixed", "B", 4e8, 1e7, 2e10, 0.5,
                                  "fixed buffers inside the allocator", study),
    [HALLEY_K_MEM_CONTEXT] =
        AMOUNT("memory-context", "B", 2e9, 1e8, 2e10, 0.5,
               "context and libraries, outside the allocator", study),
    [HALLEY_K_MEM_GATHERED] = AMOUNT("memory-gathered", "B", 6, 0.1, 16, 0.3,
                                     "weights kept gathered, FSDP with stages", study),
};

const halley_constant_info *halley_constant_get(halley_constant id)
{
    return &infos[id];
}

halley_constant halley_constant_find(const char *key)
{
    unsigned i = 0;
    while (i < HALLEY_N_CONSTANTS && strcmp(infos[i].key, key) != 0)
        i++;
    return (halley_constant)i;
}

void halley_stack_default(halley_stack *out)
{
    *out = (halley_stack){
        .name = "default", .scatter_stages = true, .pads_vocab = true, .headroom = 0.04};
    for (int i = 0; i < HALLEY_N_CONSTANTS; i++)
        out->k[i] = out->prior[i] = infos[i].value;
}
