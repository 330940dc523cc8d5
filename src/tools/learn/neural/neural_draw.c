/*
 * Draws a program. The formulas are those of training, one item at a time, by our own
 * loops, so a seed gives the same bytes on every machine. Rules guarantee a valid
 * program. Loops are closed and not empty. Operators have edges that were seen together,
 * or explicit ones. At the maximum length the program is ended.
 */
#include "base/array.h"
#include "learn/neural/neural_pass.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The limit of a total above its law, in logarithms: a margin, plus this many deviations
 * of the law. */
#define MARGIN 0.5
#define SPREADS 3

enum { W = NEURAL_WIDTH, X = NEURAL_FEATURES, K = NEURAL_KEY };

typedef struct drawer {
    const neural_net *net;
    nn_run run;
    const neural_draw_opts *opts;
    rng *random;
    neural_drawn *out;
    nn_real feature[X], input_x[W], place_x[W], number_x[W];
    nn_real state[W], layer[W];        /* layer: sum of its items so far */
    nn_real opened[NEURAL_DEPTH][W];   /* states at the opening of each open loop */
    nn_real *total, *tally_row, *left; /* sizes n_ops, n_ops + NEURAL_TALLY, n_ops */
    neural_tally tally;
    uint32_t kind; /* kind of the last layer */
    neural_slots slots;
    ARRAY(nn_real) z, key; /* of the items */
    nn_real *op_score;     /* first of four consecutive arrays */
    ARRAY(nn_real) token_score;
    uint32_t edge[NEURAL_SLOTS]; /* items that the current one depends on */
    uint32_t n_edges;
    uint32_t n_plain; /* items since a loop opened or closed */
} drawer;

void neural_drawn_fini(neural_drawn *d)
{
    free(d->items);
    free(d->first_value);
    free(d->backs);
    free(d->values);
    *d = (neural_drawn){0};
}

double neural_drawn_length(const neural_drawn *d)
{
    assert(d->n_items > 0);
    double n[NEURAL_DEPTH + 1] = {0};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < d->n_items; i++) {
        if (d->items[i] == NEURAL_OPEN)
            n[++depth] = 0;
        else if (d->items[i] == NEURAL_CLOSE) {
            depth--;
            n[depth] += n[depth + 1] * d->values[d->first_value[i]];
        } else
            n[depth]++;
    }
    return n[0];
}

static bool grow_drawn(neural_drawn *d, uint32_t n_values)
{
    if (d->n_items + 1 >= d->cap_items) {
        const uint32_t cap = 2 * d->cap_items + 64;
        uint32_t *items = realloc(d->items, cap * sizeof *items);
        d->items = items != NULL ? items : d->items;
        uint32_t *first = realloc(d->first_value, cap * sizeof *first);
        d->first_value = first != NULL ? first : d->first_value;
        uint32_t *backs = realloc(d->backs, cap * sizeof *backs);
        d->backs = backs != NULL ? backs : d->backs;
        if (items == NULL || first == NULL || backs == NULL)
            return false;
        d->cap_items = cap;
    }
    if (d->n_values + n_values >= d->cap_values) {
        const uint32_t cap = 2 * d->cap_values + n_values + 64;
        double *values = realloc(d->values, cap * sizeof *values);
        if (values == NULL)
            return false;
        d->values = values;
        d->cap_values = cap;
    }
    return true;
}

static void add_embedding(nn_real *to, const nn_real *from)
{
    for (size_t i = 0; i < W; i++)
        to[i] += from[i];
}

static void start_drawing(drawer *d)
{
    const neural_net *net = d->net;
    nn_dense_forward(&d->run, &net->start, d->state, d->feature, 1, false);
    nn_dense_forward(&d->run, &net->input_features, d->input_x, d->feature, 1, false);
    nn_dense_forward(&d->run, &net->place_features, d->place_x, d->feature, 1, false);
    nn_dense_forward(&d->run, &net->number_features, d->number_x, d->feature, 1, false);
    neural_totals(d->total, &net->shape, d->feature);
    d->kind = NN_NO_ROW;
}

/* Computes the state before the next layer. */
static void advance_state(drawer *d)
{
    static const uint32_t first[] = {0, 1};
    nn_real input[W], gate[3 * W], recur[3 * W], before[W], state[W];
    nn_gru_memory memory = {gate, recur, before};
    nn_embed_forward(&d->run, &d->net->step_kind, input, &d->kind, 1, false);
    add_embedding(input, d->input_x);
    add_embedding(input, d->layer);
    for (size_t i = 0; d->kind == NEURAL_STEP_CLOSE && i < W; i++)
        d->state[i] = (d->state[i] + d->opened[d->tally.depth][i]) / 2;
    nn_gru_forward(&d->run, &d->net->gru, &memory, (nn_steps){first, 1, NULL}, state,
                   input, d->state);
    memcpy(d->state, state, sizeof state);
    memset(d->layer, 0, sizeof d->layer);
}

static bool may_follow(const drawer *d, uint32_t kind)
{
    const uint32_t depth = d->tally.depth, body = d->tally.n_items[depth];
    const bool full = d->out->n_items >= d->opts->max_items;
    switch (kind) {
    case NEURAL_STEP_END:
        return depth == 0 && body > 0;
    case NEURAL_STEP_CLOSE:
        return depth > 0 && body > 0;
    case NEURAL_STEP_OPEN:
        return depth < NEURAL_DEPTH && !full;
    default:
        return !full || (body == 0 && kind == NEURAL_STEP_ITEMS);
    }
}

/* The maximum total runs of an operator: a little more than its law predicts, and no
 * more than in any program seen. */
static double most_of(const drawer *d, uint32_t op)
{
    const uint32_t n_ops = d->net->shape.n_ops;
    const neural_range seen = d->opts->range[d->net->shape.first_attr[n_ops] + 1 + op];
    const double by_law = (double)d->total[op] + MARGIN + SPREADS * (double)seen.low;
    return expm1(fmin(by_law, (double)(seen.high + d->opts->beyond)));
}

/* Reduces the count of a loop that would make some operator run too often. */
static double limit_times(const drawer *d, double times)
{
    assert(times >= 0);
    const double *before = d->tally.count + (size_t)d->tally.depth * d->tally.n_ops;
    for (uint32_t i = 0; i < d->tally.n_ops; i++) {
        const double body = d->tally.count[i] - before[i];
        if (body > 0)
            times = fmin(times, floor((most_of(d, i) - before[i]) / body));
    }
    return times < 1 ? 1 : times;
}

/* Draws the kind of the next layer. `head` gets the vector from which its items are
 * drawn. */
static uint32_t draw_kind(drawer *d, nn_real head[W])
{
    assert(head != NULL);
    const neural_net *net = d->net;
    nn_real normed[W], place[W], score[NEURAL_STEPS];
    neural_tally_read(d->tally_row, &d->tally);
    neural_left(d->left, d->total, d->tally_row, net->shape.n_ops);
    nn_norm_forward(&d->run, &net->state_norm, normed, d->state, 1);
    nn_dense_forward(&d->run, &net->place_state, place, normed, 1, false);
    nn_dense_forward(&d->run, &net->place_tally, place, d->tally_row, 1, true);
    nn_dense_forward(&d->run, &net->place_left, place, d->left, 1, true);
    add_embedding(place, d->place_x);
    nn_gelu_forward(place, place, W);
    nn_dense_forward(&d->run, &net->step_score, score, place, 1, false);
    nn_dense_forward(&d->run, &net->head_state, head, place, 1, false);
    for (uint32_t i = 0; i < NEURAL_STEPS; i++)
        if (!may_follow(d, i))
            score[i] = -1000;
    const uint32_t kind = nn_softmax_draw(score, NEURAL_STEPS, d->opts->structure,
                                          d->opts->least, d->random);
    return may_follow(d, kind) ? kind : NEURAL_STEP_ITEMS;
}

/* Stores the items that the edges of a token lead to. */
static void keep_edges(drawer *d, uint32_t token)
{
    const neural_shape *shape = &d->net->shape;
    d->n_edges = 0;
    for (uint32_t i = shape->first_ref[token]; i < shape->first_ref[token + 1]; i++) {
        const uint32_t slot = neural_slots_find(&d->slots, shape->refs[i].op);
        if (slot != NN_NO_ROW && d->n_edges < NEURAL_SLOTS)
            d->edge[d->n_edges++] = d->slots.item[slot];
    }
}

/* Draws the explicit edges of a free item. There must be at least one earlier node. */
static uint32_t draw_backs(drawer *d, const nn_real *head)
{
    uint32_t backs = 0, n = 0;
    double n_before = 0;
    for (uint32_t i = 0; i < d->tally.n_ops; i++)
        n_before += d->tally.count[i];
    for (uint32_t i = 0; i < NEURAL_BACK && i < n_before; i++) {
        if (!nn_bernoulli_draw(neural_back_score(&d->run, d->net, head, n, i), 1,
                               d->random))
            continue;
        backs |= 1U << i;
        n++;
        if (i < d->n_plain)
            d->edge[d->n_edges++] = d->out->n_items - 1 - i;
    }
    return backs;
}

/* Draws a token of the operator, or explicit edges. */
static bool draw_token(uint32_t *token, uint32_t *backs, drawer *d, uint32_t op,
                       const nn_real *n)
{
    const neural_net *net = d->net;
    const uint32_t first = net->shape.first_token[op];
    const uint32_t n_tokens = net->shape.first_token[op + 1] - first;
    nn_real query[NEURAL_REFS * K], key[NEURAL_SLOTS * K];
    nn_real score[NEURAL_SLOTS * NEURAL_REFS], back[1 + NEURAL_BACK];
    nn_dense_forward(&d->run, &net->query, query, n, 1, false);
    nn_dense_forward(&d->run, &net->back_head, back, n, 1, false);
    neural_edge_scores(score, key, &d->run, net, query, d->key.at, d->slots.item,
                       d->slots.n);
    d->token_score.n = 0;
    if (!array_reserve(&d->token_score, n_tokens + 1))
        return false;
    d->token_score.at[n_tokens] = d->run.param[net->free_bias.table + op] + back[0];
    for (uint32_t i = 0; i < n_tokens; i++)
        d->token_score.at[i] =
            d->run.param[net->token_bias.table + first + i] +
            neural_token_score(&net->shape, first + i, score, &d->slots);
    const uint32_t at = nn_softmax_draw(d->token_score.at, n_tokens + 1,
                                        d->opts->structure, d->opts->least, d->random);
    *token = at < n_tokens ? first + at : NEURAL_FREE + op;
    if (at < n_tokens)
        keep_edges(d, *token);
    else
        *backs = draw_backs(d, back);
    return true;
}

/* Draws a number with the scores `head`, shifted by `base`. */
static float draw_number(drawer *d, const nn_real *head, nn_real base, uint32_t attr)
{
    nn_real score[NEURAL_NUMBER];
    const nn_real *table =
        d->run.param + d->net->attr_score.table + (size_t)attr * NEURAL_NUMBER;
    for (uint32_t k = 0; k < NEURAL_NUMBER; k++)
        score[k] = head[k] + table[k];
    for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
        score[NN_MIX_PARTS + k] += base;
    if (nn_bernoulli_draw(score[NN_MIX_WIDTH], d->opts->numbers, d->random))
        return NEURAL_ZERO;
    const neural_range in = d->opts->range[attr];
    const float y = (float)nn_mixture_draw(score, d->opts->numbers, d->random);
    return fminf(fmaxf(y, in.low - d->opts->beyond), in.high + d->opts->beyond);
}

/* Draws the numbers of an item, each given those before it. */
static void draw_fields(float to[NEURAL_FIELDS], drawer *d, uint32_t attr, uint32_t n,
                        const nn_real *state)
{
    assert(n <= NEURAL_FIELDS);
    const neural_net *net = d->net;
    nn_real number[NEURAL_FIELDS * NEURAL_NUMBER], law[NEURAL_FIELDS * X];
    nn_real off[NEURAL_FIELDS];
    nn_dense_forward(&d->run, &net->number_head, number, state, 1, false);
    nn_dense_forward(&d->run, &net->number_law, law, state, 1, false);
    for (uint32_t f = 0; f < n; f++) {
        const nn_real *table =
            d->run.param + net->attr_law.table + (size_t)(attr + f) * X;
        const nn_real *before =
            d->run.param + net->attr_before.table + (size_t)(attr + f) * NEURAL_FIELDS;
        nn_real base = 0, moved = 0;
        for (uint32_t i = 0; i < X; i++)
            base += (table[i] + law[f * X + i]) * d->feature[i];
        for (uint32_t g = 0; g < f; g++)
            moved += before[g] * off[g];
        to[f] =
            draw_number(d, number + (size_t)f * NEURAL_NUMBER, base + moved, attr + f);
        off[f] = neural_off(to[f], base);
    }
}

static bool draw_numbers(float to[NEURAL_FIELDS], drawer *d, uint32_t item,
                         const nn_real *n)
{
    const neural_net *net = d->net;
    const uint32_t n_values = neural_n_values(net, item), op = neural_op_of(net, item);
    neural_drawn *out = d->out;
    if (!grow_drawn(out, n_values))
        return false;
    const uint32_t attr =
        net->shape.first_attr[op < net->shape.n_ops ? op : net->shape.n_ops];
    out->items[out->n_items] = item;
    out->first_value[out->n_items++] = out->n_values;
    draw_fields(to, d, attr, n_values, n);
    for (uint32_t f = 0; f < n_values; f++) {
        double value = to[f] <= NEURAL_ZERO ? 0 : exp((double)to[f]);
        if (item == NEURAL_CLOSE) {
            value = limit_times(d, value < 1 ? 1 : round(value));
            to[f] = (float)log(value);
        }
        out->values[out->n_values++] = value;
    }
    out->first_value[out->n_items] = out->n_values;
    return true;
}

/* Computes the embedding of the item just drawn, for later edges and the sum of its
 * layer. */
static bool embed_item(drawer *d, uint32_t op, const float *values, uint32_t n_values)
{
    const neural_net *net = d->net;
    nn_real input[NEURAL_INPUTS], message[W] = {0}, e[W];
    if (!array_reserve(&d->z, W) || !array_reserve(&d->key, K))
        return false;
    nn_real *z = d->z.at + d->z.n;
    neural_inputs(input, values, n_values);
    nn_embed_forward(&d->run, &net->item_op, z, &op, 1, false);
    nn_dense_forward(&d->run, &net->item_value, z, input, 1, true);
    nn_gelu_forward(z, z, W);
    for (uint32_t i = 0; i < d->n_edges; i++)
        add_embedding(message, d->z.at + (size_t)d->edge[i] * W);
    nn_dense_forward(&d->run, &net->item_self, e, z, 1, false);
    nn_dense_forward(&d->run, &net->item_message, e, message, 1, true);
    nn_gelu_forward(e, e, W);
    nn_norm_forward(&d->run, &net->item_norm, e, e, 1);
    nn_dense_forward(&d->run, &net->key, d->key.at + d->key.n, e, 1, false);
    d->z.n += W;
    d->key.n += K;
    add_embedding(d->layer, e);
    if (op < net->shape.n_ops)
        neural_slots_use(&d->slots, op, d->out->n_items - 1);
    return true;
}

static bool draw_item(drawer *d, uint32_t kind, const nn_real head[W])
{
    const neural_net *net = d->net;
    nn_real u[W], n[W];
    float values[NEURAL_FIELDS];
    uint32_t item = kind == NEURAL_STEP_OPEN ? NEURAL_OPEN : NEURAL_CLOSE, backs = 0;
    memcpy(u, head, sizeof u);
    nn_dense_forward(&d->run, &net->head_layer, u, d->layer, 1, true);
    nn_gelu_forward(u, u, W);
    uint32_t op = neural_op_of(net, item);
    if (kind >= NEURAL_STEP_ITEMS) {
        nn_dense_forward(&d->run, &net->op_score, d->op_score, u, 1, false);
        for (uint32_t i = 0; i < net->shape.n_ops; i++)
            if (d->tally.count[i] + 1 > most_of(d, i) + 0.5)
                d->op_score[i] -= 1000;
        op = nn_softmax_draw(d->op_score, net->shape.n_ops, d->opts->structure,
                             d->opts->least, d->random);
    }
    nn_dense_forward(&d->run, &net->number_item, n, u, 1, false);
    nn_embed_forward(&d->run, &net->head_op, n, &op, 1, true);
    add_embedding(n, d->number_x);
    nn_gelu_forward(n, n, W);
    d->n_edges = 0;
    if (kind >= NEURAL_STEP_ITEMS && !draw_token(&item, &backs, d, op, n))
        return false;
    if (!draw_numbers(values, d, item, n))
        return false;
    d->out->backs[d->out->n_items - 1] = backs;
    d->n_plain = kind >= NEURAL_STEP_ITEMS ? d->n_plain + 1 : 0;
    return embed_item(d, op, values, neural_n_values(net, item));
}

static bool draw_layer(drawer *d, uint32_t kind, const nn_real head[W])
{
    const uint32_t n = kind < NEURAL_STEP_ITEMS ? 1 : kind - NEURAL_STEP_ITEMS + 1;
    for (uint32_t i = 0; i < n; i++)
        if (!draw_item(d, kind, head))
            return false;
    if (kind == NEURAL_STEP_OPEN) {
        memcpy(d->opened[d->tally.depth], d->state, sizeof d->state);
        neural_tally_open(&d->tally);
    } else if (kind == NEURAL_STEP_CLOSE)
        neural_tally_close(&d->tally, d->out->values[d->out->n_values - 1]);
    else
        for (uint32_t i = d->out->n_items - n; i < d->out->n_items; i++)
            neural_tally_item(&d->tally, neural_op_of(d->net, d->out->items[i]));
    d->kind = kind;
    return true;
}

static bool draw_program(drawer *d)
{
    start_drawing(d);
    for (;;) {
        nn_real head[W];
        advance_state(d);
        const uint32_t kind = draw_kind(d, head);
        if (kind == NEURAL_STEP_END)
            return true;
        if (!draw_layer(d, kind, head))
            return false;
    }
}

halley_status neural_draw(neural_drawn *out, const neural_net *net, const nn_real *param,
                          const float feature[NEURAL_FEATURES],
                          const neural_draw_opts *opts, rng *random, halley_error *err)
{
    assert(opts->max_items > 0 && opts->range != NULL);
    drawer d = {
        .net = net, .run = {.param = param}, .opts = opts, .random = random, .out = out};
    for (uint32_t i = 0; i < X; i++)
        d.feature[i] = feature[i];
    out->n_items = out->n_values = 0;
    const size_t n_ops = net->shape.n_ops;
    d.op_score = mem_array(4 * n_ops + NEURAL_TALLY, sizeof *d.op_score);
    if (d.op_score != NULL) {
        d.total = d.op_score + n_ops;
        d.left = d.total + n_ops;
        d.tally_row = d.left + n_ops;
    }
    const bool ok = d.op_score != NULL && neural_tally_init(&d.tally, net->shape.n_ops) &&
                    draw_program(&d);
    free(d.op_score);
    neural_tally_fini(&d.tally);
    array_fini(&d.z);
    array_fini(&d.key);
    array_fini(&d.token_score);
    return ok ? HALLEY_OK : error_nomem(err);
}
