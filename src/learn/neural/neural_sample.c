/*
 * A set's stages from the network: the first, the second (which represents all in the
 * middle) and the last are drawn, loops are run as often as they say, and each node is
 * placed where its numbers say its group or peer is. Of several programs the one is
 * taken that is about as long, in nodes and in time, as the laws of the conditions say: a
 * wrong turn early on shows there. What does not fit together is for sample_match to
 * leave out.
 */
#include "learn/neural/neural_model.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>

/* Programs have hundreds of items, of which one that does not belong there spoils what
 * follows, so what is this much less likely than the likeliest is not drawn. All else is
 * drawn as it was learned: a lower temperature makes the usual more usual, and numbers,
 * whose means are made by the large ones, too small. */
#define LEAST 0.05
/* Programs drawn for a stage at most; how far off the laws of length and time is near
 * enough, in what is usual; and what is usual at least (of logarithms). */
enum { N_DRAFTS = 8 };
#define CLOSE 0.5
#define USUAL 0.05

static bool add_drawn_node(sample_set *s, sample_stage *stage, uint32_t token,
                           uint32_t op_id, const double *values, uint32_t n_values)
{
    assert(op_id < s->m->ops.n);
    const model_op *op = &s->m->ops.at[op_id];
    sample_node node = {.token = token,
                        .op = op_id,
                        .first_value = (uint32_t)stage->values.n,
                        .where = MODEL_NONE};
    if (!array_reserve(&stage->values, op->n_fields + 1))
        return false;
    for (uint32_t f = 0; f < op->n_fields; f++)
        stage->values.at[stage->values.n++] = f < n_values ? values[f] : 0;
    const double *place = values + op->n_fields;
    const bool has_group =
        op->type == HALLEY_NODE_COLL && (op->flags & MODEL_OP_GROUP) != 0;
    const bool is_message = op->type == HALLEY_NODE_SEND || op->type == HALLEY_NODE_RECV;
    if (has_group && n_values >= op->n_fields + 2 &&
        !sample_place_group(s, &node, place[0], place[1]))
        return false;
    if (is_message)
        sample_place_peer(s, &node, n_values > op->n_fields ? place[0] : 1);
    return array_push(&stage->nodes, node);
}

/* The edges of free items as tokens of the set's own, whose numbers take their place. */
static bool add_tokens(sample_set *s, const neural_drawn *d)
{
    for (uint32_t i = 0; i < d->n_items; i++) {
        if (d->items[i] == NEURAL_OPEN || d->items[i] == NEURAL_CLOSE ||
            d->items[i] < NEURAL_FREE)
            continue;
        model_token t = {.op = d->items[i] - NEURAL_FREE,
                         .first_ref = (uint32_t)s->refs.n};
        for (uint32_t n = 1; n <= NEURAL_BACK; n++)
            if ((d->backs[i] >> (n - 1) & 1) != 0) {
                const model_ref ref = {
                    .kind = REF_BACK, .n = (uint16_t)n, .op = MODEL_NONE};
                if (!array_push(&s->refs, ref))
                    return false;
                t.n_refs++;
            }
        d->backs[i] = (uint32_t)(s->m->tokens.n + s->tokens.n);
        if (!array_push(&s->tokens, t))
            return false;
    }
    return true;
}

static_assert(sizeof(neural_range) == sizeof(model_range), "ranges are lent as they are");

typedef struct open_loop {
    uint32_t first; /* the opening */
    double done;
} open_loop;

/* A program that would be longer than any seen loops no more. */
static halley_status expand_drawn(sample_set *s, sample_stage *stage,
                                  const neural_model *n, const neural_drawn *d,
                                  halley_error *err)
{
    const uint32_t seen = s->m->net_head.at[0].max_nodes;
    const uint32_t most = s->max_nodes > 0 && s->max_nodes < seen ? s->max_nodes : seen;
    open_loop stack[NEURAL_DEPTH] = {{0}};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < d->n_items; i++) {
        const uint32_t item = d->items[i];
        const double *values = d->values + d->first_value[i];
        if (item == NEURAL_OPEN)
            stack[depth++] = (open_loop){i, 0};
        else if (item == NEURAL_CLOSE) {
            if (++stack[depth - 1].done < values[0] && stage->nodes.n < most)
                i = stack[depth - 1].first;
            else
                depth--;
        } else if (!add_drawn_node(s, stage,
                                   item < NEURAL_FREE ? n->token[item] : d->backs[i],
                                   neural_op_of(&n->net, item), values,
                                   d->first_value[i + 1] - d->first_value[i]))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* The microseconds of a program, its loops run as they say. */
static double time_of(const neural_drawn *d, const neural_model *n, const synth_model *m)
{
    double us[NEURAL_DEPTH + 1] = {0};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < d->n_items; i++) {
        const double *values = d->values + d->first_value[i];
        if (d->items[i] == NEURAL_OPEN)
            us[++depth] = 0;
        else if (d->items[i] == NEURAL_CLOSE) {
            depth--;
            us[depth] += us[depth + 1] * values[0];
        } else if (m->ops.at[neural_op_of(&n->net, d->items[i])].n_fields > 0)
            us[depth] += values[0];
    }
    return us[0];
}

/* How far a total is off its law, in what is usual. */
static double off_law(const sample_set *s, const neural_model *n, uint32_t total,
                      double value, const float *feature)
{
    assert(total < NEURAL_TOTALS);
    const uint32_t row = n->net.shape.n_ops + total;
    const float *law = n->net.shape.total_law + (size_t)row * NEURAL_FEATURES;
    const size_t first = s->m->net_ranges.n - n->net.shape.n_ops - NEURAL_TOTALS;
    const double usual = (double)s->m->net_ranges.at[first + row].low;
    double off = log1p(value);
    for (uint32_t x = 0; x < NEURAL_FEATURES; x++)
        off -= (double)(law[x] * feature[x]);
    return off / (fabs(usual) + USUAL);
}

/* What the programs of a set are drawn with. */
typedef struct draft {
    const neural_model *n;
    neural_draw_opts opts;
    uint64_t seed; /* of the set: stages that are alike in all become alike */
} draft;

/* Of some programs the one whose length and time are likeliest by their laws. */
static halley_status draw_best(neural_drawn *best, const sample_set *s, const draft *how,
                               uint32_t stage, halley_error *err)
{
    assert(stage < s->outline.n_stages);
    law_point p;
    float feature[NEURAL_FEATURES];
    double least = INFINITY;
    neural_drawn next = {0};
    halley_status status = HALLEY_OK;
    conditions_point(&p, s->m, &s->outline.conditions, stage, s->outline.n_stages);
    neural_features(feature, &p, conditions_family(&s->outline.conditions), s->m);
    neural_rescale(feature, &s->m->net_head.at[0]);
    for (uint32_t i = 0; status == HALLEY_OK && i < N_DRAFTS; i++) {
        rng random = rng_seed(how->seed + i);
        status = neural_draw(&next, &how->n->net, s->m->net.at, feature, &how->opts,
                             &random, err);
        if (status != HALLEY_OK)
            continue;
        const double length =
            off_law(s, how->n, NEURAL_TOTAL_NODES, neural_drawn_length(&next), feature);
        const double time =
            off_law(s, how->n, NEURAL_TOTAL_TIME, time_of(&next, how->n, s->m), feature);
        const double off = hypot(length, time);
        if (i > 0 && !(off < least))
            continue;
        const neural_drawn keep = *best;
        *best = next;
        next = keep;
        least = off;
        if (off < CLOSE)
            break;
    }
    neural_drawn_fini(&next);
    return status;
}

halley_status neural_sample(sample_set *s, const neural_model *n, halley_error *err)
{
    assert(n != NULL);
    const uint32_t n_stages = s->outline.n_stages;
    const draft how = {.n = n,
                       .opts = {.structure = 1,
                                .numbers = 1,
                                .least = LEAST,
                                .max_items = s->m->net_head.at[0].max_items,
                                .range = (const void *)s->m->net_ranges.at,
                                .beyond = s->extrapolate ? 0.5F : 0},
                       .seed = rng_u64(&s->random)};
    neural_drawn d = {0};
    s->in_order = true;
    halley_status status = sample_stages(s, err);
    for (uint32_t k = 0; status == HALLEY_OK && k < n_stages; k++) {
        if (k < 2 || k + 1 == n_stages) {
            status = draw_best(&d, s, &how, k, err);
            if (status == HALLEY_OK && !add_tokens(s, &d))
                status = error_nomem(err);
        }
        if (status == HALLEY_OK)
            status = expand_drawn(s, &s->stages.at[k], n, &d, err);
    }
    neural_drawn_fini(&d);
    return status;
}
