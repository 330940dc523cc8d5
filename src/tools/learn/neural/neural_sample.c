/*
 * Makes the stages of a set with the network. The first, the second (which represents
 * all middle stages) and the last are drawn. Loops are expanded, and each node gets the
 * group or peer that its numbers describe. Several programs are drawn per stage. The one
 * closest to the laws of the conditions in number of nodes and time is chosen, because
 * an early mistake shows there. sample_match drops what does not fit.
 */
#include "learn/neural/neural_model.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>

/* Programs have hundreds of items, and one wrong item spoils all that follow. So choices
 * that are less likely than the best by this factor are not drawn. The temperature stays
 * 1. A lower one would make common choices even more common. It would also make numbers
 * too small, since large values dominate their means. */
#define LEAST 0.05
/* The maximum number of programs drawn per stage. CLOSE is the distance from the laws of
 * length and time, in standard deviations, at which drawing stops. USUAL is added to the
 * deviation of a law (of logarithms). */
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

/* Adds the edges of free items as tokens of this set, and replaces the items by these
 * tokens. */
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
    uint32_t first; /* item that opens the loop */
    double done;
} open_loop;

/* Expands a program. Its loops stop when it becomes longer than any program seen. */
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

/* The total microseconds of a program, with loops expanded. */
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

/* The deviation of a total from its law, in standard deviations. */
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

/* How the programs of a set are drawn. */
typedef struct draft {
    const neural_model *n;
    neural_draw_opts opts;
    uint64_t seed; /* of the set: stages with equal conditions get equal programs */
} draft;

/* Draws several programs, and keeps the one whose length and time are most likely by
 * their laws. */
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
