/*
 * Makes the table of what was compared, and measures how far error bars hold. Each source
 * of runs is left out in turn. Its runs are predicted by stacks that were fitted to the
 * other sources, or by defaults where no other source has that software.
 */
#include "score/error_bars.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/recipe.h"
#include "halley/score.h"
#include "hw/embedded.h"
#include "score/fit.h"
#include "score/natural.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_LAYOUTS = 3, MOST_NAMES = 64 };

typedef struct maker {
    score_rows rows;
    uint32_t *chosen;
    halley_error_coverage *out;
    double squares[2][2]; /* of sources and of runs within them; fitted, defaults */
    double counts[2][2];
} maker;

static bool is_timed(const score_row *row)
{
    return row->skip[0] == '\0' && row->step_s > 0;
}

/* Sets of one author are one source: what is before the first dash, of these authors. */
static str source_of(const score_row *row)
{
    static const char *const authors[] = {"mbridge", "mpt",       "vtrain",
                                          "simumax", "internevo", "dgxc"};
    const size_t n = strcspn(row->set, "-");
    for (size_t i = 0; i < sizeof authors / sizeof *authors; i++)
        if (strlen(authors[i]) == n && strncmp(row->set, authors[i], n) == 0)
            return (str){row->set, n};
    return str_from(row->set);
}

static bool is_first_of_source(const score_rows *rows, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (is_timed(&rows->rows.at[k]) &&
            str_eq(source_of(&rows->rows.at[k]), source_of(&rows->rows.at[i])))
            return false;
    return is_timed(&rows->rows.at[i]);
}

/* The stack of `row`, fitted without its source; defaults if no other source has it. */
static halley_status fit_others(halley_stack *out, bool *is_fitted, const maker *m,
                                const score_row *row, halley_error *err)
{
    size_t n = 0;
    const score_rows *rows = &m->rows;
    halley_stack prior = rows->stacks.at[row->stack];
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *other = &rows->rows.at[i];
        if (is_timed(other) && other->stack == row->stack &&
            !str_eq(source_of(other), source_of(row)))
            m->chosen[n++] = i;
    }
    *is_fitted =
        prior.n_fit > 0 && score_rows_layouts(rows, m->chosen, n) >= LEAST_LAYOUTS;
    halley_stack_default(out);
    if (!*is_fitted)
        return HALLEY_OK;
    score_stack_forget(&prior);
    *out = prior;
    return score_fit(out, &prior, rows, m->chosen, n, err);
}

/* The runs of one source. */
typedef struct source_count {
    double n, typical, bound, sum, squares;
    bool is_fitted;
} source_count;

static halley_status count_run(source_count *c, const maker *m, const score_row *row,
                               const halley_stack *stack, halley_error *err)
{
    halley_error_bar bar;
    halley_estimate e;
    const halley_cluster *cluster = m->rows.clusters.at[row->cluster].cluster;
    halley_estimate_run(&e, &row->model, &row->plan, cluster, stack);
    TRY(score_row_bar(&bar, &e, row, cluster, stack, err));
    const double error = score_predict(&m->rows, row, stack) / row->step_s - 1;
    c->n++;
    c->typical += fabs(error) <= bar.typical;
    c->bound += fabs(error) <= bar.bound;
    c->sum += log1p(error);
    c->squares += log1p(error) * log1p(error);
    return HALLEY_OK;
}

static void add_source_count(maker *m, const source_count *c, str name)
{
    halley_error_coverage *out = m->out;
    const double mean = c->sum / c->n;
    const int known = c->is_fitted ? 0 : 1;
    out->n_sources++;
    out->typical += c->typical / c->n;
    out->bound += c->bound / c->n;
    out->rows_typical += c->typical;
    out->rows_bound += c->bound;
    out->n_runs += (uint32_t)c->n;
    m->squares[known][0] += mean * mean;
    m->counts[known][0]++;
    m->squares[known][1] += c->squares - c->n * mean * mean;
    m->counts[known][1] += c->n - 1;
    if (out->n_covered == HALLEY_MAX_COVERED)
        return;
    halley_source_coverage *to = &out->covered[out->n_covered++];
    snprintf(to->source, sizeof to->source, "%.*s", STR_ARG(name));
    to->n_runs = (uint32_t)c->n;
    to->typical = c->typical / c->n;
    to->bound = c->bound / c->n;
    to->fitted = c->is_fitted;
}

/* Predict the runs of the source of row `first` without it. */
static halley_status leave_out_source(maker *m, uint32_t first, halley_error *err)
{
    const str name = source_of(&m->rows.rows.at[first]);
    source_count c = {.n = 0};
    uint32_t last = UINT32_MAX;
    halley_stack stack;
    for (uint32_t i = first; i < m->rows.rows.n; i++) {
        const score_row *row = &m->rows.rows.at[i];
        bool is_fitted = c.is_fitted;
        if (!is_timed(row) || !str_eq(source_of(row), name))
            continue;
        if (row->stack != last)
            TRY(fit_others(&stack, &is_fitted, m, row, err));
        last = row->stack;
        c.is_fitted = is_fitted;
        TRY(count_run(&c, m, row, &stack, err));
    }
    add_source_count(m, &c, name);
    return HALLEY_OK;
}

static halley_status leave_out_all(maker *m, halley_error *err)
{
    halley_error_coverage *out = m->out;
    for (uint32_t i = 0; i < m->rows.rows.n; i++)
        if (is_first_of_source(&m->rows, i))
            TRY(leave_out_source(m, i, err));
    if (out->n_sources == 0)
        return error_set(err, HALLEY_EINVAL, "no run could be predicted");
    out->typical /= out->n_sources;
    out->bound /= out->n_sources;
    out->rows_typical /= out->n_runs;
    out->rows_bound /= out->n_runs;
    return HALLEY_OK;
}

/* Distinct texts in order of first appearance. */
typedef struct name_list {
    const char *at[MOST_NAMES];
    uint32_t n;
} name_list;

static bool add_bars_name(name_list *to, const char *name)
{
    for (uint32_t i = 0; i < to->n; i++)
        if (strcmp(to->at[i], name) == 0)
            return false;
    if (to->n < MOST_NAMES)
        to->at[to->n++] = name;
    return true;
}

static void write_bars_names(file_output *to, const char *key, const name_list *list)
{
    file_output_printf(to, "%s: [", key);
    for (uint32_t i = 0; i < list->n; i++)
        file_output_printf(to, "%s%s", i > 0 ? ", " : "", list->at[i]);
    file_output_printf(to, "]");
}

static void write_stacks(file_output *to, const maker *m)
{
    file_output_printf(to, "stacks:\n");
    for (uint32_t k = 0; k < m->rows.stacks.n; k++) {
        const halley_stack *s = &m->rows.stacks.at[k];
        name_list own = {.n = 0};
        for (uint32_t i = 0; i < m->rows.rows.n; i++)
            if (is_timed(&m->rows.rows.at[i]) && m->rows.rows.at[i].stack == k)
                (void)add_bars_name(&own, m->rows.rows.at[i].npu);
        if (s->n_fit == 0 || own.n == 0)
            continue;
        file_output_printf(to, "  - {name: %s, ", s->name);
        write_bars_names(to, "npus", &own);
        file_output_printf(to, "}\n");
    }
}

/* "kinds: {dense: [runs, sources], ...}" */
static void write_kinds(file_output *to, const maker *m)
{
    file_output_printf(to, "kinds:\n");
    for (int kind = 0; kind < BAR_N_KINDS; kind++) {
        uint32_t runs = 0, sources = 0;
        str seen[MOST_NAMES];
        for (uint32_t i = 0; i < m->rows.rows.n; i++) {
            const score_row *row = &m->rows.rows.at[i];
            bool known = false;
            if (!is_timed(row) ||
                (int)bar_kind_of(&row->model, &row->plan,
                                 m->rows.clusters.at[row->cluster].cluster) != kind)
                continue;
            runs++;
            for (uint32_t k = 0; k < sources; k++)
                known = known || str_eq(seen[k], source_of(row));
            if (!known && sources < MOST_NAMES)
                seen[sources++] = source_of(row);
        }
        file_output_printf(to, "  %s: [%u, %u]\n", bar_kind_names[kind], runs, sources);
    }
}

static halley_status write_vendors(file_output *to, const maker *m, halley_error *err)
{
    static const char *const vendors[] = {"nvidia", "amd", "google", "amazon", "intel"};
    file_output_printf(to, "vendors: {");
    for (size_t v = 0; v < sizeof vendors / sizeof *vendors; v++) {
        str seen[MOST_NAMES];
        uint32_t sources = 0;
        for (uint32_t i = 0; i < m->rows.rows.n; i++) {
            const score_row *row = &m->rows.rows.at[i];
            char vendor[HALLEY_NAME], generation[HALLEY_NAME];
            bool known = !is_timed(row);
            for (uint32_t k = 0; k < sources && !known; k++)
                known = str_eq(seen[k], source_of(row));
            if (known || sources == MOST_NAMES)
                continue;
            TRY(halley_device_kind(vendor, generation, row->npu, err));
            if (strcmp(vendor, vendors[v]) == 0)
                seen[sources++] = source_of(row);
        }
        file_output_printf(to, "%s%s: %u", v > 0 ? ", " : "", vendors[v], sources);
    }
    file_output_printf(to, "}\n");
    return HALLEY_OK;
}

static void write_ranges(file_output *to, const maker *m)
{
    file_output_printf(to, "measured:\n");
    for (int which = 0; which < BAR_N_RANGES; which++) {
        double low = HUGE_VAL, high = 0;
        for (uint32_t i = 0; i < m->rows.rows.n; i++) {
            const score_row *row = &m->rows.rows.at[i];
            const double value =
                is_timed(row) ? bar_range_value(m->rows.clusters.at[row->cluster].cluster,
                                                (bar_range)which)
                              : 0;
            low = value > 0 ? fmin(low, value) : low;
            high = fmax(high, value);
        }
        if (high > 0)
            file_output_printf(to, "  %s: [%s, %s]\n", bar_range_names[which],
                               number_digits(low, 6).at, number_digits(high, 6).at);
    }
}

/* The terms are chosen, not fitted: they are copied from the table that is built in. */
static void write_terms(file_output *to)
{
    const cluster_embedded *old = cluster_embedded_find("data/error-bars.yaml");
    const char *from = old != NULL ? strstr(old->text, "terms:\n") : NULL;
    const char *end = from != NULL ? strstr(from, "\nnpus:") : NULL;
    if (end != NULL)
        file_output_printf(to, "%.*s\n", (int)(end - from), from);
}

static double root_of(const maker *m, int known, int what)
{
    return m->counts[known][what] > 0
               ? 100 * sqrt(m->squares[known][what] / m->counts[known][what])
               : 0;
}

static halley_status write_table(const maker *m, const char *path, halley_error *err)
{
    file_output *to;
    name_list npus = {.n = 0}, families = {.n = 0};
    TRY(file_output_open(&to, path, err));
    file_output_printf(
        to,
        "# What error to expect of a step time: terms of the standard deviation of\n"
        "# ln(predicted / measured), and what was compared. Made by `halley calibrate\n"
        "# --error-bars` from %u sources, each left out in turn. Of their runs, %s %% "
        "are\n"
        "# within the typical error and %s %% within the bound (mean over sources). Rms\n"
        "# of sources and within them: %s and %s %% where another source had the\n"
        "# software, %s and %s %% with defaults.\n",
        m->out->n_sources, number_fixed(100 * m->out->typical, 0).at,
        number_fixed(100 * m->out->bound, 0).at, number_fixed(root_of(m, 0, 0), 1).at,
        number_fixed(root_of(m, 0, 1), 1).at, number_fixed(root_of(m, 1, 0), 1).at,
        number_fixed(root_of(m, 1, 1), 1).at);
    write_terms(to);
    for (uint32_t i = 0; i < m->rows.rows.n; i++) {
        const score_row *row = &m->rows.rows.at[i];
        if (!is_timed(row))
            continue;
        (void)add_bars_name(&npus, row->npu);
        (void)add_bars_name(&families, bar_family_name(&row->model, &row->plan));
    }
    write_bars_names(to, "npus", &npus);
    file_output_printf(to, "\n");
    write_bars_names(to, "families", &families);
    file_output_printf(to, "\n");
    const halley_status status = write_vendors(to, m, err);
    write_kinds(to, m);
    write_ranges(to, m);
    write_stacks(to, m);
    const halley_status kept = file_output_commit(to, err);
    return status != HALLEY_OK ? status : kept;
}

halley_status halley_error_bars_make(halley_error_coverage *out, const char *path,
                                     const char *const *files, size_t n_files,
                                     halley_error *err)
{
    halley_error_coverage coverage = {.size = sizeof coverage};
    maker m = {.out = &coverage};
    halley_status status = score_rows_load(&m.rows, files, n_files, err);
    if (status == HALLEY_OK)
        status = score_rows_stacks(&m.rows, SCORE_FITTED, NULL, err);
    if (status == HALLEY_OK) {
        m.chosen = mem_array(m.rows.rows.n + 1, sizeof *m.chosen);
        status = m.chosen != NULL ? leave_out_all(&m, err) : error_nomem(err);
    }
    if (status == HALLEY_OK && path != NULL)
        status = write_table(&m, path, err);
    free(m.chosen);
    score_rows_fini(&m.rows);
    TRY(status);
    *out = coverage;
    return HALLEY_OK;
}
