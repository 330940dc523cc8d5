/*
 * The network's parts. With h the state before a layer, c the sum of the layer's items so
 * far, x the features of the conditions:
 *
 *     item      z = gelu(E[op] + values A);  e = norm(gelu(z B + sum of z of its edges
 * C)) state     h' = gru(h, sum of e of the layer + K[its kind] + x D), h0 = x S layer
 * softmax(norm(h) P) operator  u = gelu(norm(h) H + c L);  softmax(u O) numbers   v =
 * gelu(u U + F[op] + x V);  a mixture of logistics whose centres are (T[number] + v W) x
 * + v M: powers of the conditions, which the network chooses by context edges sigmoid((v
 * Q) (e K + R[rank of the slot]))
 */
#include "synth/neural_pass.h"

#include <string.h>

uint32_t neural_op_of(const neural_net *net, uint32_t item)
{
    if (item == NEURAL_OPEN)
        return net->shape.n_ops;
    return item == NEURAL_CLOSE ? net->shape.n_ops + 1 : net->shape.op_of[item];
}

uint32_t neural_n_values(const neural_net *net, uint32_t item)
{
    if (item == NEURAL_OPEN)
        return 1;
    if (item == NEURAL_CLOSE)
        return 0;
    const uint32_t op = net->shape.op_of[item];
    const uint32_t n = net->shape.first_attr[op + 1] - net->shape.first_attr[op];
    return n < NEURAL_FIELDS ? n : NEURAL_FIELDS;
}

void neural_net_make(neural_net *net, const neural_shape *shape)
{
    enum { W = NEURAL_WIDTH, X = NEURAL_FEATURES };
    *net = (neural_net){.shape = *shape};
    nn_layout *at = &net->layout;
    const uint32_t n_ops = shape->n_ops;
    net->item_op = nn_embed_new(at, n_ops + 2, W);
    net->item_value = nn_dense_new(at, NEURAL_INPUTS, W, true);
    net->item_self = nn_dense_new(at, W, W, true);
    net->item_message = nn_dense_new(at, W, W, false);
    net->item_norm = nn_norm_new(at, W);
    net->step_kind = nn_embed_new(at, NEURAL_STEPS, W);
    net->input_features = nn_dense_new(at, X, W, false);
    net->start = nn_dense_new(at, X, W, true);
    net->gru = nn_gru_new(at, W, W);
    net->state_norm = nn_norm_new(at, W);
    net->step_score = nn_dense_new(at, W, NEURAL_STEPS, true);
    net->head_state = nn_dense_new(at, W, W, true);
    net->head_layer = nn_dense_new(at, W, W, false);
    net->op_score = nn_dense_new(at, W, n_ops, true);
    net->number_item = nn_dense_new(at, W, W, true);
    net->head_op = nn_embed_new(at, n_ops + 2, W);
    net->number_features = nn_dense_new(at, X, W, false);
    net->number_head = nn_dense_new(at, W, NEURAL_FIELDS * NEURAL_NUMBER, true);
    net->number_law = nn_dense_new(at, W, NEURAL_FIELDS * X, false);
    net->attr_law = nn_embed_new(at, shape->first_attr[n_ops] + 1, X);
    net->query = nn_dense_new(at, W, NEURAL_REFS * NEURAL_KEY, true);
    net->key = nn_dense_new(at, W, NEURAL_KEY, true);
    net->slot_rank = nn_embed_new(at, NEURAL_SLOTS, NEURAL_KEY);
    net->ref_bias = nn_embed_new(at, 1, NEURAL_REFS);
}

void neural_net_init(const neural_net *net, nn_real *param, uint64_t seed)
{
    rng r = rng_seed(seed);
    const nn_dense *const dense[] = {
        &net->item_value, &net->item_self,   &net->item_message,    &net->input_features,
        &net->start,      &net->step_score,  &net->head_state,      &net->head_layer,
        &net->op_score,   &net->number_item, &net->number_features, &net->number_head,
        &net->query,      &net->key,
    };
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        nn_dense_init(dense[i], param, &r);
    nn_embed_init(&net->item_op, param, &r, 1);
    nn_embed_init(&net->head_op, param, &r, 1);
    nn_embed_init(&net->step_kind, param, &r, 1);
    nn_embed_init(&net->slot_rank, param, &r, 0.3);
    nn_embed_init(&net->attr_law, param, &r, 0);
    nn_norm_init(&net->item_norm, param);
    nn_norm_init(&net->state_norm, param);
    nn_gru_init(&net->gru, param, &r);
    /* Laws by context start at none, numbers near their laws, edges at rare. */
    for (size_t i = 0; i < (size_t)net->number_head.n_in * net->number_head.n_out; i++)
        param[net->number_head.weight + i] *= (nn_real)0.1;
    memset(param + net->number_law.weight, 0,
           (size_t)net->number_law.n_in * net->number_law.n_out * sizeof *param);
    for (uint32_t i = 0; i < NEURAL_REFS; i++)
        param[net->ref_bias.table + i] = -3;
}

double neural_loss_per_item(const neural_loss *l)
{
    if (l->n_items == 0)
        return 0;
    return (l->step + l->op + l->edge + l->zero + l->number) / (double)l->n_items;
}

void neural_loss_add(neural_loss *to, const neural_loss *from)
{
    to->step += from->step;
    to->op += from->op;
    to->edge += from->edge;
    to->zero += from->zero;
    to->number += from->number;
    to->n_items += from->n_items;
}

/* A number as the items' embeddings see it: whether it is 0, and its logarithm. */
void neural_inputs(nn_real to[NEURAL_INPUTS], const float *values, uint32_t n)
{
    memset(to, 0, NEURAL_INPUTS * sizeof *to);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] >= NEURAL_UNKNOWN)
            continue;
        to[2 * i] = values[i] <= NEURAL_ZERO ? 1 : 0;
        to[2 * i + 1] = values[i] <= NEURAL_ZERO ? 0 : (nn_real)values[i] / 16;
    }
}

void neural_slots_use(neural_slots *s, uint32_t op, uint32_t item)
{
    uint32_t i = 0;
    while (i < s->n && s->op[i] != op)
        i++;
    if (i == s->n && s->n < NEURAL_SLOTS)
        s->n++;
    if (i == NEURAL_SLOTS)
        i--;
    memmove(s->op + 1, s->op, i * sizeof *s->op);
    memmove(s->item + 1, s->item, i * sizeof *s->item);
    s->op[0] = op;
    s->item[0] = item;
}

uint32_t neural_slots_find(const neural_slots *s, uint32_t op)
{
    if (op == NEURAL_LATEST)
        return s->n > 0 ? 0 : NN_NO_ROW;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->op[i] == op)
            return i;
    return NN_NO_ROW;
}
