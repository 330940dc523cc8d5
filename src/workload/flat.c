/*
 * Models that are no transformer, as one list of operators for one micro-batch.
 *
 * DLRM: dense features go through the bottom perceptron; every table gives the sum of a
 * few rows; pairs of vectors are multiplied; the top perceptron ends it. Tables are
 * spread over all ranks, so looked-up vectors travel all-to-all, forward and backward;
 * perceptrons are data parallel. A step has gradients for, and updates, only the rows it
 * looked up, at most one each (rows drawn evenly repeat: n (1 - exp(-draws/n)) of n are
 * seen). Explicit lists are taken as they stand.
 */
#include "workload/flat.h"

#include <math.h>

static workload_op *add(workload_layer *l, const char *name, workload_kind kind,
                        workload_class class)
{
    workload_op *op = &l->ops[l->n++];
    *op = (workload_op){
        .name = name, .kind = kind, .class = class, .groups = 1, .repeat = 1};
    return op;
}

static void product(workload_layer *l, const char *name, double m, double n, double k)
{
    workload_op *op = add(l, name, WORKLOAD_GEMM, WORKLOAD_PRODUCTS);
    op->m = m;
    op->n = n;
    op->k = k;
    op->low = true;
    op->flops = 2 * m * n * k;
    op->weights = n * k;
    op->saved = 2 * m * k;
    l->weights += op->weights;
}

static void perceptron(workload_layer *l, const char *name, const uint32_t *widths,
                       uint32_t n, double samples)
{
    for (uint32_t i = 0; i + 1 < n && l->n < WORKLOAD_MAX_OPS - 4; i++)
        product(l, name, samples, widths[i + 1], widths[i]);
}

static void recommend(workload_layer *l, const halley_model *m, const halley_plan *plan)
{
    const double samples = plan->micro_batch, vectors = m->tables, dim = m->table_dim;
    perceptron(l, "bottom", m->bottom, m->n_bottom, samples);
    /* This rank's tables serve the samples of all ranks: the same number of rows. */
    const double rows = samples * vectors * (m->lookups ? m->lookups : 1);
    workload_op *op = add(l, "lookups", WORKLOAD_STREAM, WORKLOAD_TRAFFIC);
    op->bytes_f = rows * dim * 4;
    op->bytes_b = 2 * rows * dim * 4;
    op->saved = rows * 8;
    l->expert_weights = vectors * m->table_rows * dim / plan->ep;
    const double draws = plan->global_batch * (rows / samples) / plan->ep;
    const double of = vectors * m->table_rows / plan->ep;
    l->touched = of > 0 ? dim * of * -expm1(-draws / of) : 0;
    if (plan->ep > 1) {
        op = add(l, "vectors all-to-all", WORKLOAD_COLL, WORKLOAD_MESSAGES);
        op->coll = WORKLOAD_ALL_TO_ALL;
        op->group = WORKLOAD_EP;
        op->bytes_f = op->bytes_b = samples * vectors * dim * 4;
        op->times_f = op->times_b = 1;
    }
    op = add(l, "interaction", WORKLOAD_BATCHED, WORKLOAD_ATTENTION);
    op->m = op->n = vectors + 1;
    op->k = op->head_dim = dim;
    op->groups = samples;
    op->flops = 2 * samples * op->m * op->n * dim;
    op->saved = 2 * samples * (vectors + 1) * dim;
    perceptron(l, "top", m->top, m->n_top, samples);
}

static void explicit_list(workload_layer *l, const halley_model *m,
                          const halley_plan *plan)
{
    const double samples = plan->micro_batch;
    for (uint32_t i = 0; i < m->n_ops && l->n < WORKLOAD_MAX_OPS; i++) {
        const halley_model_op *from = &m->ops[i];
        const double repeat = from->repeat ? from->repeat : 1;
        workload_op *op;
        if (from->m > 0) {
            op = add(l, from->name, WORKLOAD_GEMM, WORKLOAD_PRODUCTS);
            op->m = from->m * samples;
            op->n = from->n;
            op->k = from->k;
            op->low = true;
            op->flops = 2 * op->m * op->n * op->k;
        } else {
            op = add(l, from->name, WORKLOAD_STREAM, WORKLOAD_TRAFFIC);
            op->flops = from->flops * samples;
            op->bytes_f = from->bytes * samples;
            op->bytes_b = 2 * op->bytes_f;
        }
        op->repeat = repeat;
        op->weights = from->weights * repeat;
        op->saved = from->saved_bytes * samples * repeat;
        l->weights += op->weights;
    }
}

void workload_flat_make(workload_layer *out, const halley_model *model,
                        const halley_plan *plan)
{
    out->n = 0;
    out->weights = out->expert_weights = out->touched = 0;
    out->moe = false;
    if (model->kind == HALLEY_DLRM)
        recommend(out, model, plan);
    else
        explicit_list(out, model, plan);
}
