/*
 * The operators of a layer on the roofline (Williams et al. 2009; COMET, figure 4): the
 * FLOPs of each per byte of memory traffic, and the speed that results.
 *
 * The traffic of a matmul is COMET's: compulsory if a panel of an operand fits on the
 * chip, else one operand is streamed again (cost_gemm_traffic). The traffic of fused
 * attention is its inputs and its output. Times are those of the estimator, so points lie
 * below the roof by what real kernels lose. Operators without matmuls have no intensity
 * and run at memory bandwidth. They count only in the row of the whole layer.
 */
#include "cost/gemm.h"
#include "estimate/price.h"
#include "halley/estimate.h"
#include "workload/family.h"

#include <assert.h>
#include <stdio.h>

static double count_traffic(const workload_op *op, const workload_shape *s,
                            const halley_npu *npu)
{
    const double repeat = op->repeat > 0 ? op->repeat : 1;
    const double groups = op->groups > 1 ? op->groups : 1;
    if (op->kind == WORKLOAD_STREAM)
        return op->bytes_f;
    if (op->kind == WORKLOAD_FLASH)
        return 2 * s->tokens * (s->heads + s->kv_heads) * (s->dim_qk + s->dim_v);
    return repeat * groups *
           cost_gemm_traffic(op->m, op->n, op->k, 2, npu->on_chip_bytes);
}

static void add_roofline_row(halley_roofline *out, const char *name, double flops,
                             double bytes, double s)
{
    assert(out->n <= HALLEY_MAX_ROOFLINE);
    assert(flops >= 0 && bytes >= 0);
    if (out->n == HALLEY_MAX_ROOFLINE || !(flops > 0) || !(bytes > 0) || !(s > 0))
        return;
    halley_roofline_op *to = &out->ops[out->n++];
    *to = (halley_roofline_op){.flops = flops, .bytes = bytes, .forward_s = s};
    snprintf(to->name, sizeof to->name, "%s", name);
}

static void add_layer(halley_roofline *out, const price_context *c,
                      const workload_layer *layer, const workload_shape *shape,
                      const char *whole)
{
    double flops = 0, bytes = 0, s = 0;
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[i];
        workload_layer one = {.n = 1, .ops = {*op}};
        price_layer p;
        if (op->kind == WORKLOAD_COLL)
            continue;
        price_layer_make(&p, c, &one, false);
        const double moved = count_traffic(op, shape, &c->cluster->npu);
        flops += p.flops;
        bytes += moved;
        s += p.forward_s;
        add_roofline_row(out, op->name, p.flops, moved, p.forward_s);
    }
    if (layer->n > 1)
        add_roofline_row(out, whole, flops, bytes, s);
}

void halley_roofline_run(halley_roofline *out, const halley_model *model,
                         const halley_plan *plan, const halley_cluster *cluster,
                         const halley_stack *stack)
{
    price_context c;
    workload_parts parts;
    halley_estimate e;
    halley_stack own;
    stack = workload_family_stack(&own, model, plan, stack);
    halley_estimate_run(&e, model, plan, cluster, stack);
    price_context_make(&c, model, plan, cluster, stack, &e);
    workload_parts_make(&parts, model, plan, stack);
    *out = (halley_roofline){.size = sizeof *out,
                             .peak_flops = cluster->npu.peak_flops[plan->dtype],
                             .bandwidth_Bps = cluster->npu.tiers[0].bandwidth_Bps};
    if (parts.has_dense)
        add_layer(out, &c, &parts.dense, &parts.shape, "a whole layer");
    if (parts.has_moe)
        add_layer(out, &c, &parts.moe, &parts.shape, "a whole layer with experts");
    add_layer(out, &c, &parts.head, &parts.shape, "the whole head");
    assert(out->n <= HALLEY_MAX_ROOFLINE);
}
