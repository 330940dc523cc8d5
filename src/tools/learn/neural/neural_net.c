/*
 * The parts of the network. The state before a layer is h. The number of runs of each
 * operator so far is t. The sum of the layer's items so far is c. The features of the
 * conditions are x. Both t and the numbers y enter as logarithms.
 *
 * Item      z = gelu(E[op] + values A),
 *           e = norm(gelu(z B + (sum of z over its edges) C)).
 * State     h' = gru(h, sum of e over the layer + K[kind of layer] + x D),  h0 = x S.
 * Place     p = gelu(norm(h) G + t I + tanh(3 (x N - t)) J + x Y).
 * Layer     softmax(p P).
 * Operator  u = gelu(p H + c L),  softmax(u O).
 * Number    v = gelu(u U + F[op] + x V),  scores v M + B[number].
 * Edges     softmax over the tokens of the operator, with scores
 *           B[token] + sum over its edges of (v Q) (e K + R[rank of the slot]).
 *
 * State: After a loop, h is the mean of the last state and of the state at its opening.
 *
 * Place: x N is the total number of runs of each operator, by laws that are not trained.
 *
 * Number: Each number is 0 or follows a mixture of logistic distributions. Its law is b
 * = (T[number] + v W) x, so the network chooses the exponents of the conditions by
 * context. The centres of the mixture are shifted by b, and by the sum of Z (y - b) over
 * the earlier numbers y of the item.
 *
 * Edges: An edge whose operator has not occurred costs 6. An extra choice with score
 * B[op] + v a is a free item with explicit edges. For each of the last nodes, nearest
 * first, v D + C[edges so far] decides whether the item depends on it.
 */
#include "learn/neural/neural_pass.h"

#include <assert.h>
#include <string.h>

uint32_t neural_op_of(const neural_net *net, uint32_t item)
{
    if (item == NEURAL_OPEN)
        return net->shape.n_ops;
    if (item == NEURAL_CLOSE)
        return net->shape.n_ops + 1;
    return item >= NEURAL_FREE ? item - NEURAL_FREE : net->shape.op_of[item];
}

uint32_t neural_n_values(const neural_net *net, uint32_t item)
{
    if (item == NEURAL_OPEN)
        return 0;
    if (item == NEURAL_CLOSE)
        return 1;
    const uint32_t op = neural_op_of(net, item);
    const uint32_t n = net->shape.first_attr[op + 1] - net->shape.first_attr[op];
    return n < NEURAL_FIELDS ? n : NEURAL_FIELDS;
}

size_t neural_n_ranges(const neural_net *net)
{
    return (size_t)net->shape.first_attr[net->shape.n_ops] + 1 + net->shape.n_ops +
           NEURAL_TOTALS;
}

size_t neural_n_totals(const neural_net *net)
{
    return ((size_t)net->shape.n_ops + NEURAL_TOTALS) * NEURAL_FEATURES;
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
    net->place_state = nn_dense_new(at, W, W, true);
    net->place_tally = nn_dense_new(at, n_ops + NEURAL_TALLY, W, false);
    net->place_left = nn_dense_new(at, n_ops, W, false);
    net->place_features = nn_dense_new(at, X, W, false);
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
    net->attr_score = nn_embed_new(at, shape->first_attr[n_ops] + 1, NEURAL_NUMBER);
    net->attr_before = nn_embed_new(at, shape->first_attr[n_ops] + 1, NEURAL_FIELDS);
    net->query = nn_dense_new(at, W, NEURAL_REFS * NEURAL_KEY, true);
    net->key = nn_dense_new(at, W, NEURAL_KEY, true);
    net->slot_rank = nn_embed_new(at, NEURAL_SLOTS, NEURAL_KEY);
    net->ref_bias = nn_embed_new(at, 1, NEURAL_REFS);
    net->token_bias = nn_embed_new(at, shape->n_tokens, 1);
    net->free_bias = nn_embed_new(at, n_ops, 1);
    net->back_head = nn_dense_new(at, W, 1 + NEURAL_BACK, true);
    net->back_count = nn_embed_new(at, NEURAL_BACKS, NEURAL_BACK);
    assert(net->layout.n > 0);
}

void neural_net_init(const neural_net *net, nn_real *param, uint64_t seed)
{
    assert(param != NULL);
    rng r = rng_seed(seed);
    const nn_dense *const dense[] = {
        &net->item_value,      &net->item_self,
        &net->item_message,    &net->input_features,
        &net->start,           &net->step_score,
        &net->head_state,      &net->head_layer,
        &net->op_score,        &net->number_item,
        &net->number_features, &net->number_head,
        &net->query,           &net->key,
        &net->place_state,     &net->place_tally,
        &net->place_left,      &net->place_features,
    };
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        nn_dense_init(dense[i], param, &r);
    nn_embed_init(&net->item_op, param, &r, 1);
    nn_embed_init(&net->head_op, param, &r, 1);
    nn_embed_init(&net->step_kind, param, &r, 1);
    nn_embed_init(&net->slot_rank, param, &r, 0.3);
    nn_embed_init(&net->attr_law, param, &r, 0);
    nn_embed_init(&net->attr_score, param, &r, 0);
    nn_embed_init(&net->attr_before, param, &r, 0);
    nn_norm_init(&net->item_norm, param);
    nn_norm_init(&net->state_norm, param);
    nn_gru_init(&net->gru, param, &r);
    nn_embed_init(&net->ref_bias, param, &r, 0);
    nn_embed_init(&net->token_bias, param, &r, 0);
    nn_embed_init(&net->free_bias, param, &r, 0);
    nn_embed_init(&net->back_count, param, &r, 0);
    nn_dense_init(&net->back_head, param, &r);
    /* Laws by context start at zero, so numbers start near their fitted laws. */
    for (size_t i = 0; i < (size_t)net->number_head.n_in * net->number_head.n_out; i++)
        param[net->number_head.weight + i] *= (nn_real)0.1;
    memset(param + net->number_law.weight, 0,
           (size_t)net->number_law.n_in * net->number_law.n_out * sizeof *param);
}

double neural_loss_per_item(const neural_loss *l)
{
    if (l->n_items == 0)
        return 0;
    return (l->step + l->op + l->edge + l->zero + NEURAL_NUMBER_WEIGHT * l->number) /
           (double)l->n_items;
}

void neural_loss_add(neural_loss *to, const neural_loss *from)
{
    to->step += from->step;
    to->op += from->op;
    to->edge += from->edge;
    to->zero += from->zero;
    to->number += from->number;
    to->bounded += from->bounded;
    to->n_items += from->n_items;
}

void neural_edge_scores(nn_real *score, nn_real *key, const nn_run *run,
                        const neural_net *net, const nn_real *query,
                        const nn_real *item_key, const uint32_t *slot, uint32_t n)
{
    assert(n <= NEURAL_SLOTS);
    enum { K = NEURAL_KEY };
    const nn_real *rank = run->param + net->slot_rank.table;
    const nn_real *bias = run->param + net->ref_bias.table;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t k = 0; k < K; k++)
            key[s * K + k] = item_key[(size_t)slot[s] * K + k] + rank[s * K + k];
        memcpy(score + (size_t)s * NEURAL_REFS, bias, NEURAL_REFS * sizeof *bias);
    }
    nn_gemm(run,
            (nn_product){.m = n, .n = NEURAL_REFS, .k = K, .trans_b = true, .add = true},
            score, key, query);
}

nn_real neural_token_score(const neural_shape *shape, uint32_t token,
                           const nn_real *score, const neural_slots *slots)
{
    assert(token < shape->n_tokens);
    nn_real sum = 0;
    for (uint32_t i = shape->first_ref[token]; i < shape->first_ref[token + 1]; i++) {
        const uint32_t slot = neural_slots_find(slots, shape->refs[i].op);
        sum += slot == NN_NO_ROW ? (nn_real)NEURAL_NOWHERE
                                 : score[slot * NEURAL_REFS + shape->refs[i].how];
    }
    return sum;
}

/* What is left of a total; steep near zero. */
enum { SHARP = 3 };

void neural_left(nn_real *to, const nn_real *total, const nn_real *tally, uint32_t n_ops)
{
    for (uint32_t i = 0; i < n_ops; i++)
        to[i] = 2 * nn_sigmoid(2 * SHARP * (total[i] - tally[i])) - 1;
}

void neural_totals(nn_real *to, const neural_shape *shape, const nn_real *feature)
{
    const float *law = shape->total_law;
    for (uint32_t i = 0; i < shape->n_ops; i++, law += NEURAL_FEATURES) {
        to[i] = 0;
        for (uint32_t x = 0; x < NEURAL_FEATURES; x++)
            to[i] += (nn_real)law[x] * feature[x];
    }
}

/* A number as input of an item's embedding: whether it is 0, and its logarithm. */
void neural_inputs(nn_real to[NEURAL_INPUTS], const float *values, uint32_t n)
{
    assert(n <= NEURAL_FIELDS);
    memset(to, 0, NEURAL_INPUTS * sizeof *to);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] >= NEURAL_UNKNOWN)
            continue;
        nn_real *const at = to + (size_t)2 * i;
        at[0] = values[i] <= NEURAL_ZERO ? 1 : 0;
        at[1] = values[i] <= NEURAL_ZERO ? 0 : (nn_real)values[i] / 16;
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
    assert(s->n > 0 && s->n <= NEURAL_SLOTS);
}

uint32_t neural_slots_find(const neural_slots *s, uint32_t op)
{
    assert(s->n <= NEURAL_SLOTS);
    if (op == NEURAL_LATEST)
        return s->n > 0 ? 0 : NN_NO_ROW;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->op[i] == op)
            return i;
    return NN_NO_ROW;
}
