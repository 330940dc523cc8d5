/*
 * Bytes per parameter, by number format and recipe.
 *
 * 16-bit training holds 2 B of weights, 4 B of gradients (fp32 accumulation) and 12 B of
 * optimizer (fp32 master copy and two moments). With 8-bit weights ("fp8 params") one
 * scale per tensor takes 1 B where the matmul units read operands in either order, and 2
 * B where a transposed copy stays (Hopper). Blocks and rows are scaled along the inner
 * dimension, which differs for the forward and the backward pass: two copies on every
 * device, with one byte of scale for 32 elements (mx, blocks) or 16 (nv). fp4 keeps the
 * 16-bit weights beside its two copies. fp32 training holds 4 + 4 + 8 B. A stack that
 * states its bytes goes before these rules, and the plan's keys before the stack. A stack
 * with 0 B of gradients (XLA) applies each gradient as it comes and frees it: Llama-3 70B
 * ran on 32 TPU v6e, where 4 + 8 B per parameter are 26 of 32 GB and 4 more would not
 * fit. That needs a step of one micro-batch.
 */
#include "workload/states.h"

#include <assert.h>

static const double wide_bytes = 2;
static const double mx_bytes = 1 + 1.0 / 32, mx_fp4_bytes = 0.5 + 1.0 / 32;
static const double nv_bytes = 0.5 + 1.0 / 16;

static bool is_low(halley_dtype dtype)
{
    return dtype == HALLEY_FP8 || dtype == HALLEY_FP4;
}

static bool is_fp32(halley_dtype dtype)
{
    return dtype == HALLEY_FP32 || dtype == HALLEY_TF32;
}

static bool has_blocks(const halley_plan *plan)
{
    return plan->recipe == HALLEY_FP8_BLOCK || plan->recipe == HALLEY_FP8_MX;
}

static double find_fp4(const halley_plan *plan)
{
    return plan->recipe == HALLEY_FP8_MX ? mx_fp4_bytes : nv_bytes;
}

/* The copies in the low type that matmuls read. */
static double find_low_copies(const halley_plan *plan, const halley_npu *npu)
{
    if (plan->dtype == HALLEY_FP4)
        return 2 * find_fp4(plan);
    if (has_blocks(plan))
        return 2 * mx_bytes;
    if (plan->recipe == HALLEY_FP8_ROW)
        return 2;
    return npu->fp8_any_order ? 1 : 2;
}

static double find_weight(const halley_plan *plan, const halley_stack *stack,
                          const halley_npu *npu)
{
    if (stack->origin[HALLEY_K_MEM_WEIGHT] != 0)
        return stack->k[HALLEY_K_MEM_WEIGHT];
    if (is_fp32(plan->dtype))
        return 4;
    if (!is_low(plan->dtype))
        return wide_bytes;
    if (plan->lora > 0 && plan->dtype == HALLEY_FP8)
        return 1; /* frozen: nothing writes them, one copy serves both passes */
    const bool primary =
        plan->dtype == HALLEY_FP4 || plan->fp8_params == HALLEY_CHOICE_NO;
    return (primary ? wide_bytes : 0) + find_low_copies(plan, npu);
}

static double find_gradient(const halley_plan *plan, const halley_stack *stack)
{
    if (plan->gradient_memory > 0)
        return plan->gradient_memory;
    const bool stated = stack->origin[HALLEY_K_MEM_GRAD] != 0;
    const double usual = is_low(plan->dtype) ? plan->gradient_bytes : 4;
    double bytes = stated ? stack->k[HALLEY_K_MEM_GRAD] : usual;
    if (!(bytes > 0) && halley_plan_micro_batches(plan) > 1)
        bytes = usual; /* nothing is applied before all micro-batches are added up */
    if (stack->adds_apart && plan->gradient_bytes > bytes) /* DeepSpeed: 2 + 4 B */
        bytes += plan->gradient_bytes;
    else if (plan->fsdp == 0 && plan->zero == 0 && bytes < 4 &&
             plan->dtype == HALLEY_FP16)
        bytes += 4; /* a wide copy for the update, which nobody shares */
    return bytes;
}

static double find_optimizer(const halley_plan *plan, const halley_stack *stack)
{
    if (plan->optimizer_memory > 0)
        return plan->optimizer_memory;
    if (stack->origin[HALLEY_K_MEM_OPTIM] == 0 && is_fp32(plan->dtype))
        return 8;
    return stack->k[HALLEY_K_MEM_OPTIM];
}

static double find_input(const halley_plan *plan)
{
    if (is_fp32(plan->dtype))
        return 4;
    if (plan->dtype == HALLEY_FP4)
        return find_fp4(plan);
    if (plan->dtype == HALLEY_FP8)
        return has_blocks(plan) ? mx_bytes : 1;
    return wide_bytes;
}

workload_states workload_states_make(const halley_plan *plan, const halley_stack *stack,
                                     const halley_npu *npu)
{
    const workload_states s = {
        .weight = find_weight(plan, stack, npu),
        .gradient = find_gradient(plan, stack),
        .optimizer = find_optimizer(plan, stack),
        .gathered = wide_bytes + plan->gradient_bytes,
        .element = is_fp32(plan->dtype) ? 4 : wide_bytes,
        .input = find_input(plan),
        /* XLA shards the residual stream on the tensor axis, too. */
        .splits = plan->sequence_parallel || npu->type == HALLEY_NPU_TPU,
    };
    assert(s.weight > 0 && s.gradient >= 0 && s.optimizer >= 0 && s.input > 0);
    return s;
}
