/*
 * Bytes per parameter, by number format and recipe.
 *
 * 16-bit training holds 2 B of weights and 4 B of gradients (fp32 accumulation). Its
 * optimizer takes 12 B (fp32 master copy and two moments). fp32 training holds 4 + 4 + 8
 * B.
 *
 * With 8-bit weights ("fp8 params") and one scale per tensor, weights take 1 B if the
 * matmul units read operands in either order. They take 2 B if a transposed copy is
 * needed (Hopper). Blocks and rows are scaled along the inner dimension, which differs
 * between the forward and the backward pass. They therefore need two copies on every
 * device. One byte of scale is added per 32 elements (mx, blocks) or 16 (nv). With fp4,
 * the 16-bit weights are kept in addition to its two copies.
 *
 * Embedding tables have sparse gradients of 4 B, for the rows that a step looks up, and
 * an optimizer of their own: row-wise Adagrad stores one number per row (FBGEMM).
 *
 * Bytes that a stack states override these rules, and the plan's keys override the stack.
 * A stack with 0 B of gradients (XLA) applies each gradient immediately and frees it.
 * This needs a step of one micro-batch. For example, Llama-3 70B ran on 32 TPU v6e.
 * There, 4 + 8 B per parameter are 26 of 32 GB, and 4 B more would not fit.
 */
#include "workload/states.h"

#include "halley/plan_keys.h"

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

/* The number of bytes of the low-precision copies that matmuls read. */
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
        return 1; /* frozen: never written, so one copy serves both passes */
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
        bytes = usual; /* gradients are applied only after the last micro-batch */
    if (stack->adds_apart && plan->gradient_bytes > bytes) /* DeepSpeed: 2 + 4 B */
        bytes += plan->gradient_bytes;
    else if (plan->fsdp == 0 && plan->zero == 0 && bytes < 4 &&
             plan->dtype == HALLEY_FP16)
        bytes += 4; /* an unsharded fp32 copy for the update */
    return bytes;
}

static bool has_optimizer_memory(const halley_plan *plan)
{
    return plan->optimizer_memory > 0 || plan->given >> HALLEY_KEY_OPTIMIZER_MEMORY & 1;
}

/* Adam stores two moments, Adagrad one sum, plain SGD nothing. 16-bit weights have a copy
 * in fp32. */
static double find_optimizer(const halley_plan *plan, const halley_stack *stack)
{
    static const double moments[HALLEY_N_OPTIMIZERS] = {
        [HALLEY_OPTIMIZER_SGD] = 0, [HALLEY_OPTIMIZER_ADAGRAD] = 4};
    if (has_optimizer_memory(plan))
        return plan->optimizer_memory;
    if (plan->optimizer != HALLEY_OPTIMIZER_ADAM)
        return moments[plan->optimizer] + (is_fp32(plan->dtype) ? 0 : 4);
    if (stack->origin[HALLEY_K_MEM_OPTIM] == 0 && is_fp32(plan->dtype))
        return 8;
    return stack->k[HALLEY_K_MEM_OPTIM];
}

/* Tables are updated in their own format, without a copy. */
static double find_table_optimizer(const halley_plan *plan, const halley_model *model)
{
    assert(model->table_dim > 0);
    const double per_row = 4.0 / model->table_dim;
    const double bytes[HALLEY_N_TABLE_OPTIMIZERS] = {[HALLEY_TABLE_ROW_WISE_ADAGRAD] =
                                                         per_row,
                                                     [HALLEY_TABLE_ADAGRAD] = 4,
                                                     [HALLEY_TABLE_SGD] = 0,
                                                     [HALLEY_TABLE_ADAM] = 8};
    const bool is_given = plan->given >> HALLEY_KEY_TABLE_OPTIMIZER & 1;
    return has_optimizer_memory(plan) && !is_given ? plan->optimizer_memory
                                                   : bytes[plan->table_optimizer];
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

workload_states workload_states_make(const halley_model *model, const halley_plan *plan,
                                     const halley_stack *stack, const halley_npu *npu)
{
    const bool has_tables = model->kind == HALLEY_DLRM;
    const workload_states s = {
        .weight = find_weight(plan, stack, npu),
        .gradient = find_gradient(plan, stack),
        .optimizer = find_optimizer(plan, stack),
        .expert_gradient = has_tables ? 4 : find_gradient(plan, stack),
        .expert_optimizer =
            has_tables ? find_table_optimizer(plan, model) : find_optimizer(plan, stack),
        .gathered = wide_bytes + plan->gradient_bytes,
        .element = is_fp32(plan->dtype) ? 4 : wide_bytes,
        .input = find_input(plan),
        /* XLA also shards the residual stream on the tensor axis. */
        .splits = plan->sequence_parallel || npu->type == HALLEY_NPU_TPU,
    };
    assert(s.weight > 0 && s.gradient >= 0 && s.optimizer >= 0 && s.input > 0);
    return s;
}
