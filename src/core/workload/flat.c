/*
 * Models that are not transformers, as one list of operators for one micro-batch.
 *
 * DLRM: dense features go through the bottom perceptron. Every table returns the sum of a
 * few rows. Pairs of vectors are multiplied, or low-rank cross layers process all of them
 * (DCNv2, Wang et al. 2021). The top perceptron comes last. Tables are distributed over
 * all ranks. Indexes, looked-up vectors and their gradients are therefore exchanged by
 * all-to-all. Perceptrons are data-parallel.
 *
 * A step computes gradients for, and updates, only the rows it looked up. Each counts at
 * most once: of n rows, uniform random draws reach n (1 - exp(-draws/n)). The passes over
 * the rows include this update. Explicit lists of operators are used as they are.
 */
#include "workload/flat.h"

#include "workload/family.h"

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

/* The number of rows of all tables that a sample looks up. */
static double count_lookups(const halley_model *m)
{
    const double each = m->lookups > 0 ? m->lookups : 1;
    return m->sample_lookups > 0 ? m->sample_lookups : m->tables * each;
}

/* Tables: those of this rank serve the samples of all ranks, which is the same number of
 * rows. */
static void look_up(workload_layer *l, const halley_model *m, const halley_plan *plan)
{
    const double samples = plan->micro_batch, dim = m->table_dim;
    const double rows = samples * count_lookups(m);
    const double bytes =
        workload_recommender_constants.lookup_passes * rows * dim * 4 / 3;
    workload_op *op =
        add(l, "lookups and their update", WORKLOAD_STREAM, WORKLOAD_TRAFFIC);
    op->bytes_f = bytes;
    op->bytes_b = 2 * bytes;
    op->raw = true; /* sparse rows at full bandwidth: the passes include the rest */
    op->saved = rows * 8;
    l->expert_weights = m->tables * m->table_rows * dim / plan->ep;
    const double draws = plan->global_batch * (rows / samples) / plan->ep;
    const double of = m->tables * m->table_rows / plan->ep;
    l->touched = of > 0 ? dim * of * -expm1(-draws / of) : 0;
    l->updated = true;
}

static void send_all_to_all(workload_layer *l, const char *name, double bytes,
                            double times_b)
{
    workload_op *op = add(l, name, WORKLOAD_COLL, WORKLOAD_MESSAGES);
    op->coll = WORKLOAD_ALL_TO_ALL;
    op->group = WORKLOAD_EP;
    op->bytes_f = op->bytes_b = workload_recommender_constants.message_time * bytes;
    op->times_f = 1;
    op->times_b = times_b;
}

/* Multiply pairs of vectors (DLRM), or apply low-rank cross layers to all of them
 * (DCNv2). */
static void interact(workload_layer *l, const halley_model *m, double samples)
{
    const double vectors = m->tables + 1.0, dim = m->table_dim, wide = vectors * dim;
    for (uint32_t i = 0; i < m->cross_layers && l->n < WORKLOAD_MAX_OPS - 8; i++) {
        product(l, "cross down", samples, m->cross_rank, wide);
        product(l, "cross up", samples, wide, m->cross_rank);
    }
    if (m->cross_layers > 0)
        return;
    workload_op *op = add(l, "interaction", WORKLOAD_BATCHED, WORKLOAD_ATTENTION);
    op->m = op->n = vectors;
    op->k = op->head_dim = dim;
    op->groups = samples;
    op->flops = 2 * samples * op->m * op->n * dim;
    op->saved = 2 * samples * vectors * dim;
}

/* Activations, biases and elementwise multiplications: bytes of both passes. */
static void stream_outputs(workload_layer *l, const halley_model *m, double samples)
{
    const workload_recommender *c = &workload_recommender_constants;
    const double wide = (m->tables + 1.0) * m->table_dim;
    double outputs = 0;
    for (uint32_t i = 1; i < m->n_bottom; i++)
        outputs += m->bottom[i];
    for (uint32_t i = 1; i < m->n_top; i++)
        outputs += m->top[i];
    const double passes = m->cross_layers > 0 ? c->wide_passes * m->cross_layers / 3 : 4;
    const double bytes =
        2 * samples * (passes * wide + c->output_passes * outputs) * c->compute_shown;
    workload_op *op = add(l, "activations", WORKLOAD_STREAM, WORKLOAD_TRAFFIC);
    op->bytes_f = bytes / 3;
    op->bytes_b = 2 * bytes / 3;
}

static void recommend(workload_layer *l, const halley_model *m, const halley_plan *plan)
{
    const double samples = plan->micro_batch, dim = m->table_dim;
    perceptron(l, "bottom", m->bottom, m->n_bottom, samples);
    look_up(l, m, plan);
    if (plan->ep > 1) {
        send_all_to_all(l, "indexes all-to-all", samples * count_lookups(m) * 4, 0);
        send_all_to_all(l, "vectors all-to-all", samples * m->tables * dim * 2, 1);
    }
    interact(l, m, samples);
    stream_outputs(l, m, samples);
    perceptron(l, "top", m->top, m->n_top, samples);
}

/* Fused attention in an explicit list: m queries to n keys, for each sample. */
static workload_op *attend(workload_layer *l, const halley_model_op *from, double samples)
{
    workload_op *op = add(l, from->name, WORKLOAD_FLASH, WORKLOAD_ATTENTION);
    op->head_dim = from->head_dim;
    op->seq = from->m > from->keys ? from->m : from->keys;
    op->flops = from->flops * samples;
    op->bytes_f = from->bytes * samples;
    op->bytes_b = 2 * op->bytes_f;
    return op;
}

static void explicit_list(workload_layer *l, const halley_model *m,
                          const halley_plan *plan)
{
    const double samples = plan->micro_batch;
    for (uint32_t i = 0; i < m->n_ops && l->n < WORKLOAD_MAX_OPS; i++) {
        const halley_model_op *from = &m->ops[i];
        const double repeat = from->repeat ? from->repeat : 1;
        workload_op *op;
        if (from->heads > 0) {
            op = attend(l, from, samples);
        } else if (from->m > 0) {
            op = add(l, from->name, WORKLOAD_GEMM, WORKLOAD_PRODUCTS);
            op->m = from->m * samples;
            op->n = from->n;
            op->k = from->k;
            op->window = from->window;
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
    out->frozen = out->frozen_experts = 0;
    out->updated = false;
    if (model->kind == HALLEY_DLRM)
        recommend(out, model, plan);
    else
        explicit_list(out, model, plan);
}
