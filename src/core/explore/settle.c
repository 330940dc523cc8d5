/*
 * Settling. A search ranks designs by the closed form of their schedule, whose error is
 * at most 12 % (workload/schedule_form.c). Reported designs are evaluated pass by pass,
 * as `halley estimate` does. These are all designs within 12 % of the best by the first
 * objective, but at least 200 and at most EXPLORE_MOST_NEAR. The front and the designs in
 * marginals and heat maps are settled as well.
 *
 * With `plan: best`, the plan of the best designs is chosen again, among those that the
 * closed form ranks first. Rows whose exact results violate a constraint are removed from
 * the lists.
 */
#include "explore/settle.h"

#include "base/pool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_NEAR = 200,
    MOST_PLANS = 1 << 16,       /* most plans of a design for which the plan is chosen
                                   again */
    MOST_TRIED = 2000000,       /* total number of plans that are tried again */
    MOST_MARGINAL_VALUES = 2500 /* largest axis whose marginals are made exact */
};

typedef struct settle_task {
    uint64_t id;  /* of the row as the search found it */
    bool replans; /* choose among all plans of its outer design */
    bool ok;      /* still feasible */
    explore_row row;
} settle_task;

typedef struct settling {
    explore_run *r;
    ARRAY(settle_task) tasks; /* by id; those that do not choose a plan come first */
} settling;

static bool add_task(settling *s, uint64_t id, bool replans)
{
    return id == UINT64_MAX ||
           array_push(&s->tasks, ((settle_task){.id = id, .replans = replans}));
}

static int compare_tasks(const void *a, const void *b)
{
    const settle_task *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (int)x->replans - (int)y->replans;
}

static settle_task *find_task(const settling *s, uint64_t id, bool replans)
{
    const settle_task wanted = {.id = id, .replans = replans};
    return s->tasks.n == 0 ? NULL
                           : bsearch(&wanted, s->tasks.at, s->tasks.n,
                                     sizeof *s->tasks.at, compare_tasks);
}

static void drop_repeats(settling *s)
{
    size_t n = 0;
    if (s->tasks.n > 0)
        qsort(s->tasks.at, s->tasks.n, sizeof *s->tasks.at, compare_tasks);
    for (size_t i = 0; i < s->tasks.n; i++) {
        if (n == 0 || compare_tasks(&s->tasks.at[n - 1], &s->tasks.at[i]) != 0)
            s->tasks.at[n++] = s->tasks.at[i];
    }
    s->tasks.n = n;
}

/* The number of rows, best first by the closed form, that may be the best. */
static size_t count_near(const explore_run *r)
{
    const explore_rows *best = &r->best.rows;
    const size_t least = r->top > FEWEST_NEAR ? r->top : FEWEST_NEAR;
    size_t n = best->n < least ? best->n : least;
    while (n < best->n &&
           explore_is_near(r->study, best->at[n].objective[0], best->at[0].objective[0]))
        n++;
    return n;
}

/* True if the i-th best design chooses its plan again. */
static bool is_replanned(const halley_study *s, size_t i)
{
    return s->inner_size > 1 && s->inner_size <= MOST_PLANS &&
           (i + 1) * s->inner_size <= MOST_TRIED;
}

static size_t count_cells(const halley_study *s, const halley_heat *h)
{
    return (size_t)s->axes[h->axis_i].seen.n * s->axes[h->axis_j].seen.n;
}

static bool add_sums(settling *s)
{
    const explore_run *r = s->r;
    bool ok = true;
    for (uint32_t i = 0; i < r->study->n_axes; i++) {
        const uint32_t n = r->study->axes[i].seen.n;
        for (uint32_t v = 0; ok && n <= MOST_MARGINAL_VALUES && v < n; v++)
            ok = add_task(s, r->sums.marginals[i][v].best_id, false);
    }
    for (uint32_t i = 0; i < r->sums.n_heats; i++) {
        const halley_heat *h = &r->sums.heats[i];
        const size_t n = count_cells(r->study, h);
        for (size_t c = 0; ok && c < n; c++)
            ok = add_task(s, h->ids[c], false);
    }
    return ok;
}

static halley_status list_tasks(settling *s, size_t n_near, halley_error *err)
{
    const explore_run *r = s->r;
    bool ok = true;
    for (size_t i = 0; ok && i < n_near; i++)
        ok = add_task(s, r->best.rows.at[i].id, is_replanned(r->study, i));
    for (size_t i = 0; ok && i < r->front.n; i++)
        ok = add_task(s, r->front.at[i].id, false);
    if (!ok || !add_sums(s))
        return error_nomem(err);
    drop_repeats(s);
    return HALLEY_OK;
}

static halley_status run_settle_task(void *context, size_t i, uint32_t worker,
                                     halley_error *err)
{
    settling *s = context;
    settle_task *t = &s->tasks.at[i];
    explore_worker *w = &s->r->workers[worker];
    const uint64_t inner = s->r->study->inner_size;
    if (!watcher_add(&s->r->look, 0))
        return watcher_error(&s->r->look, err);
    t->ok = t->replans
                ? explore_worker_best_exact(w, &t->row, t->id - t->id % inner, inner)
                : explore_worker_best_exact(w, &t->row, t->id, 1);
    /* Without memory the schedule is not walked. */
    return t->ok && !t->row.walked ? error_nomem(err) : HALLEY_OK;
}

/* Build the lists from the settled rows. */
static halley_status take_lists(settling *s, size_t n_near, halley_error *err)
{
    explore_run *r = s->r;
    explore_top best = {.most = r->top};
    explore_rows front = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n_near; i++) {
        const settle_task *t =
            find_task(s, r->best.rows.at[i].id, is_replanned(r->study, i));
        assert(t != NULL);
        if (t->ok)
            ok = explore_top_add(&best, r->study, &t->row) &&
                 (r->study->n_goals < 2 || explore_front_add(&front, r->study, &t->row));
    }
    for (size_t i = 0; ok && i < r->front.n; i++) {
        const settle_task *t = find_task(s, r->front.at[i].id, false);
        assert(t != NULL);
        ok = !t->ok || explore_front_add(&front, r->study, &t->row);
    }
    if (!ok) {
        array_fini(&best.rows);
        array_fini(&front);
        return error_nomem(err);
    }
    explore_top_sort(&best, r->study);
    array_fini(&r->best.rows);
    array_fini(&r->front);
    r->best = best;
    r->front = front;
    return HALLEY_OK;
}

static void settle_cell(const settling *s, double *best, uint64_t id)
{
    const settle_task *t = id == UINT64_MAX ? NULL : find_task(s, id, false);
    if (t != NULL && t->ok)
        *best = t->row.objective[0];
}

static void take_sums(settling *s)
{
    explore_run *r = s->r;
    for (uint32_t i = 0; i < r->study->n_axes; i++) {
        for (uint32_t v = 0; v < r->study->axes[i].seen.n; v++) {
            halley_marginal *m = &r->sums.marginals[i][v];
            settle_cell(s, &m->best, m->best_id);
        }
    }
    for (uint32_t i = 0; i < r->sums.n_heats; i++) {
        const halley_heat *h = &r->sums.heats[i];
        const size_t n = count_cells(r->study, h);
        for (size_t c = 0; c < n; c++)
            settle_cell(s, &h->cells[c], h->ids[c]);
    }
    for (size_t i = 0; i < s->tasks.n; i++)
        if (s->tasks.at[i].ok)
            explore_sums_improve(&r->sums, r->study, &s->tasks.at[i].row);
}

/* True if another task's row replaces the row of this design in the store. */
static bool is_overruled(const settling *s, const settle_task *t)
{
    const settle_task *other = t->replans ? NULL : find_task(s, t->id, true);
    return other != NULL && other->ok;
}

static halley_status store_rows(settling *s, halley_error *err)
{
    if (s->r->store == NULL)
        return HALLEY_OK;
    TRY(explore_store_settle_begin(s->r->store, err));
    halley_status status = HALLEY_OK;
    for (size_t i = 0; i < s->tasks.n && status == HALLEY_OK; i++) {
        const settle_task *t = &s->tasks.at[i];
        if (t->ok && !is_overruled(s, t))
            status = explore_store_settle(s->r->store, t->id, &t->row, err);
    }
    return explore_store_settle_end(s->r->store, status, err);
}

halley_status explore_settle(uint32_t *n, explore_run *r, halley_error *err)
{
    settling s = {.r = r};
    explore_top_sort(&r->best, r->study);
    const size_t n_near = count_near(r);
    halley_status status = list_tasks(&s, n_near, err);
    if (status == HALLEY_OK)
        status = pool_run(r->threads, s.tasks.n, run_settle_task, &s, err);
    if (status == HALLEY_OK)
        status = store_rows(&s, err);
    if (status == HALLEY_OK)
        status = take_lists(&s, n_near, err);
    if (status == HALLEY_OK) {
        take_sums(&s);
        *n = (uint32_t)s.tasks.n;
    }
    array_fini(&s.tasks);
    return status;
}

void explore_unsettle(explore_row *row, explore_worker *w)
{
    const uint64_t inner = w->study->inner_size;
    const bool replans = inner > 1 && inner <= MOST_PLANS;
    const uint64_t id = row->id;
    uint64_t n = 0;
    explore_row form = {.id = id};
    if (explore_worker_best(w, &form, &n, replans ? id - id % inner : id,
                            replans ? inner : 1))
        *row = form;
}
