/*
 * Families of models. The constants of a stack were measured on LLMs: 20 ms per step, 1
 * ms per micro-batch, a third of a millisecond of host time per layer. A DLRM step takes
 * only 2 ms, and an encoder runs as one captured graph. These families therefore have
 * their own constants, each with its source. A stack's constants for kernels (matmuls,
 * attention) apply to them, too.
 *
 * MLPerf means the result logs of MLPerf Training v5.0 and v4.0. The runs in
 * data/runs/mlperf-*.json are their open part, and the constants were chosen on these.
 */
#include "workload/family.h"

#include <assert.h>

/* A constant that a family replaces. */
typedef struct family_constant {
    halley_constant id;
    double value;
    const char *source;
} family_constant;

static const char captured[] = "captured graphs: the host issues nothing per layer";
static const char mlperf[] = "MLPerf, see data/runs";
static const char assumed[] = "general knowledge";

static const family_constant encoder[] = {
    {HALLEY_K_HIDDEN, 16, "norms fused with residual and dropout; MLPerf BERT"},
    {HALLEY_K_ATTENTION, 0.6, "no mask, so no half-empty tiles; MLPerf"},
    {HALLEY_K_LOSS, 4, "the head sees 15 % of the positions; MLPerf BERT"},
    {HALLEY_K_HOST_F, 0, captured},
    {HALLEY_K_HOST_B, 0, captured},
    {HALLEY_K_HOST_TP, 0, captured},
    {HALLEY_K_MICRO, 0, captured},
    {HALLEY_K_STEP, 10e-3, "MLPerf BERT"},
};
static const family_constant unet[] = {
    {HALLEY_K_HOST_F, 0, captured},
    {HALLEY_K_HOST_B, 0, captured},
    {HALLEY_K_MICRO, 0, captured},
    {HALLEY_K_GEMM, 0.5, "convolutions read from cache what a matmul loads; MLPerf"},
    {HALLEY_K_ATTENTION, 0.6, "no mask, so no half-empty tiles; MLPerf"},
    {HALLEY_K_STEP, 2e-3, mlperf},
};
static const family_constant dit[] = {
    {HALLEY_K_STEP, 15e-3, assumed},
};
static const family_constant recommender[] = {
    {HALLEY_K_GEMM, 0.30, "matmuls overlap with lookups and messages; MLPerf DLRM"},
    {HALLEY_K_HOST_F, 0, captured},
    {HALLEY_K_HOST_B, 0, captured},
    {HALLEY_K_MICRO, 0, captured},
    {HALLEY_K_DP_HIDDEN, 0.57, mlperf},
    {HALLEY_K_EP_TIME, 1, "the family's factor on messages is in workload_recommender"},
    {HALLEY_K_EP_NETWORK, 1, "the same"},
    {HALLEY_K_ACCUMULATE, 0, "one micro-batch: nothing is added up"},
    {HALLEY_K_STEP, 0.89e-3, "MLPerf DLRM"},
};
static const family_constant operators[] = {
    {HALLEY_K_MICRO, 0, assumed},
    {HALLEY_K_STEP, 1e-3, assumed},
};
static const family_constant adapters[] = {
    {HALLEY_K_STEP, 40e-3, "MLPerf Llama-2 70B LoRA"},
    {HALLEY_K_MICRO, 0, "MLPerf Llama-2 70B LoRA"},
};

typedef struct family_table {
    const family_constant *at;
    size_t n;
} family_table;
#define TABLE(t)                                                                         \
    {                                                                                    \
        t, sizeof(t) / sizeof *(t)                                                       \
    }
static const family_table families[HALLEY_N_FAMILIES] = {
    [HALLEY_FAMILY_ENCODER] = TABLE(encoder),
    [HALLEY_FAMILY_UNET] = TABLE(unet),
    [HALLEY_FAMILY_DIT] = TABLE(dit),
    [HALLEY_FAMILY_RECOMMENDER] = TABLE(recommender),
    [HALLEY_FAMILY_OPERATORS] = TABLE(operators),
};
static const family_table adapter_table = TABLE(adapters);

/* Fitted to ten MLPerf runs of DLRM-DCNv2: mean error 5.1 %, and 9 % where five of them
 * are left out of the fit. The numbers of passes follow from the layers.
 * Each of three cross layers has ten reads and writes of the concatenation. Each pass has
 * two of a perceptron's output. The rows have five (read, gradient, update). */
const workload_recommender workload_recommender_constants = {.compute_shown = 0.43,
                                                             .lookup_passes = 8.5,
                                                             .message_time = 0.72,
                                                             .wide_passes = 30,
                                                             .output_passes = 6};
const double workload_adapter_passes = 5;

static void replace_constants(halley_stack *stack, const family_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        const family_constant *c = &table->at[i];
        assert(c->id < HALLEY_N_CONSTANTS && c->value >= 0);
        stack->k[c->id] = c->value;
        stack->origin[c->id] = 1;
    }
}

const halley_stack *workload_family_stack(halley_stack *room, const halley_model *model,
                                          const halley_plan *plan,
                                          const halley_stack *stack)
{
    const bool adapts = plan->lora > 0;
    assert(model->family < HALLEY_N_FAMILIES);
    const family_table *table = &families[model->family];
    if (!adapts && table->n == 0)
        return stack;
    *room = *stack;
    replace_constants(room, table);
    if (adapts)
        replace_constants(room, &adapter_table);
    return room;
}
