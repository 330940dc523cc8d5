/*
 * Find the steps of a recording without step markers, from the period of its kernels.
 *
 * The kernel names of the busiest row repeat with every step. Layers repeat too, so the
 * period must contain work that occurs once per step: the embedding lookup, a copy from
 * the host, the optimizer. The distances between two runs of such a kernel are the
 * candidates. The smallest one is taken for which at least 95 % of the kernels have the
 * same name one period later. Steps are cut where the host launches the first kernel of a
 * period.
 */
#include "recording/record/rules.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 64, MIN_PERIOD = 4 };

typedef struct period_finder {
    record *rec;
    const rec_rules *rules;
    uint32_t *works; /* of the busiest row, by begin */
    size_t n;
} period_finder;

static uint32_t find_busiest_row(const record *r, const rec_rules *rules)
{
    int64_t *const ns = mem_array_zero(r->rows.n + 1, sizeof *ns);
    uint32_t best = REC_NONE;
    for (size_t i = 0; ns != NULL && i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        if (!w->is_sync && !rec_class_is_comm(rules, w->class_id))
            ns[w->row] += w->end_ns - w->begin_ns;
    }
    for (uint32_t i = 0; ns != NULL && i < r->rows.n; i++)
        if (ns[i] > 0 && (best == REC_NONE || ns[i] > ns[best]))
            best = i;
    free(ns);
    return best;
}

static bool list_row_works(period_finder *p, uint32_t row)
{
    p->works = mem_array(p->rec->works.n + 1, sizeof *p->works);
    for (uint32_t i = 0; p->works != NULL && i < p->rec->works.n; i++) {
        const rec_work *const w = &p->rec->works.at[i];
        if (w->row == row && !w->is_sync)
            p->works[p->n++] = i;
    }
    return p->works != NULL;
}

static const rec_work *get_work(const period_finder *p, size_t i)
{
    assert(i < p->n);
    return &p->rec->works.at[p->works[i]];
}

static bool occurs_once_per_step(const period_finder *p, const rec_work *w)
{
    static const char *const classes[] = {"embedding", "copy_h2d", "optimizer"};
    const str name = rec_class_name(p->rules, w->class_id);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (str_eq(name, str_from(classes[i])))
            return true;
    return false;
}

/* Do at least 95 % of the kernels have the same name one period later? */
static bool is_period(const period_finder *p, size_t period)
{
    if (period < MIN_PERIOD || 2 * period > p->n)
        return false;
    const size_t n = p->n - period;
    size_t wrong = 0;
    for (size_t i = 0; i < n && wrong * 20 <= n; i++)
        wrong += get_work(p, i)->name != get_work(p, i + period)->name;
    return wrong * 20 <= n;
}

/* The smallest period from one run of kernel `at` to a later one; 0 = none. */
static size_t find_period_from(const period_finder *p, size_t at, size_t limit)
{
    size_t tried = 0;
    for (size_t i = at + 1; i < p->n && i - at < limit && tried < MAX_CANDIDATES; i++) {
        if (get_work(p, i)->name != get_work(p, at)->name)
            continue;
        tried++;
        if (is_period(p, i - at))
            return i - at;
    }
    return 0;
}

/* The period, and in *first the kernel that begins the first whole step. */
static size_t find_step_period(const period_finder *p, size_t *first)
{
    size_t best = 0, tried = 0;
    for (size_t i = 0; i < p->n && tried < MAX_CANDIDATES; i++) {
        const rec_work *const w = get_work(p, i);
        if (!occurs_once_per_step(p, w))
            continue;
        tried++;
        const size_t period = find_period_from(p, i, best > 0 ? best : p->n);
        if (period == 0)
            continue;
        const bool ends_step =
            str_eq(rec_class_name(p->rules, w->class_id), STR("optimizer"));
        best = period;
        *first = (i + (ends_step ? 1 : 0)) % period;
    }
    return best;
}

static int64_t find_host_begin(const period_finder *p, size_t i)
{
    const rec_work *const w = get_work(p, i);
    return w->launch == REC_NONE ? w->begin_ns : p->rec->hosts.at[w->launch].begin_ns;
}

static bool add_period_step(period_finder *p, size_t from, size_t to, int64_t end_ns)
{
    record *const r = p->rec;
    const int64_t begin_ns = find_host_begin(p, from);
    const uint32_t name = intern_add(&r->texts, STR("step"));
    const rec_step step = {.begin_ns = begin_ns,
                           .end_ns = to < p->n ? find_host_begin(p, to) : end_ns,
                           .name = name,
                           .number = r->steps.n};
    return name != REC_NONE && (step.end_ns <= begin_ns || array_push(&r->steps, step));
}

static int64_t find_last_begin(const record *r)
{
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < r->hosts.n; i++)
        if (r->hosts.at[i].end_ns > last_ns)
            last_ns = r->hosts.at[i].end_ns;
    for (size_t i = 0; i < r->works.n; i++)
        if (r->works.at[i].launch == REC_NONE && r->works.at[i].end_ns > last_ns)
            last_ns = r->works.at[i].end_ns;
    return last_ns;
}

static bool cut_steps(period_finder *p, size_t period, size_t first)
{
    const int64_t end_ns = find_last_begin(p->rec);
    bool ok = true;
    size_t from = first;
    for (; ok && from + period <= p->n; from += period)
        ok = add_period_step(p, from, from + period, end_ns);
    if (ok && (p->n - from) * 10 >= period * 9 && from < p->n)
        ok = add_period_step(p, from, p->n, end_ns);
    return ok;
}

bool rec_find_period(record *r, const rec_rules *rules)
{
    period_finder p = {.rec = r, .rules = rules};
    const uint32_t row = r->steps.n > 0 ? REC_NONE : find_busiest_row(r, rules);
    if (row == REC_NONE)
        return true;
    size_t first = 0;
    bool ok = list_row_works(&p, row);
    const size_t period = ok ? find_step_period(&p, &first) : 0;
    if (period > 0) {
        ok = cut_steps(&p, period, first);
        r->step_period = r->steps.n > 0 ? (uint32_t)period : 0;
    }
    free(p.works);
    return ok;
}
