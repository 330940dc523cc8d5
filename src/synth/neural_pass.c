/*
 * One pass over a batch: forward, the losses of all heads, and back. neural_net.c has the
 * formulas; `v` holds the values of this file's matrices and `d` the gradients of the
 * loss by them, with the same names.
 */
#include "synth/neural_pass.h"

#include <string.h>

enum { W = NEURAL_WIDTH, X = NEURAL_FEATURES, K = NEURAL_KEY };

typedef struct matrices {
    nn_real *z0, *z, *message, *e0, *e1, *e, *layer, *u0, *u, *n0, *n; /* items x W */
    nn_real *op, *number, *law, *query, *key;                          /* items x … */
    nn_real *input, *state, *normed, *head, *step;                     /* rows x … */
    nn_real *start, *input_x, *number_x;                               /* programs x W */
} matrices;

typedef struct pass {
    const nn_run *run;
    const neural_net *net;
    neural_batch b;
    matrices v, d;
    nn_real *inputs; /* items x NEURAL_INPUTS */
    nn_gru_memory gru;
    nn_real *dgate;
} pass;

static bool allocate(matrices *m, const neural_batch *b, uint32_t n_ops, arena *memory)
{
    const size_t items = b->n_items, rows = b->n_rows, programs = b->n_programs;
    const struct {
        nn_real **to;
        size_t n;
    } all[] = {
        {&m->z0, items * W},
        {&m->z, items * W},
        {&m->message, items * W},
        {&m->e0, items * W},
        {&m->e1, items * W},
        {&m->e, items * W},
        {&m->layer, items * W},
        {&m->u0, items * W},
        {&m->u, items * W},
        {&m->n0, items * W},
        {&m->n, items * W},
        {&m->op, items * n_ops},
        {&m->number, items * NEURAL_FIELDS * NEURAL_NUMBER},
        {&m->law, items * NEURAL_FIELDS * X},
        {&m->query, items * NEURAL_REFS * K},
        {&m->key, items * K},
        {&m->input, rows * W},
        {&m->state, rows * W},
        {&m->normed, rows * W},
        {&m->head, rows * W},
        {&m->step, rows * NEURAL_STEPS},
        {&m->start, programs * W},
        {&m->input_x, programs * W},
        {&m->number_x, programs * W},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].to = arena_array(memory, all[i].n + 1, sizeof **all[i].to);
        if (*all[i].to == NULL)
            return false;
    }
    return true;
}

static halley_status prepare(pass *p, arena *memory, halley_error *err)
{
    const size_t items = p->b.n_items, rows = p->b.n_rows;
    p->inputs = arena_array(memory, items * NEURAL_INPUTS + 1, sizeof *p->inputs);
    p->gru.gate = arena_array(memory, rows * 3 * W + 1, sizeof(nn_real));
    p->gru.recur = arena_array(memory, rows * 3 * W + 1, sizeof(nn_real));
    p->gru.before = arena_array(memory, rows * W + 1, sizeof(nn_real));
    if (!p->inputs || !p->gru.gate || !p->gru.recur || !p->gru.before ||
        !allocate(&p->v, &p->b, p->net->shape.n_ops, memory))
        return error_nomem(err);
    if (p->run->grad == NULL)
        return HALLEY_OK;
    p->dgate = arena_array(memory, rows * 6 * W + 1, sizeof(nn_real));
    if (!p->dgate || !allocate(&p->d, &p->b, p->net->shape.n_ops, memory))
        return error_nomem(err);
    return HALLEY_OK;
}

static void add(nn_real *to, const nn_real *from)
{
    for (size_t i = 0; i < W; i++)
        to[i] += from[i];
}

static nn_real *row_of(nn_real *m, uint32_t row)
{
    return m + (size_t)row * W;
}

/* to[i] += from[index[i]], or, back, to[index[i]] += from[i]. */
static void gather(nn_real *to, nn_real *from, const uint32_t *index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add(row_of(to, i), row_of(from, index[i]));
}

static void scatter(nn_real *to, nn_real *from, const uint32_t *index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add(row_of(to, index[i]), row_of(from, i));
}

static void forward_items(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v;
    const uint32_t n = b->n_items;
    for (uint32_t i = 0; i < n; i++)
        neural_inputs(p->inputs + (size_t)i * NEURAL_INPUTS, b->values[i],
                      b->n_values[i]);
    nn_embed_forward(p->run, &net->item_op, v->z0, b->op, n, false);
    nn_dense_forward(p->run, &net->item_value, v->z0, p->inputs, n, true);
    nn_gelu_forward(v->z, v->z0, (size_t)n * W);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_edge[i]; k < b->first_edge[i + 1]; k++)
            add(row_of(v->message, i), row_of(v->z, b->edges[k].item));
    nn_dense_forward(p->run, &net->item_self, v->e0, v->z, n, false);
    nn_dense_forward(p->run, &net->item_message, v->e0, v->message, n, true);
    nn_gelu_forward(v->e1, v->e0, (size_t)n * W);
    nn_norm_forward(p->run, &net->item_norm, v->e, v->e1, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_of_layer[i]; k < i; k++)
            add(row_of(v->layer, i), row_of(v->e, k));
}

static void backward_items(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    const uint32_t n = b->n_items;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_of_layer[i]; k < i; k++)
            add(row_of(d->e, k), row_of(d->layer, i));
    nn_norm_backward(p->run, &net->item_norm, d->e1, d->e, v->e1, n);
    nn_gelu_backward(d->e0, d->e1, v->e0, (size_t)n * W);
    nn_dense_backward(p->run, &net->item_message, d->message, d->e0, v->message, n);
    nn_dense_backward(p->run, &net->item_self, d->z, d->e0, v->z, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_edge[i]; k < b->first_edge[i + 1]; k++)
            add(row_of(d->z, b->edges[k].item), row_of(d->message, i));
    nn_gelu_backward(d->z0, d->z, v->z0, (size_t)n * W);
    nn_dense_backward(p->run, &net->item_value, NULL, d->z0, p->inputs, n);
    nn_embed_backward(p->run, &net->item_op, d->z0, b->op, n);
}

static void forward_rows(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v;
    nn_dense_forward(p->run, &net->start, v->start, b->feature, b->n_programs, false);
    nn_dense_forward(p->run, &net->input_features, v->input_x, b->feature, b->n_programs,
                     false);
    nn_embed_forward(p->run, &net->step_kind, v->input, b->kind_before, b->n_rows, false);
    gather(v->input, v->input_x, b->row_program, b->n_rows);
    scatter(v->input, v->e, b->next_row, b->n_items);
    nn_gru_forward(p->run, &net->gru, &p->gru, (nn_steps){b->first_row, b->n_steps},
                   v->state, v->input, v->start);
    nn_norm_forward(p->run, &net->state_norm, v->normed, v->state, b->n_rows);
    nn_dense_forward(p->run, &net->step_score, v->step, v->normed, b->n_rows, false);
    nn_dense_forward(p->run, &net->head_state, v->head, v->normed, b->n_rows, false);
}

static void backward_rows(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    nn_dense_backward(p->run, &net->head_state, d->normed, d->head, v->normed, b->n_rows);
    nn_dense_backward(p->run, &net->step_score, d->normed, v->step, v->normed, b->n_rows);
    nn_norm_backward(p->run, &net->state_norm, d->state, d->normed, v->state, b->n_rows);
    nn_gru_backward(p->run, &net->gru, &p->gru, (nn_steps){b->first_row, b->n_steps},
                    d->input, d->start, d->state, p->dgate, v->input);
    gather(d->e, d->input, b->next_row, b->n_items);
    scatter(d->input_x, d->input, b->row_program, b->n_rows);
    nn_embed_backward(p->run, &net->step_kind, d->input, b->kind_before, b->n_rows);
    nn_dense_backward(p->run, &net->input_features, NULL, d->input_x, b->feature,
                      b->n_programs);
    nn_dense_backward(p->run, &net->start, NULL, d->start, b->feature, b->n_programs);
}

static void forward_heads(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v;
    const uint32_t n = b->n_items;
    gather(v->u0, v->head, b->row, n);
    nn_dense_forward(p->run, &net->head_layer, v->u0, v->layer, n, true);
    nn_gelu_forward(v->u, v->u0, (size_t)n * W);
    nn_dense_forward(p->run, &net->op_score, v->op, v->u, n, false);
    nn_dense_forward(p->run, &net->number_item, v->n0, v->u, n, false);
    nn_embed_forward(p->run, &net->head_op, v->n0, b->op, n, true);
    nn_dense_forward(p->run, &net->number_features, v->number_x, b->feature,
                     b->n_programs, false);
    gather(v->n0, v->number_x, b->program, n);
    nn_gelu_forward(v->n, v->n0, (size_t)n * W);
    nn_dense_forward(p->run, &net->number_head, v->number, v->n, n, false);
    nn_dense_forward(p->run, &net->number_law, v->law, v->n, n, false);
    nn_dense_forward(p->run, &net->query, v->query, v->n, n, false);
    nn_dense_forward(p->run, &net->key, v->key, v->e, n, false);
}

static void backward_heads(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    const uint32_t n = b->n_items;
    nn_dense_backward(p->run, &net->key, d->e, d->key, v->e, n);
    nn_dense_backward(p->run, &net->query, d->n, d->query, v->n, n);
    nn_dense_backward(p->run, &net->number_law, d->n, d->law, v->n, n);
    nn_dense_backward(p->run, &net->number_head, d->n, d->number, v->n, n);
    nn_gelu_backward(d->n0, d->n, v->n0, (size_t)n * W);
    scatter(d->number_x, d->n0, b->program, n);
    nn_dense_backward(p->run, &net->number_features, NULL, d->number_x, b->feature,
                      b->n_programs);
    nn_embed_backward(p->run, &net->head_op, d->n0, b->op, n);
    nn_dense_backward(p->run, &net->number_item, d->u, d->n0, v->u, n);
    nn_dense_backward(p->run, &net->op_score, d->u, v->op, v->u, n);
    nn_gelu_backward(d->u0, d->u, v->u0, (size_t)n * W);
    nn_dense_backward(p->run, &net->head_layer, d->layer, d->u0, v->layer, n);
    scatter(d->head, d->u0, b->row, n);
}

/* One number: whether it is 0, else its mixture around the law of the conditions. */
static void number_loss(pass *p, neural_loss *loss, uint32_t item, uint32_t field)
{
    const float value = p->b.values[item][field];
    if (value >= NEURAL_UNKNOWN)
        return;
    const size_t at = (size_t)item * NEURAL_FIELDS + field;
    const size_t table = p->net->attr_law.table + (size_t)(p->b.attr[item] + field) * X;
    const nn_real *x = p->b.feature + (size_t)p->b.program[item] * X;
    nn_real score[NEURAL_NUMBER], base = 0, dbase = 0;
    memcpy(score, p->v.number + at * NEURAL_NUMBER, sizeof score);
    for (uint32_t i = 0; i < X; i++)
        base += (p->run->param[table + i] + p->v.law[at * X + i]) * x[i];
    for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
        score[NN_MIX_PARTS + k] += base;
    const uint8_t zero = value <= NEURAL_ZERO;
    const nn_real target = (nn_real)value;
    loss->zero += nn_bernoulli_loss(score + NN_MIX_WIDTH, &zero, 1);
    if (zero)
        memset(score, 0, NN_MIX_WIDTH * sizeof *score);
    else
        loss->number += nn_mixture_loss(score, &target, 1);
    if (p->run->grad == NULL)
        return;
    memcpy(p->d.number + at * NEURAL_NUMBER, score, sizeof score);
    for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
        dbase += score[NN_MIX_PARTS + k];
    for (uint32_t i = 0; i < X; i++) {
        p->d.law[at * X + i] = dbase * x[i];
        p->run->grad[table + i] += dbase * x[i];
    }
}

/* Edges of an item: each slot and way of naming is one or is none. */
static void edge_loss(pass *p, neural_loss *loss, uint32_t item)
{
    const neural_batch *b = &p->b;
    const neural_net *net = p->net;
    const uint32_t n = b->n_slots[item],
                   *slot = b->slot_item + (size_t)item * NEURAL_SLOTS;
    nn_real key[NEURAL_SLOTS * K], score[NEURAL_SLOTS * NEURAL_REFS];
    nn_real *query = p->v.query + (size_t)item * NEURAL_REFS * K;
    uint8_t target[NEURAL_SLOTS * NEURAL_REFS] = {0};
    const nn_real *rank = p->run->param + net->slot_rank.table;
    const nn_real *bias = p->run->param + net->ref_bias.table;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t k = 0; k < K; k++)
            key[s * K + k] = p->v.key[(size_t)slot[s] * K + k] + rank[s * K + k];
        memcpy(score + s * NEURAL_REFS, bias, NEURAL_REFS * sizeof *bias);
    }
    nn_gemm(p->run,
            (nn_product){.m = n, .n = NEURAL_REFS, .k = K, .trans_b = true, .add = true},
            score, key, query);
    for (uint32_t k = b->first_edge[item]; k < b->first_edge[item + 1]; k++)
        target[b->edges[k].slot * NEURAL_REFS + b->edges[k].how] = 1;
    loss->edge += nn_bernoulli_loss(score, target, (size_t)n * NEURAL_REFS);
    if (p->run->grad == NULL)
        return;
    nn_real dkey[NEURAL_SLOTS * K];
    nn_gemm(p->run, (nn_product){.m = n, .n = K, .k = NEURAL_REFS}, dkey, score, query);
    nn_gemm(p->run, (nn_product){.m = NEURAL_REFS, .n = K, .k = n, .trans_a = true},
            p->d.query + (size_t)item * NEURAL_REFS * K, score, key);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t k = 0; k < K; k++) {
            p->d.key[(size_t)slot[s] * K + k] += dkey[s * K + k];
            p->run->grad[net->slot_rank.table + s * K + k] += dkey[s * K + k];
        }
        for (uint32_t r = 0; r < NEURAL_REFS; r++)
            p->run->grad[net->ref_bias.table + r] += score[s * NEURAL_REFS + r];
    }
}

static void add_losses(pass *p, neural_loss *loss)
{
    const neural_batch *b = &p->b;
    loss->n_items += b->n_items;
    loss->step += nn_softmax_loss(p->v.step, b->kind, b->n_rows, NEURAL_STEPS);
    loss->op += nn_softmax_loss(p->v.op, b->wanted_op, b->n_items, p->net->shape.n_ops);
    for (uint32_t i = 0; i < b->n_items; i++) {
        for (uint32_t f = 0; f < b->n_values[i]; f++)
            number_loss(p, loss, i, f);
        if (b->n_slots[i] > 0)
            edge_loss(p, loss, i);
    }
}

halley_status neural_pass(neural_loss *loss, const nn_run *run, const neural_net *net,
                          const neural_program *const *programs, uint32_t n,
                          arena *memory, halley_error *err)
{
    pass p = {.run = run, .net = net};
    *loss = (neural_loss){0};
    TRY(neural_batch_make(&p.b, net, programs, n, memory, err));
    TRY(prepare(&p, memory, err));
    forward_items(&p);
    forward_rows(&p);
    forward_heads(&p);
    add_losses(&p, loss);
    if (run->grad == NULL)
        return HALLEY_OK;
    backward_heads(&p);
    backward_rows(&p);
    backward_items(&p);
    return HALLEY_OK;
}
