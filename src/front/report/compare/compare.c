/* A comparison of traces for people (tables), for programs (JSON), and for spreadsheets
 * (CSV: one row per measure). */
#include "report/compare/compare.h"

#include "base/error.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The unit of each quantity. */
static const struct {
    report_kind kind;
    units_kind unit;
} measures[HALLEY_N_QUANTITIES] = {
    [HALLEY_Q_DURATION] = {REPORT_QUANTITY, UNITS_TIME},
    [HALLEY_Q_OPERATIONS] = {REPORT_QUANTITY, UNITS_COUNT},
    [HALLEY_Q_TRAFFIC] = {REPORT_QUANTITY, UNITS_BYTES},
    [HALLEY_Q_MESSAGE] = {REPORT_QUANTITY, UNITS_BYTES},
    [HALLEY_Q_CRITICAL] = {REPORT_QUANTITY, UNITS_TIME},
};

static const char *find_words(char *to, size_t size, int q, double value)
{
    if (isnan(value))
        snprintf(to, size, "-");
    else if (measures[q].kind == REPORT_QUANTITY)
        units_format(to, size, value, measures[q].unit);
    else
        snprintf(to, size, "%s", number_digits(value, 4).at);
    return to;
}

static const report_column mix_columns[] = {
    {"Mix", "mix", REPORT_WORDS, 0, 0},
    {"Total variation", "total_variation", REPORT_NUMBER, 0, 0},
    {"Largest difference", "largest", REPORT_WORDS, 0, 40},
    {"Real", "real", REPORT_WORDS, 0, 0},
    {"Synth", "synth", REPORT_WORDS, 0, 0},
};

static void words_or_none(report_table *t, const char *words)
{
    report_table_words(t, str_from(words));
}

static report_table *mix_table(const halley_comparison *c)
{
    report_table *const t = report_table_new(mix_columns, 5);
    for (int m = 0; t && m < HALLEY_N_MIXES; m++) {
        const halley_shares *const s = &c->mixes[m];
        const halley_share *most = NULL;
        char text[48];
        for (size_t i = 0; i < s->n; i++)
            if (!most ||
                fabs(s->list[i].real - s->list[i].synth) > fabs(most->real - most->synth))
                most = &s->list[i];
        words_or_none(t, halley_mix_name((halley_mix)m));
        report_table_number(t, s->total_variation);
        words_or_none(t, most ? most->label : "");
        snprintf(text, sizeof text, "%s %%",
                 number_fixed(most ? 100 * most->real : 0, 1).at);
        words_or_none(t, text);
        snprintf(text, sizeof text, "%s %%",
                 number_fixed(most ? 100 * most->synth : 0, 1).at);
        words_or_none(t, text);
    }
    return t;
}

static const report_column spread_columns[] = {
    {"Distribution", "distribution", REPORT_WORDS, 0, 0},
    {"KS", "ks", REPORT_NUMBER, 0, 0},
    {"Wasserstein", "wasserstein", REPORT_NUMBER, 0, 0},
    {"Mean, real", "mean_real", REPORT_WORDS, 0, 0},
    {"Synth", "mean_synth", REPORT_WORDS, 0, 0},
};

static void number_or_none(report_table *t, double value)
{
    if (isnan(value))
        report_table_empty(t);
    else
        report_table_number(t, value);
}

static report_table *spread_table(const halley_comparison *c)
{
    report_table *const t = report_table_new(spread_columns, 5);
    for (int q = 0; t && q < HALLEY_N_QUANTITIES; q++) {
        const halley_spread *const s = &c->spreads[q];
        char text[48];
        words_or_none(t, halley_quantity_name((halley_quantity)q));
        report_table_number(t, s->ks);
        number_or_none(t, s->wasserstein);
        words_or_none(t, find_words(text, sizeof text, q, s->mean_real));
        words_or_none(t, find_words(text, sizeof text, q, s->mean_synth));
    }
    return t;
}

static const report_column time_columns[] = {
    {"Simulated on", "cluster", REPORT_WORDS, 0, 0},
    {"Sets", "sets", REPORT_WORDS, 0, 0},
    {"Mean, real", "mean_real_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Synth", "mean_synth_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Change", "change", REPORT_WORDS, 0, 0},
    {"Spread, real", "sd_real_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Synth", "sd_synth_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"KS", "ks", REPORT_NUMBER, 0, 0},
};

static report_table *make_times_table(const halley_comparison *c)
{
    report_table *const t = report_table_new(time_columns, 8);
    for (int i = 0; t && i < HALLEY_N_REFERENCES; i++) {
        const halley_times *const x = &c->times[i];
        char text[64];
        words_or_none(t, x->cluster);
        snprintf(text, sizeof text, "%" PRIu32 ", %" PRIu32, x->n_real, x->n_synth);
        words_or_none(t, text);
        number_or_none(t, x->mean_real_s);
        number_or_none(t, x->mean_synth_s);
        const double change = 100 * (x->mean_synth_s / x->mean_real_s - 1);
        snprintf(text, sizeof text, "%s %%", number_signed(change, 2).at);
        words_or_none(t, isfinite(change) ? text : "-");
        number_or_none(t, x->sd_real_s);
        number_or_none(t, x->sd_synth_s);
        report_table_number(t, x->ks);
    }
    return t;
}

static const report_column run_columns[] = {
    {"Verbatim runs of", "length", REPORT_COUNT, 0, 0},
    {"Share of nodes", "whole", REPORT_WORDS, 0, 0},
    {"Beyond repeats", "beyond", REPORT_WORDS, 0, 0},
    {"Types alone", "shape", REPORT_WORDS, 0, 0},
};

static report_table *run_table(const halley_comparison *c)
{
    report_table *const t = report_table_new(run_columns, 4);
    for (int i = 0; t && i < HALLEY_N_VERBATIM; i++) {
        const double shares[] = {c->verbatim[i].whole, c->verbatim[i].beyond,
                                 c->verbatim[i].shape};
        report_table_count(t, c->verbatim[i].length);
        for (int k = 0; k < 3; k++) {
            char text[48];
            snprintf(text, sizeof text, "%s %%", number_fixed(100 * shares[k], 2).at);
            words_or_none(t, text);
        }
    }
    return t;
}

static size_t write_attacks(report_attack out[REPORT_ATTACKS], const report_comparison *r)
{
    static const report_attack likelihoods[HALLEY_N_LIKELIHOODS] = {
        [HALLEY_LIKELIHOOD_ALL] = {"likelihood", "likelihood", NULL},
        [HALLEY_LIKELIHOOD_CONDITIONS] = {"likelihood of conditions",
                                          "likelihood-conditions", NULL},
        [HALLEY_LIKELIHOOD_PROGRAMS] = {"likelihood of programs", "likelihood-programs",
                                        NULL},
        [HALLEY_LIKELIHOOD_NUMBERS] = {"likelihood of numbers", "likelihood-numbers",
                                       NULL},
    };
    size_t n = 0;
    if (r->c->attacked) {
        out[n++] = (report_attack){"features", "features", &r->c->by_features};
        out[n++] = (report_attack){"shared runs", "shared-runs", &r->c->by_runs};
    }
    for (int k = 0; r->by_likelihood && k < HALLEY_N_LIKELIHOODS; k++) {
        out[n] = likelihoods[k];
        out[n++].auc = &r->by_likelihood[k];
    }
    if (r->by_scores)
        out[n++] = (report_attack){"given scores", "scores", r->by_scores};
    return n;
}

static void print_auc(FILE *to, const char *attack, const halley_auc *a)
{
    fprintf(to,
            "membership by %s: AUC %s (95 %%: %s to %s), %" PRIu32 " members, %" PRIu32
            " others\n",
            attack, number_fixed(a->auc, 3).at, number_fixed(a->low, 3).at,
            number_fixed(a->high, 3).at, a->n_members, a->n_others);
}

static void print_privacy(const report_comparison *r, FILE *to)
{
    const halley_comparison *const c = r->c;
    if (c->n_nearest > 0) {
        const halley_neighbour *const n = &c->nearest[0];
        fprintf(to, "\nnearest: %s to %s, distance %s, %s %% of runs of 4 nodes shared\n",
                n->synth, n->real, number_digits(n->distance, 3).at,
                number_fixed(100 * n->shared, 1).at);
        fprintf(to, "distance to the nearest of REAL, median: %s",
                number_digits(c->nearest_median, 3).at);
        if (!isnan(c->nearest_real_median))
            fprintf(to, " (within REAL: %s)",
                    number_digits(c->nearest_real_median, 3).at);
        fputc('\n', to);
    }
    fprintf(to,
            "leaks (in fewer than %" PRIu32 " sets of REAL): %" PRIu64 " names, %" PRIu64
            " numbers (%s %% of those in SYNTH)\n",
            c->min_support, c->n_names, c->n_values,
            number_fixed(100 * c->values_share, 1).at);
    for (size_t i = 0; i < c->n_names_listed && i < 5; i++) {
        strbuf text = {0};
        strbuf_json(&text, str_from(c->names[i]));
        fprintf(to, "  %s\n", text.failed ? "" : text.at);
        strbuf_fini(&text);
    }
    if (c->n_names > 5)
        fprintf(to, "  and %" PRIu64 " more\n", c->n_names - 5);
    report_attack attacks[REPORT_ATTACKS];
    const size_t n_attacks = write_attacks(attacks, r);
    for (size_t i = 0; i < n_attacks; i++)
        print_auc(to, attacks[i].name, attacks[i].auc);
}

static halley_status write_similarity_table(report_table *t, FILE *to, halley_error *err)
{
    const halley_status status =
        t ? report_table_write(t, REPORT_TEXT, to, err) : error_nomem(err);
    report_table_free(t);
    fputc('\n', to);
    return status;
}

static halley_status write_compare_text(const report_comparison *r, FILE *to,
                                        halley_error *err)
{
    const halley_comparison *const c = r->c;
    fprintf(to, "%s: %" PRIu32 " set%s; %s: %" PRIu32 " set%s\n\n", r->real, c->n_real,
            c->n_real == 1 ? "" : "s", r->synth, c->n_synth, c->n_synth == 1 ? "" : "s");
    TRY(write_similarity_table(mix_table(c), to, err));
    TRY(write_similarity_table(spread_table(c), to, err));
    TRY(write_similarity_table(make_times_table(c), to, err));
    report_table *const runs = run_table(c);
    const halley_status status =
        runs ? report_table_write(runs, REPORT_TEXT, to, err) : error_nomem(err);
    report_table_free(runs);
    TRY(status);
    print_privacy(r, to);
    return HALLEY_OK;
}

/* Every measure by its name, in one flat list: for CSV, and as `measures` in JSON. */
typedef void put_measure(void *context, const char *group, const char *name,
                         const char *measure, double value);

static void each_auc(put_measure *put, void *context, const char *attack,
                     const halley_auc *a)
{
    put(context, "membership", attack, "auc", a->auc);
    put(context, "membership", attack, "low", a->low);
    put(context, "membership", attack, "high", a->high);
    put(context, "membership", attack, "members", a->n_members);
    put(context, "membership", attack, "others", a->n_others);
}

static void each_fidelity(const halley_comparison *c, put_measure *put, void *context)
{
    for (int m = 0; m < HALLEY_N_MIXES; m++) {
        const char *const key = halley_mix_key((halley_mix)m);
        put(context, "mix", key, "total_variation", c->mixes[m].total_variation);
        put(context, "mix", key, "real_per_set", c->mixes[m].real);
        put(context, "mix", key, "synth_per_set", c->mixes[m].synth);
    }
    for (int q = 0; q < HALLEY_N_QUANTITIES; q++) {
        const char *const key = halley_quantity_key((halley_quantity)q);
        const halley_spread *const s = &c->spreads[q];
        put(context, "spread", key, "ks", s->ks);
        put(context, "spread", key, "wasserstein", s->wasserstein);
        put(context, "spread", key, "mean_real", s->mean_real);
        put(context, "spread", key, "mean_synth", s->mean_synth);
    }
    for (int i = 0; i < HALLEY_N_REFERENCES; i++) {
        const halley_times *const t = &c->times[i];
        put(context, "time", t->cluster, "sets_real", t->n_real);
        put(context, "time", t->cluster, "sets_synth", t->n_synth);
        put(context, "time", t->cluster, "mean_real_s", t->mean_real_s);
        put(context, "time", t->cluster, "mean_synth_s", t->mean_synth_s);
        put(context, "time", t->cluster, "sd_real_s", t->sd_real_s);
        put(context, "time", t->cluster, "sd_synth_s", t->sd_synth_s);
        put(context, "time", t->cluster, "ks", t->ks);
    }
}

static void visit_measures(const report_comparison *r, put_measure *put, void *context)
{
    const halley_comparison *const c = r->c;
    each_fidelity(c, put, context);
    for (int i = 0; i < HALLEY_N_VERBATIM; i++) {
        char length[16];
        snprintf(length, sizeof length, "%" PRIu32, c->verbatim[i].length);
        put(context, "verbatim", length, "whole", c->verbatim[i].whole);
        put(context, "verbatim", length, "beyond_repeats", c->verbatim[i].beyond);
        put(context, "verbatim", length, "types_alone", c->verbatim[i].shape);
    }
    put(context, "nearest", "distance", "median", c->nearest_median);
    put(context, "nearest", "distance", "median_within_real", c->nearest_real_median);
    put(context, "nearest", "distance", "least",
        c->n_nearest ? c->nearest[0].distance : (double)NAN);
    put(context, "leak", "names", "count", (double)c->n_names);
    put(context, "leak", "numbers", "count", (double)c->n_values);
    put(context, "leak", "numbers", "share", c->values_share);
    report_attack attacks[REPORT_ATTACKS];
    const size_t n_attacks = write_attacks(attacks, r);
    for (size_t i = 0; i < n_attacks; i++)
        each_auc(put, context, attacks[i].key, attacks[i].auc);
}

static const report_column measure_columns[] = {
    {"Group", "group", REPORT_WORDS, 0, 0},
    {"Name", "name", REPORT_WORDS, 0, 0},
    {"Measure", "measure", REPORT_WORDS, 0, 0},
    {"Value", "value", REPORT_NUMBER, 0, 0},
};

static void put_row(void *context, const char *group, const char *name,
                    const char *measure, double value)
{
    words_or_none(context, group);
    words_or_none(context, name);
    words_or_none(context, measure);
    number_or_none(context, value);
}

/* Objects are opened and closed when groups and names change. */
typedef struct nest {
    report_json *j;
    const char *group;
    char name[64];
} nest;

static void put_nested(void *context, const char *group, const char *name,
                       const char *measure, double value)
{
    nest *const n = context;
    const bool other_group = !n->group || strcmp(n->group, group) != 0;
    if (n->group && (other_group || strcmp(n->name, name) != 0))
        report_json_end(n->j);
    if (other_group) {
        if (n->group)
            report_json_end(n->j);
        report_json_object(n->j, group);
    }
    if (other_group || strcmp(n->name, name) != 0)
        report_json_flat_object(n->j, name);
    n->group = group;
    snprintf(n->name, sizeof n->name, "%s", name);
    report_json_double(n->j, measure, value);
}

static void write_lists(report_json *j, const halley_comparison *c)
{
    report_json_object(j, "shares");
    for (int m = 0; m < HALLEY_N_MIXES; m++) {
        report_json_array(j, halley_mix_key((halley_mix)m));
        for (size_t i = 0; i < c->mixes[m].n; i++) {
            report_json_flat_object(j, NULL);
            report_json_text(j, "label", str_from(c->mixes[m].list[i].label));
            report_json_double(j, "real", c->mixes[m].list[i].real);
            report_json_double(j, "synth", c->mixes[m].list[i].synth);
            report_json_end(j);
        }
        report_json_end(j);
    }
    report_json_end(j);
    report_json_array(j, "nearest_sets");
    for (size_t i = 0; i < c->n_nearest; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "synth", str_from(c->nearest[i].synth));
        report_json_text(j, "real", str_from(c->nearest[i].real));
        report_json_double(j, "distance", c->nearest[i].distance);
        report_json_double(j, "shared_runs", c->nearest[i].shared);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_array(j, "leaked_names");
    for (size_t i = 0; i < c->n_names_listed; i++)
        report_json_text(j, NULL, str_from(c->names[i]));
    report_json_end(j);
}

static void write_quantiles(report_json *j, const char *key,
                            const double values[HALLEY_N_QUANTILES])
{
    if (isnan(values[0]))
        return;
    report_json_flat_array(j, key);
    for (int i = 0; i < HALLEY_N_QUANTILES; i++)
        report_json_double(j, NULL, values[i]);
    report_json_end(j);
}

static void write_curves(report_json *j, const halley_comparison *c)
{
    report_json_object(j, "quantiles");
    for (int q = 0; q < HALLEY_N_QUANTITIES; q++) {
        const halley_spread *const s = &c->spreads[q];
        if (!(s->n_real + s->n_synth > 0))
            continue;
        report_json_object(j, halley_quantity_key((halley_quantity)q));
        write_quantiles(j, "real", s->real);
        write_quantiles(j, "synth", s->synth);
        report_json_end(j);
    }
    report_json_end(j);
    if (c->not_simulated != NULL)
        report_json_text(j, "not_simulated", str_from(c->not_simulated));
}

void report_compare_json(report_json *j, const report_comparison *r, bool quantiles)
{
    assert(r->c != NULL && r->real != NULL && r->synth != NULL);
    report_json_text(j, "real", str_from(r->real));
    report_json_text(j, "synth", str_from(r->synth));
    report_json_u64(j, "sets_real", r->c->n_real);
    report_json_u64(j, "sets_synth", r->c->n_synth);
    report_json_u64(j, "min_support", r->c->min_support);
    nest n = {.j = j};
    visit_measures(r, put_nested, &n);
    report_json_end(j);
    report_json_end(j);
    write_lists(j, r->c);
    if (quantiles)
        write_curves(j, r->c);
}

halley_status report_compare(const report_comparison *r, report_form form, FILE *to,
                             halley_error *err)
{
    if (form == REPORT_TEXT)
        return write_compare_text(r, to, err);
    assert(form == REPORT_CSV);
    report_table *const t = report_table_new(measure_columns, 4);
    if (!t)
        return error_nomem(err);
    visit_measures(r, put_row, t);
    const halley_status status = report_table_write(t, REPORT_CSV, to, err);
    report_table_free(t);
    return status;
}
