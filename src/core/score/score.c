/*
 * Scoring: reads sets, predicts every row that can be expressed, and compares. Runs are
 * scored with the stack file of their framework and release. With folds, each row is also
 * predicted by a stack that was fitted only to the rows of other folds. All rows of a
 * layout are in the same fold.
 */
#include "halley/score.h"

#include "halley/error_bar.h"
#include "hw/embedded.h"
#include "score/csv_sets.h"
#include "score/fit.h"
#include "score/metrics.h"
#include "score/natural.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef ARRAY(halley_score_set) set_array;

typedef struct scoring {
    score_rows rows;
    set_array sets;
    halley_score_opts opts;
    double *predicted; /* of each row; 0 = skipped */
    double *folded;    /* cross-validated predictions; NULL = none */
} scoring;

static halley_status add_embedded(scoring *s, const cluster_embedded *file,
                                  halley_error *err)
{
    conf_file conf;
    TRY(conf_parse(&conf, (str){file->text, file->n}, file->path, err));
    const halley_status status = score_rows_add(&s->rows, &conf, err);
    conf_fini(&conf);
    return status;
}

static halley_status add_collectives(scoring *s, const conf_file *conf, halley_error *err)
{
    halley_score_set *sets = NULL;
    size_t n = 0;
    halley_status status = score_collectives(&sets, &n, conf, err);
    for (size_t i = 0; status == HALLEY_OK && i < n; i++) {
        if (!array_push(&s->sets, sets[i]))
            status = error_nomem(err);
    }
    free(sets);
    return status;
}

static halley_status add_own_collectives(scoring *s, halley_error *err)
{
    const cluster_embedded *file =
        cluster_embedded_find("data/published-collectives.json");
    if (!file)
        return HALLEY_OK;
    conf_file conf;
    TRY(conf_parse(&conf, (str){file->text, file->n}, file->path, err));
    const halley_status status = add_collectives(s, &conf, err);
    conf_fini(&conf);
    return status;
}

static halley_status add_own(scoring *s, const char *name, halley_error *err)
{
    char path[128];
    if (name && strcmp(name, "collectives") == 0)
        return add_own_collectives(s, err);
    bool any = !name;
    if (name)
        snprintf(path, sizeof path, "data/runs/%s.json", name);
    for (size_t i = 0; i < cluster_embedded_n; i++) {
        const cluster_embedded *file = &cluster_embedded_files[i];
        if (name ? strcmp(file->path, path) != 0
                 : strncmp(file->path, "data/runs/", 10) != 0)
            continue;
        any = true;
        TRY(add_embedded(s, file, err));
    }
    if (!name)
        TRY(add_own_collectives(s, err));
    if (!any)
        return error_set(err, HALLEY_ENOTFOUND,
                         "no set \"%s\"; give a file, or a set that `halley score` lists",
                         name);
    return HALLEY_OK;
}

static halley_status add_score_json(scoring *s, const char *path, halley_error *err)
{
    conf_file conf;
    TRY(conf_load_table(&conf, path, err));
    halley_status status;
    if (score_is_collectives(&conf)) {
        status = add_collectives(s, &conf, err);
    } else {
        status = score_rows_add(&s->rows, &conf, err);
    }
    conf_fini(&conf);
    return status;
}

static halley_status add_csv(scoring *s, const char *path, halley_error *err)
{
    halley_score_set *sets;
    size_t n;
    TRY(score_csv(&sets, &n, path, err));
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = array_push(&s->sets, sets[i]);
    free(sets);
    return ok ? HALLEY_OK : error_nomem(err);
}

static halley_status add_score_file(scoring *s, const char *name, halley_error *err)
{
    if (!strchr(name, '.') && !strchr(name, '/'))
        return add_own(s, name, err);
    const str n = str_from(name);
    if (str_ends(n, STR(".csv")) || str_ends(n, STR(".csv.gz")))
        return add_csv(s, name, err);
    return add_score_json(s, name, err);
}

static bool is_timed_row(const score_row *row)
{
    return !row->skip[0] && row->step_s > 0;
}

/* Rows of stack `k` that are in fold `fold` (or, if `others`, in any other). */
static size_t choose_rows(const score_rows *rows, uint32_t k, uint32_t fold,
                          uint32_t n_folds, bool others, uint32_t *at)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *row = &rows->rows.at[i];
        if (is_timed_row(row) && row->stack == k &&
            (score_fold(row->layout, n_folds) == fold) != others)
            at[n++] = i;
    }
    return n;
}

static halley_status fold_stack(scoring *s, uint32_t k, uint32_t *at, halley_error *err)
{
    const uint32_t n_folds = s->opts.folds;
    for (uint32_t fold = 0; fold < n_folds; fold++) {
        halley_stack prior = s->rows.stacks.at[k];
        score_stack_forget(&prior);
        halley_stack fitted = prior;
        size_t n = choose_rows(&s->rows, k, fold, n_folds, true, at);
        TRY(score_fit(&fitted, &prior, &s->rows, at, n, err));
        n = choose_rows(&s->rows, k, fold, n_folds, false, at);
        for (size_t i = 0; i < n; i++)
            s->folded[at[i]] = score_predict(&s->rows, &s->rows.rows.at[at[i]], &fitted);
    }
    return HALLEY_OK;
}

static halley_status cross_validate_score(scoring *s, halley_error *err)
{
    const size_t n = s->rows.rows.n;
    uint32_t *at = mem_array(n, sizeof *at);
    s->folded = mem_array_zero(n, sizeof *s->folded);
    halley_status status = at && s->folded ? HALLEY_OK : error_nomem(err);
    for (uint32_t k = 0; status == HALLEY_OK && k < s->rows.stacks.n; k++)
        status = fold_stack(s, k, at, err);
    free(at);
    return status;
}

static uint32_t n_fitted(const halley_stack *stack)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++)
        n += stack->origin[i] == 2;
    return n;
}

/* The number of fitted constants of all stacks that serve a set. */
static uint32_t fitted_of_set(const scoring *s, const char *name)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->rows.stacks.n; k++) {
        bool serves = false;
        for (uint32_t i = 0; i < s->rows.rows.n; i++) {
            const score_row *row = &s->rows.rows.at[i];
            serves |= row->stack == k && strcmp(row->set, name) == 0;
        }
        if (serves)
            n += n_fitted(&s->rows.stacks.at[k]);
    }
    return n;
}

/* Compare the predicted best run of each choice with its measured best run. */
static void score_choices(halley_score_set *set, const score_rows *rows,
                          const double *predicted)
{
    double sum = 0;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *a = &rows->rows.at[i];
        if (!is_timed_row(a) || strcmp(a->set, set->set) != 0)
            continue;
        uint32_t n = 0, first = i, best = i;
        double least = HUGE_VAL;
        for (uint32_t j = 0; j < rows->rows.n; j++) {
            const score_row *b = &rows->rows.at[j];
            if (!is_timed_row(b) || b->choice != a->choice)
                continue;
            n++;
            first = j < first ? j : first;
            best = predicted[j] < predicted[best] ? j : best;
            least = fmin(least, b->step_s);
        }
        if (first != i || n < 3)
            continue;
        sum += 100 * (rows->rows.at[best].step_s / least - 1);
        set->n_choices++;
    }
    if (set->n_choices)
        set->regret_pct = sum / set->n_choices;
}

static halley_status score_times(scoring *s, const char *name, score_pair *pairs,
                                 halley_error *err)
{
    halley_score_set set = {.metric = "step time", .cv_pct = -1};
    snprintf(set.set, sizeof set.set, "%s", name);
    size_t n = 0;
    double cv = 0;
    for (uint32_t i = 0; i < s->rows.rows.n; i++) {
        const score_row *row = &s->rows.rows.at[i];
        if (strcmp(row->set, name) != 0)
            continue;
        set.rows++;
        if (row->skip[0] || row->step_s <= 0) {
            score_skip(&set, row->skip[0] ? row->skip : "no time measured");
            continue;
        }
        pairs[n++] = (score_pair){row->id, row->step_s, s->predicted[i]};
        if (s->folded)
            cv += 100 * fabs(s->folded[i] / row->step_s - 1);
    }
    if (s->folded && n)
        set.cv_pct = cv / (double)n;
    set.n_fitted = fitted_of_set(s, name);
    score_choices(&set, &s->rows, s->predicted);
    TRY(score_metrics(&set, pairs, n, err));
    return array_push(&s->sets, set) ? HALLEY_OK : error_nomem(err);
}

/* The peak memory, as the logs of the row's software report it. */
static double read_memory(const scoring *s, const score_row *row,
                          const halley_estimate *e)
{
    const halley_stack *stack = &s->rows.stacks.at[row->stack];
    halley_stage_memory first;
    switch (stack->reading) {
    case HALLEY_READING_DEVICE:
        return e->peak_bytes;
    case HALLEY_READING_RANK_0:
        halley_estimate_stage(&first, &row->model, &row->plan,
                              s->rows.clusters.at[row->cluster].cluster, stack, 0);
        return first.allocated_bytes;
    case HALLEY_READING_ALLOCATED:
        break;
    }
    return e->allocated_bytes;
}

static halley_status score_memory(scoring *s, const char *name, score_pair *pairs,
                                  halley_error *err)
{
    halley_score_set set = {.metric = "peak memory", .cv_pct = -1};
    snprintf(set.set, sizeof set.set, "%s", name);
    size_t n = 0;
    for (uint32_t i = 0; i < s->rows.rows.n; i++) {
        const score_row *row = &s->rows.rows.at[i];
        if (strcmp(row->set, name) != 0 || row->skip[0])
            continue;
        halley_estimate e;
        halley_estimate_run(&e, &row->model, &row->plan,
                            s->rows.clusters.at[row->cluster].cluster,
                            &s->rows.stacks.at[row->stack]);
        if (row->out_of_memory) {
            set.n_out++;
            set.n_out_refused += e.fit == HALLEY_FIT_NOT;
        } else if (row->step_s > 0) {
            set.n_fit++;
            set.n_fit_refused += e.fit == HALLEY_FIT_NOT;
        }
        if (row->peak_bytes <= 0)
            continue;
        set.rows++;
        pairs[n++] = (score_pair){row->id, row->peak_bytes, read_memory(s, row, &e)};
    }
    if (n == 0 && set.n_out == 0 && set.n_fit_refused == 0)
        return HALLEY_OK;
    TRY(score_metrics(&set, pairs, n, err));
    return array_push(&s->sets, set) ? HALLEY_OK : error_nomem(err);
}

static halley_status predict_all(scoring *s, halley_error *err)
{
    s->predicted = mem_array_zero(s->rows.rows.n, sizeof *s->predicted);
    if (!s->predicted)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->rows.rows.n; i++) {
        const score_row *row = &s->rows.rows.at[i];
        if (is_timed_row(row))
            s->predicted[i] =
                score_predict(&s->rows, row, &s->rows.stacks.at[row->stack]);
    }
    return HALLEY_OK;
}

static halley_status list_rows(halley_score *out, const scoring *s, halley_error *err)
{
    out->rows = mem_array_zero(s->rows.rows.n, sizeof *out->rows);
    if (!out->rows)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->rows.rows.n; i++) {
        const score_row *row = &s->rows.rows.at[i];
        if (!is_timed_row(row))
            continue;
        halley_score_row *to = &out->rows[out->n_rows++];
        memcpy(to->id, row->id, sizeof to->id);
        memcpy(to->set, row->set, sizeof to->set);
        memcpy(to->layout, row->layout, sizeof to->layout);
        to->dtype = row->plan.dtype;
        snprintf(to->npu, sizeof to->npu, "%s", row->npu);
        snprintf(to->stack, sizeof to->stack, "%s", s->rows.stacks.at[row->stack].name);
        to->measured_s = row->step_s;
        to->predicted_s = s->predicted[i];
        to->held_out_s = s->folded ? s->folded[i] : 0;
        halley_estimate e;
        halley_estimate_run(&e, &row->model, &row->plan,
                            s->rows.clusters.at[row->cluster].cluster,
                            &s->rows.stacks.at[row->stack]);
        halley_error_bar bar;
        TRY(score_row_bar(&bar, &e, row, s->rows.clusters.at[row->cluster].cluster,
                          &s->rows.stacks.at[row->stack], err));
        to->error_typical = bar.typical;
        to->error_bound = bar.bound;
        to->full = e.peak_bytes / e.capacity_bytes;
        to->fit = e.fit;
        to->measured_bytes = row->peak_bytes;
        if (row->peak_bytes > 0)
            to->predicted_bytes = read_memory(s, row, &e);
    }
    return HALLEY_OK;
}

static halley_status score_sets(scoring *s, halley_error *err)
{
    score_pair *pairs = mem_array(s->rows.rows.n + 1, sizeof *pairs);
    if (!pairs)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < s->rows.rows.n; i++) {
        const char *name = s->rows.rows.at[i].set;
        bool seen = false;
        for (uint32_t j = 0; j < i && !seen; j++)
            seen = strcmp(s->rows.rows.at[j].set, name) == 0;
        if (seen)
            continue;
        status = score_times(s, name, pairs, err);
        if (status == HALLEY_OK)
            status = score_memory(s, name, pairs, err);
    }
    free(pairs);
    return status;
}

static halley_status run_score(scoring *s, const char *const *files, size_t n_files,
                               halley_error *err)
{
    if (n_files == 0)
        TRY(add_own(s, NULL, err));
    for (size_t i = 0; i < n_files; i++)
        TRY(add_score_file(s, files[i], err));
    if (s->rows.rows.n == 0)
        return HALLEY_OK;
    halley_stack own;
    if (s->opts.stack)
        TRY(halley_stack_load(&own, s->opts.stack, err));
    const score_stacks which = s->opts.unknown    ? SCORE_UNKNOWN
                               : s->opts.defaults ? SCORE_UNFITTED
                                                  : SCORE_FITTED;
    TRY(score_rows_stacks(&s->rows, which, s->opts.stack ? &own : NULL, err));
    if (s->opts.natural)
        TRY(score_rows_ask(&s->rows,
                           &(score_natural){.degrees = s->opts.with_degrees,
                                            .without_chip = s->opts.without_chip},
                           err));
    if (s->opts.folds > 1)
        TRY(cross_validate_score(s, err));
    TRY(predict_all(s, err));
    return score_sets(s, err);
}

halley_status halley_score_run(halley_score **out, const char *const *files,
                               size_t n_files, const halley_score_opts *opts,
                               halley_error *err)
{
    scoring s = {.opts = opts ? *opts : (halley_score_opts){0}};
    halley_status status = run_score(&s, files, n_files, err);
    halley_score *score = NULL;
    if (status == HALLEY_OK) {
        score = calloc(1, sizeof *score);
        status = score ? list_rows(score, &s, err) : error_nomem(err);
    }
    if (status == HALLEY_OK) {
        score->size = sizeof *score;
        score->n_sets = (uint32_t)s.sets.n;
        score->sets = s.sets.at;
        *out = score;
    } else {
        halley_score_free(score);
        array_fini(&s.sets);
    }
    free(s.predicted);
    free(s.folded);
    score_rows_fini(&s.rows);
    return status;
}

void halley_score_free(halley_score *score)
{
    if (!score)
        return;
    free(score->sets);
    free(score->rows);
    free(score);
}
