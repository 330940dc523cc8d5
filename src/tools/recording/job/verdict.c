/*
 * Which ranks make the others wait, and what that means for the job.
 *
 * A rank is a straggler if it is the last to come in more than half of the waiting time.
 * It must also be late alone for at least 2 % of the recorded time. Two slow ranks come
 * last in turns, and each hides the other. So both are named if both have own work at
 * least 5 % above the median rank, and are last in more than half of the waiting time
 * together.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "recording/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double COST_SHARE = 0.02, OWN_EXCESS = 0.05;
/* From this share of the recorded time on, waiting or transfer is the verdict. */
static const double BOUND_SHARE = 0.15;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One of the times of a rank. */
static double get_time(const halley_job_rank *rank, size_t offset)
{
    const void *at = (const char *)rank + offset;
    return *(const double *)at;
}

/* The median over the ranks of one of their times. */
static double median_of(const job *x, size_t offset, double *scratch)
{
    for (uint32_t r = 0; r < x->n_ranks; r++)
        scratch[r] = get_time(&x->j.ranks[r], offset);
    qsort(scratch, x->n_ranks, sizeof *scratch, compare_doubles);
    const uint32_t n = x->n_ranks;
    return n % 2 == 1 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2;
}

/* Where a rank spends most more than the median rank. */
static void find_excess(halley_job_straggler *s, const job *x, double *scratch)
{
    static const struct {
        const char *name;
        size_t offset;
    } classes[] = {{"compute", offsetof(halley_job_rank, compute_s)},
                   {"host", offsetof(halley_job_rank, host_s)},
                   {"copies", offsetof(halley_job_rank, copies_s)}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const double own = get_time(&x->j.ranks[s->rank], classes[i].offset);
        const double excess = own - median_of(x, classes[i].offset, scratch);
        if (i == 0 || excess > s->excess_s) {
            s->class_name = classes[i].name;
            s->excess_s = excess;
        }
    }
}

static double sum_waiting(const job *x)
{
    double sum = 0;
    for (uint32_t r = 0; r < x->n_ranks; r++)
        sum += x->j.ranks[r].wait_s;
    return sum;
}

static void add_straggler(job *x, uint32_t rank, double *scratch)
{
    halley_job_straggler *const s = &x->j.stragglers[x->j.n_stragglers++];
    *s = (halley_job_straggler){.rank = rank, .cost_s = x->j.ranks[rank].cost_s};
    find_excess(s, x, scratch);
}

static void name_stragglers(job *x, double *scratch)
{
    const halley_job_rank *const ranks = x->j.ranks;
    const double wait_s = sum_waiting(x);
    const double own_s = median_of(x, offsetof(halley_job_rank, own_s), scratch);
    uint32_t first = 0, slow[2] = {JOB_NONE, JOB_NONE};
    for (uint32_t r = 0; r < x->n_ranks; r++) {
        first = ranks[r].last_wait_s > ranks[first].last_wait_s ? r : first;
        if (ranks[r].own_s < own_s * (1 + OWN_EXCESS))
            continue;
        if (slow[0] == JOB_NONE || ranks[r].own_s > ranks[slow[0]].own_s) {
            slow[1] = slow[0];
            slow[0] = r;
        } else if (slow[1] == JOB_NONE || ranks[r].own_s > ranks[slow[1]].own_s) {
            slow[1] = r;
        }
    }
    if (ranks[first].last_wait_s > 0.5 * wait_s &&
        ranks[first].cost_s >= COST_SHARE * x->j.window_s) {
        add_straggler(x, first, scratch);
        const uint32_t other = slow[0] == first ? slow[1] : slow[0];
        const bool is_slow = slow[0] == first || slow[1] == first;
        if (is_slow && other != JOB_NONE)
            add_straggler(x, other, scratch);
        return;
    }
    if (slow[1] != JOB_NONE &&
        ranks[slow[0]].last_wait_s + ranks[slow[1]].last_wait_s > 0.5 * wait_s &&
        wait_s / x->n_ranks >= COST_SHARE * x->j.window_s) {
        add_straggler(x, slow[0], scratch);
        add_straggler(x, slow[1], scratch);
    }
}

static const char *say_class(const char *name)
{
    return strcmp(name, "host") == 0     ? "on the host"
           : strcmp(name, "copies") == 0 ? "on copies"
                                         : "on compute";
}

static const char *write_cause(job *x)
{
    const halley_job_straggler *const s = &x->j.stragglers[0];
    char excess[32], cost[32];
    if (!x->j.has_clocks)
        return "; the clocks of the ranks do not agree well enough to name a late rank";
    if (x->j.n_stragglers == 0)
        return arena_printf(&x->memory, "; no rank is to blame of the %u", x->n_ranks);
    units_format(excess, sizeof excess, s->excess_s, UNITS_TIME);
    units_format(cost, sizeof cost, s->cost_s, UNITS_TIME);
    return s->excess_s > 0
               ? arena_printf(
                     &x->memory,
                     ", most for rank %u (last in %llu of %zu collectives, which "
                     "costs %s), which spends %s more %s than the median rank",
                     s->rank, (unsigned long long)x->j.ranks[s->rank].n_last,
                     x->j.n_collectives, cost, excess, say_class(s->class_name))
               : arena_printf(
                     &x->memory,
                     ", most for rank %u (last in %llu of %zu collectives, which "
                     "costs %s)",
                     s->rank, (unsigned long long)x->j.ranks[s->rank].n_last,
                     x->j.n_collectives, cost);
}

static const char *write_job_verdict(job *x)
{
    const halley_job *const j = &x->j;
    const number_text wait = number_fixed(100 * j->wait_share, 0);
    const number_text transfer = number_fixed(100 * j->transfer_share, 0);
    if (j->n_collectives == 0)
        return "the ranks have no communication in common";
    if (j->wait_share >= BOUND_SHARE) {
        const char *const cause = write_cause(x);
        return cause == NULL ? NULL
                             : arena_printf(&x->memory,
                                            "waiting-bound: %s %% of the time ranks wait "
                                            "for others%s",
                                            wait.at, cause);
    }
    if (j->n_stragglers > 0)
        return arena_printf(&x->memory, "rank %u is slow: waiting is %s %% of the time%s",
                            j->stragglers[0].rank, wait.at, write_cause(x));
    if (j->transfer_share >= BOUND_SHARE)
        return arena_printf(&x->memory,
                            "transfers take %s %% of the time; no rank is to blame: "
                            "waiting %s %% spread over %u ranks",
                            transfer.at, wait.at, x->n_ranks);
    return arena_printf(&x->memory,
                        "no rank is to blame: waiting %s %% spread over %u ranks",
                        wait.at, x->n_ranks);
}

halley_status job_judge(job *x, halley_error *err)
{
    double *const scratch = mem_array(x->n_ranks, sizeof *scratch);
    x->j.stragglers = arena_array(&x->memory, 2, sizeof *x->j.stragglers);
    if (scratch == NULL || x->j.stragglers == NULL) {
        free(scratch);
        return error_nomem(err);
    }
    if (x->j.has_clocks)
        name_stragglers(x, scratch);
    free(scratch);
    x->j.verdict = write_job_verdict(x);
    return x->j.verdict != NULL ? HALLEY_OK : error_nomem(err);
}
