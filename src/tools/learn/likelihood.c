/*
 * The likelihood of a set under a model. A learner reads the set. It starts from the
 * model, with all sums at zero. So what the set adds to the sum of a law is what that
 * law has to explain. What the set appends to the model's tables is unknown to the
 * model. The log-likelihood has these parts:
 *
 *   1. Laws that the set has numbers for: the mean squared residual under a normal
 *      distribution with the law's spread. Outside the range of the law, or where the law
 *      is always zero, the minimum density is used. The deviations of nodes from their
 *      mean count by the mean logarithm of the law's histogram.
 *   2. Programs: loop counts under the spread of their laws; skeletons and tokens that
 *      the model lacks.
 *   3. Conditions: each given those before it (joint.c); the template's share of the
 *      sets; the shares of the values within the template. Numbers that the model merged
 *      count under a normal distribution around their mean.
 *
 * The score uses every number of the model that depends on single sets, even where
 * sampling would prefer a more general law. It is what an attacker would compute. Nodes
 * of a set are correlated, so each law counts once per set, not once per node. What the
 * model does not know costs a constant; this differs most between sets whose rare parts
 * were kept and sets whose were not. Every density has the same floor, so that one
 * unusual number does not dominate.
 */
#include "learn/likelihood.h"

#include "learn/learn_set.h"
#include "learn/model/joint.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The probability of an arbitrary number, spread evenly over a range of e^40; the
 * smallest standard deviation. */
#define ODD 1e-3
#define RANGE 40.0
#define FINEST 1e-3
/* The log-likelihood of a program, token, template or place that the model does not
 * know. */
#define UNKNOWN (-7.0)

struct synth_scorer {
    char *path;
    synth_model m; /* as in the file */
    learner l; /* starts as a copy; entries beyond the sizes of m come from scored sets */
};

/* Indexes the kept skeletons and templates, and their loop bodies, so that programs fold
 * as before. */
static halley_status know_programs(synth_model *m, halley_error *err)
{
    assert(m->head.n == 1);
    map64_fini(&m->skeleton_of);
    map64_fini(&m->template_of);
    bool ok = synth_know_bodies(m);
    for (uint32_t i = 0; ok && i < m->skeletons.n; i++)
        ok = map64_set(&m->skeleton_of,
                       learner_symbols_key(m->symbols.at + m->skeletons.at[i].first,
                                           m->skeletons.at[i].n),
                       i);
    for (uint32_t i = 0; ok && i < m->templates.n; i++)
        ok = map64_set(&m->template_of,
                       learner_template_key(m->parts.at + m->templates.at[i].first,
                                            m->templates.at[i].n),
                       i);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Makes room for the sums and sets them to zero. */
static halley_status zero_sums(synth_model *m, halley_error *err)
{
    if (!array_reserve(&m->sums, m->laws.n) || !array_reserve(&m->loop_sums, m->loops.n))
        return error_nomem(err);
    m->sums.n = m->laws.n;
    m->loop_sums.n = m->loops.n;
    if (m->sums.n > 0)
        memset(m->sums.at, 0, m->sums.n * sizeof *m->sums.at);
    if (m->loop_sums.n > 0)
        memset(m->loop_sums.at, 0, m->loop_sums.n * sizeof *m->loop_sums.at);
    assert(m->sums.n == m->laws.n && m->loop_sums.n == m->loops.n);
    return HALLEY_OK;
}

static halley_status start_learner(synth_scorer *s, halley_error *err)
{
    learner_fini(&s->l);
    s->l = (learner){0};
    TRY(synth_model_load(&s->l.m, s->path, err));
    s->l.reader.m = &s->l.m;
    TRY(know_programs(&s->l.m, err));
    for (uint32_t i = 0; i < s->m.sides.n; i++)
        if (!map64_set(&s->l.side_of, learner_side_key(&s->m.sides.at[i]), i))
            return error_nomem(err);
    return zero_sums(&s->l.m, err);
}

halley_status synth_scorer_load(synth_scorer **out, const char *path, halley_error *err)
{
    assert(path != NULL);
    synth_scorer *s = mem_array_zero(1, sizeof *s);
    if (!s)
        return error_nomem(err);
    s->path = strdup(path);
    halley_status status =
        s->path ? synth_model_load(&s->m, path, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = start_learner(s, err);
    if (status == HALLEY_OK)
        *out = s;
    else
        synth_scorer_free(s);
    return status;
}

void synth_scorer_free(synth_scorer *s)
{
    if (!s)
        return;
    learner_fini(&s->l);
    synth_model_fini(&s->m);
    free(s->path);
    free(s);
}

/* The log-density of a mean squared deviation under a normal distribution, with a
 * floor. */
static double log_normal(double square, double spread)
{
    assert(square >= 0 && spread >= 0);
    const double sigma = fmax(spread, FINEST);
    const double density =
        exp(-0.5 * square / (sigma * sigma)) / (sigma * sqrt(2 * 3.141592653589793));
    return log((1 - ODD) * density + ODD / RANGE);
}

static double log_share(double n, double of)
{
    return log((n + 0.5) / (of + 1));
}

/* The log-likelihood of the nodes' deviations from their mean. */
static double log_within(const model_law *law, const model_sum *s)
{
    double sum = 0;
    if (s->n_within == 0)
        return 0;
    for (uint32_t b = 0; b < MODEL_BUCKETS; b++)
        if (s->hist[b] > 0)
            sum += s->hist[b] *
                   log((1 - ODD) * (double)law->hist[b] / MODEL_WIDTH + ODD / RANGE);
    return sum / s->n_within;
}

/* The log-likelihood of all nodes under a plain law. */
static double log_plain(const model_law *law, const model_sum *s)
{
    double sum = 0, n = 0;
    for (uint32_t b = 0; b < MODEL_CIRCLE; b++) {
        const double share = (double)law->hist[law_plain_bucket(law, b)];
        if (s->circle[b] > 0)
            sum += s->circle[b] * log((1 - ODD) * share / MODEL_WIDTH + ODD / RANGE);
        n += s->circle[b];
    }
    return n > 0 ? sum / n : 0;
}

static double log_law(const model_law *law, const model_sum *s)
{
    const double n = s->n + s->zeros;
    double sum = 0;
    if (s->zeros > 0)
        sum += s->zeros / n * log(fmax((double)law->zero, ODD));
    if (s->n == 0)
        return sum;
    if (law->plain != 0)
        return sum + s->n / n * log(fmax(1 - (double)law->zero, ODD)) + log_plain(law, s);
    const double mean = s->xy[FEATURE_ONE] / s->n;
    const bool outside =
        law->zero >= 1 || (law->low < law->high && (mean < (double)law->low - FINEST ||
                                                    mean > (double)law->high + FINEST));
    const double left =
        law_left_over(law->coefficient, s->xx, s->xy, s->yy) / fmax(s->n, 1);
    sum += s->n / n *
           (outside ? log(ODD / RANGE)
                    : log(fmax(1 - (double)law->zero, ODD)) +
                          log_normal(left, (double)law->spread));
    return sum + log_within(law, s);
}

static double log_values(const synth_scorer *s, uint32_t set)
{
    assert(set > 0);
    const synth_model *const now = &s->l.m;
    double sum = 0;
    for (size_t i = 0; i < now->laws.n; i++) {
        if (now->laws.at[i].last_set != set)
            continue;
        sum += i < s->m.laws.n ? log_law(&s->m.laws.at[i], &now->sums.at[i]) : UNKNOWN;
    }
    return sum / LAW_LEVELS;
}

static double log_loops(const synth_scorer *s, uint32_t set)
{
    assert(set > 0);
    const synth_model *const now = &s->l.m;
    double sum = 0;
    for (size_t i = 0; i < now->loops.n; i++) {
        if (now->loops.at[i].last_set != set)
            continue;
        if (i >= s->m.loops.n) {
            sum += UNKNOWN;
            continue;
        }
        const model_loop *const loop = &s->m.loops.at[i];
        const model_loop_sum *const at = &now->loop_sums.at[i];
        if (loop->exact.is_found) {
            sum += log_normal(law_exact_left(&loop->exact, &at->samples), 0);
            continue;
        }
        const double left =
            law_left_over(loop->coefficient, at->xx, at->xy, at->yy) / at->n;
        sum += log_normal(left, (double)loop->error * at->n / fmax(at->total, 1));
    }
    return sum;
}

/* The log-likelihood of the side nodes that the set's programs have or lack. */
static double log_sides(const synth_scorer *s, uint32_t set)
{
    assert(set > 0);
    const synth_model *const now = &s->l.m;
    double sum = UNKNOWN * (double)(now->sides.n - s->m.sides.n);
    for (size_t i = 0; i < s->m.sides.n; i++) {
        const model_side *const side = &s->m.sides.at[i];
        const uint32_t of = synth_side_sets(&s->m, side);
        const uint32_t waiter = synth_side_waiter(&s->m, side->token)->op;
        const uint32_t last = side->skeleton == MODEL_NONE
                                  ? now->ops.at[waiter].last_set
                                  : now->skeletons.at[side->skeleton].last_set;
        const bool is_there = now->sides.at[i].last_set == set;
        if (last == set)
            sum += log_share(is_there ? side->n_sets : of - side->n_sets, of);
    }
    return sum;
}

static double log_program(const synth_scorer *s, uint32_t set)
{
    assert(set > 0);
    const synth_model *const now = &s->l.m;
    double n_unknown = 0;
    for (size_t i = s->m.skeletons.n; i < now->skeletons.n; i++)
        n_unknown += now->skeletons.at[i].last_set == set;
    for (size_t i = s->m.tokens.n; i < now->tokens.n; i++)
        n_unknown += now->tokens.at[i].last_set == set;
    return UNKNOWN * n_unknown + log_loops(s, set) + log_sides(s, set);
}

/* The log-likelihood of a number given the stored value of the condition. */
static double log_number(const model_condition *of, const model_value *v, double number)
{
    if (number < of->low || number > of->high)
        return log(ODD / RANGE);
    if (v->number == number && v->spread == 0)
        return 0;
    const double off = log(number + 0.5) - log(v->number + 0.5);
    return log_normal(off * off, v->spread);
}

/* The template that the set was counted for. NULL: the model does not know it. */
static const model_template *find_scored_template(const synth_scorer *s)
{
    for (size_t i = 0; i < s->m.templates.n; i++)
        if (s->l.m.templates.at[i].n_sets != s->m.templates.at[i].n_sets)
            return &s->m.templates.at[i];
    return NULL;
}

/* Converts the conditions to a row of the model's values. Returns the log-likelihood of
 * these values within the template, and of the exact numbers given their values. */
static double read_row(joint_row *row, const synth_model *m, const conditions *c,
                       const model_template *t)
{
    assert(c->n <= MODEL_CONDITIONS);
    double sum = 0;
    for (uint32_t i = 0; i < JOINT_COLUMNS; i++)
        row->value[i] = MODEL_ABSENT;
    row->value[JOINT_TEMPLATE] =
        (uint32_t)(t ? (size_t)(t - m->templates.at) : m->templates.n);
    for (uint32_t i = 0; i < c->n; i++) {
        const uint32_t id = conditions_index(m, c->at[i].name);
        const model_condition *const of = id == MODEL_NONE ? NULL : &m->conditions.at[id];
        const uint32_t value = of && of->is_text == (c->at[i].text[0] != '\0')
                                   ? conditions_value(m, of, &c->at[i])
                                   : MODEL_NONE;
        if (value == MODEL_NONE) {
            sum += UNKNOWN;
            continue;
        }
        row->value[id] = value;
        if (t)
            sum += log_share(t->values[id][value], t->n_sets);
        if (!of->is_text)
            sum += log_number(of, &of->values[value], c->at[i].number);
    }
    return sum;
}

static double log_conditions(const synth_scorer *s, const conditions *c)
{
    const synth_model *const m = &s->m;
    const model_template *const t = find_scored_template(s);
    joint_row row;
    double sum = read_row(&row, m, c, t);
    sum += t ? log_share(t->n_sets, m->head.at[0].n_sets) : UNKNOWN;
    for (size_t i = 0; i < m->roots.n; i++)
        sum += fmax(UNKNOWN, log(joint_share(m, &m->roots.at[i], &row,
                                             row.value[m->roots.at[i].of])));
    return sum;
}

/* True if the last set added entries that would change how the next set is read. */
static bool has_grown(const synth_scorer *s)
{
    const synth_model *const now = &s->l.m, *const m = &s->m;
    return now->ops.n > m->ops.n || now->tokens.n > m->tokens.n ||
           now->skeletons.n > m->skeletons.n || now->templates.n > m->templates.n ||
           now->loops.n > m->loops.n || now->laws.n > m->laws.n ||
           now->sides.n > m->sides.n;
}

/* Resets the sums to zero and the tables to those of the file. */
static halley_status forget_set(synth_scorer *s, uint32_t set, halley_error *err)
{
    assert(set > 0);
    synth_model *const m = &s->l.m;
    if (has_grown(s))
        return start_learner(s, err);
    for (size_t i = 0; i < m->laws.n; i++)
        if (m->laws.at[i].last_set == set)
            memset(&m->sums.at[i], 0, sizeof m->sums.at[i]);
    for (size_t i = 0; i < m->loops.n; i++)
        if (m->loops.at[i].last_set == set)
            memset(&m->loop_sums.at[i], 0, sizeof m->loop_sums.at[i]);
    for (size_t i = 0; i < s->m.templates.n; i++)
        m->templates.at[i].n_sets = s->m.templates.at[i].n_sets;
    memcpy(m->conditions.at, s->m.conditions.at,
           s->m.conditions.n * sizeof *m->conditions.at);
    m->conditions.n = s->m.conditions.n;
    m->portraits.n = 0;
    map64_fini(&s->l.spot_of);
    s->l.spots.n = s->l.sides.n = 0;
    m->head.at[0].n_features = s->m.head.at[0].n_features;
    return HALLEY_OK;
}

halley_status synth_scorer_score(synth_likelihood *out, synth_scorer *s,
                                 const halley_trace_set *set, const conditions *c,
                                 const char *groups_path, halley_error *err)
{
    assert(out != NULL && halley_trace_set_count(set) > 0);
    conditions all = *c;
    uint32_t block;
    if (all.n == 0) {
        TRY(learner_block(&block, &s->l, set, err));
        TRY(learner_derive(&all, &s->l, set, block, err));
    }
    TRY(learner_add(&s->l, set, c, groups_path, err));
    conditions_set(&all, "ranks", NULL, halley_trace_set_count(set));
    const uint32_t number = s->l.m.head.at[0].n_sets;
    *out = (synth_likelihood){.conditions = log_conditions(s, &all),
                              .program = log_program(s, number),
                              .values = log_values(s, number)};
    return forget_set(s, number, err);
}
