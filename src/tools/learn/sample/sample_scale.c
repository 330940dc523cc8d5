/*
 * Scales the sums over a set. Sums that the user asks for are reached by scaling all
 * numbers they consist of. Sums that a law of whole sets predicts are reached in the
 * same way. For every set, this applies to the bytes sent if the spread of the law is at
 * most 1 %. If no template fits the set, its programs are those of the nearest template.
 * Then operations, time and bytes are all scaled, as far as their laws are more accurate
 * than these programs.
 */
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>

/* The largest spread (standard deviation of the logarithm) of a law that is used. */
#define SURE_SPREAD 0.3
#define EXACT_SPREAD 0.01

/* Multiplies a field of all nodes by a factor. Returns its sum over all ranks. */
static double scale_field(sample_set *s, str name, double factor)
{
    assert(factor > 0 && name.n > 0);
    double sum = 0;
    for (size_t k = 0; k < s->stages.n; k++) {
        sample_stage *stage = &s->stages.at[k];
        for (size_t i = 0; i < stage->nodes.n; i++) {
            const sample_node *node = &stage->nodes.at[i];
            const model_op *op = &s->m->ops.at[node->op];
            for (uint32_t f = 1; f < op->n_fields; f++) {
                const model_field *field = &s->m->fields.at[op->first_field + f];
                if (!str_eq(synth_text(s->m, field->name), name))
                    continue;
                double *value = &stage->values.at[node->first_value + f];
                *value *= factor;
                sum += *value * s->block;
            }
        }
    }
    return sum;
}

static void scale_compute(sample_set *s, double factor)
{
    assert(factor > 0);
    (void)scale_field(s, STR("num_ops"), factor);
    (void)scale_field(s, STR("tensor_size"), factor);
    (void)scale_field(s, STR("duration_ns"), factor);
    for (size_t k = 0; k < s->stages.n; k++)
        for (size_t i = 0; i < s->stages.at[k].nodes.n; i++) {
            const sample_node *node = &s->stages.at[k].nodes.at[i];
            const model_op *op = &s->m->ops.at[node->op];
            if (op->n_fields > 0 && op->type == HALLEY_NODE_COMP)
                s->stages.at[k].values.at[node->first_value] *= factor;
        }
}

/* Traces hold 63-bit numbers. */
static halley_status check_sampled_size(const sample_set *s, const char *total,
                                        halley_error *err)
{
    for (size_t k = 0; k < s->stages.n; k++)
        for (size_t i = 0; i < s->stages.at[k].values.n; i++)
            if (!(s->stages.at[k].values.at[i] < 0x1p63))
                return error_set(err, HALLEY_ELIMIT,
                                 "with that many %s a number of a node is 2^63 or more, "
                                 "which no trace can hold: ask for fewer",
                                 total);
    return HALLEY_OK;
}

halley_status sample_scale_totals(sample_set *s, const sample_wish *wish,
                                  halley_error *err)
{
    const double compute = scale_field(s, STR("num_ops"), 1);
    if (wish->compute > 0 && compute > 0) {
        scale_compute(s, wish->compute / compute);
        TRY(check_sampled_size(s, "operations (compute)", err));
    }
    const double bytes = scale_field(s, STR("comm_size"), 1);
    if (wish->bytes > 0 && bytes > 0) {
        (void)scale_field(s, STR("comm_size"), wish->bytes / bytes);
        TRY(check_sampled_size(s, "bytes", err));
    }
    return HALLEY_OK;
}

/* The factor by which the sum of a number over all ranks becomes the one predicted for
 * these conditions. 1: no law is accurate enough. */
static double find_factor(sample_set *s, uint32_t field, double made, double most_spread)
{
    assert(made >= 0);
    double spread;
    const double wanted = s->outline.n_ranks *
                          sample_set_value(s->m, &s->outline.conditions, field, &spread);
    if (spread > most_spread || !(made > 0) || !(wanted > 1))
        return 1;
    assert(most_spread > 0);
    return wanted * exp(spread * rng_normal(&s->random)) / made;
}

/* Multiplies all durations, which are the first number of a node, in microseconds.
 * Returns their sum. */
static double sum_durations(sample_set *s, double factor)
{
    assert(factor > 0);
    double sum = 0;
    for (size_t k = 0; k < s->stages.n; k++)
        for (size_t i = 0; i < s->stages.at[k].nodes.n; i++) {
            const sample_node *const node = &s->stages.at[k].nodes.at[i];
            if (s->m->ops.at[node->op].n_fields == 0)
                continue;
            s->stages.at[k].values.at[node->first_value] *= factor;
            sum += s->stages.at[k].values.at[node->first_value] * s->block;
        }
    return sum;
}

static void fit_work(sample_set *s)
{
    const double work =
        find_factor(s, FIELD_OPERATIONS, scale_field(s, STR("num_ops"), 1), SURE_SPREAD);
    (void)scale_field(s, STR("num_ops"), work);
    (void)scale_field(s, STR("tensor_size"), work);
    const double time = find_factor(s, FIELD_TIME, sum_durations(s, 1), SURE_SPREAD);
    (void)sum_durations(s, time);
    (void)scale_field(s, STR("duration_ns"), time);
}

void sample_fit_totals(sample_set *s)
{
    const bool scaled = s->outline.is_scaled;
    if (scaled)
        fit_work(s);
    /* If sets without conditions were learned, the sizes follow from the programs. */
    if (s->outline.n_ranks == 1 || (!scaled && s->m->head.at[0].n_bare > 0))
        return;
    const double bytes = find_factor(s, FIELD_BYTES, scale_field(s, STR("comm_size"), 1),
                                     scaled ? SURE_SPREAD : EXACT_SPREAD);
    if (bytes != 1)
        (void)scale_field(s, STR("comm_size"), bytes);
}
