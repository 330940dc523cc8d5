/*
 * Chooses the outline of a new set: its conditions, its template, its ranks and stages.
 *
 * Conditions are correlated (wide models have many heads), so each is drawn given those
 * before it (joint.c). Conditions that the user fixes stay fixed. Of several draws, one
 * is chosen with the probability of the fixed values given the draw.
 *
 * The template is the one whose sets are most similar to these conditions. Conditions
 * that distinguish templates count strictly, others loosely. The template must also be
 * plausible: it must suit the number of stages, and its loops must run at least once.
 * Its number of nodes must be close to that of sets of this family under these
 * conditions.
 */
#include "base/number/number.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_DRAWS = 48, N_CLOSE = 12, MOST_RANKS = 1000000 };
#define PURE 0.98
#define EXACT_SPREAD 1e-3 /* spread of a law that determines its number */
#define SENSIBLE 3        /* largest strain of a plausible outline */

static bool decides_template(const synth_model *m, uint32_t c)
{
    assert(c < m->conditions.n);
    double pure = 0, n = 0;
    const model_condition *of = &m->conditions.at[c];
    for (size_t i = 0; i < m->templates.n; i++) {
        uint32_t by_kind[CONDITION_KINDS] = {0}, most = 0;
        for (uint32_t v = 0; v < MODEL_VALUES; v++) {
            if (v >= of->n_values && v != MODEL_ABSENT)
                continue;
            const uint32_t k = conditions_kind(of, v);
            by_kind[k] += m->templates.at[i].values[c][v];
            n += m->templates.at[i].values[c][v];
            most = by_kind[k] > most ? by_kind[k] : most;
        }
        pure += most;
    }
    return n > 0 && pure / n > PURE;
}

void sample_traits_make(sample_traits *t, const synth_model *m)
{
    *t = (sample_traits){0};
    for (uint32_t i = 0; i < m->conditions.n; i++)
        t->decides[i] = decides_template(m, i);
}

static void list_values(strbuf *to, const synth_model *m, const model_condition *c)
{
    if (!c->is_text) {
        strbuf_double(to, c->low);
        if (c->low < c->high) {
            strbuf_add(to, STR(" to "));
            strbuf_double(to, c->high);
        }
        return;
    }
    for (uint32_t i = 0; i < c->n_values; i++) {
        strbuf_add(to, i > 0 ? STR(", ") : STR(""));
        strbuf_add(to, synth_text(m, c->values[i].text));
    }
}

static halley_status refuse_condition(const synth_model *m, const condition *wish,
                                      uint32_t id, halley_error *err)
{
    strbuf seen = {0};
    for (uint32_t i = 0; id == MODEL_NONE && i < m->conditions.n; i++) {
        strbuf_add(&seen, i > 0 ? STR(", ") : STR(""));
        strbuf_add(&seen, synth_text(m, m->conditions.at[i].name));
    }
    if (id != MODEL_NONE)
        list_values(&seen, m, &m->conditions.at[id]);
    halley_status status;
    if (seen.failed)
        status = error_nomem(err);
    else if (id == MODEL_NONE)
        status = error_set(err, HALLEY_EINVAL,
                           "the model knows no condition '%s'; it knows %.*s", wish->name,
                           STR_ARG(strbuf_str(&seen)));
    else if (wish->text[0])
        status = error_set(err, HALLEY_EINVAL,
                           "the model never saw %s=%s, only %.*s; --extrapolate tries",
                           wish->name, wish->text, STR_ARG(strbuf_str(&seen)));
    else
        status = error_set(err, HALLEY_EINVAL,
                           "the model never saw %s=%s, only %.*s; --extrapolate tries",
                           wish->name, number_digits(wish->number, 15).at,
                           STR_ARG(strbuf_str(&seen)));
    strbuf_fini(&seen);
    return status;
}

static uint32_t choose_nearer(uint32_t a, uint32_t b, double wanted)
{
    assert(a > 0 && b > 0 && wanted > 0);
    return fabs(log(a / wanted)) <= fabs(log(b / wanted)) ? a : b;
}

/* The number of ranks nearest to `wanted` among those that enough sets have. 0: there is
 * none. */
static uint32_t find_seen_ranks(const synth_model *m, double wanted)
{
    assert(wanted > 0);
    const uint32_t id = conditions_index(m, "ranks");
    const model_condition *of = id == MODEL_NONE ? NULL : &m->conditions.at[id];
    uint32_t best = 0;
    for (uint32_t i = 0; of && i < of->n_values; i++) {
        const double n = of->values[i].number;
        if (of->values[i].n_exact == 0 || !(n >= 1 && n <= MOST_RANKS))
            continue;
        best = best == 0 ? (uint32_t)n : choose_nearer(best, (uint32_t)n, wanted);
    }
    return best;
}

/* Checks that the number of ranks of a set can be determined. */
static halley_status check_ranks(const synth_model *m, const sample_wish *wish,
                                 halley_error *err)
{
    const uint32_t law = map64_find(&m->law_of, synth_set_law_key(0, FIELD_RANKS));
    if (wish->n_ranks > 0 || find_seen_ranks(m, 1) > 0 ||
        (law != HASH_NONE && m->head.at[0].n_bare == 0 &&
         (double)m->laws.at[law].spread < EXACT_SPREAD))
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "no number of ranks occurs in %u of the sets that were learned: ask "
                     "for one (--ranks)",
                     m->head.at[0].min_support);
}

/* Refuses a family without programs, unless the user allows extrapolation: a program of
 * another family would be wrong. */
static halley_status check_family(const synth_model *m, const sample_wish *wish,
                                  halley_error *err)
{
    conditions fixed = wish->fixed;
    const condition *const family = conditions_find(&fixed, "family");
    const uint32_t id = family ? conditions_index(m, "family") : MODEL_NONE;
    if (id == MODEL_NONE || wish->extrapolate)
        return HALLEY_OK;
    const uint32_t value = conditions_value(m, &m->conditions.at[id], family);
    for (size_t i = 0; value < MODEL_VALUES && i < m->templates.n; i++)
        if (m->templates.at[i].values[id][value] > 0)
            return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "no program of family=%s is shared by %u sets; --extrapolate takes "
                     "the nearest program of another family and scales it",
                     family->text, m->head.at[0].min_support);
}

halley_status sample_wish_check(const synth_model *m, const sample_wish *wish,
                                halley_error *err)
{
    for (uint32_t i = 0; i < wish->fixed.n; i++) {
        const condition *c = &wish->fixed.at[i];
        const uint32_t id = conditions_index(m, c->name);
        if (id == MODEL_NONE)
            return refuse_condition(m, c, id, err);
        const model_condition *of = &m->conditions.at[id];
        const bool is_text = c->text[0] != '\0';
        if (is_text != (of->is_text != 0))
            return error_set(err, HALLEY_EINVAL, "%s is %s, not '%s'", c->name,
                             is_text ? "a number" : "a word",
                             is_text ? c->text : "a number");
        const bool seen =
            is_text ? conditions_value(m, of, c) != MODEL_NONE
                    : c->number >= of->low * 0.95 && c->number <= of->high * 1.05;
        if (!seen && !wish->extrapolate)
            return refuse_condition(m, c, id, err);
    }
    TRY(check_ranks(m, wish, err));
    TRY(check_family(m, wish, err));
    return sample_wish_fits(m, wish, err);
}

/* One draw: values by condition, and the likelihood of the fixed ones given the
 * others. */
typedef struct draw {
    joint_row row;
    bool fixed[JOINT_COLUMNS];
    double weight;
} draw;

static void draw_one(draw *d, const synth_model *m, rng *random)
{
    for (size_t k = 0; k < m->roots.n; k++) {
        const model_root *tree = &m->roots.at[k];
        uint32_t *value = &d->row.value[tree->of];
        if (!d->fixed[tree->of])
            *value = joint_draw(m, tree, &d->row, rng_unit(random));
        else if (*value != MODEL_NONE)
            d->weight *= joint_share(m, tree, &d->row, *value);
    }
}

enum { ENOUGH = 30 }; /* sets that a family's own law needs */

/* The law of whole sets for a number: that of the family if it is reliable enough, else
 * that of all. NULL: none. */
static const model_law *set_law(const synth_model *m, const conditions *c, uint32_t field)
{
    const uint32_t own =
        map64_find(&m->law_of, synth_set_law_key(conditions_family(c), field));
    const uint32_t any = map64_find(&m->law_of, synth_set_law_key(0, field));
    if (own != HASH_NONE && (m->laws.at[own].n_sets >= ENOUGH || any == HASH_NONE ||
                             m->laws.at[own].spread < 0.5F * m->laws.at[any].spread))
        return &m->laws.at[own];
    return any != HASH_NONE   ? &m->laws.at[any]
           : own != HASH_NONE ? &m->laws.at[own]
                              : NULL;
}

/* Replaces numbers that earlier conditions determine by the prediction of their law. */
static void follow_laws(conditions *c, const synth_model *m, const draw *d, rng *random)
{
    for (uint32_t i = 0; i < m->conditions.n; i++) {
        const model_condition *of = &m->conditions.at[i];
        char name[CONDITION_TEXT];
        snprintf(name, sizeof name, "%.*s", STR_ARG(synth_text(m, of->name)));
        condition *at = conditions_find(c, name);
        if (d->fixed[i] || of->is_text || !at)
            continue;
        const model_law *law = set_law(m, c, FIELD_CONDITION + i);
        if (!law || law->spread > 0.1F)
            continue;
        law_point p;
        conditions_set_point(&p, m, c);
        const double number =
            exp(law_log(law->coefficient, &p) + law->spread * rng_normal(random));
        at->number = number > 0.5 ? round(number) : number;
    }
}

static void to_conditions(conditions *out, const synth_model *m, const draw *d,
                          const sample_wish *wish, rng *random)
{
    *out = (conditions){0};
    for (uint32_t i = 0; i < m->conditions.n; i++) {
        const model_condition *of = &m->conditions.at[i];
        char name[CONDITION_TEXT], text[CONDITION_TEXT];
        if (d->fixed[i] || d->row.value[i] >= MODEL_ABSENT)
            continue;
        const model_value *v = &of->values[d->row.value[i]];
        snprintf(name, sizeof name, "%.*s", STR_ARG(synth_text(m, of->name)));
        if (of->is_text)
            snprintf(text, sizeof text, "%.*s", STR_ARG(synth_text(m, v->text)));
        double number =
            v->spread > 0 ? v->number * exp(v->spread * rng_normal(random)) : v->number;
        if (!of->broken && v->number > 0)
            number = fmax(1, round(number));
        conditions_set(out, name, of->is_text ? text : NULL, number);
    }
    for (uint32_t i = 0; i < wish->fixed.n; i++) {
        const condition *c = &wish->fixed.at[i];
        conditions_set(out, c->name, c->text[0] ? c->text : NULL, c->number);
    }
    follow_laws(out, m, d, random);
}

/* The share of a template's sets that have this value or, with `kinds`, a value of its
 * class. */
static double find_value_share(const model_condition *of, const uint32_t *counts,
                               uint32_t value, bool kinds, double prior)
{
    assert(value < MODEL_VALUES && prior > 0);
    double same = 0, all = 0;
    const uint32_t kind = conditions_kind(of, value);
    for (uint32_t v = 0; v < MODEL_VALUES; v++) {
        if (v >= of->n_values && v != MODEL_ABSENT)
            continue;
        const bool alike = kinds ? conditions_kind(of, v) == kind : v == value;
        same += alike * (double)counts[v];
        all += counts[v];
    }
    return (same + 0.5 * prior) / (all + prior);
}

/* The similarity of a template's sets to the draw, as a log score. */
static double measure_likeness(const synth_model *m, const sample_traits *traits,
                               const model_template *t, const draw *d)
{
    double score = log(t->n_sets);
    for (uint32_t c = 0; c < m->conditions.n; c++) {
        const model_condition *of = &m->conditions.at[c];
        if (d->row.value[c] == MODEL_NONE)
            continue;
        const double strict = traits->decides[c] ? 2 : 1;
        score +=
            strict * log(find_value_share(of, t->values[c], d->row.value[c], true, 0.1));
        if (!of->is_text)
            score +=
                0.2 * log(find_value_share(of, t->values[c], d->row.value[c], false, 2));
    }
    return score;
}

uint32_t sample_part(const synth_model *m, uint32_t template, uint32_t stage,
                     uint32_t n_stages)
{
    assert(template <m->templates.n &&stage < n_stages);
    const model_template *t = &m->templates.at[template];
    const uint32_t extra = n_stages > t->n ? n_stages - t->n : 0;
    uint32_t part = stage;
    if (stage > t->longest)
        part = stage > t->longest + extra ? stage - extra : t->longest;
    assert(m->parts.at[t->first + (part < t->n ? part : t->n - 1)] < m->skeletons.n);
    return m->parts.at[t->first + (part < t->n ? part : t->n - 1)];
}

double sample_counts(uint32_t *counts, const synth_model *m, const model_skeleton *s,
                     const law_point *p, uint32_t stage, uint32_t n_stages)
{
    assert(stage < n_stages);
    double misfit = 0;
    for (uint32_t i = 0; i < s->n_loops && i < SAMPLE_MAX_LOOPS; i++) {
        const double n = law_loop_count(&m->loops.at[m->loop_ids.at[s->first_loop + i]],
                                        p, stage, n_stages);
        misfit += n < 0.5 ? fmin(1.5 - n, 3) : 0;
        counts[i] = !(n >= 1) ? 1 : n > 1e9 ? 1000000000 : (uint32_t)lround(n);
    }
    return misfit;
}

double sample_length(const synth_model *m, const model_skeleton *s,
                     const uint32_t *counts)
{
    assert(counts != NULL || s->n_loops == 0);
    double n = 0, times = 1, stack[64] = {0};
    uint32_t loop = 0, depth = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t symbol = m->symbols.at[s->first + i];
        if (symbol == SYMBOL_OPEN) {
            if (depth < 64)
                stack[depth] = times;
            depth++;
            times *= loop < SAMPLE_MAX_LOOPS ? counts[loop] : 1;
            loop++;
        } else if (symbol == SYMBOL_CLOSE) {
            if (--depth < 64)
                times = stack[depth];
        } else
            n += times;
    }
    return n;
}

double sample_set_value(const synth_model *m, const conditions *c, uint32_t field,
                        double *spread)
{
    law_point p;
    const model_law *law = set_law(m, c, field);
    conditions_set_point(&p, m, c);
    *spread = law ? law->spread : INFINITY;
    return law ? exp(fmin(law_log(law->coefficient, &p), 60)) : 1;
}

/* The divisor of `of` nearest to `wanted`. */
static uint32_t nearest_divisor(uint32_t of, double wanted)
{
    assert(of > 0 && wanted > 0);
    uint32_t best = 1;
    for (uint32_t i = 1; i <= of / i; i++)
        if (of % i == 0)
            best = choose_nearer(best, choose_nearer(i, of / i, wanted), wanted);
    return best;
}

static double clamp_count(double value, double most)
{
    return value >= 1 ? fmin(value, most) : 1;
}

/* Adjusts the data-parallel degree to the requested number of ranks, unless the user
 * fixed it. */
static void fill_ranks(sample_outline *o, const sample_wish *wish, double ranks)
{
    assert(ranks > 0);
    conditions fixed = wish->fixed;
    condition *dp = conditions_find(&o->conditions, "dp");
    if (!dp || conditions_find(&fixed, "dp"))
        return;
    const double n = round(dp->number * wish->n_ranks / ranks);
    if (n >= 1 && fabs(n * ranks / dp->number - wish->n_ranks) < 0.5)
        dp->number = n;
    assert(o->n_ranks > 0 && o->n_stages > 0);
}

/* The number of ranks that the conditions predict. *exact: they determine it. */
static double expect_ranks(const synth_model *m, conditions *c, bool *exact)
{
    double spread;
    const double by_law =
        clamp_count(sample_set_value(m, c, FIELD_RANKS, &spread), MOST_RANKS);
    const condition *const drawn = conditions_find(c, "ranks");
    /* In models of sets without conditions, the ranks are drawn before all other
     * conditions. */
    const bool is_first = m->head.at[0].n_bare > 0 && drawn != NULL;
    *exact = !is_first && spread < EXACT_SPREAD && fabs(by_law - round(by_law)) < 0.01;
    return *exact || !drawn ? by_law : clamp_count(drawn->number, MOST_RANKS);
}

/* Chooses the ranks of a set: those requested, else those that the conditions determine,
 * else those drawn. If nothing is fixed, the number is one that was seen. Returns the
 * distance from the prediction. */
static double choose_ranks(sample_outline *o, const synth_model *m,
                           const sample_wish *wish)
{
    bool exact;
    double ranks = expect_ranks(m, &o->conditions, &exact);
    const uint32_t seen = find_seen_ranks(m, ranks);
    if (wish->n_ranks > 0) {
        double unused;
        ranks = sample_set_value(m, &o->conditions, FIELD_RANKS, &unused);
        fill_ranks(o, wish, ranks);
        ranks = sample_set_value(m, &o->conditions, FIELD_RANKS, &unused);
        o->n_ranks = wish->n_ranks;
        return 20 * fabs(log(wish->n_ranks / clamp_count(ranks, MOST_RANKS)));
    }
    const bool take_seen = seen > 0 && (!exact || sample_is_free(wish));
    o->n_ranks = take_seen ? seen : (uint32_t)lround(ranks);
    assert(o->n_ranks > 0);
    return exact && seen > 0 ? 10 * fabs(log(ranks / seen)) : 0;
}

/* Chooses ranks and stages under a template. Returns the strain: how implausible the
 * outline is. */
static double measure_strain(sample_outline *o, const synth_model *m,
                             const sample_wish *wish)
{
    assert(o->template <m->templates.n);
    const model_template *t = &m->templates.at[o->template];
    double unused, spread;
    double bad = choose_ranks(o, m, wish);
    const double stages = clamp_count(
        sample_set_value(m, &o->conditions, FIELD_STAGES, &unused), MOST_RANKS);
    o->n_stages = nearest_divisor(o->n_ranks, stages);
    bad += 10 * fabs(log(o->n_stages / fmax(1, round(stages))));
    if (o->n_stages < t->n)
        bad += 30;
    if (t->most == 1 && o->n_stages > t->n)
        bad += 30;
    uint32_t counts[SAMPLE_MAX_LOOPS] = {0};
    double nodes = 0;
    for (uint32_t k = 0; k < o->n_stages && o->n_stages <= 256; k++) {
        const model_skeleton *s =
            &m->skeletons.at[sample_part(m, o->template, k, o->n_stages)];
        law_point at;
        conditions_point(&at, m, &o->conditions, k, o->n_stages);
        bad += 3 * sample_counts(counts, m, s, &at, k, o->n_stages) / o->n_stages;
        nodes += sample_length(m, s, counts) / o->n_stages;
    }
    if (o->is_drawn)
        return bad;
    const double usual = sample_set_value(m, &o->conditions, FIELD_NODES, &spread);
    const double off = nodes > 0 ? log(nodes / usual) / (0.1 + spread) : 0;
    return bad + fmin(0.5 * off * off, 20);
}

/* Finds the N_CLOSE templates that are most similar to a draw. */
static uint32_t find_closest(uint32_t *out, double *scores, const synth_model *m,
                             const sample_traits *traits, const draw *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->templates.n; i++) {
        const double score = measure_likeness(m, traits, &m->templates.at[i], d);
        uint32_t at = n;
        while (at > 0 && scores[at - 1] < score)
            at--;
        if (at == N_CLOSE)
            continue;
        n += n < N_CLOSE;
        for (uint32_t k = n - 1; k > at; k--) {
            scores[k] = scores[k - 1];
            out[k] = out[k - 1];
        }
        scores[at] = score;
        out[at] = i;
    }
    return n;
}

bool sample_is_free(const sample_wish *wish)
{
    return wish->fixed.n == 0 && wish->n_ranks == 0;
}

static void start_draw(draw *d, const synth_model *m, const sample_wish *wish)
{
    for (uint32_t i = 0; i < JOINT_COLUMNS; i++)
        d->row.value[i] = MODEL_NONE;
    d->weight = 1;
    memset(d->fixed, 0, sizeof d->fixed);
    for (uint32_t i = 0; i < wish->fixed.n; i++) {
        const uint32_t id = conditions_index(m, wish->fixed.at[i].name);
        if (id == MODEL_NONE)
            continue;
        d->fixed[id] = true;
        d->row.value[id] = conditions_value(m, &m->conditions.at[id], &wish->fixed.at[i]);
    }
    /* A user who fixes most of the conditions means that other optional conditions are
     * absent. */
    for (uint32_t i = 0;
         (size_t)2 * wish->fixed.n > m->conditions.n && i < m->conditions.n; i++)
        if (!d->fixed[i] && m->conditions.at[i].n_sets < m->head.at[0].n_sets) {
            d->fixed[i] = true;
            d->row.value[i] = MODEL_ABSENT;
        }
}

void sample_row_size(double *time, double *operations, const synth_model *m,
                     const joint_row *row)
{
    const sample_wish nothing = {0};
    conditions c;
    draw d;
    double unused;
    rng random = rng_seed(0);
    start_draw(&d, m, &nothing);
    d.row = *row;
    to_conditions(&c, m, &d, &nothing, &random);
    *time = sample_set_value(m, &c, FIELD_TIME, &unused);
    *operations = sample_set_value(m, &c, FIELD_OPERATIONS, &unused);
}

/* The best outline so far, its score and its strain. */
typedef struct choice {
    sample_outline outline;
    double score, bad;
} choice;

/* Tries the best outline under a draw. If the draw has no kept template, or the best
 * template contradicts the conditions, the nearest one is taken and scaled. */
static void try_draw(choice *best, const synth_model *m, const sample_traits *traits,
                     const draw *d, const conditions *drawn, const sample_wish *wish,
                     rng *random)
{
    const uint32_t own = d->row.value[JOINT_TEMPLATE];
    uint32_t near[N_CLOSE] = {own};
    double scores[N_CLOSE] = {0};
    const bool is_drawn = own < m->templates.n, none = own == m->templates.n;
    const uint32_t n = is_drawn ? 1 : find_closest(near, scores, m, traits, d);
    /* Gumbel noise: the largest sum is a draw with probability proportional to the
     * weights. */
    const double noise = wish->fixed.n == 0 ? 1 : 0.3;
    const double luck = log(d->weight + 1e-300) - log(-log(rng_unit(random) + 1e-12));
    for (uint32_t i = 0; i < n; i++) {
        sample_outline o = {
            .conditions = *drawn, .template = near[i], .is_drawn = is_drawn};
        const double off = measure_strain(&o, m, wish);
        const double score =
            luck + scores[i] - off - noise * log(-log(rng_unit(random) + 1e-12));
        o.is_scaled = none || off >= SENSIBLE;
        if (isinf(best->score) || score > best->score)
            *best = (choice){o, score, none ? 0 : off};
    }
}

void sample_outline_make(sample_outline *out, const synth_model *m,
                         const sample_traits *traits, const sample_wish *wish,
                         rng *random)
{
    choice best = {.score = -INFINITY, .bad = INFINITY};
    const bool free = sample_is_free(wish);
    conditions drawn = {0};
    /* With fixed conditions, the best of many draws is taken. Without, the first
     * plausible one is taken, so that all plausible outlines keep their probability. */
    for (uint32_t k = 0; k < N_DRAWS && !(free && best.bad < SENSIBLE); k++) {
        draw d;
        start_draw(&d, m, wish);
        if (free && k == 0 && wish->plan)
            d.row = *wish->plan;
        else
            draw_one(&d, m, random);
        to_conditions(&drawn, m, &d, wish, random);
        if (free)
            best.score = -INFINITY;
        try_draw(&best, m, traits, &d, &drawn, wish, random);
    }
    *out = best.outline;
    assert(out->n_ranks > 0 && out->n_stages > 0);
    conditions_set(&out->conditions, "ranks", NULL, out->n_ranks);
}
