/*
 * Reductions over designs. All are independent of the order (least by value, then by
 * number), so blocks may be evaluated by any thread or machine.
 */
#include "explore/collect.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 2500, MOST_TOTAL_VALUES = 200000 };

static bool shown_axis(const explore_axis *a)
{
    return !a->seen.inner && a->seen.n > 1 && a->seen.n <= 64;
}

static void choose_heats(explore_sums *sums, const halley_study *s)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t j = i + 1; j < s->n_axes; j++) {
            const uint64_t cells = (uint64_t)s->axes[i].seen.n * s->axes[j].seen.n;
            if (sums->n_heats == EXPLORE_MAX_HEATS || !shown_axis(&s->axes[i]) ||
                !shown_axis(&s->axes[j]) || cells > MOST_CELLS)
                continue;
            sums->heats[sums->n_heats++] = (halley_heat){.axis_i = i, .axis_j = j};
        }
    }
    assert(sums->n_heats <= EXPLORE_MAX_HEATS);
}

static size_t heat_cells(const halley_study *s, const halley_heat *h)
{
    return (size_t)s->axes[h->axis_i].seen.n * s->axes[h->axis_j].seen.n;
}

static size_t count_axis_values(const halley_study *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_axes; i++)
        n += s->axes[i].seen.n;
    return n;
}

size_t explore_sums_bytes(const explore_sums *sums, const halley_study *s)
{
    size_t n_cells = 0;
    for (uint32_t i = 0; i < sums->n_heats; i++)
        n_cells += heat_cells(s, &sums->heats[i]);
    return count_axis_values(s) * sizeof(halley_marginal) +
           n_cells * (sizeof(double) + sizeof(uint64_t));
}

static bool is_design(uint64_t id, const halley_study *s)
{
    return id == UINT64_MAX || (double)id < s->size;
}

bool explore_sums_are_valid(const explore_sums *sums, const halley_study *s)
{
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t v = 0; v < s->axes[i].seen.n; v++) {
            if (!is_design(sums->marginals[i][v].best_id, s))
                return false;
        }
    }
    for (uint32_t i = 0; i < sums->n_heats; i++) {
        const size_t n = heat_cells(s, &sums->heats[i]);
        for (size_t c = 0; c < n; c++) {
            if (!is_design(sums->heats[i].ids[c], s))
                return false;
        }
    }
    return true;
}

halley_status explore_sums_init(explore_sums *sums, const halley_study *s,
                                halley_error *err)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    *sums = (explore_sums){0};
    choose_heats(sums, s);
    if (count_axis_values(s) > MOST_TOTAL_VALUES)
        return error_set(err, HALLEY_ELIMIT, "the axes have more than %d values in all",
                         MOST_TOTAL_VALUES);
    char *at = mem_array(1, explore_sums_bytes(sums, s) + 1);
    if (!at)
        return error_nomem(err);
    sums->memory = at;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        sums->marginals[i] = (halley_marginal *)(void *)at;
        at += s->axes[i].seen.n * sizeof(halley_marginal);
    }
    for (uint32_t i = 0; i < sums->n_heats; i++) {
        const size_t n = heat_cells(s, &sums->heats[i]);
        sums->heats[i].cells = (double *)(void *)at;
        at += n * sizeof(double);
        sums->heats[i].ids = (uint64_t *)(void *)at;
        at += n * sizeof(uint64_t);
    }
    explore_sums_clear(sums, s);
    return HALLEY_OK;
}

void explore_sums_clear(explore_sums *sums, const halley_study *s)
{
    assert(sums->memory != NULL);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t v = 0; v < s->axes[i].seen.n; v++)
            sums->marginals[i][v] = (halley_marginal){.best = NAN, .best_id = UINT64_MAX};
    }
    for (uint32_t i = 0; i < sums->n_heats; i++) {
        const size_t n = heat_cells(s, &sums->heats[i]);
        for (size_t c = 0; c < n; c++) {
            sums->heats[i].cells[c] = NAN;
            sums->heats[i].ids[c] = UINT64_MAX;
        }
    }
}

/* Keep the better of two values; NaN counts as no value. */
static void keep_better(double *best, uint64_t *best_id, double value, uint64_t id,
                        bool maximize)
{
    if (isnan(value))
        return;
    const bool better = isnan(*best) || (maximize ? value > *best : value < *best) ||
                        (value == *best && id < *best_id);
    if (!better)
        return;
    *best = value;
    *best_id = id;
}

void explore_sums_improve(explore_sums *sums, const halley_study *s,
                          const explore_row *row)
{
    assert(row->id != UINT64_MAX);
    uint32_t digits[HALLEY_MAX_AXES];
    const bool maximize = s->goals[0].seen.maximize;
    explore_digits(digits, s, row->id);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        halley_marginal *m = &sums->marginals[i][digits[i]];
        keep_better(&m->best, &m->best_id, row->objective[0], row->id, maximize);
    }
    for (uint32_t i = 0; i < sums->n_heats; i++) {
        halley_heat *h = &sums->heats[i];
        const size_t c =
            (size_t)digits[h->axis_i] * s->axes[h->axis_j].seen.n + digits[h->axis_j];
        keep_better(&h->cells[c], &h->ids[c], row->objective[0], row->id, maximize);
    }
}

void explore_sums_add(explore_sums *sums, const halley_study *s, const explore_row *row)
{
    uint32_t digits[HALLEY_MAX_AXES];
    explore_digits(digits, s, row->id);
    for (uint32_t i = 0; i < s->n_axes; i++)
        sums->marginals[i][digits[i]].feasible++;
    explore_sums_improve(sums, s, row);
}

void explore_sums_merge(explore_sums *to, const explore_sums *from, const halley_study *s)
{
    assert(to->n_heats == from->n_heats);
    const bool maximize = s->goals[0].seen.maximize;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t v = 0; v < s->axes[i].seen.n; v++) {
            halley_marginal *m = &to->marginals[i][v];
            const halley_marginal *f = &from->marginals[i][v];
            m->feasible += f->feasible;
            keep_better(&m->best, &m->best_id, f->best, f->best_id, maximize);
        }
    }
    for (uint32_t i = 0; i < to->n_heats; i++) {
        const size_t n = heat_cells(s, &to->heats[i]);
        for (size_t c = 0; c < n; c++)
            keep_better(&to->heats[i].cells[c], &to->heats[i].ids[c],
                        from->heats[i].cells[c], from->heats[i].ids[c], maximize);
    }
}

void explore_sums_fini(explore_sums *sums)
{
    free(sums->memory);
    *sums = (explore_sums){0};
}

static bool dominates_row(const halley_study *s, const explore_row *a,
                          const explore_row *b)
{
    assert(s->n_goals > 0 && s->n_goals <= HALLEY_MAX_OBJECTIVES);
    bool better = false;
    for (uint32_t i = 0; i < s->n_goals; i++) {
        const int order = explore_goal_compare(s, i, a, b);
        if (order > 0)
            return false;
        better = better || order < 0;
    }
    return better || a->id <= b->id; /* a design that occurs twice is listed once */
}

bool explore_front_add(explore_rows *front, const halley_study *s, const explore_row *row)
{
    assert(s->n_goals > 0);
    for (size_t i = 0; i < front->n; i++) {
        if (dominates_row(s, &front->at[i], row))
            return true;
    }
    size_t n = 0;
    for (size_t i = 0; i < front->n; i++) {
        if (!dominates_row(s, row, &front->at[i]))
            front->at[n++] = front->at[i];
    }
    front->n = n;
    if (n == EXPLORE_MAX_FRONT)
        return true;
    assert(front->n <= EXPLORE_MAX_FRONT);
    return array_push(front, *row);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    return explore_better(context, a, b) ? -1 : explore_better(context, b, a);
}

/* True if the same design is listed under another number. Rows of equal objective are
 * sorted by number, so the one with the least number comes first. */
static bool is_there(const explore_rows *rows, size_t n, const explore_row *row)
{
    while (n > 0 && rows->at[n - 1].objective[0] == row->objective[0]) {
        if (rows->at[--n].key == row->key)
            return true;
    }
    return false;
}

void explore_top_sort(explore_top *top, const halley_study *s)
{
    explore_rows *rows = &top->rows;
    assert(top->most > 0 && top->n_known <= rows->n);
    if (rows->n > 0)
        qsort_r(rows->at, rows->n, sizeof *rows->at, compare_rows, (void *)(uintptr_t)s);
    size_t n = 0;
    for (size_t i = 0; i < rows->n && n < top->most; i++) {
        if (!is_there(rows, n, &rows->at[i]))
            rows->at[n++] = rows->at[i];
    }
    rows->n = top->n_known = n;
}

bool explore_top_add(explore_top *top, const halley_study *s, const explore_row *row)
{
    if (top->n_known == top->most &&
        !explore_better(s, row, &top->rows.at[top->most - 1]))
        return true;
    if (!array_push(&top->rows, *row))
        return false;
    if (top->rows.n >= 2 * top->most)
        explore_top_sort(top, s);
    return true;
}
