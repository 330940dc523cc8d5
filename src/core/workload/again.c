/*
 * Recomputation: what the backward pass computes again. Policies of frameworks name
 * classes of operators (torchtitan's op-selective), modules (Megatron-Core) or kept
 * tensors (MaxText). Each is a function of the operator. workload/kept.c computes the
 * memory of the same policies.
 */
#include "workload/again.h"

#include <assert.h>

/* The fraction of the two norms in the traffic of norm, residual and dropout. */
static const double norm_share = 0.35;

/* Modules of Megatron-Core that recompute a part, HALLEY_MODULE_ bits. */
static const uint32_t repeating_modules[WORKLOAD_N_PARTS] = {
    [WORKLOAD_PART_NORM] = HALLEY_MODULE_LAYERNORM,
    [WORKLOAD_PART_UP] = HALLEY_MODULE_MLA_UP_PROJ,
    [WORKLOAD_PART_ROTATE] = HALLEY_MODULE_MLA_UP_PROJ,
    [WORKLOAD_PART_CORE] = HALLEY_MODULE_CORE_ATTN,
    [WORKLOAD_PART_FC1] = HALLEY_MODULE_MLP,
    [WORKLOAD_PART_ACT] = HALLEY_MODULE_MLP,
    [WORKLOAD_PART_ROUTER] = HALLEY_MODULE_MOE,
    [WORKLOAD_PART_E_FC1] = HALLEY_MODULE_MOE,
    [WORKLOAD_PART_E_ACT] = HALLEY_MODULE_MOE | HALLEY_MODULE_MOE_ACT,
    [WORKLOAD_PART_E_FC2] = HALLEY_MODULE_MOE,
    [WORKLOAD_PART_S_FC1] = HALLEY_MODULE_MLP | HALLEY_MODULE_SHARED_EXPERTS,
    [WORKLOAD_PART_S_ACT] =
        HALLEY_MODULE_MLP | HALLEY_MODULE_SHARED_EXPERTS | HALLEY_MODULE_MOE_ACT,
};

/* 0 if the part's result is among the kept tensors (HALLEY_TENSOR_ bits), else 1. The
 * last matmul of a layer is never recomputed: XLA drops unused results. */
static double find_unless_kept(uint32_t kept, const workload_op *op)
{
    switch (op->part) {
    case WORKLOAD_PART_QKV:
    case WORKLOAD_PART_UP:
        return kept & HALLEY_TENSOR_QKV ? 0 : 1;
    case WORKLOAD_PART_CORE:
        return kept & HALLEY_TENSOR_CONTEXT ? 0 : 1;
    case WORKLOAD_PART_PROJECTION:
        return kept & HALLEY_TENSOR_OUT ? 0 : 1;
    case WORKLOAD_PART_FC1:
    case WORKLOAD_PART_E_FC1:
    case WORKLOAD_PART_S_FC1:
        return kept & HALLEY_TENSOR_MLPWI ? 0 : 1;
    case WORKLOAD_PART_FC2:
    case WORKLOAD_PART_E_FC2:
    case WORKLOAD_PART_S_FC2:
        return 0;
    default:
        return 1;
    }
}

static bool is_matmul(const workload_op *op)
{
    return op->class == WORKLOAD_PRODUCTS || op->class == WORKLOAD_EXPERTS;
}

static double find_selective_op(const halley_stack *stack, const workload_op *op)
{
    if (op->part == WORKLOAD_PART_MIXER)
        return 1; /* torchtitan's list of kept operators contains none of them */
    if (op->class == WORKLOAD_ATTENTION)
        return 0;
    return op->class == WORKLOAD_TRAFFIC ? 1 : stack->k[HALLEY_K_RECOMPUTE];
}

static double find_module(const halley_plan *plan, const workload_op *op)
{
    if ((plan->recompute_modules & repeating_modules[op->part]) == 0)
        return 0;
    return op->part == WORKLOAD_PART_NORM ? norm_share : 1;
}

double workload_again_share(const halley_plan *plan, const halley_stack *stack,
                            const workload_op *op)
{
    assert(op->part < WORKLOAD_N_PARTS);
    switch (plan->recompute) {
    case HALLEY_RECOMPUTE_NONE:
    case HALLEY_N_RECOMPUTE:
        break;
    case HALLEY_RECOMPUTE_SELECTIVE: /* only attention, not recurrent mixers */
        return op->class == WORKLOAD_ATTENTION && op->part != WORKLOAD_PART_MIXER;
    case HALLEY_RECOMPUTE_SELECTIVE_OP:
        return find_selective_op(stack, op);
    case HALLEY_RECOMPUTE_FULL:
        return 1;
    case HALLEY_RECOMPUTE_MINIMAL:
        return is_matmul(op) ? 0 : 1;
    case HALLEY_RECOMPUTE_QKV:
        return is_matmul(op) ? 0.8 : 1;
    case HALLEY_RECOMPUTE_MODULES:
        return find_module(plan, op);
    case HALLEY_RECOMPUTE_KEPT:
        return find_unless_kept(plan->recompute_keep | plan->recompute_offload, op);
    }
    return 0;
}
