/* An estimate in words: operators with their sizes and times, then the terms of a step.
 */
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "base/units.h"
#include "estimate/price.h"
#include "halley/estimate.h"

#include <stdlib.h>

static const char *of(char to[32], double value, units_kind kind)
{
    return units_format(to, 32, value, kind);
}

/* One operator, priced alone. */
static void explain_op(strbuf *b, const price_context *c, const workload_op *op)
{
    workload_layer one = {.n = 1, .ops = {*op}};
    price_layer p;
    price_layer_make(&p, c, &one, false);
    char f[32], t[32], size[32];
    if (op->kind == WORKLOAD_COLL) {
        strbuf_printf(b,
                      "  %-24s %s x %s forward, %s backward among %u: exposed %s + %s\n",
                      op->name, of(size, op->bytes_f, UNITS_BYTES),
                      number_digits(op->times_f, 6).at, number_digits(op->times_b, 6).at,
                      c->n[op->group], of(f, p.forward_s, UNITS_TIME),
                      of(t, p.backward_s, UNITS_TIME));
        return;
    }
    strbuf_printf(b, "  %-24s ", op->name);
    if (op->kind == WORKLOAD_STREAM)
        strbuf_printf(b, "%s through memory", of(size, op->bytes_f, UNITS_BYTES));
    else if (op->kind == WORKLOAD_FLASH)
        strbuf_printf(b, "%s TFLOP, head size %s, sequence %s",
                      number_digits(op->flops / 1e12, 4).at,
                      number_digits(op->head_dim, 6).at, number_digits(op->seq, 6).at);
    else
        strbuf_printf(b, "%s x %s x %s%s, %s TFLOP", number_digits(op->m, 6).at,
                      number_digits(op->n, 6).at, number_digits(op->k, 6).at,
                      op->groups > 1 ? " (grouped)" : "",
                      number_digits(op->flops / 1e12, 4).at);
    strbuf_printf(b, ": forward %s, backward %s\n", of(f, p.forward_s, UNITS_TIME),
                  of(t, p.backward_s, UNITS_TIME));
}

static void explain_layer(strbuf *b, const price_context *c, const char *title,
                          const workload_layer *layer, bool floor)
{
    if (layer->n == 0)
        return;
    price_layer p;
    price_layer_make(&p, c, layer, floor);
    char f[32], t[32], w[32];
    strbuf_printf(b, "%s: %s parameters on a rank\n", title,
                  of(w, layer->weights + layer->expert_weights, UNITS_COUNT));
    for (uint32_t i = 0; i < layer->n; i++)
        explain_op(b, c, &layer->ops[i]);
    strbuf_printf(b, "  together forward %s, backward %s", of(f, p.forward_s, UNITS_TIME),
                  of(t, p.backward_s, UNITS_TIME));
    if (p.host_f_s + p.host_b_s > 0)
        strbuf_printf(b, ", of it waiting for the host %s",
                      of(w, p.host_f_s + p.host_b_s, UNITS_TIME));
    strbuf_printf(b, "\n");
}

static void explain_step(strbuf *b, const halley_estimate *e, const halley_plan *plan)
{
    char a[32];
    const uint32_t m = halley_plan_micro_batches(plan);
    strbuf_printf(
        b,
        "step = %u micro-batches x slowest stage (stage %u) + bubble + transfers "
        "+ reduction + update\n",
        m, e->slow_stage);
    if (plan->pp > 1)
        strbuf_printf(
            b, "  bubble = (sum of stages - slowest) / %u virtual stages = %s\n",
            plan->virtual_stages, of(a, e->part_s[HALLEY_PART_BUBBLE], UNITS_TIME));
    for (int i = 0; i < HALLEY_N_PARTS; i++) {
        if (e->part_s[i] > 0)
            strbuf_printf(b, "  %-20s %s\n", halley_part_name((halley_part)i),
                          of(a, e->part_s[i], UNITS_TIME));
    }
    strbuf_printf(b, "  %-20s %s\n", "step", of(a, e->step_s, UNITS_TIME));
}

static void explain_constants(strbuf *b, const halley_stack *stack)
{
    static const char *const origins[] = {"default", "given", "fitted"};
    strbuf_printf(b, "constants of stack %s\n", stack->name);
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        const halley_constant_info *info = halley_constant_get((halley_constant)i);
        strbuf_printf(b, "  %-20s %-10s %-2s %-8s %s\n", info->key,
                      number_digits(stack->k[i], 4).at, info->unit,
                      origins[stack->origin[i] % 3], info->doc);
    }
}

halley_status halley_estimate_explain(char **out, const halley_model *model,
                                      const halley_plan *plan,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack, halley_error *err)
{
    price_context c;
    workload_parts parts;
    halley_estimate e;
    strbuf b = {0};
    halley_estimate_run(&e, model, plan, cluster, stack);
    price_context_make(&c, model, plan, cluster, stack, &e);
    workload_parts_make(&parts, model, plan, stack);
    const bool layers = model->kind == HALLEY_TRANSFORMER;
    if (parts.has_dense)
        explain_layer(&b, &c, layers ? "a dense layer" : "the operators", &parts.dense,
                      layers);
    if (parts.has_moe)
        explain_layer(&b, &c, "a layer with experts", &parts.moe, true);
    explain_layer(&b, &c, "the embedding", &parts.embedding, false);
    explain_layer(&b, &c, "the head", &parts.head, false);
    explain_step(&b, &e, plan);
    explain_constants(&b, stack);
    if (b.failed) {
        strbuf_fini(&b);
        return error_nomem(err);
    }
    *out = b.at;
    return HALLEY_OK;
}
