/*
 * Makes the table of error bars. Every run is predicted several times by constants that
 * were not fitted to it. Its stack is fitted without its layout's fold, without its set,
 * without its device, and without its release. It is also predicted by the defaults, as
 * if its software were unknown. The absolute errors are collected by class. Their
 * quantiles are the error bars.
 *
 *   Class                            predicted by
 *   Stack known, device fitted       fits without the layout's fold, and without the set.
 *   Stack known, device not fitted   fits without the device.
 *   Another release known            fits without the release, stacks of other releases.
 *   Stack unknown                    the defaults.
 */
#include "score/error_bars.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "halley/score.h"
#include "score/bar_class.h"
#include "score/fit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FOLDS = 5, LEAST_LAYOUTS = 3, LEAST_SETS = 3, MOST_NAMES = 64 };

typedef ARRAY(bar_error) error_array;

typedef struct maker {
    score_rows rows;
    error_array errors;
    uint32_t *chosen; /* room for twice the rows */
} maker;

static uint64_t hash_bars_text(const char *text)
{
    return hash_bytes(text, strlen(text), 29) | 1; /* 0 means no source */
}

static bool is_timed(const score_row *row)
{
    return row->skip[0] == '\0' && row->step_s > 0;
}

/* The group that is left out together with a row. */
typedef enum left_out { LEFT_FOLD, LEFT_SET, LEFT_DEVICE, LEFT_RELEASE, N_LEFT } left_out;

static uint64_t bars_group_of(const score_row *row, left_out what)
{
    switch (what) {
    case LEFT_FOLD:
        return score_fold(row->layout, N_FOLDS) + 1;
    case LEFT_SET:
        return hash_bars_text(row->set);
    case LEFT_DEVICE:
        return hash_bars_text(row->npu);
    case LEFT_RELEASE:
        return hash_bars_text(row->release);
    case N_LEFT:
        break;
    }
    assert(false);
    return 0;
}

static halley_status add_error(maker *m, const score_row *row, const halley_stack *stack,
                               bar_stack knowledge, bar_device device, halley_error *err)
{
    const halley_cluster *cluster = m->rows.clusters.at[row->cluster].cluster;
    bar_class class = bar_class_of(&row->model, &row->plan, cluster);
    const double predicted = score_predict(&m->rows, row, stack);
    class.stack = (uint8_t)knowledge;
    class.device = (uint8_t)device;
    /* Other kinds of models have one set each. There each device counts as a source. */
    char source[HALLEY_NAME * 2 + 2];
    snprintf(source, sizeof source, "%s|%s", row->set,
             class.kind == BAR_OTHER ? row->npu : "");
    const bar_error e = {.class = class,
                         .source = hash_bars_text(source),
                         .error = fabs(predicted / row->step_s - 1)};
    return array_push(&m->errors, e) ? HALLEY_OK : error_nomem(err);
}

/* Fit stack k without one group of its rows, and predict these. */
static halley_status leave_out_bars(maker *m, uint32_t k, left_out what, uint64_t group,
                                    halley_error *err)
{
    const score_rows *rows = &m->rows;
    uint32_t *in = m->chosen, *out = m->chosen + rows->rows.n;
    size_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *row = &rows->rows.at[i];
        if (!is_timed(row) || row->stack != k)
            continue;
        if (bars_group_of(row, what) == group)
            out[n_out++] = i;
        else
            in[n_in++] = i;
    }
    if (n_out == 0 || score_rows_layouts(rows, in, n_in) < LEAST_LAYOUTS)
        return HALLEY_OK;
    halley_stack prior = rows->stacks.at[k];
    score_stack_forget(&prior);
    halley_stack fitted = prior;
    TRY(score_fit(&fitted, &prior, rows, in, n_in, err));
    for (size_t i = 0; i < n_out; i++)
        TRY(add_error(m, &rows->rows.at[out[i]], &fitted,
                      what == LEFT_RELEASE ? BAR_FAMILY : BAR_KNOWN,
                      what == LEFT_DEVICE ? BAR_UNFITTED : BAR_FITTED, err));
    return HALLEY_OK;
}

static bool has_group(const uint64_t *groups, size_t n, uint64_t group)
{
    for (size_t i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* With only two sets, each is half of what a stack was fitted to. Leaving one out then
 * shows nothing about a stack that is known. */
static bool has_enough_sets(const maker *m, uint32_t k)
{
    uint64_t sets[LEAST_SETS];
    size_t n = 0;
    for (uint32_t i = 0; i < m->rows.rows.n && n < LEAST_SETS; i++) {
        const score_row *row = &m->rows.rows.at[i];
        const uint64_t set = bars_group_of(row, LEFT_SET);
        if (is_timed(row) && row->stack == k && !has_group(sets, n, set))
            sets[n++] = set;
    }
    return n >= LEAST_SETS;
}

static halley_status leave_out_each(maker *m, uint32_t k, left_out what,
                                    halley_error *err)
{
    const score_rows *rows = &m->rows;
    ARRAY(uint64_t) done = {0};
    if (what == LEFT_SET && !has_enough_sets(m, k))
        return HALLEY_OK;
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < rows->rows.n && status == HALLEY_OK; i++) {
        const score_row *row = &rows->rows.at[i];
        const uint64_t group = bars_group_of(row, what);
        if (!is_timed(row) || row->stack != k || has_group(done.at, done.n, group))
            continue;
        status = array_push(&done, group) ? leave_out_bars(m, k, what, group, err)
                                          : error_nomem(err);
    }
    array_fini(&done);
    return status;
}

/* Predict the runs of one release with the stacks of other releases of the same
 * software. */
static halley_status swap_releases(maker *m, halley_error *err)
{
    const score_rows *rows = &m->rows;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *row = &rows->rows.at[i];
        for (uint32_t k = 0; is_timed(row) && k < rows->stacks.n; k++) {
            const halley_stack *s = &rows->stacks.at[k];
            if (k == row->stack || s->n_fit == 0 ||
                strcmp(s->framework, row->framework) != 0)
                continue;
            TRY(add_error(m, row, s, BAR_FAMILY, BAR_FITTED, err));
        }
    }
    return HALLEY_OK;
}

static halley_status use_defaults(maker *m, halley_error *err)
{
    halley_stack stack;
    halley_stack_default(&stack);
    for (uint32_t i = 0; i < m->rows.rows.n; i++) {
        const score_row *row = &m->rows.rows.at[i];
        if (is_timed(row))
            TRY(add_error(m, row, &stack, BAR_UNKNOWN, BAR_FITTED, err));
    }
    return HALLEY_OK;
}

static halley_status collect_bar_errors(maker *m, halley_error *err)
{
    for (uint32_t k = 0; k < m->rows.stacks.n; k++) {
        if (m->rows.stacks.at[k].n_fit == 0)
            continue; /* no stack file: defaults */
        for (int what = 0; what < N_LEFT; what++)
            TRY(leave_out_each(m, k, (left_out)what, err));
    }
    TRY(swap_releases(m, err));
    return use_defaults(m, err);
}

/* True if a design may be looked up in this class. */
static bool is_reached(bar_class c)
{
    if (c.kind == BAR_ANY)
        return c.stack == BAR_UNKNOWN && c.device == BAR_ANY && c.parallel == BAR_ANY;
    return c.device != BAR_ANY || c.parallel == BAR_ANY;
}

/* All classes, the widest last. */
static uint32_t list_classes(bar_class *to, uint32_t most)
{
    uint32_t n = 0;
    (void)most; /* used only by assert */
    for (uint32_t kind = 0; kind <= BAR_N_KINDS; kind++)
        for (uint32_t stack = 0; stack < BAR_N_STACKS; stack++)
            for (uint32_t device = 0; device <= BAR_N_DEVICES; device++)
                for (uint32_t parallel = 0; parallel <= BAR_N_PARALLELS; parallel++) {
                    assert(n < most);
                    to[n++] = (bar_class){
                        .kind = (uint8_t)(kind < BAR_N_KINDS ? kind : BAR_ANY),
                        .stack = (uint8_t)stack,
                        .device = (uint8_t)(device < BAR_N_DEVICES ? device : BAR_ANY),
                        .parallel =
                            (uint8_t)(parallel < BAR_N_PARALLELS ? parallel : BAR_ANY)};
                }
    return n;
}

enum {
    MOST_CLASSES =
        (BAR_N_KINDS + 1) * BAR_N_STACKS * (BAR_N_DEVICES + 1) * (BAR_N_PARALLELS + 1)
};

static const char *word_of(const char *const *names, uint8_t member)
{
    return member == BAR_ANY ? "any" : names[member];
}

static uint32_t write_bars_classes(file_output *to, const maker *m, bar_error *scratch)
{
    bar_class classes[MOST_CLASSES];
    uint32_t written = 0;
    const uint32_t n = list_classes(classes, MOST_CLASSES);
    for (uint32_t i = 0; i < n; i++) {
        bar_quantiles q;
        if (!is_reached(classes[i]) ||
            !bar_quantiles_make(&q, scratch, m->errors.at, m->errors.n, classes[i], 0))
            continue;
        written++;
        if (to != NULL)
            file_output_printf(to,
                               "  - {kind: %s, stack: %s, device: %s, parallel: %s, "
                               "typical: %s, bound: %s, runs: %u, sources: %u}\n",
                               word_of(bar_kind_names, classes[i].kind),
                               word_of(bar_stack_names, classes[i].stack),
                               word_of(bar_device_names, classes[i].device),
                               word_of(bar_parallel_names, classes[i].parallel),
                               number_fixed(q.typical, 3).at, number_fixed(q.bound, 3).at,
                               q.n_runs, q.n_sources);
    }
    return written;
}

/* The bar of an error's own class, computed without the error's source. False if none. */
static bool find_bar(bar_quantiles *out, const maker *m, bar_error *scratch,
                     const bar_error *e)
{
    bar_class wide;
    for (uint32_t i = 0; bar_class_widen(&wide, e->class, i); i++)
        if (bar_quantiles_make(out, scratch, m->errors.at, m->errors.n, wide, e->source))
            return true;
    return false;
}

/* How many errors share the source and class of `e`. */
static double count_alike_bars(const maker *m, const bar_error *e)
{
    double n = 0;
    for (size_t i = 0; i < m->errors.n; i++)
        n += m->errors.at[i].source == e->source &&
             memcmp(&m->errors.at[i].class, &e->class, sizeof e->class) == 0;
    return n;
}

/* Counts for one class. */
typedef struct class_count {
    bar_class class;
    double typical, bound, all; /* sums of weights */
    uint32_t n_runs;
} class_count;

static class_count *find_count(class_count *counts, uint32_t *n, bar_class class)
{
    for (uint32_t i = 0; i < *n; i++)
        if (memcmp(&counts[i].class, &class, sizeof class) == 0)
            return &counts[i];
    if (*n == HALLEY_MAX_COVERED)
        return NULL;
    counts[*n] = (class_count){.class = class};
    return &counts[(*n)++];
}

static void list_covered(halley_error_coverage *out, const class_count *counts,
                         uint32_t n)
{
    enum { LEAST_RUNS = 20 };
    for (uint32_t i = 0; i < n; i++) {
        const class_count *c = &counts[i];
        if (c->n_runs < LEAST_RUNS)
            continue;
        halley_class_coverage *to = &out->covered[out->n_covered++];
        bar_class_print(to->class_name, sizeof to->class_name, c->class);
        to->n_runs = c->n_runs;
        to->typical = c->typical / c->all;
        to->bound = c->bound / c->all;
    }
}

/* Here too, the runs of a source count by the square root of their number. */
static void measure_coverage(halley_error_coverage *out, const maker *m,
                             bar_error *scratch)
{
    class_count counts[HALLEY_MAX_COVERED];
    uint32_t n_counts = 0;
    double typical = 0, bound = 0, all = 0, weight = 0;
    bar_error last = {.source = 0};
    bar_quantiles q = {0};
    bool has = false;
    for (size_t i = 0; i < m->errors.n; i++) {
        const bar_error *e = &m->errors.at[i];
        if (e->source != last.source ||
            memcmp(&e->class, &last.class, sizeof last.class) != 0) {
            has = find_bar(&q, m, scratch, e);
            weight = 1 / sqrt(count_alike_bars(m, e));
        }
        last = *e;
        if (!has)
            continue;
        out->n_runs++;
        all += weight;
        typical += e->error <= q.typical ? weight : 0;
        bound += e->error <= q.bound ? weight : 0;
        class_count *c = find_count(counts, &n_counts, e->class);
        if (c == NULL)
            continue;
        c->n_runs++;
        c->all += weight;
        c->typical += e->error <= q.typical ? weight : 0;
        c->bound += e->error <= q.bound ? weight : 0;
    }
    list_covered(out, counts, n_counts);
    out->typical = all > 0 ? typical / all : 0;
    out->bound = all > 0 ? bound / all : 0;
}

/* Distinct texts in order of first appearance. */
typedef struct name_list {
    const char *at[MOST_NAMES];
    uint32_t n;
} name_list;

static void add_bars_name(name_list *to, const char *name)
{
    for (uint32_t i = 0; i < to->n; i++)
        if (strcmp(to->at[i], name) == 0)
            return;
    if (to->n < MOST_NAMES)
        to->at[to->n++] = name;
}

static void write_bars_names(file_output *to, const char *key, const name_list *list)
{
    file_output_printf(to, "%s: [", key);
    for (uint32_t i = 0; i < list->n; i++)
        file_output_printf(to, "%s%s", i > 0 ? ", " : "", list->at[i]);
    file_output_printf(to, "]");
}

static void write_compared(file_output *to, const maker *m)
{
    name_list npus = {.n = 0}, families = {.n = 0};
    for (uint32_t i = 0; i < m->rows.rows.n; i++) {
        const score_row *row = &m->rows.rows.at[i];
        if (!is_timed(row))
            continue;
        add_bars_name(&npus, row->npu);
        add_bars_name(&families, bar_family_name(&row->model, &row->plan));
    }
    write_bars_names(to, "npus", &npus);
    file_output_printf(to, "\n");
    write_bars_names(to, "families", &families);
    file_output_printf(to, "\nstacks:\n");
    for (uint32_t k = 0; k < m->rows.stacks.n; k++) {
        const halley_stack *s = &m->rows.stacks.at[k];
        name_list own = {.n = 0};
        for (uint32_t i = 0; i < m->rows.rows.n; i++)
            if (is_timed(&m->rows.rows.at[i]) && m->rows.rows.at[i].stack == k)
                add_bars_name(&own, m->rows.rows.at[i].npu);
        if (s->n_fit == 0 || own.n == 0)
            continue;
        file_output_printf(to, "  - {name: %s, ", s->name);
        write_bars_names(to, "npus", &own);
        file_output_printf(to, "}\n");
    }
}

static halley_status write_table(halley_error_coverage *out, const maker *m,
                                 const char *path, halley_error *err)
{
    bar_error *scratch = mem_array(m->errors.n + 1, sizeof *scratch);
    if (scratch == NULL)
        return error_nomem(err);
    file_output *to = NULL;
    halley_status status = HALLEY_OK;
    if (path != NULL)
        status = file_output_open(&to, path, err);
    if (status == HALLEY_OK && to != NULL) {
        file_output_printf(
            to,
            "# What error to expect of a step time, by class of design: quantiles\n"
            "# (70 and 95 %%) of the errors on published runs that the constants had\n"
            "# not seen. Made by `halley calibrate --error-bars`.\n");
        write_compared(to, m);
        file_output_printf(to, "classes:\n");
    }
    if (status == HALLEY_OK) {
        out->n_classes = write_bars_classes(to, m, scratch);
        measure_coverage(out, m, scratch);
    }
    free(scratch);
    if (status == HALLEY_OK && to != NULL)
        status = file_output_commit(to, err);
    return status;
}

halley_status halley_error_bars_make(halley_error_coverage *out, const char *path,
                                     const char *const *files, size_t n_files,
                                     halley_error *err)
{
    maker m = {0};
    halley_error_coverage coverage = {.size = sizeof coverage};
    halley_status status = score_rows_load(&m.rows, files, n_files, err);
    if (status == HALLEY_OK)
        status = score_rows_stacks(&m.rows, SCORE_FITTED, NULL, err);
    if (status == HALLEY_OK) {
        m.chosen = mem_array(2 * m.rows.rows.n + 1, sizeof *m.chosen);
        status = m.chosen != NULL ? collect_bar_errors(&m, err) : error_nomem(err);
    }
    if (status == HALLEY_OK && m.errors.n == 0)
        status = error_set(err, HALLEY_EINVAL, "no run could be predicted");
    if (status == HALLEY_OK)
        status = write_table(&coverage, &m, path, err);
    free(m.chosen);
    array_fini(&m.errors);
    score_rows_fini(&m.rows);
    TRY(status);
    *out = coverage;
    return HALLEY_OK;
}
