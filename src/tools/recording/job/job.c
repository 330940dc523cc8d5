/*
 * Clocks, waiting, transfer and own work of the ranks of a job.
 *
 * All members of a collective end together. So the clock of a rank is ahead by the median
 * of (its end - the median end of the members). The transfer is the shortest duration of
 * the members: the last one to come did not wait. The rest of each duration is waiting.
 */
#include "recording/job/job.h"

#include "base/error.h"
#include "trace/core/slots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If the ends of collectives differ by more than this share of their duration after the
 * clocks are compared, no rank can be called late. */
static const double CLOCK_SHARE = 0.05;

typedef ARRAY(int64_t) times_ns;

static const job_event *get_member(const job *x, const job_coll *c, uint32_t k)
{
    return &x->events.at[x->members.at[c->first + k]];
}

static int64_t find_median(times_ns *t)
{
    if (t->n == 0)
        return 0;
    mem_sort_i64(t->at, t->n);
    return t->n % 2 == 1 ? t->at[t->n / 2] : (t->at[t->n / 2 - 1] + t->at[t->n / 2]) / 2;
}

/* Whether all members end when the data has been moved. */
static bool ends_together(const job *x, const job_coll *c)
{
    static const char *const types[] = {"all_reduce", "all_gather", "reduce_scatter",
                                        "all_to_all", "barrier"};
    const job_event *const first = get_member(x, c, 0);
    bool fine = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        fine |= str_eq(intern_text(&x->texts, first->type), str_from(types[i]));
    for (uint32_t k = 1; fine && k < c->n; k++)
        fine = get_member(x, c, k)->bytes == first->bytes;
    return fine;
}

static bool list_ends(times_ns *t, const job *x, const job_coll *c)
{
    t->n = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        const job_event *const e = get_member(x, c, k);
        if (!array_push(t, e->end_ns - x->offset_ns[e->rank]))
            return false;
    }
    return true;
}

/* Compare the clocks of all ranks. */
static bool compare_clocks(job *x)
{
    times_ns *const of_rank = mem_array_zero(x->n_ranks, sizeof *of_rank);
    times_ns ends = {0};
    bool ok = of_rank != NULL;
    for (size_t i = 0; ok && i < x->colls.n; i++) {
        const job_coll *const c = &x->colls.at[i];
        if (!ends_together(x, c))
            continue;
        ok = list_ends(&ends, x, c);
        const int64_t median = ok ? find_median(&ends) : 0;
        for (uint32_t k = 0; ok && k < c->n; k++) {
            const job_event *const e = get_member(x, c, k);
            ok = array_push(&of_rank[e->rank], e->end_ns - median);
        }
    }
    for (uint32_t r = 0; ok && r < x->n_ranks; r++)
        x->offset_ns[r] = find_median(&of_rank[r]);
    for (uint32_t r = 0; of_rank != NULL && r < x->n_ranks; r++)
        array_fini(&of_rank[r]);
    free(of_rank);
    array_fini(&ends);
    return ok;
}

/* The clocks are known if collectives now end together. */
static bool check_clocks(job *x)
{
    times_ns ends = {0}, spreads = {0}, lengths = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->colls.n; i++) {
        const job_coll *const c = &x->colls.at[i];
        if (!ends_together(x, c))
            continue;
        ok = list_ends(&ends, x, c);
        if (ok)
            mem_sort_i64(ends.at, ends.n);
        ok = ok && array_push(&spreads, ends.at[ends.n - 1] - ends.at[0]);
        for (uint32_t k = 0; ok && k < c->n; k++) {
            const job_event *const e = get_member(x, c, k);
            ok = array_push(&lengths, e->end_ns - e->begin_ns);
        }
    }
    x->j.has_clocks = lengths.n > 0 && (double)find_median(&spreads) <=
                                           CLOCK_SHARE * (double)find_median(&lengths);
    array_fini(&ends);
    array_fini(&spreads);
    array_fini(&lengths);
    return ok;
}

/* How far the clocks were ahead before linking shifted them, from the median rank. */
static bool report_clocks(job *x)
{
    times_ns all = {0};
    bool ok = true;
    for (uint32_t r = 0; ok && r < x->n_ranks; r++) {
        const int64_t shifted =
            trace_recorded_i64(halley_trace_set_get(x->set, r), "clock_offset_ns", 0);
        ok = array_push(&all, x->offset_ns[r] - shifted);
        x->j.ranks[r].offset_s = ok ? (double)all.at[r] * 1e-9 : 0;
    }
    const double median = ok ? (double)find_median(&all) * 1e-9 : 0;
    for (uint32_t r = 0; r < x->n_ranks; r++)
        x->j.ranks[r].offset_s -= median;
    array_fini(&all);
    return ok;
}

/* The work of a rank since its last communication ended. */
static void find_own_work(job *x)
{
    for (uint32_t r = 0; r < x->n_ranks; r++) {
        int64_t last_ns = x->windows[r].begin_ns, own_ns = 0;
        for (uint32_t i = x->event_at[r]; i < x->event_at[r + 1]; i++) {
            job_event *const e = &x->events.at[i];
            e->own_ns = e->begin_ns > last_ns ? e->begin_ns - last_ns : 0;
            own_ns += e->own_ns;
            last_ns = e->end_ns > last_ns ? e->end_ns : last_ns;
        }
        if (x->windows[r].end_ns > last_ns)
            own_ns += x->windows[r].end_ns - last_ns;
        halley_job_rank *const row = &x->j.ranks[r];
        row->own_s = (double)own_ns * 1e-9;
        row->compute_s = fmin(row->own_s, (double)x->windows[r].compute_ns * 1e-9);
        row->copies_s =
            fmin(row->own_s - row->compute_s, (double)x->windows[r].copies_ns * 1e-9);
        row->host_s = row->own_s - row->compute_s - row->copies_s;
    }
}

static double bus_bandwidth(const char *type, double n, double bytes, double seconds)
{
    if (!(bytes > 0 && seconds > 0))
        return 0;
    if (strcmp(type, "all_reduce") == 0)
        return 2 * (n - 1) / n * bytes / seconds;
    if (strcmp(type, "all_gather") == 0) /* the bytes of one rank's part */
        return (n - 1) * bytes / seconds;
    if (strcmp(type, "reduce_scatter") == 0 || strcmp(type, "all_to_all") == 0)
        return (n - 1) / n * bytes / seconds;
    return bytes / seconds;
}

static const char *keep_text(job *x, uint32_t id)
{
    const char *const copy = arena_copy(&x->memory, intern_text(&x->texts, id));
    return copy == NULL ? "" : copy;
}

static int64_t get_length(const job_event *e)
{
    return e->end_ns - e->begin_ns;
}

/* Divide the duration of every member into transfer and waiting. */
static bool divide_collective(job *x, size_t i)
{
    const job_coll *const c = &x->colls.at[i];
    halley_job_collective *const row = &x->j.collectives[i];
    const job_event *shortest = get_member(x, c, 0), *last = shortest;
    times_ns begins = {0};
    bool ok = true;
    for (uint32_t k = 0; ok && k < c->n; k++) {
        const job_event *const e = get_member(x, c, k);
        shortest = get_length(e) < get_length(shortest) ? e : shortest;
        last = job_begin(x, e) > job_begin(x, last) ? e : last;
        ok = array_push(&begins, job_begin(x, e));
    }
    const double transfer_s = (double)get_length(shortest) * 1e-9;
    *row = (halley_job_collective){.group = keep_text(x, c->group),
                                   .type = keep_text(x, last->type),
                                   .index = c->index,
                                   .n_ranks = c->n,
                                   .last_rank = last->rank,
                                   .bytes = last->bytes,
                                   .transfer_s = transfer_s};
    for (uint32_t k = 0; k < c->n; k++) {
        const job_event *const e = get_member(x, c, k);
        const double wait_s = (double)get_length(e) * 1e-9 - transfer_s;
        x->j.ranks[e->rank].wait_s += wait_s;
        x->j.ranks[e->rank].transfer_s += transfer_s;
        row->wait_s += wait_s;
    }
    row->late_s = ok ? (double)(job_begin(x, last) - find_median(&begins)) * 1e-9 : 0;
    row->busbw_Bps = bus_bandwidth(row->type, c->n, row->bytes, transfer_s);
    if (row->wait_s > 0) { /* else all came at once */
        x->j.ranks[last->rank].n_last++;
        x->j.ranks[last->rank].last_wait_s += row->wait_s;
    }
    array_fini(&begins);
    return ok;
}

static int64_t median_own(const job *x, const job_coll *c, times_ns *scratch)
{
    scratch->n = 0;
    for (uint32_t k = 0; k < c->n; k++)
        (void)array_push(scratch, get_member(x, c, k)->own_ns);
    return find_median(scratch);
}

/* The rank whose own work made a collective late. A rank that came late because it waited
 * elsewhere is not the cause: the collective that it waited in is asked in turn. */
static uint32_t find_cause(const job *x, size_t coll, times_ns *scratch)
{
    for (;;) {
        const job_coll *const c = &x->colls.at[coll];
        const job_event *last = get_member(x, c, 0);
        int64_t second_ns = INT64_MIN;
        for (uint32_t k = 1; k < c->n; k++) {
            const job_event *const e = get_member(x, c, k);
            const job_event *const earlier =
                job_begin(x, e) > job_begin(x, last) ? last : e;
            last = earlier == last ? e : last;
            second_ns =
                job_begin(x, earlier) > second_ns ? job_begin(x, earlier) : second_ns;
        }
        const int64_t late_ns = job_begin(x, last) - second_ns;
        const uint32_t at = (uint32_t)(last - x->events.at);
        const bool is_own = 2 * (last->own_ns - median_own(x, c, scratch)) >= late_ns;
        if (is_own || at == x->event_at[last->rank] ||
            x->events.at[at - 1].coll == JOB_NONE || x->events.at[at - 1].coll >= coll)
            return last->rank;
        coll = x->events.at[at - 1].coll;
    }
}

/* How much later the last rank came than the second last. */
static int64_t find_lateness(const job *x, const job_coll *c)
{
    int64_t first = INT64_MIN, second = INT64_MIN;
    for (uint32_t k = 0; k < c->n; k++) {
        const int64_t begin = job_begin(x, get_member(x, c, k));
        second = begin > first ? first : begin > second ? begin : second;
        first = begin > first ? begin : first;
    }
    return first - second;
}

static bool count_collectives(job *x)
{
    times_ns scratch = {0};
    bool ok = true;
    x->j.n_collectives = x->colls.n;
    x->j.collectives = arena_array(&x->memory, x->colls.n + 1, sizeof *x->j.collectives);
    ok = x->j.collectives != NULL;
    for (size_t i = 0; ok && i < x->colls.n; i++) {
        ok = divide_collective(x, i);
        x->j.ranks[find_cause(x, i, &scratch)].cost_s +=
            (double)find_lateness(x, &x->colls.at[i]) * 1e-9;
    }
    array_fini(&scratch);
    return ok;
}

/* The job's time if every collective waits for the rank with the longest own work. */
static double time_as_recorded(const job *x)
{
    double sum = 0, tail = 0;
    for (size_t i = 0; i < x->colls.n; i++) {
        int64_t most = 0;
        for (uint32_t k = 0; k < x->colls.at[i].n; k++) {
            const int64_t own = get_member(x, &x->colls.at[i], k)->own_ns;
            most = own > most ? own : most;
        }
        sum += (double)most * 1e-9 + x->j.collectives[i].transfer_s;
    }
    for (uint32_t r = 0; r < x->n_ranks; r++) {
        int64_t last_ns = x->windows[r].begin_ns;
        for (uint32_t i = x->event_at[r]; i < x->event_at[r + 1]; i++)
            last_ns = x->events.at[i].end_ns > last_ns ? x->events.at[i].end_ns : last_ns;
        tail = fmax(tail, (double)(x->windows[r].end_ns - last_ns) * 1e-9);
    }
    return sum + tail;
}

/* The rank whose own work before every collective is nearest to the median. */
static uint32_t find_typical(const job *x)
{
    double *const off = mem_array_zero(x->n_ranks, sizeof *off);
    times_ns scratch = {0};
    uint32_t best = 0;
    for (size_t i = 0; off != NULL && i < x->colls.n; i++) {
        const job_coll *const c = &x->colls.at[i];
        const int64_t median = median_own(x, c, &scratch);
        for (uint32_t k = 0; k < c->n; k++) {
            const job_event *const e = get_member(x, c, k);
            off[e->rank] += fabs((double)(e->own_ns - median));
        }
    }
    for (uint32_t r = 1; off != NULL && r < x->n_ranks; r++)
        best = off[r] < off[best] ? r : best;
    array_fini(&scratch);
    free(off);
    return best;
}

static void sum_shares(job *x)
{
    halley_job *const j = &x->j;
    double wait = 0, transfer = 0;
    for (uint32_t r = 0; r < x->n_ranks; r++) {
        j->window_s += (double)(x->windows[r].end_ns - x->windows[r].begin_ns) * 1e-9;
        wait += j->ranks[r].wait_s;
        transfer += j->ranks[r].transfer_s;
    }
    j->wait_share = j->window_s > 0 ? wait / j->window_s : 0;
    j->transfer_share = j->window_s > 0 ? transfer / j->window_s : 0;
    j->window_s /= x->n_ranks;
}

static halley_status analyse_job(job *x, halley_error *err)
{
    x->j.ranks = arena_array(&x->memory, x->n_ranks, sizeof *x->j.ranks);
    x->event_at = mem_array_zero((size_t)x->n_ranks + 1, sizeof *x->event_at);
    x->windows = mem_array_zero(x->n_ranks, sizeof *x->windows);
    x->offset_ns = mem_array_zero(x->n_ranks, sizeof *x->offset_ns);
    if (!x->j.ranks || !x->event_at || !x->windows || !x->offset_ns)
        return error_nomem(err);
    memset(x->j.ranks, 0, x->n_ranks * sizeof *x->j.ranks);
    TRY(job_match(x, err));
    for (uint32_t r = 0; r < x->n_ranks; r++)
        if (x->windows[r].end_ns < x->windows[r].begin_ns)
            return error_set(err, HALLEY_EINVAL,
                             "rank %u has no recorded times; link the recordings of all "
                             "ranks with `halley trace link`",
                             r);
    if (!compare_clocks(x) || !check_clocks(x) || !report_clocks(x))
        return error_nomem(err);
    find_own_work(x);
    if (!count_collectives(x))
        return error_nomem(err);
    sum_shares(x);
    x->j.as_recorded_s = time_as_recorded(x);
    x->j.typical_rank = find_typical(x);
    return job_judge(x, err);
}

halley_status halley_job_analyse(halley_job **out, const halley_trace_set *set,
                                 halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    if (n < 2)
        return error_set(
            err, HALLEY_EINVAL,
            "a job has at least two ranks; name the recordings of all ranks, "
            "or the folder that holds them");
    job *const x = mem_array_zero(1, sizeof *x);
    if (x == NULL)
        return error_nomem(err);
    x->j.size = sizeof x->j;
    x->set = set;
    x->n_ranks = x->j.n_ranks = n;
    const halley_status status = analyse_job(x, err);
    if (status == HALLEY_OK)
        *out = &x->j;
    else
        halley_job_free(&x->j);
    return status;
}

void halley_job_free(halley_job *j)
{
    if (j == NULL)
        return;
    job *const x = (job *)j; /* its first member */
    arena_fini(&x->memory);
    intern_fini(&x->texts);
    array_fini(&x->events);
    array_fini(&x->colls);
    array_fini(&x->members);
    free(x->event_at);
    free(x->windows);
    free(x->offset_ns);
    free(x);
}
