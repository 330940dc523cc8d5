/* The results of an exploration, for people: the best designs, the Pareto front, what
 * matters, and what would change the answer. */
#include "request/explore_out.h"

#include "base/error.h"
#include "base/number/number.h"
#include "report/numbers.h"

#include <math.h>
#include <string.h>

enum { MOST_COLUMNS = HALLEY_MAX_AXES + HALLEY_MAX_OBJECTIVES + 10 };

typedef struct sheet {
    report_column columns[MOST_COLUMNS];
    uint32_t n;
    report_table *table;
} sheet;

static void add_column(sheet *t, const char *title)
{
    if (t->n < MOST_COLUMNS)
        t->columns[t->n++] = (report_column){title, title, REPORT_WORDS, UNITS_COUNT, 40};
}

static void add_sheet_cell(sheet *t, const char *text)
{
    report_table_words(t->table, str_from(text));
}

static void metric_cell(sheet *t, uint32_t metric, double value)
{
    char text[64];
    add_sheet_cell(t, halley_metric_format(text, sizeof text, metric, value));
}

/* In a table the last part of a path is clear enough. */
static const char *shorten_axis_name(const char *path)
{
    static const char *const plain[] = {"plan.", "cluster.npu.", "cluster.", "model."};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strncmp(path, plain[i], strlen(plain[i])) == 0)
            return path + strlen(plain[i]);
    }
    return path;
}

/* Metrics that are always shown; other objectives come before them. */
static const uint32_t shown[] = {HALLEY_METRIC_STEP_TIME,  HALLEY_METRIC_TOKENS_PER_S,
                                 HALLEY_METRIC_MFU,        HALLEY_METRIC_MEMORY,
                                 HALLEY_METRIC_TRAIN_TIME, HALLEY_METRIC_TRAIN_COST};
enum { N_SHOWN = sizeof shown / sizeof *shown };

static bool is_metric_shown(uint32_t metric)
{
    for (int i = 0; i < N_SHOWN; i++) {
        if (shown[i] == metric)
            return true;
    }
    return false;
}

static void start_sheet(sheet *t, const halley_study *s, const halley_exploration *e)
{
    t->n = 0;
    for (uint32_t i = 0; i < halley_study_axes(s); i++)
        add_column(t, shorten_axis_name(halley_study_axis(s, i)->name));
    add_column(t, "dp");
    for (uint32_t i = 0; i < halley_study_objectives(s); i++) {
        if (!is_metric_shown(halley_study_objective(s, i)->metric))
            add_column(t, halley_study_objective(s, i)->text);
    }
    for (int i = 0; i < N_SHOWN; i++)
        add_column(t, halley_metric_title(shown[i]));
    add_column(t, "Error");
    if (e->has_baseline)
        add_column(t, "Against base");
    add_column(t, "Limited by");
    t->table = report_table_new(t->columns, t->n);
}

/* A lower bound is marked. */
static void result_cell(sheet *t, const halley_candidate *c, uint32_t metric, bool money,
                        double value)
{
    char text[64], marked[72];
    const bool open = money && c->price_state == HALLEY_PRICE_LOWER_BOUND;
    snprintf(marked, sizeof marked, "%s%s", open ? ">= " : "",
             halley_metric_format(text, sizeof text, metric, value));
    add_sheet_cell(t, marked);
}

static void add_candidate(sheet *t, const halley_study *s, const halley_exploration *e,
                          const halley_candidate *c, bool is_base)
{
    char text[64];
    for (uint32_t i = 0; i < halley_study_axes(s); i++) {
        const halley_axis *a = halley_study_axis(s, i);
        add_sheet_cell(t, is_base ? "" : a->texts[c->digits[i]]);
    }
    snprintf(text, sizeof text, "%u", c->plan.dp);
    add_sheet_cell(t, text);
    for (uint32_t i = 0; i < halley_study_objectives(s); i++) {
        const halley_objective *o = halley_study_objective(s, i);
        if (!is_metric_shown(o->metric))
            result_cell(t, c, o->metric, o->money, c->objective[i]);
    }
    for (int i = 0; i < N_SHOWN; i++)
        result_cell(t, c, shown[i], shown[i] == HALLEY_METRIC_TRAIN_COST,
                    c->metrics[shown[i]]);
    snprintf(text, sizeof text, "%s %%", number_fixed(100 * c->error_bar.typical, 0).at);
    add_sheet_cell(t, text);
    if (e->has_baseline) {
        const double base = e->baseline.objective[0], mine = c->objective[0];
        const double gain =
            halley_study_objective(s, 0)->maximize ? mine / base : base / mine;
        snprintf(text, sizeof text, "%sx", number_fixed(gain, 3).at);
        add_sheet_cell(t, text);
    }
    add_sheet_cell(t, c->limit);
}

static halley_status finish_sheet(sheet *t, FILE *to, halley_error *err)
{
    if (!t->table)
        return error_nomem(err);
    const halley_status status = report_table_write(t->table, REPORT_TEXT, to, err);
    report_table_free(t->table);
    return status;
}

static halley_status write_candidates(const halley_study *s, const halley_exploration *e,
                                      const halley_candidate *list, uint32_t n, FILE *to,
                                      halley_error *err)
{
    sheet t;
    start_sheet(&t, s, e);
    if (!t.table)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        add_candidate(&t, s, e, &list[i], false);
    return finish_sheet(&t, to, err);
}

static halley_status write_baseline(const halley_study *s, const halley_exploration *e,
                                    FILE *to, halley_error *err)
{
    sheet t;
    if (e->baseline_refused[0])
        fprintf(to, "\nBaseline: %s cannot be: %s\n", halley_study_baseline(s),
                e->baseline_refused);
    if (!e->has_baseline)
        return HALLEY_OK;
    fprintf(to, "\nBaseline: %s%s\n\n", halley_study_baseline(s),
            e->baseline.fits ? "" : " (does not fit in memory, timed as if it did)");
    start_sheet(&t, s, e);
    if (!t.table)
        return error_nomem(err);
    add_candidate(&t, s, e, &e->baseline, true);
    return finish_sheet(&t, to, err);
}

halley_status explore_write_refusals(const halley_refusal *list, uint32_t n, FILE *to,
                                     halley_error *err)
{
    static const report_column columns[] = {
        {"Designs", "designs", REPORT_COUNT, UNITS_COUNT, 0},
        {"Refused because", "reason", REPORT_WORDS, UNITS_COUNT, 0},
    };
    report_table *t = report_table_new(columns, 2);
    if (!t)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        report_table_count(t, list[i].designs);
        report_table_words(t, str_from(list[i].reason));
    }
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    return status;
}

/* Write what applies to all designs, below the tables. */
static void write_basis(const halley_exploration *e, FILE *to)
{
    const halley_candidate *best = &e->best[0];
    fprintf(to, "\nassumed: ");
    for (uint32_t i = 0; i < e->n_assumed; i++)
        fprintf(to, "%s, ", e->assumed[i].text);
    fprintf(to, "%s %% of the memory stays free, training on %s tokens\n",
            number_digits(100 * e->headroom, 3).at, number_digits(e->tokens, 3).at);
    report_error_bar_text(to, &best->error_bar);
    fprintf(to, "Schedules of the designs shown are timed pass by pass; others were "
                "ranked by a closed form.\n");
}

static halley_status write_refused_values(const halley_study *s,
                                          const halley_exploration *e, FILE *to,
                                          halley_error *err)
{
    static const char *const titles[] = {"Nothing fits with", "Value", "Refused because",
                                         "Missing"};
    sheet t = {.n = 0};
    if (e->n_refused_values == 0)
        return HALLEY_OK;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        add_column(&t, titles[i]);
    t.columns[2].max_width = 80;
    t.table = report_table_new(t.columns, t.n);
    if (!t.table)
        return error_nomem(err);
    for (uint32_t i = 0; i < e->n_refused_values; i++) {
        const halley_refused_value *v = &e->refused_values[i];
        const halley_axis *a = halley_study_axis(s, v->axis);
        add_sheet_cell(&t, a->name);
        add_sheet_cell(&t, a->texts[v->value]);
        add_sheet_cell(&t, v->reason);
        if (v->over_bytes > 0)
            metric_cell(&t, HALLEY_METRIC_MEMORY, v->over_bytes);
        else
            add_sheet_cell(&t, "");
    }
    fprintf(to, "\n");
    return finish_sheet(&t, to, err);
}

static void range_cell(sheet *t, uint32_t metric, double low, double high)
{
    char a[64], b[64], text[140];
    halley_metric_format(a, sizeof a, metric, low);
    halley_metric_format(b, sizeof b, metric, high);
    snprintf(text, sizeof text, "%s ... %s", a, b);
    add_sheet_cell(t, isnan(low) ? "-" : text);
}

static halley_status write_sensitivities(const halley_study *s,
                                         const halley_exploration *e, FILE *to,
                                         halley_error *err)
{
    const halley_objective *goal = halley_study_objective(s, 0);
    sheet t = {.n = 0};
    if (e->n_sensitivities == 0)
        return HALLEY_OK;
    fprintf(to, "\nWhat %s depends on (widest first)\n\n", goal->text);
    static const char *const titles[] = {
        "Parameter", "Elasticity", "All else at the best", "From",
        "To",        "Swing",      "Best over the space",  "Infeasible"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        add_column(&t, titles[i]);
    t.table = report_table_new(t.columns, t.n);
    if (!t.table)
        return error_nomem(err);
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        const halley_sensitivity *v = &e->sensitivities[i];
        const halley_axis *a = halley_study_axis(s, v->axis);
        char text[64];
        add_sheet_cell(&t, a->name);
        snprintf(text, sizeof text, "%s", number_signed(v->elasticity, 3).at);
        add_sheet_cell(&t, isnan(v->elasticity) ? "-" : text);
        range_cell(&t, goal->metric, v->low, v->high);
        add_sheet_cell(&t, isnan(v->low) ? "" : a->texts[v->low_value]);
        add_sheet_cell(&t, isnan(v->low) ? "" : a->texts[v->high_value]);
        snprintf(text, sizeof text, "%sx", number_fixed(v->high / v->low, 2).at);
        add_sheet_cell(&t, isnan(v->low) ? "-" : text);
        range_cell(&t, goal->metric, v->space_low, v->space_high);
        snprintf(text, sizeof text, "%u of %u", v->refused, v->tried);
        add_sheet_cell(&t, text);
    }
    return finish_sheet(&t, to, err);
}

static halley_status write_verified(const halley_exploration *e, FILE *to,
                                    halley_error *err)
{
    static const char *const titles[] = {"Best", "Estimated", "Simulated", "Gap", "Note"};
    sheet t = {.n = 0};
    if (e->n_verified == 0)
        return HALLEY_OK;
    fprintf(to, "\nVerified by simulation\n\n");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        add_column(&t, titles[i]);
    t.columns[4].max_width = 100;
    t.table = report_table_new(t.columns, t.n);
    if (!t.table)
        return error_nomem(err);
    for (uint32_t i = 0; i < e->n_verified; i++) {
        const halley_verification *v = &e->verified[i];
        char text[64];
        snprintf(text, sizeof text, "%u", i + 1);
        add_sheet_cell(&t, text);
        metric_cell(&t, HALLEY_METRIC_STEP_TIME, v->done ? v->estimated_s : NAN);
        metric_cell(&t, HALLEY_METRIC_STEP_TIME, v->done ? v->simulated_s : NAN);
        snprintf(
            text, sizeof text, "%s %%",
            number_signed(v->done ? 100 * (v->simulated_s / v->estimated_s - 1) : 0, 1)
                .at);
        add_sheet_cell(&t, v->done ? text : "-");
        add_sheet_cell(&t, v->note);
    }
    return finish_sheet(&t, to, err);
}

/* Which prices are not those of a market. */
static void write_price_states(const halley_exploration *e, FILE *to)
{
    const halley_candidate *open = NULL, *imputed = NULL;
    for (uint32_t i = 0; i < e->n_best; i++) {
        const halley_candidate *c = &e->best[i];
        open = open == NULL && c->price_state == HALLEY_PRICE_LOWER_BOUND ? c : open;
        imputed = imputed == NULL && c->price_state == HALLEY_PRICE_IMPUTED ? c : imputed;
    }
    if (open != NULL)
        fprintf(
            to,
            "\nMoney marked >= is a lower bound: state %s of %s. By money, such designs "
            "are ranked after those with all prices.\n",
            open->missing_prices, open->cluster);
    if (imputed != NULL)
        fprintf(
            to,
            "\nThe accelerators of %s are not sold: their price is imputed, and so is "
            "all money of such designs.\n",
            imputed->cluster);
}

halley_status explore_write_text(const halley_study *s, const halley_exploration *e,
                                 uint32_t top, FILE *to, halley_error *err)
{
    const halley_objective *goal = halley_study_objective(s, 0);
    const uint32_t n = e->n_best < top ? e->n_best : top;
    fprintf(to, "%s: %s design%s evaluated of %s, %s feasible\n", halley_study_name(s),
            number_fixed((double)e->n_evaluated, 0).at, e->n_evaluated == 1 ? "" : "s",
            number_digits(e->n_designs, 4).at, number_fixed((double)e->n_feasible, 0).at);
    if (n) {
        fprintf(to, "\nBest by %s %s%s\n\n", goal->maximize ? "greatest" : "least",
                goal->text,
                goal->assumed ? " (objective assumed: the study states none)" : "");
        TRY(write_candidates(s, e, e->best, n, to, err));
    }
    write_price_states(e, to);
    TRY(write_baseline(s, e, to, err));
    if (e->n_front > 1) {
        const uint32_t most = e->n_front < top ? e->n_front : top;
        fprintf(to, "\nPareto front: %u designs%s\n\n", e->n_front,
                most < e->n_front ? ", the first of them" : "");
        TRY(write_candidates(s, e, e->front, most, to, err));
    }
    TRY(write_verified(e, to, err));
    TRY(write_sensitivities(s, e, to, err));
    for (uint32_t i = 0; i < e->n_breaks; i++)
        fprintf(to, "\n%s\n  %s\n", e->breaks[i].question, e->breaks[i].answer);
    if (e->n_refusals) {
        fprintf(to, "\n");
        TRY(explore_write_refusals(e->refusals, e->n_refusals, to, err));
    }
    TRY(write_refused_values(s, e, to, err));
    if (n > 0)
        write_basis(e, to);
    return HALLEY_OK;
}
