/*
 * Move through the space like an odometer: only the axes from the first changed digit on
 * are set again. Some changes set the whole design again, starting from the base: whole
 * objects, fixed values, all other axes. There are three such changes. Whole objects (a
 * cluster, a model) overwrite values that were set inside them. Rows of tied parameters
 * may not all set the same ones. Some parameters scale others (peak, width, heads). A
 * design must not depend on the designs before it, not even in the last digit.
 */
#include "explore/worker.h"

#include "base/hash.h"
#include "estimate/run.h"
#include "explore/metric.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void explore_reasons_add(explore_reasons *r, const char *reason, uint64_t designs)
{
    assert(r->n <= EXPLORE_MAX_REASONS);
    assert(reason != NULL);
    const uint64_t key = hash_bytes(reason, strlen(reason), 7);
    uint32_t i = 0;
    while (i < r->n && r->at[i].key != key)
        i++;
    if (i == EXPLORE_MAX_REASONS) {
        i--;
    } else if (i == r->n) {
        const bool last = r->n + 1 == EXPLORE_MAX_REASONS;
        r->at[i].key = key;
        snprintf(r->at[i].seen.reason, sizeof r->at[i].seen.reason, "%s",
                 last ? "other reasons" : reason);
        r->at[i].seen.designs = 0;
        r->n++;
    }
    r->at[i].seen.designs += designs;
}

/* "tensor parallelism 7 does not divide ..." is one reason, whatever the number. */
static void refuse_text(explore_worker *w, const char *sentence)
{
    assert(sentence[0] != '\0');
    char text[160];
    size_t n = 0;
    for (const char *c = sentence; *c && n + 2 < sizeof text; c++) {
        if (*c < '0' || *c > '9')
            text[n++] = *c;
        else if (n == 0 || text[n - 1] != 'N')
            text[n++] = 'N';
    }
    text[n] = '\0';
    explore_reasons_add(&w->reasons, text, 1);
}

void explore_worker_init(explore_worker *w, const halley_study *study)
{
    assert(study->n_axes <= HALLEY_MAX_AXES);
    memset(w, 0, sizeof *w);
    w->study = study;
    w->raw = study->base;
}

void explore_digits(uint32_t *digits, const halley_study *study, uint64_t id)
{
    assert((double)id < study->size);
    for (uint32_t i = study->n_axes; i-- > 0;) {
        digits[i] = (uint32_t)(id % study->axes[i].seen.n);
        id /= study->axes[i].seen.n;
    }
}

uint64_t explore_id(const halley_study *study, const uint32_t *digits)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < study->n_axes; i++)
        id = id * study->axes[i].seen.n + digits[i];
    assert((double)id < study->size);
    return id;
}

static void apply_axis(explore_design *d, const explore_axis *a, uint32_t digit,
                       bool whole)
{
    assert(digit < a->seen.n);
    const explore_value *v = &a->values[(size_t)digit * a->n_refs];
    for (uint32_t r = 0; r < a->n_refs; r++) {
        if (v[r].text && explore_param_whole(&a->refs[r].param) == whole)
            explore_set(d, &a->refs[r], &v[r]);
    }
}

static void set_fixed(explore_design *d, const explore_fixed *list, uint32_t n,
                      bool whole)
{
    assert(n <= EXPLORE_MAX_FIXED);
    for (uint32_t i = 0; i < n; i++) {
        if (explore_param_whole(&list[i].ref.param) == whole)
            explore_set(d, &list[i].ref, &list[i].value);
    }
}

void explore_worker_move(explore_worker *w, uint64_t id)
{
    assert((double)id < w->study->size);
    const halley_study *s = w->study;
    uint32_t digits[HALLEY_MAX_AXES];
    explore_digits(digits, s, id);
    uint32_t first = 0;
    while (w->placed && first < s->n_axes && digits[first] == w->digits[first])
        first++;
    bool anew = !w->placed;
    for (uint32_t i = first; i < s->n_axes; i++)
        anew = anew || (s->axes[i].resets && digits[i] != w->digits[i]);
    if (anew) {
        w->raw = s->base;
        for (uint32_t i = 0; i < s->n_axes && s->axes[i].whole; i++)
            apply_axis(&w->raw, &s->axes[i], digits[i], true);
        set_fixed(&w->raw, s->fixed, s->n_fixed, false);
        first = 0;
    }
    for (uint32_t i = first; i < s->n_axes; i++)
        apply_axis(&w->raw, &s->axes[i], digits[i], false);
    memcpy(w->digits, digits, sizeof digits);
    w->placed = true;
}

static bool fill_degree(explore_worker *w)
{
    assert(w->study->has_fill);
    explore_design *d = &w->design;
    explore_value one = {.number = 1};
    explore_set(d, &w->study->fill, &one);
    const halley_plan *p = &d->plan;
    const uint64_t others = (uint64_t)(p->tp ? p->tp : 1) * (p->pp ? p->pp : 1) *
                            (p->dp ? p->dp : 1) * (p->cp ? p->cp : 1);
    if (!d->n_npus)
        return true;
    if (d->n_npus % others) {
        explore_reasons_add(&w->reasons, "the degrees do not divide the NPUs", 1);
        return false;
    }
    const uint64_t fill = d->n_npus / others;
    one.number = (double)fill;
    explore_set(d, &w->study->fill, &one);
    return true;
}

/* Remove tiers without capacity or bandwidth. */
static void tidy_tiers(halley_npu *npu)
{
    uint32_t n = npu->n_tiers ? 1 : 0;
    for (uint32_t i = 1; i < npu->n_tiers; i++) {
        if (npu->tiers[i].capacity_bytes > 0 && npu->tiers[i].bandwidth_Bps > 0)
            npu->tiers[n++] = npu->tiers[i];
    }
    npu->n_tiers = n;
}

static bool set_derived(explore_worker *w)
{
    assert(w->study->n_derived <= EXPLORE_MAX_DERIVED);
    for (uint32_t i = 0; i < w->study->n_derived; i++) {
        const explore_derived *d = &w->study->derived[i];
        explore_value v = {0};
        if (!explore_expr_eval(&v.number, &d->expr, &w->design, NULL) ||
            !explore_number_fits(&d->ref, v.number)) {
            char text[160];
            snprintf(text, sizeof text, "%s = %s has no meaning", d->ref.param.path,
                     d->expr.text);
            explore_reasons_add(&w->reasons, text, 1);
            return false;
        }
        explore_set(&w->design, &d->ref, &v);
    }
    return true;
}

static bool meets_conditions(explore_worker *w, const double *metrics)
{
    assert(w->study->n_where <= EXPLORE_MAX_WHERE);
    const halley_study *s = w->study;
    for (uint32_t i = 0; i < s->n_where; i++) {
        const explore_expr *e = &s->where[i];
        double truth = 0;
        if (e->uses_results != (metrics != NULL))
            continue;
        const bool known = explore_expr_eval(&truth, e, &w->design, metrics);
        if (known && truth != 0)
            continue;
        char text[160];
        snprintf(text, sizeof text, known ? "where %s" : "division by zero in \"%s\"",
                 e->text);
        explore_reasons_add(&w->reasons, text, 1);
        return false;
    }
    return true;
}

/* Set the network that follows from the design's keys and number of NPUs. */
static bool set_network(explore_worker *w)
{
    explore_design *d = &w->design;
    const halley_plan *p = &d->plan;
    const uint64_t ranks = (uint64_t)p->tp * p->pp * p->dp * p->cp;
    const uint32_t n = d->n_npus != 0 ? d->n_npus : (uint32_t)ranks;
    halley_error err = {0};
    if (ranks > HW_MOST_NPUS || !explore_network_follows(d, n) ||
        explore_network_set(d, w->study->networks, n, &err) == HALLEY_OK)
        return true;
    refuse_text(w, err.text);
    return false;
}

static bool check_design(explore_worker *w)
{
    explore_design *d = &w->design;
    halley_error err = {0};
    if (w->study->has_fill && !w->no_fill && !fill_degree(w))
        return false;
    if (!set_derived(w))
        return false;
    tidy_tiers(&d->cluster.npu);
    if (halley_model_check(&d->model, &err) != HALLEY_OK) {
        refuse_text(w, err.text);
        return false;
    }
    if (halley_plan_check(&d->plan, &d->model, d->n_npus, &err) != HALLEY_OK) {
        refuse_text(w, err.text);
        return false;
    }
    if (!set_network(w))
        return false;
    if (halley_plan_check_npu(&d->plan, &d->cluster.npu, &err) != HALLEY_OK) {
        explore_reasons_add(&w->reasons, err.text, 1); /* digits are part of the name */
        return false;
    }
    return true;
}

/* Estimate the design; false if it does not fit but must. */
static bool price_design(explore_worker *w)
{
    const explore_design *d = &w->design;
    const bool must_fit = w->study->fits && !w->relaxed;
    if (!w->exact)
        return estimate_run(&w->estimate, &d->model, &d->plan, &d->cluster, &d->stack,
                            must_fit ? ESTIMATE_FITS : ESTIMATE_ALL);
    halley_estimate_run(&w->estimate, &d->model, &d->plan, &d->cluster, &d->stack);
    return !must_fit || w->estimate.fits;
}

double explore_worker_excess(const explore_worker *w)
{
    const halley_estimate *e = &w->estimate;
    const double local = e->peak_bytes - (1 - e->headroom) * e->capacity_bytes;
    const double outer = e->outer_need_bytes - e->outer_capacity_bytes / e->outer_users;
    return fmax(local, outer);
}

static bool measure_design(explore_worker *w, explore_row *row)
{
    assert(w->design.plan.tp > 0 && w->design.plan.pp > 0);
    const halley_study *s = w->study;
    explore_design *d = &w->design;
    halley_error err = {0};
    d->stack.headroom = s->headroom;
    if (!price_design(w)) {
        explore_reasons_add(&w->reasons, "does not fit in memory", 1);
        return false;
    }
    if (halley_estimate_check(&w->estimate, &err) != HALLEY_OK) {
        explore_reasons_add(&w->reasons, err.text, 1);
        return false;
    }
    row->walked = w->estimate.schedule_walked;
    row->settled = false;
    explore_metrics(row->metrics, d, &w->estimate, s->tokens);
    for (uint32_t i = 0; i < s->n_goals; i++) {
        const explore_goal *g = &s->goals[i];
        if (g->seen.metric < HALLEY_N_METRICS) {
            row->objective[i] = row->metrics[g->seen.metric];
        } else if (!explore_expr_eval(&row->objective[i], &g->expr, d, row->metrics)) {
            char text[160];
            snprintf(text, sizeof text, "division by zero in objective \"%s\"",
                     g->expr.text);
            explore_reasons_add(&w->reasons, text, 1);
            return false;
        }
    }
    return true;
}

static bool try_design(explore_worker *w, explore_row *row)
{
    if (!check_design(w) || (!w->relaxed && !meets_conditions(w, NULL)) ||
        !measure_design(w, row))
        return false;
    return w->relaxed || meets_conditions(w, row->metrics);
}

bool explore_worker_try(explore_worker *w, explore_row *row)
{
    assert(w->placed);
    explore_design_assign(&w->design, &w->raw);
    row->id = explore_id(w->study, w->digits);
    if (!try_design(w, row))
        return false;
    row->key = explore_design_key(&w->design);
    return true;
}

int explore_goal_compare(const halley_study *s, uint32_t goal, const explore_row *a,
                         const explore_row *b)
{
    const explore_goal *g = &s->goals[goal];
    const double x = a->objective[goal], y = b->objective[goal];
    const bool a_open = a->metrics[HALLEY_METRIC_UNKNOWN_PRICES] > 0;
    const bool b_open = b->metrics[HALLEY_METRIC_UNKNOWN_PRICES] > 0;
    assert(goal < s->n_goals);
    if (g->seen.money && a_open != b_open)
        return a_open ? 1 : -1;
    if (x == y)
        return 0;
    return (g->seen.maximize ? x > y : x < y) ? -1 : 1;
}

bool explore_better(const halley_study *s, const explore_row *a, const explore_row *b)
{
    assert(s->n_goals > 0);
    const int order = explore_goal_compare(s, 0, a, b);
    return order != 0 ? order < 0 : a->id < b->id;
}

/* The largest error of a schedule's closed form (workload/schedule_form.c). */
static const double form_error = 0.12;

bool explore_is_near(const halley_study *s, double objective, double best)
{
    const double room = form_error * fabs(best);
    return s->goals[0].seen.maximize ? objective >= best - room
                                     : objective <= best + room;
}

bool explore_worker_best(explore_worker *w, explore_row *row, uint64_t *n_feasible,
                         uint64_t first, uint64_t n)
{
    assert(n > 0);
    assert((double)(first + n) <= w->study->size);
    bool any = false;
    for (uint64_t i = 0; i < n; i++) {
        explore_row one;
        explore_worker_move(w, first + i);
        if (!explore_worker_try(w, &one))
            continue;
        (*n_feasible)++;
        if (!any || explore_better(w->study, &one, row))
            *row = one;
        any = true;
    }
    return any;
}

enum { MOST_EXACT = 64 };

/* The best rows by the closed form, best first. */
typedef struct shortlist {
    explore_row at[MOST_EXACT];
    uint32_t n;
} shortlist;

static void add_to_shortlist(shortlist *to, const halley_study *s, const explore_row *row)
{
    uint32_t at = to->n;
    while (at > 0 && explore_better(s, row, &to->at[at - 1]))
        at--;
    if (at == MOST_EXACT)
        return;
    const uint32_t last = to->n < MOST_EXACT ? to->n++ : MOST_EXACT - 1;
    for (uint32_t i = last; i > at; i--)
        to->at[i] = to->at[i - 1];
    to->at[at] = *row;
}

/* Evaluate the row again, pass by pass. */
static bool try_exactly(explore_worker *w, explore_row *row, uint64_t id)
{
    w->exact = true;
    explore_worker_move(w, id);
    const bool ok = explore_worker_try(w, row);
    w->exact = false;
    row->settled = true;
    return ok;
}

bool explore_worker_best_exact(explore_worker *w, explore_row *row, uint64_t first,
                               uint64_t n)
{
    shortlist list = {.n = 0};
    bool any = false;
    for (uint64_t i = 0; n > 1 && i < n; i++) {
        explore_row one;
        explore_worker_move(w, first + i);
        if (explore_worker_try(w, &one))
            add_to_shortlist(&list, w->study, &one);
    }
    if (n == 1)
        return try_exactly(w, row, first);
    for (uint32_t i = 0; i < list.n; i++) {
        explore_row one;
        if (!explore_is_near(w->study, list.at[i].objective[0],
                             list.at[0].objective[0]) ||
            !try_exactly(w, &one, list.at[i].id))
            continue;
        if (!any || explore_better(w->study, &one, row))
            *row = one;
        any = true;
    }
    return any;
}

void explore_worker_place(explore_worker *w, const explore_fixed *list, uint32_t n)
{
    assert(n <= EXPLORE_MAX_FIXED);
    const halley_study *s = w->study;
    w->raw = s->base;
    set_fixed(&w->raw, list, n, true);
    set_fixed(&w->raw, s->fixed, s->n_fixed, false);
    set_fixed(&w->raw, list, n, false);
    w->placed = false;
}

static bool sets_parameter(const explore_fixed *list, uint32_t n, const explore_ref *ref)
{
    for (uint32_t i = 0; i < n; i++) {
        if (explore_param_is(&list[i].ref.param, &ref->param))
            return true;
    }
    return false;
}

/* Try one plan of the inner axes that the list does not set. */
static bool try_fixed_plan(explore_worker *w, explore_row *row, const explore_fixed *list,
                           uint32_t n, uint64_t inner, bool *skip)
{
    assert(inner < w->study->inner_size);
    const halley_study *s = w->study;
    explore_design_assign(&w->design, &w->raw);
    *skip = false;
    for (uint32_t i = s->n_axes; i-- > s->n_outer;) {
        const explore_axis *a = &s->axes[i];
        const uint32_t digit = (uint32_t)(inner % a->seen.n);
        inner /= a->seen.n;
        if (!sets_parameter(list, n, &a->refs[0]))
            apply_axis(&w->design, a, digit, false);
        else if (digit)
            *skip = true;
    }
    return !*skip && try_design(w, row);
}

bool explore_worker_try_fixed(explore_worker *w, explore_row *row,
                              const explore_fixed *list, uint32_t n,
                              const explore_ref *turned, double to)
{
    const halley_study *s = w->study;
    bool any = false;
    explore_worker keep;
    shortlist near = {.n = 0};
    explore_worker_place(w, list, n);
    w->no_fill = sets_parameter(list, n, &s->fill);
    if (turned) {
        const explore_value v = {.number = to};
        explore_set(&w->raw, turned, &v);
    }
    for (uint64_t i = 0; i < s->inner_size; i++) {
        explore_row one = {.id = i};
        bool skip;
        if (try_fixed_plan(w, &one, list, n, i, &skip))
            add_to_shortlist(&near, s, &one);
    }
    w->exact = true;
    for (uint32_t i = 0; i < near.n; i++) {
        explore_row one = {.id = near.at[i].id};
        bool skip;
        if (!explore_is_near(s, near.at[i].objective[0], near.at[0].objective[0]) ||
            !try_fixed_plan(w, &one, list, n, near.at[i].id, &skip) ||
            (any && !explore_better(s, &one, row)))
            continue;
        *row = one;
        keep = *w;
        any = true;
    }
    if (any) {
        *w = keep;
        row->id = UINT64_MAX;
    }
    w->exact = false;
    w->no_fill = false;
    return any;
}

void explore_candidate_fill(halley_candidate *out, const explore_worker *w,
                            const explore_row *row)
{
    assert(out != NULL && row != NULL);
    *out = (halley_candidate){.id = row->id,
                              .plan = w->design.plan,
                              .fits = w->estimate.fits,
                              .schedule_walked = w->estimate.schedule_walked,
                              .capacity_bytes = w->estimate.capacity_bytes};
    out->plan.given |= w->study->given;
    memcpy(out->digits, w->digits, sizeof out->digits);
    memcpy(out->objective, row->objective, sizeof out->objective);
    memcpy(out->metrics, row->metrics, sizeof out->metrics);
    memcpy(out->model, w->design.model.name, sizeof out->model);
    snprintf(out->cluster, sizeof out->cluster, "%s",
             halley_cluster_name(&w->design.cluster));
    explore_limit(out->limit, sizeof out->limit, &w->design, &w->estimate);
    halley_bill bill;
    halley_bill_make(&bill, &w->design.cluster, row->metrics[HALLEY_METRIC_NPUS]);
    out->price_state = bill.state;
    (void)halley_bill_missing(out->missing_prices, sizeof out->missing_prices,
                              &w->design.cluster, bill.missing);
}
