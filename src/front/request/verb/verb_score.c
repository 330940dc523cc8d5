/*
 * halley score - compares predictions with measurements: one line per set, and what could
 * not be scored.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/number/number.h"
#include "halley/score.h"
#include "request/coverage.h"
#include "request/verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct score_options {
    bool defaults, unknown, worst, cross_validate, rows, by_device;
    bool without_chip, coverage;
    uint32_t folds, natural;
    const char *stack;
    request_output output;
} score_options;

static const score_options defaults = {.folds = 5};

static const char *const natural_kinds[] = {"off", "workload", "degrees", NULL};
enum { NATURAL_OFF, NATURAL_WORKLOAD, NATURAL_DEGREES };

static const request_option options[] = {
    {.name = "cross-validate",
     .letter = 'x',
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, cross_validate),
     .doc = "also refit each stack without the layouts that it then predicts"},
    {.name = "folds",
     .kind = REQUEST_U32,
     .min = 2,
     .max = 1000,
     .metavar = "N",
     .offset = offsetof(score_options, folds),
     .doc = "with --cross-validate: number of folds",
     .by_default = "5",
     .example = "10"},
    {.name = "defaults",
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, defaults),
     .doc = "replace every fitted constant by its default"},
    {.name = "unknown",
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, unknown),
     .doc =
         "predict as if the software were unknown, with every constant at its default"},
    {.name = "stack",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(score_options, stack),
     .doc = "stack file that replaces the preset of the same name",
     .by_default = "none",
     .example = "mine.yaml"},
    {.name = "worst",
     .letter = 'w',
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, worst),
     .doc = "show the worst rows of each set"},
    {.name = "rows",
     .letter = 'r',
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, rows),
     .doc = "show every run with its prediction, instead of the sets"},
    {.name = "by-device",
     .letter = 'd',
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, by_device),
     .doc =
         "show the error of step times per stack and accelerator, instead of the sets"},
    {.name = "natural",
     .kind = REQUEST_CHOICE,
     .choices = natural_kinds,
     .offset = offsetof(score_options, natural),
     .doc = "state only the workload of each run, or also its degrees; recipes of its "
            "software supply the rest",
     .by_default = "off",
     .example = "degrees"},
    {.name = "coverage",
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, coverage),
     .doc = "show how many runs lie within their error bars; each source is predicted "
            "without its own runs"},
    {.name = "without-chip",
     .kind = REQUEST_FLAG,
     .offset = offsetof(score_options, without_chip),
     .doc = "with --natural: leave out recipes of the run's own device"},
    REQUEST_OUTPUT_OPTIONS(score_options, output),
    {0},
};

static const report_column columns[] = {
    {"Set", "set", REPORT_WORDS, UNITS_COUNT, 0},
    {"Of", "metric", REPORT_WORDS, UNITS_COUNT, 0},
    {"Rows", "rows", REPORT_COUNT, UNITS_COUNT, 0},
    {"Scored", "scored", REPORT_COUNT, UNITS_COUNT, 0},
    {"Mean", "mape", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Median", "median_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Bias", "bias", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Held out", "held_out_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Memory", "memory_mape", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Rank corr.", "spearman", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Regret", "regret", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Fitted", "fitted", REPORT_COUNT, UNITS_COUNT, 0},
    {"Refused", "refused", REPORT_WORDS, UNITS_COUNT, 0},
};

/* Errors are fractions in every output. Tables round them to one hundredth of a percent,
 * because more digits are noise. */
static double round_share(double share)
{
    return round(share * 1e4) / 1e4;
}

/* The peak memory of the set whose step time this is; NULL = none was measured. */
static const halley_score_set *find_memory(const halley_score *score,
                                           const halley_score_set *s)
{
    if (strcmp(s->metric, "step time") != 0)
        return NULL;
    for (uint32_t i = 0; i < score->n_sets; i++) {
        const halley_score_set *m = &score->sets[i];
        if (strcmp(m->metric, "peak memory") == 0 && strcmp(m->set, s->set) == 0)
            return m->scored > 0 ? m : NULL;
    }
    return NULL;
}

static void add_row(report_table *t, const halley_score *score, const halley_score_set *s)
{
    const halley_score_set *memory = find_memory(score, s);
    report_table_words(t, str_from(s->set));
    report_table_words(t, str_from(s->metric));
    report_table_count(t, s->rows);
    report_table_count(t, s->scored);
    if (s->scored) {
        report_table_number(t, round_share(s->mape_pct / 100));
        report_table_number(t, round_share(s->median_pct / 100));
        report_table_number(t, round_share(s->bias_pct / 100));
    } else {
        for (int i = 0; i < 3; i++)
            report_table_empty(t);
    }
    if (s->cv_pct >= 0)
        report_table_number(t, round_share(s->cv_pct / 100));
    else
        report_table_empty(t);
    if (memory != NULL)
        report_table_number(t, round_share(memory->mape_pct / 100));
    else
        report_table_empty(t);
    if (s->scored > 1)
        report_table_number(t, round(s->spearman * 1000) / 1000);
    else
        report_table_empty(t);
    if (s->n_choices)
        report_table_number(t, round_share(s->regret_pct / 100));
    else
        report_table_empty(t);
    report_table_count(t, s->n_fitted);
    char refused[96] = "";
    if (s->n_out || s->n_fit)
        snprintf(refused, sizeof refused, "%u of %u that ran out, %u of %u that ran",
                 s->n_out_refused, s->n_out, s->n_fit_refused, s->n_fit);
    report_table_words(t, str_from(refused));
}

/* Skipped rows come first: a mean means little unless one knows how many rows it covers.
 */
static void write_skipped(FILE *to, const halley_score *score)
{
    uint32_t skipped = 0, rows = 0;
    for (uint32_t i = 0; i < score->n_sets; i++) {
        const halley_score_set *s = &score->sets[i];
        rows += s->rows;
        skipped += s->rows - s->scored;
    }
    if (skipped == 0)
        return;
    fprintf(to, "%u of %u rows were skipped:\n", skipped, rows);
    for (uint32_t i = 0; i < score->n_sets; i++) {
        const halley_score_set *s = &score->sets[i];
        for (uint32_t j = 0; j < s->n_skips; j++)
            fprintf(to, "  %u of %s: %s\n", s->skips[j].rows, s->set, s->skips[j].reason);
    }
    fprintf(to, "\n");
}

/* True if something was predicted; a set without predictions has no error, not even 0. */
static bool has_scored(const halley_score *score)
{
    for (uint32_t i = 0; i < score->n_sets; i++)
        if (score->sets[i].scored > 0)
            return true;
    return false;
}

static void write_worst(FILE *to, const halley_score *score)
{
    for (uint32_t i = 0; i < score->n_sets; i++) {
        const halley_score_set *s = &score->sets[i];
        fprintf(to, "\n%s, %s\n", s->set, s->metric);
        for (uint32_t j = 0; j < s->n_worst; j++) {
            const halley_score_worst *w = &s->worst[j];
            fprintf(to, "  %6s %%  measured %-10s predicted %-10s %s\n",
                    number_signed(100 * (w->predicted / w->measured - 1), 1).at,
                    number_digits(w->measured, 4).at, number_digits(w->predicted, 4).at,
                    w->id);
        }
    }
}

static void error_json(report_json *j, const halley_score_set *s)
{
    const struct {
        const char *key;
        double value;
    } errors[] = {{"mape", s->mape_pct / 100},
                  {"median_error", s->median_pct / 100},
                  {"bias", s->bias_pct / 100},
                  {"spearman", s->spearman}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (s->scored > 0)
            report_json_double(j, errors[i].key, errors[i].value);
        else
            report_json_null(j, errors[i].key);
    }
}

static void set_json(report_json *j, const halley_score_set *s)
{
    report_json_object(j, NULL);
    report_json_text(j, "set", str_from(s->set));
    report_json_text(j, "metric", str_from(s->metric));
    report_json_u64(j, "rows", s->rows);
    report_json_u64(j, "scored", s->scored);
    error_json(j, s);
    if (s->cv_pct >= 0)
        report_json_double(j, "held_out_error", s->cv_pct / 100);
    else
        report_json_null(j, "held_out_error");
    report_json_u64(j, "fitted_constants", s->n_fitted);
    if (s->n_choices) {
        report_json_u64(j, "choices", s->n_choices);
        report_json_double(j, "regret", s->regret_pct / 100);
    }
    report_json_array(j, "skipped");
    for (uint32_t i = 0; i < s->n_skips; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "reason", str_from(s->skips[i].reason));
        report_json_u64(j, "rows", s->skips[i].rows);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_array(j, "worst");
    for (uint32_t i = 0; i < s->n_worst; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "id", str_from(s->worst[i].id));
        report_json_double(j, "measured", s->worst[i].measured);
        report_json_double(j, "predicted", s->worst[i].predicted);
        report_json_end(j);
    }
    report_json_end(j);
    if (s->n_out || s->n_fit) {
        report_json_u64(j, "ran_out_of_memory", s->n_out);
        report_json_u64(j, "ran_out_and_refused", s->n_out_refused);
        report_json_u64(j, "ran", s->n_fit);
        report_json_u64(j, "ran_and_refused", s->n_fit_refused);
    }
    report_json_end(j);
}

/* Errors of the step times of runs that have something in common. */
typedef struct error_group {
    const halley_score_row *first; /* a run with their stack and accelerator */
    double *errors;                /* |predicted / measured - 1|, ascending */
    uint32_t n;
    double sum, signed_sum;
} error_group;

static bool is_like(const halley_score_row *a, const halley_score_row *b)
{
    return strcmp(a->stack, b->stack) == 0 && strcmp(a->npu, b->npu) == 0;
}

/* Collect the runs with the stack and accelerator of `first`, or all runs if it is NULL.
 * `errors` has room for the rows of the score. */
static error_group collect_errors(const halley_score *score,
                                  const halley_score_row *first, double *errors)
{
    error_group g = {.first = first, .errors = errors};
    for (uint32_t i = 0; i < score->n_rows; i++) {
        const halley_score_row *r = &score->rows[i];
        if (first != NULL && !is_like(r, first))
            continue;
        const double error = r->predicted_s / r->measured_s - 1;
        g.errors[g.n++] = fabs(error);
        g.sum += fabs(error);
        g.signed_sum += error;
    }
    mem_sort_doubles(g.errors, g.n);
    return g;
}

/* The smallest error that the fraction `share` of the runs does not exceed. */
static double find_quantile(const error_group *g, double share)
{
    const uint32_t rank = (uint32_t)ceil(share * g->n);
    return g->errors[rank > 0 ? rank - 1 : 0];
}

static bool is_first_of_kind(const halley_score *score, uint32_t row)
{
    for (uint32_t i = 0; i < row; i++)
        if (is_like(&score->rows[i], &score->rows[row]))
            return false;
    return true;
}

static const report_column device_columns[] = {
    {"Stack", "stack", REPORT_WORDS, UNITS_COUNT, 0},
    {"NPU", "npu", REPORT_WORDS, UNITS_COUNT, 0},
    {"Runs", "scored", REPORT_COUNT, UNITS_COUNT, 0},
    {"Mean", "mape", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Median", "median_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"9 of 10 within", "p90_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Bias", "bias", REPORT_QUANTITY, UNITS_SHARE, 0},
};

static void add_group(report_table *t, const error_group *g)
{
    report_table_words(t, str_from(g->first->stack));
    report_table_words(t, str_from(g->first->npu));
    report_table_count(t, g->n);
    report_table_number(t, round_share(g->sum / g->n));
    report_table_number(t, round_share(find_quantile(g, 0.5)));
    report_table_number(t, round_share(find_quantile(g, 0.9)));
    report_table_number(t, round_share(g->signed_sum / g->n));
}

/* Make a row per stack and accelerator, in the order of the runs; NULL: no memory. */
static report_table *make_device_table(const halley_score *score)
{
    enum { N_COLUMNS = sizeof device_columns / sizeof *device_columns };
    double *errors = malloc((score->n_rows + 1) * sizeof *errors);
    report_table *t = errors != NULL ? report_table_new(device_columns, N_COLUMNS) : NULL;
    for (uint32_t i = 0; t != NULL && i < score->n_rows; i++) {
        if (!is_first_of_kind(score, i))
            continue;
        const error_group g = collect_errors(score, &score->rows[i], errors);
        add_group(t, &g);
    }
    free(errors);
    return t;
}

static halley_status overall_json(report_json *j, const halley_score *score,
                                  halley_error *err)
{
    double *errors = malloc((score->n_rows + 1) * sizeof *errors);
    if (errors == NULL)
        return error_nomem(err);
    const error_group g = collect_errors(score, NULL, errors);
    report_json_flat_object(j, "overall");
    report_json_u64(j, "scored", g.n);
    if (g.n > 0) {
        report_json_double(j, "mape", round_share(g.sum / g.n));
        report_json_double(j, "median_error", round_share(find_quantile(&g, 0.5)));
        report_json_double(j, "p90_error", round_share(find_quantile(&g, 0.9)));
        report_json_double(j, "bias", round_share(g.signed_sum / g.n));
    }
    report_json_end(j);
    free(errors);
    return HALLEY_OK;
}

static halley_status devices_json(report_json *j, const halley_score *score,
                                  halley_error *err)
{
    report_table *t = make_device_table(score);
    if (t == NULL)
        return error_nomem(err);
    report_table_json(t, j, "by_device");
    report_table_free(t);
    return HALLEY_OK;
}

static halley_status write_score_json(const request_call *call, const halley_score *score,
                                      halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    halley_status status = overall_json(&j, score, err);
    if (status == HALLEY_OK)
        status = devices_json(&j, score, err);
    report_json_array(&j, "sets");
    for (uint32_t i = 0; i < score->n_sets; i++)
        set_json(&j, &score->sets[i]);
    report_json_end(&j);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

static const report_column row_columns[] = {
    {"Run", "id", REPORT_WORDS, UNITS_COUNT, 60},
    {"Set", "set", REPORT_WORDS, UNITS_COUNT, 0},
    {"Layout", "layout", REPORT_WORDS, UNITS_COUNT, 0},
    {"NPU", "npu", REPORT_WORDS, UNITS_COUNT, 0},
    {"Stack", "stack", REPORT_WORDS, UNITS_COUNT, 0},
    {"Type", "dtype", REPORT_WORDS, UNITS_COUNT, 0},
    {"Measured", "measured_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Predicted", "predicted_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Error", "step_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Typical", "error_typical", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Bound", "error_bound", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Held out", "held_out_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Memory measured", "measured_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"predicted", "predicted_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Error", "memory_error", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Full", "full", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"", "fit", REPORT_WORDS, UNITS_COUNT, 0},
};

static void add_memory(report_table *t, const halley_score_row *r)
{
    if (!(r->measured_bytes > 0)) {
        for (int i = 0; i < 3; i++)
            report_table_empty(t);
        return;
    }
    report_table_number(t, r->measured_bytes);
    report_table_number(t, r->predicted_bytes);
    report_table_number(t, round_share(r->predicted_bytes / r->measured_bytes - 1));
}

static halley_status write_rows(const request_call *call, const halley_score *score,
                                report_form form, halley_error *err)
{
    report_table *t =
        report_table_new(row_columns, sizeof row_columns / sizeof *row_columns);
    if (!t)
        return error_nomem(err);
    for (uint32_t i = 0; i < score->n_rows; i++) {
        const halley_score_row *r = &score->rows[i];
        report_table_words(t, str_from(r->id));
        report_table_words(t, str_from(r->set));
        report_table_words(t, str_from(r->layout));
        report_table_words(t, str_from(r->npu));
        report_table_words(t, str_from(r->stack));
        report_table_words(t, str_from(halley_dtype_name(r->dtype)));
        report_table_number(t, r->measured_s);
        report_table_number(t, r->predicted_s);
        report_table_number(t, round_share(r->predicted_s / r->measured_s - 1));
        report_table_number(t, round_share(r->error_typical));
        report_table_number(t, round_share(r->error_bound));
        report_table_number_or_empty(t, r->held_out_s);
        add_memory(t, r);
        report_table_number(t, r->full);
        report_table_words(t, str_from(halley_fit_name(r->fit)));
    }
    return request_table_write(call, t, "predictions", form, err);
}

static halley_status write_score(request_call *call, const halley_score *score,
                                 halley_error *err)
{
    const score_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->rows)
        return write_rows(call, score, form, err);
    if (o->by_device)
        return request_table_write(call, make_device_table(score), "by_device", form,
                                   err);
    if (form == REPORT_JSON)
        return write_score_json(call, score, err);
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; t && i < score->n_sets; i++)
        add_row(t, score, &score->sets[i]);
    if (form == REPORT_TEXT)
        write_skipped(call->out, score);
    const halley_status status = request_table_write(call, t, "sets", form, err);
    if (status == HALLEY_OK && o->worst && form == REPORT_TEXT)
        write_worst(call->out, score);
    return status;
}

/* Nothing could be scored: report how many rows there are, and the first reason. */
static halley_status refuse_unscored(request_call *call, const halley_score *score,
                                     halley_error *err)
{
    uint32_t rows = 0;
    const char *reason = NULL;
    for (uint32_t i = 0; i < score->n_sets; i++) {
        const halley_score_set *s = &score->sets[i];
        rows += s->rows;
        if (reason == NULL && s->n_skips > 0)
            reason = s->skips[0].reason;
    }
    return request_fail_as(call, REQUEST_CODE_INFEASIBLE,
                           error_set(err, HALLEY_EINVAL,
                                     "no row could be scored, %u skipped: %s", rows,
                                     reason != NULL ? reason : "there are no rows"));
}

static halley_status score_coverage(request_call *call, halley_error *err)
{
    const score_options *o = call->options;
    halley_error_coverage c;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(halley_error_bars_make(&c, NULL, call->args, call->n_args, err));
    return request_write_coverage(call, &c, form, err);
}

static halley_status score_run(request_call *call, halley_error *err)
{
    const score_options *o = call->options;
    if (o->coverage)
        return score_coverage(call, err);
    const halley_score_opts opts = {
        .defaults = o->defaults,
        .unknown = o->unknown,
        .folds = o->cross_validate || request_given(call, "folds") ? o->folds : 0,
        .stack = o->stack,
        .natural = o->natural != NATURAL_OFF,
        .with_degrees = o->natural == NATURAL_DEGREES,
        .without_chip = o->without_chip,
    };
    halley_score *score = NULL;
    TRY(halley_score_run(&score, call->args, call->n_args, &opts, err));
    halley_status status = write_score(call, score, err);
    if (status == HALLEY_OK && !has_scored(score))
        status = refuse_unscored(call, score, err);
    halley_score_free(score);
    return status;
}

static const request_example examples[] = {
    {"halley score", "all published runs that come with halley"},
    {"halley score bloom --worst", "one set, with the rows it misses most"},
    {"halley score --cross-validate", "errors on layouts the fit has not seen"},
    {"halley score my-runs.json gemm.csv", "files of one's own"},
    {0},
};

static const char *const runs_key[] = {"runs", NULL};

const request_verb request_verb_score = {
    .name = "score",
    .summary = "compare predictions with published measurements",
    .arguments = "[FILE|SET...]",
    .arg_keys = runs_key,
    .description =

        "Predicts every run of the given files or sets and prints the error per "
        "set: mean and median absolute error, bias and rank correlation. For "
        "memory it counts the refused runs. Rows that could not be scored come "
        "first, with the reason. Without arguments, all sets that come with halley "
        "are used.\n\n"
        "FILE is a list of runs in JSON, or a table of measured matmuls or "
        "collectives in CSV. Constants come from one file per accelerator, one per "
        "cluster and one per framework and release, never from a row. The column "
        "\"Fitted\" counts the fitted ones. With --cross-validate the errors are "
        "held out: a run is predicted by a fit that has seen no run of its layout.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(score_options),
    .defaults = &defaults,
    .max_args = REQUEST_ANY,
    .run = score_run,
};
