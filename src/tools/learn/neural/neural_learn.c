/*
 * Trains a network on recorded programs. Standardizes the features of their conditions,
 * finds the ranges of their numbers, and fits laws by least squares as a starting point.
 */
#include "learn/neural/neural_pass.h"
#include "learn/neural/neural_record.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { HELD_OUT_EVERY = 16, MIN_PROGRAMS = 8 };

/* The data of training in addition to the recorder. */
typedef struct job {
    const neural_recorder *r;
    synth_model *m;
    const synth_model *from;
    neural_model n;
    arena memory;
    neural_program *programs;
    uint32_t n_programs, n_held_out, max_items;
    double max_nodes;
    neural_tally tally;
} job;

/* Translates all programs. Those of one in HELD_OUT_EVERY sets are held out and placed
 * at the end. */
static halley_status translate_all(job *j, halley_error *err)
{
    const neural_recorder *r = j->r;
    neural_terms terms;
    TRY(neural_terms_make(&terms, &j->n, j->m, j->from, &j->memory, err));
    j->programs = arena_array(&j->memory, r->list.n + 1, sizeof *j->programs);
    if (j->programs == NULL)
        return error_nomem(err);
    for (int held_out = 0; held_out < 2; held_out++)
        for (size_t i = 0; i < r->list.n; i++) {
            const neural_recorded *p = &r->list.at[i];
            if ((p->set % HELD_OUT_EVERY == HELD_OUT_EVERY / 2) != (held_out == 1))
                continue;
            neural_program *to = &j->programs[j->n_programs];
            uint32_t n_left_out = 0;
            TRY(neural_translate(to, &n_left_out, &terms, p, err));
            j->max_items = to->n_items > j->max_items ? to->n_items : j->max_items;
            j->n_programs += to->n_items > 0;
            j->n_held_out += held_out == 1 && to->n_items > 0;
        }
    if (j->n_programs - j->n_held_out < MIN_PROGRAMS)
        return error_set(
            err, HALLEY_EINVAL,
            "a network needs %d programs of ranks to learn from, here are %u",
            MIN_PROGRAMS, j->n_programs - j->n_held_out);
    return HALLEY_OK;
}

/* Standardizes features to mean 0 and deviation 1. The constant stays. Features that
 * never vary become 0. */
static void rescale_features(job *j, model_net *head)
{
    assert(head != NULL);
    const double n = j->n_programs;
    for (uint32_t x = 0; x < NEURAL_FEATURES; x++) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < j->n_programs; i++)
            sum += (double)j->programs[i].feature[x];
        for (uint32_t i = 0; i < j->n_programs; i++) {
            const double off = (double)j->programs[i].feature[x] - sum / n;
            squares += off * off;
        }
        head->mean[x] = x == FEATURE_ONE ? 0 : (float)(sum / n);
        head->scale[x] = squares > 1e-6 * n ? (float)(1 / sqrt(squares / n)) : 0;
    }
    head->scale[FEATURE_ONE] = 1;
    for (uint32_t i = 0; i < j->n_programs; i++)
        neural_rescale(j->programs[i].feature, head);
}

/* Extends the ranges to the numbers of a program. Ends are rounded outwards to 1/8, so
 * that the exact extremes of a set are not stored. */
static void widen_range(job *j, model_range *ranges, const neural_program *p)
{
    assert(p->n_items > 0);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t op = neural_op_of(&j->n.net, p->items[i]);
        const uint32_t n_ops = j->n.net.shape.n_ops;
        model_range *to = ranges + j->n.net.shape.first_attr[op < n_ops ? op : n_ops];
        const uint32_t n = neural_n_values(&j->n.net, p->items[i]);
        for (uint32_t f = 0; f < n; f++) {
            const float y = p->values[p->first_value[i] + f];
            if (y <= NEURAL_ZERO || y >= NEURAL_UNKNOWN)
                continue;
            to[f].low = fminf(to[f].low, floorf(y * 8) / 8);
            to[f].high = fmaxf(to[f].high, ceilf(y * 8) / 8);
        }
    }
}

static halley_status find_ranges(job *j, halley_error *err)
{
    synth_model *m = j->m;
    const size_t n = neural_n_ranges(&j->n.net);
    if (!array_reserve(&m->net_ranges, n))
        return error_nomem(err);
    m->net_ranges.n = n;
    for (size_t i = 0; i < n; i++)
        m->net_ranges.at[i] = (model_range){99, -99};
    for (uint32_t i = 0; i < j->n_programs; i++)
        widen_range(j, m->net_ranges.at, &j->programs[i]);
    for (size_t i = 0; i < n; i++)
        if (m->net_ranges.at[i].low > m->net_ranges.at[i].high)
            m->net_ranges.at[i] = (model_range){0, 0};
    return HALLEY_OK;
}

static law_point point_of(const neural_program *p)
{
    law_point point = {0};
    for (uint32_t x = 0; x < MODEL_FEATURES; x++)
        law_point_add(&point, x, (double)p->feature[x]);
    return point;
}

/* Adds the numbers of a program to the sums of their laws. */
static void sum_item_numbers(job *j, model_sum *sums, const neural_program *p)
{
    const law_point point = point_of(p);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const uint32_t op = neural_op_of(&j->n.net, p->items[i]);
        if (op >= j->n.net.shape.n_ops) /* counts depend mostly on the loop */
            continue;
        const uint32_t n = neural_n_values(&j->n.net, p->items[i]);
        for (uint32_t f = 0; f < n; f++) {
            const float y = p->values[p->first_value[i] + f];
            model_sum *sum = &sums[j->n.net.shape.first_attr[op] + f];
            if (y > NEURAL_ZERO && y < NEURAL_UNKNOWN)
                law_sum_add(sum, &point, (double)y);
            else
                sum->zeros += y <= NEURAL_ZERO;
        }
    }
}

/* Tallies a program with its loops expanded. Returns its total microseconds. */
static double run_through(job *j, const neural_program *p)
{
    neural_tally *t = &j->tally;
    double us[NEURAL_DEPTH + 1] = {0};
    neural_tally_clear(t);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const float *values = p->values + p->first_value[i];
        if (p->items[i] == NEURAL_OPEN) {
            neural_tally_open(t);
            us[t->depth] = 0;
        } else if (p->items[i] == NEURAL_CLOSE) {
            const double times = exp((double)values[0]);
            neural_tally_close(t, times);
            us[t->depth] += us[t->depth + 1] * times;
        } else {
            neural_tally_item(t, neural_op_of(&j->n.net, p->items[i]));
            if (neural_n_values(&j->n.net, p->items[i]) > 0 && values[0] < NEURAL_UNKNOWN)
                us[t->depth] += exp((double)values[0]);
        }
    }
    return us[0];
}

/* Adds the totals of a program to the sums of their laws. Updates the largest values in
 * `seen`. */
static void add_totals(job *j, model_sum *sums, model_range *seen,
                       const neural_program *p)
{
    const law_point point = point_of(p);
    const double us = run_through(j, p);
    const neural_tally *t = &j->tally;
    double nodes = 0;
    for (uint32_t i = 0; i < t->n_ops + NEURAL_TOTALS; i++) {
        double total = i < t->n_ops ? t->count[i] : us;
        nodes += i < t->n_ops ? total : 0;
        if (i == t->n_ops + NEURAL_TOTAL_NODES)
            total = nodes;
        if (total <= 0)
            continue;
        law_sum_add(&sums[i], &point, log1p(total));
        seen[i].high = fmaxf(seen[i].high, ceilf(8 * (float)log1p(total)) / 8);
    }
    j->max_nodes = fmax(j->max_nodes, nodes);
}

/* Fits a law by least squares. Returns its spread. */
static float fit_row(float *to, const model_sum *sum)
{
    model_law law = {0};
    if (sum->n < MIN_PROGRAMS)
        return 1;
    law_fit(&law, sum);
    for (uint32_t x = 0; x < MODEL_FEATURES; x++)
        to[x] = (float)law.coefficient[x];
    return law.spread;
}

/* Fits the laws of totals, from which the network sees what is left to do. */
static halley_status find_totals(job *j, halley_error *err)
{
    neural_net *net = &j->n.net;
    synth_model *m = j->m;
    const uint32_t n = net->shape.n_ops + NEURAL_TOTALS;
    model_range *seen = m->net_ranges.at + (m->net_ranges.n - n);
    model_sum *sums = mem_array_zero(n, sizeof *sums);
    float *laws = m->net.at + net->layout.n;
    const bool ok = sums != NULL && neural_tally_init(&j->tally, net->shape.n_ops);
    for (uint32_t i = 0; ok && i + j->n_held_out < j->n_programs; i++)
        add_totals(j, sums, seen, &j->programs[i]);
    memset(laws, 0, neural_n_totals(net) * sizeof *laws);
    for (uint32_t i = 0; ok && i < n; i++)
        seen[i].low = fit_row(laws + (size_t)i * NEURAL_FEATURES, &sums[i]);
    net->shape.total_law = laws;
    neural_tally_fini(&j->tally);
    free(sums);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Initializes the numbers of the network with laws, their spread and their share of
 * zeros. Training then learns the deviations from them. */
static halley_status start_from_laws(job *j, nn_real *param, halley_error *err)
{
    const neural_net *net = &j->n.net;
    const uint32_t n = net->shape.first_attr[net->shape.n_ops];
    model_sum *sums = mem_array_zero((size_t)n + 1, sizeof *sums);
    if (sums == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i + j->n_held_out < j->n_programs; i++)
        sum_item_numbers(j, sums, &j->programs[i]);
    for (uint32_t i = 0; i < n; i++) {
        nn_real *score = param + net->attr_score.table + (size_t)i * NEURAL_NUMBER;
        nn_real *law = param + net->attr_law.table + (size_t)i * NEURAL_FEATURES;
        const float spread = fit_row(law, &sums[i]);
        score[NN_MIX_WIDTH] = (nn_real)log((sums[i].zeros + 0.01) / (sums[i].n + 0.01));
        for (uint32_t k = 0; k < NN_MIX_PARTS; k++)
            score[2 * NN_MIX_PARTS + k] = (nn_real)log((double)spread / 2 + 0.01);
    }
    free(sums);
    return HALLEY_OK;
}

/* Initializes how often operators have explicit edges. */
static halley_status start_from_edges(job *j, nn_real *param, halley_error *err)
{
    const neural_net *net = &j->n.net;
    double *count = mem_array_zero(2 * (size_t)net->shape.n_ops, sizeof *count);
    if (count == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i + j->n_held_out < j->n_programs; i++)
        for (uint32_t k = 0; k < j->programs[i].n_items; k++) {
            const uint32_t item = j->programs[i].items[k], op = neural_op_of(net, item);
            if (op < net->shape.n_ops)
                count[2 * op + (item >= NEURAL_FREE)]++;
        }
    for (uint32_t i = 0; i < net->shape.n_ops; i++)
        param[net->free_bias.table + i] = (nn_real)log((count[2 * (size_t)i + 1] + 0.01) /
                                                       (count[2 * (size_t)i] + 0.01));
    free(count);
    return HALLEY_OK;
}

static halley_status train_on_recorded(job *j, neural_report *report,
                                       const neural_train_opts *opts, halley_error *err)
{
    synth_model *m = j->m;
    model_net head = {.version = MODEL_NET_VERSION};
    TRY(translate_all(j, err));
    rescale_features(j, &head);
    const size_t n = j->n.net.layout.n + neural_n_totals(&j->n.net);
    if (!array_reserve(&m->net, n))
        return error_nomem(err);
    TRY(find_ranges(j, err));
    TRY(find_totals(j, err));
    head.max_items = j->max_items + j->max_items / 4;
    head.max_nodes = (uint32_t)fmin(1.25 * j->max_nodes + 16, 4e9);
    neural_net_init(&j->n.net, m->net.at, opts->seed);
    TRY(start_from_laws(j, m->net.at, err));
    TRY(start_from_edges(j, m->net.at, err));
    TRY(neural_train(m->net.at, report, &j->n.net, j->programs, j->n_programs,
                     j->n_held_out, opts, err));
    m->net.n = n;
    return array_push(&m->net_head, head) ? HALLEY_OK : error_nomem(err);
}

halley_status neural_learn(synth_model *m, neural_outcome *out, const neural_recorder *r,
                           const synth_model *from, const neural_train_opts *opts,
                           halley_error *err)
{
    assert(r != NULL && from != NULL);
    job j = {.r = r, .m = m, .from = from};
    neural_report report = {0};
    TRY(neural_model_make(&j.n, m, err));
    const halley_status status = train_on_recorded(&j, &report, opts, err);
    if (status == HALLEY_OK)
        *out = (neural_outcome){.loss = neural_loss_per_item(&report.held_out),
                                .op_loss =
                                    report.held_out.op / (double)report.held_out.n_items,
                                .best_step = report.best_step,
                                .n_resumed = report.n_resumed};
    neural_model_fini(&j.n);
    arena_fini(&j.memory);
    return status;
}
