/*
 * One pass over a batch: forward, the losses of all output heads, and backward. The
 * formulas are in neural_net.c. `v` holds the values of the matrices. `d` holds the
 * gradients of the loss with respect to them, with the same names.
 */
#include "learn/neural/neural_pass.h"

#include <assert.h>
#include <string.h>

enum { W = NEURAL_WIDTH, X = NEURAL_FEATURES, K = NEURAL_KEY };

typedef struct matrices {
    nn_real *z0, *z, *message, *e0, *e1, *e, *layer, *u0, *u, *n0, *n; /* items x W */
    nn_real *op, *number, *law, *query, *key, *back;                   /* items x … */
    nn_real *input, *state, *normed, *place0, *place, *head, *step;    /* rows x … */
    nn_real *left;                                                     /* rows x ops */
    nn_real *start, *input_x, *place_x, *number_x;                     /* programs x W */
    nn_real *total; /* programs x ops */
} matrices;

typedef struct pass {
    const nn_run *run;
    const neural_net *net;
    neural_batch b;
    matrices v, d;
    nn_real *inputs; /* items x NEURAL_INPUTS */
    nn_real *tokens; /* scores of the tokens of an operator */
    nn_gru_memory gru;
    nn_real *dgate;
} pass;

static bool allocate_pass(matrices *m, const neural_batch *b, uint32_t n_ops,
                          arena *memory)
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
        {&m->back, items * (1 + NEURAL_BACK)},
        {&m->input, rows * W},
        {&m->state, rows * W},
        {&m->normed, rows * W},
        {&m->place0, rows * W},
        {&m->place, rows * W},
        {&m->left, rows * n_ops},
        {&m->head, rows * W},
        {&m->step, rows * NEURAL_STEPS},
        {&m->start, programs * W},
        {&m->input_x, programs * W},
        {&m->place_x, programs * W},
        {&m->number_x, programs * W},
        {&m->total, programs * n_ops},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].to = arena_array(memory, all[i].n + 1, sizeof **all[i].to);
        if (*all[i].to == NULL)
            return false;
    }
    return true;
}

static halley_status prepare_pass(pass *p, arena *memory, halley_error *err)
{
    const size_t items = p->b.n_items, rows = p->b.n_rows;
    p->inputs = arena_array(memory, items * NEURAL_INPUTS + 1, sizeof *p->inputs);
    p->tokens = arena_array(memory, p->net->shape.n_tokens + 2, sizeof *p->tokens);
    p->gru.gate = arena_array(memory, rows * 3 * W + 1, sizeof(nn_real));
    p->gru.recur = arena_array(memory, rows * 3 * W + 1, sizeof(nn_real));
    p->gru.before = arena_array(memory, rows * W + 1, sizeof(nn_real));
    if (!p->inputs || !p->tokens || !p->gru.gate || !p->gru.recur || !p->gru.before ||
        !allocate_pass(&p->v, &p->b, p->net->shape.n_ops, memory))
        return error_nomem(err);
    if (p->run->grad == NULL)
        return HALLEY_OK;
    p->dgate = arena_array(memory, rows * 7 * W + 1, sizeof(nn_real));
    if (!p->dgate || !allocate_pass(&p->d, &p->b, p->net->shape.n_ops, memory))
        return error_nomem(err);
    return HALLEY_OK;
}

static void add_rows(nn_real *to, const nn_real *from)
{
    for (size_t i = 0; i < W; i++)
        to[i] += from[i];
}

static nn_real *find_item_row(nn_real *m, uint32_t row)
{
    return m + (size_t)row * W;
}

/* gather_rows: to[i] += from[index[i]]. scatter_rows is its transpose: to[index[i]] +=
 * from[i]. */
static void gather_rows(nn_real *to, nn_real *from, const uint32_t *index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_rows(find_item_row(to, i), find_item_row(from, index[i]));
}

static void scatter_rows(nn_real *to, nn_real *from, const uint32_t *index, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_rows(find_item_row(to, index[i]), find_item_row(from, i));
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
            add_rows(find_item_row(v->message, i), find_item_row(v->z, b->edges[k].item));
    nn_dense_forward(p->run, &net->item_self, v->e0, v->z, n, false);
    nn_dense_forward(p->run, &net->item_message, v->e0, v->message, n, true);
    nn_gelu_forward(v->e1, v->e0, (size_t)n * W);
    nn_norm_forward(p->run, &net->item_norm, v->e, v->e1, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_of_layer[i]; k < i; k++)
            add_rows(find_item_row(v->layer, i), find_item_row(v->e, k));
}

static void backward_items(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    const uint32_t n = b->n_items;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_of_layer[i]; k < i; k++)
            add_rows(find_item_row(d->e, k), find_item_row(d->layer, i));
    nn_norm_backward(p->run, &net->item_norm, d->e1, d->e, v->e1, n);
    nn_gelu_backward(d->e0, d->e1, v->e0, (size_t)n * W);
    nn_dense_backward(p->run, &net->item_message, d->message, d->e0, v->message, n);
    nn_dense_backward(p->run, &net->item_self, d->z, d->e0, v->z, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = b->first_edge[i]; k < b->first_edge[i + 1]; k++)
            add_rows(find_item_row(d->z, b->edges[k].item), find_item_row(d->message, i));
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
    gather_rows(v->input, v->input_x, b->row_program, b->n_rows);
    scatter_rows(v->input, v->e, b->next_row, b->n_items);
    nn_gru_forward(p->run, &net->gru, &p->gru,
                   (nn_steps){b->first_row, b->n_steps, b->also}, v->state, v->input,
                   v->start);
    nn_norm_forward(p->run, &net->state_norm, v->normed, v->state, b->n_rows);
}

static void forward_places(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v;
    const uint32_t n_ops = net->shape.n_ops;
    for (uint32_t i = 0; i < b->n_programs; i++)
        neural_totals(v->total + (size_t)i * n_ops, &net->shape,
                      b->feature + (size_t)i * X);
    for (uint32_t i = 0; i < b->n_rows; i++)
        neural_left(v->left + (size_t)i * n_ops,
                    v->total + (size_t)b->row_program[i] * n_ops,
                    b->tally + (size_t)i * (n_ops + NEURAL_TALLY), n_ops);
    nn_dense_forward(p->run, &net->place_features, v->place_x, b->feature, b->n_programs,
                     false);
    nn_dense_forward(p->run, &net->place_state, v->place0, v->normed, b->n_rows, false);
    nn_dense_forward(p->run, &net->place_tally, v->place0, b->tally, b->n_rows, true);
    nn_dense_forward(p->run, &net->place_left, v->place0, v->left, b->n_rows, true);
    gather_rows(v->place0, v->place_x, b->row_program, b->n_rows);
    nn_gelu_forward(v->place, v->place0, (size_t)b->n_rows * W);
    nn_dense_forward(p->run, &net->step_score, v->step, v->place, b->n_rows, false);
    nn_dense_forward(p->run, &net->head_state, v->head, v->place, b->n_rows, false);
}

static void backward_places(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    nn_dense_backward(p->run, &net->head_state, d->place, d->head, v->place, b->n_rows);
    nn_dense_backward(p->run, &net->step_score, d->place, v->step, v->place, b->n_rows);
    nn_gelu_backward(d->place0, d->place, v->place0, (size_t)b->n_rows * W);
    scatter_rows(d->place_x, d->place0, b->row_program, b->n_rows);
    nn_dense_backward(p->run, &net->place_left, NULL, d->place0, v->left, b->n_rows);
    nn_dense_backward(p->run, &net->place_tally, NULL, d->place0, b->tally, b->n_rows);
    nn_dense_backward(p->run, &net->place_state, d->normed, d->place0, v->normed,
                      b->n_rows);
    nn_dense_backward(p->run, &net->place_features, NULL, d->place_x, b->feature,
                      b->n_programs);
}

static void backward_rows(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    nn_norm_backward(p->run, &net->state_norm, d->state, d->normed, v->state, b->n_rows);
    nn_gru_backward(p->run, &net->gru, &p->gru,
                    (nn_steps){b->first_row, b->n_steps, b->also}, d->input, d->start,
                    d->state, p->dgate, v->input);
    gather_rows(d->e, d->input, b->next_row, b->n_items);
    scatter_rows(d->input_x, d->input, b->row_program, b->n_rows);
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
    gather_rows(v->u0, v->head, b->row, n);
    nn_dense_forward(p->run, &net->head_layer, v->u0, v->layer, n, true);
    nn_gelu_forward(v->u, v->u0, (size_t)n * W);
    nn_dense_forward(p->run, &net->op_score, v->op, v->u, n, false);
    nn_dense_forward(p->run, &net->number_item, v->n0, v->u, n, false);
    nn_embed_forward(p->run, &net->head_op, v->n0, b->op, n, true);
    nn_dense_forward(p->run, &net->number_features, v->number_x, b->feature,
                     b->n_programs, false);
    gather_rows(v->n0, v->number_x, b->program, n);
    nn_gelu_forward(v->n, v->n0, (size_t)n * W);
    nn_dense_forward(p->run, &net->number_head, v->number, v->n, n, false);
    nn_dense_forward(p->run, &net->number_law, v->law, v->n, n, false);
    nn_dense_forward(p->run, &net->query, v->query, v->n, n, false);
    nn_dense_forward(p->run, &net->key, v->key, v->e, n, false);
    nn_dense_forward(p->run, &net->back_head, v->back, v->n, n, false);
}

static void backward_heads(pass *p)
{
    const neural_net *net = p->net;
    const neural_batch *b = &p->b;
    matrices *v = &p->v, *d = &p->d;
    const uint32_t n = b->n_items;
    nn_dense_backward(p->run, &net->back_head, d->n, d->back, v->n, n);
    nn_dense_backward(p->run, &net->key, d->e, d->key, v->e, n);
    nn_dense_backward(p->run, &net->query, d->n, d->query, v->n, n);
    nn_dense_backward(p->run, &net->number_law, d->n, d->law, v->n, n);
    nn_dense_backward(p->run, &net->number_head, d->n, d->number, v->n, n);
    nn_gelu_backward(d->n0, d->n, v->n0, (size_t)n * W);
    scatter_rows(d->number_x, d->n0, b->program, n);
    nn_dense_backward(p->run, &net->number_features, NULL, d->number_x, b->feature,
                      b->n_programs);
    nn_embed_backward(p->run, &net->head_op, d->n0, b->op, n);
    nn_dense_backward(p->run, &net->number_item, d->u, d->n0, v->u, n);
    nn_dense_backward(p->run, &net->op_score, d->u, v->op, v->u, n);
    nn_gelu_backward(d->u0, d->u, v->u0, (size_t)n * W);
    nn_dense_backward(p->run, &net->head_layer, d->layer, d->u0, v->layer, n);
    scatter_rows(d->head, d->u0, b->row, n);
}

/* The prediction of a number's law from the conditions of the item's program. */
static nn_real base_of(const pass *p, uint32_t item, uint32_t field)
{
    assert(item < p->b.n_items);
    const size_t at = ((size_t)item * NEURAL_FIELDS + field) * X;
    const nn_real *table =
        p->run->param + p->net->attr_law.table + (size_t)(p->b.attr[item] + field) * X;
    const nn_real *x = p->b.feature + (size_t)p->b.program[item] * X;
    nn_real base = 0;
    for (uint32_t i = 0; i < X; i++)
        base += (table[i] + p->v.law[at + i]) * x[i];
    return base;
}

/* The loss of one number: whether it is 0, else its mixture around its law. `off` holds
 * the deviations of the earlier numbers. dbase gets the gradient of this law and,
 * through `off`, of the earlier ones. */
static void number_loss(pass *p, neural_loss *loss, uint32_t item, uint32_t field,
                        nn_real base, const nn_real *off, nn_real *dbase)
{
    assert(item < p->b.n_items && field < NEURAL_FIELDS);
    const float value = p->b.values[item][field];
    if (value >= NEURAL_UNKNOWN)
        return;
    const size_t at = ((size_t)item * NEURAL_FIELDS + field) * NEURAL_NUMBER;
    const size_t before =
        p->net->attr_before.table + (size_t)(p->b.attr[item] + field) * NEURAL_FIELDS;
    const size_t table =
        p->net->attr_score.table + (size_t)(p->b.attr[item] + field) * NEURAL_NUMBER;
    nn_real score[NEURAL_NUMBER], dcentre = 0;
    for (uint32_t k = 0; k < NEURAL_NUMBER; k++)
        score[k] = p->v.number[at + k] + p->run->param[table + k];
    for (uint32_t g = 0; g < field; g++)
        base += p->run->param[before + g] * off[g];
    for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
        score[NN_MIX_PARTS + k] += base;
    const uint8_t zero = value <= NEURAL_ZERO;
    const nn_real target = (nn_real)value;
    loss->zero += nn_bernoulli_loss(score + NN_MIX_WIDTH, &zero, 1);
    if (zero)
        memset(score, 0, NN_MIX_WIDTH * sizeof *score);
    else {
        const double number = nn_mixture_loss(score, &target, 1);
        loss->number += number;
        loss->bounded += number < NEURAL_MOST ? number : NEURAL_MOST;
    }
    if (p->run->grad == NULL)
        return;
    for (uint32_t k = 0; k < NEURAL_NUMBER; k++) {
        score[k] *= k < NN_MIX_WIDTH ? (nn_real)NEURAL_NUMBER_WEIGHT : 1;
        p->d.number[at + k] = score[k];
        p->run->grad[table + k] += score[k];
    }
    for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
        dcentre += score[NN_MIX_PARTS + k];
    dbase[field] += dcentre;
    for (uint32_t g = 0; g < field; g++) {
        p->run->grad[before + g] += dcentre * off[g];
        if (off[g] != 0)
            dbase[g] -= dcentre * p->run->param[before + g];
    }
}

static void number_losses(pass *p, neural_loss *loss, uint32_t item)
{
    assert(item < p->b.n_items);
    const uint32_t n = p->b.n_values[item];
    const nn_real *x = p->b.feature + (size_t)p->b.program[item] * X;
    nn_real base[NEURAL_FIELDS], off[NEURAL_FIELDS], dbase[NEURAL_FIELDS] = {0};
    for (uint32_t f = 0; f < n; f++) {
        base[f] = base_of(p, item, f);
        off[f] = neural_off(p->b.values[item][f], base[f]);
        number_loss(p, loss, item, f, base[f], off, dbase);
    }
    for (uint32_t f = 0; p->run->grad != NULL && f < n; f++) {
        nn_real *dlaw = p->d.law + ((size_t)item * NEURAL_FIELDS + f) * X;
        nn_real *dtable =
            p->run->grad + p->net->attr_law.table + (size_t)(p->b.attr[item] + f) * X;
        for (uint32_t i = 0; i < X; i++) {
            dlaw[i] = dbase[f] * x[i];
            dtable[i] += dbase[f] * x[i];
        }
    }
}

/* The slots as they were before this item. */
static void slots_of(neural_slots *to, const neural_batch *b, uint32_t item)
{
    to->n = b->n_slots[item];
    memcpy(to->op, b->slot_op + (size_t)item * NEURAL_SLOTS, sizeof to->op);
    memcpy(to->item, b->slot_item + (size_t)item * NEURAL_SLOTS, sizeof to->item);
}

/* The loss of the explicit edges of a free item. */
static void back_loss(pass *p, neural_loss *loss, uint32_t item)
{
    assert(item < p->b.n_items);
    const nn_real *head = p->v.back + (size_t)item * (1 + NEURAL_BACK);
    nn_real *dhead = p->d.back + (size_t)item * (1 + NEURAL_BACK);
    uint32_t n = 0;
    for (uint32_t i = 0; i < NEURAL_BACK; i++) {
        const uint8_t is_edge = p->b.backs[item] >> i & 1;
        const uint32_t row = n < NEURAL_BACKS ? n : NEURAL_BACKS - 1;
        nn_real score = neural_back_score(p->run, p->net, head, n, i);
        loss->edge += nn_bernoulli_loss(&score, &is_edge, 1);
        n += is_edge;
        if (p->run->grad == NULL)
            continue;
        dhead[1 + i] = score;
        p->run->grad[p->net->back_count.table + (size_t)row * NEURAL_BACK + i] += score;
    }
}

/* The loss of the choice between the tokens of the operator; the last choice is explicit
 * edges. dscore gets the gradient of the edge scores. */
static void token_loss(pass *p, neural_loss *loss, uint32_t item, nn_real *dscore,
                       const nn_real *score, const neural_slots *slots)
{
    assert(item < p->b.n_items);
    const neural_shape *shape = &p->net->shape;
    const uint32_t op = p->b.op[item], first = shape->first_token[op];
    const uint32_t n = shape->first_token[op + 1] - first;
    const size_t bias = p->net->token_bias.table + first;
    for (uint32_t i = 0; i < n; i++)
        p->tokens[i] =
            p->run->param[bias + i] + neural_token_score(shape, first + i, score, slots);
    const size_t back = (size_t)item * (1 + NEURAL_BACK), own = p->net->free_bias.table;
    p->tokens[n] = p->run->param[own + op] + p->v.back[back];
    const bool is_free = p->b.token[item] >= NEURAL_FREE;
    const uint32_t wanted = is_free ? n : p->b.token[item] - first;
    loss->edge += nn_softmax_loss(p->tokens, &wanted, 1, n + 1);
    if (is_free)
        back_loss(p, loss, item);
    if (p->run->grad != NULL) {
        p->run->grad[own + op] += p->tokens[n];
        p->d.back[back] = p->tokens[n];
    }
    for (uint32_t i = 0; p->run->grad != NULL && i < n; i++) {
        p->run->grad[bias + i] += p->tokens[i];
        for (uint32_t k = shape->first_ref[first + i];
             k < shape->first_ref[first + i + 1]; k++) {
            const uint32_t slot = neural_slots_find(slots, shape->refs[k].op);
            if (slot != NN_NO_ROW)
                dscore[slot * NEURAL_REFS + shape->refs[k].how] += p->tokens[i];
        }
    }
}

static void edge_loss(pass *p, neural_loss *loss, uint32_t item)
{
    assert(item < p->b.n_items);
    const neural_net *net = p->net;
    neural_slots slots;
    slots_of(&slots, &p->b, item);
    const uint32_t n = slots.n;
    nn_real key[NEURAL_SLOTS * K], score[NEURAL_SLOTS * NEURAL_REFS];
    nn_real dkey[NEURAL_SLOTS * K], dscore[NEURAL_SLOTS * NEURAL_REFS] = {0};
    nn_real *query = p->v.query + (size_t)item * NEURAL_REFS * K;
    neural_edge_scores(score, key, p->run, net, query, p->v.key, slots.item, n);
    token_loss(p, loss, item, dscore, score, &slots);
    if (p->run->grad == NULL)
        return;
    nn_gemm(p->run, (nn_product){.m = n, .n = K, .k = NEURAL_REFS}, dkey, dscore, query);
    nn_gemm(p->run, (nn_product){.m = NEURAL_REFS, .n = K, .k = n, .trans_a = true},
            p->d.query + (size_t)item * NEURAL_REFS * K, dscore, key);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t k = 0; k < K; k++) {
            p->d.key[(size_t)slots.item[s] * K + k] += dkey[s * K + k];
            p->run->grad[net->slot_rank.table + (size_t)s * K + k] += dkey[s * K + k];
        }
        for (uint32_t r = 0; r < NEURAL_REFS; r++)
            p->run->grad[net->ref_bias.table + r] += dscore[s * NEURAL_REFS + r];
    }
}

static void add_losses(pass *p, neural_loss *loss)
{
    const neural_batch *b = &p->b;
    loss->n_items += b->n_items;
    loss->step += nn_softmax_loss(p->v.step, b->kind, b->n_rows, NEURAL_STEPS);
    loss->op += nn_softmax_loss(p->v.op, b->wanted_op, b->n_items, p->net->shape.n_ops);
    for (uint32_t i = 0; i < b->n_items; i++) {
        number_losses(p, loss, i);
        if (b->token[i] != NN_NO_ROW)
            edge_loss(p, loss, i);
    }
}

halley_status neural_pass(neural_loss *loss, const nn_run *run, const neural_net *net,
                          const neural_program *const *programs, uint32_t n,
                          arena *memory, halley_error *err)
{
    assert(n > 0 && programs != NULL);
    pass p = {.run = run, .net = net};
    *loss = (neural_loss){0};
    TRY(neural_batch_make(&p.b, net, programs, n, memory, err));
    TRY(prepare_pass(&p, memory, err));
    forward_items(&p);
    forward_rows(&p);
    forward_places(&p);
    forward_heads(&p);
    add_losses(&p, loss);
    if (run->grad == NULL)
        return HALLEY_OK;
    backward_heads(&p);
    backward_places(&p);
    backward_rows(&p);
    backward_items(&p);
    return HALLEY_OK;
}
