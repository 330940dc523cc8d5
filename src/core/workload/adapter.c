/*
 * LoRA (Hu et al. 2021). The weights of the model are frozen. The backward pass therefore
 * computes input gradients only: 4 instead of 6 FLOPs per parameter and token. Gradients
 * of frozen weights are not stored, sent or applied. The input of a frozen matmul is kept
 * only if an adapter reads it.
 *
 * Adapters of rank r are added to the projections of attention, with r (in + out)
 * parameters each. Their matmuls are so narrow that they are memory-bound. They take
 * several passes over the input and output of the projection (measured on MLPerf's
 * Llama-2 70B LoRA runs), and twice that in the backward pass. Adapters elsewhere
 * (feed-forward, experts) are not modelled.
 */
#include "workload/adapter.h"

#include "workload/family.h"

#include <assert.h>
#include <string.h>

static bool has_adapter(const workload_op *op)
{
    static const char *const names[] = {"query-key-value", "projection", "query",
                                        "query up", "key-value up"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

static void add_adapter(workload_layer *l, const workload_op *beside, double rank)
{
    const double in = beside->k, out = beside->n, rows = beside->m;
    if (l->n == WORKLOAD_MAX_OPS)
        return;
    workload_op *op = &l->ops[l->n++];
    *op = (workload_op){.name = "adapter",
                        .kind = WORKLOAD_STREAM,
                        .class = WORKLOAD_TRAFFIC,
                        .groups = 1,
                        .weights = rank * (in + out),
                        .flops = 2 * rows * rank * (in + out)};
    op->bytes_f = workload_adapter_passes * rows * (2 * in + 4 * out);
    op->bytes_b = 2 * op->bytes_f;
    op->saved = 2 * rows * rank;
    l->weights += op->weights;
}

static void freeze_product(workload_op *op, bool keeps_input)
{
    op->frozen = true;
    if (!keeps_input)
        op->saved = 0;
}

void workload_layer_freeze(workload_layer *layer)
{
    for (uint32_t i = 0; i < layer->n; i++)
        if (layer->ops[i].kind == WORKLOAD_GEMM)
            freeze_product(&layer->ops[i], false);
    layer->frozen = layer->weights; /* also norms, biases and tables */
    layer->frozen_experts = layer->expert_weights;
    layer->touched = 0;
}

void workload_layer_adapt(workload_layer *layer, const halley_plan *plan)
{
    const uint32_t n = layer->n;
    assert(plan->lora > 0);
    const double before = layer->weights;
    for (uint32_t i = 0; i < n; i++) {
        workload_op *op = &layer->ops[i];
        if (op->kind != WORKLOAD_GEMM)
            continue;
        freeze_product(op, has_adapter(op));
        if (has_adapter(op))
            add_adapter(layer, &layer->ops[i], plan->lora);
    }
    layer->frozen = before;
    layer->frozen_experts = layer->expert_weights;
    layer->touched = 0;
    assert(layer->weights >= layer->frozen);
}
