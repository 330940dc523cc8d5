/* What-if edits. They run one after the other, each from a set to a set. */
#include "edit/scale.h"

#include "base/error.h"
#include "base/number/number.h"
#include "edit/passes.h"
#include "edit/times.h"
#include "trace/core/roles.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct whole {
    halley_scaled s;
    scale_job job;
} whole;

halley_status scale_each(halley_trace_set **set, scale_trace *change, void *context,
                         halley_error *err)
{
    assert(change != NULL);
    trace_distinct d;
    TRY(trace_distinct_init(&d, *set, err));
    halley_trace **const made = mem_array_zero(d.n, sizeof *made);
    halley_trace **const ranks = mem_array_zero(d.n_ranks, sizeof *ranks);
    halley_status status = made && ranks ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; i < d.n && status == HALLEY_OK; i++)
        status = change(&made[i], context, d.trace[i], err);
    for (uint32_t r = 0; r < d.n_ranks && status == HALLEY_OK; r++)
        ranks[r] = made[d.which[r]];
    halley_trace_set *fresh = NULL;
    if (status == HALLEY_OK)
        status = halley_trace_set_new(&fresh, ranks, d.n_ranks, err);
    for (uint32_t r = 0; status == HALLEY_OK && r < d.n_ranks; r++)
        (void)halley_trace_keep(ranks[r]);
    for (uint32_t i = 0; made && i < d.n; i++)
        halley_trace_free(made[i]);
    free(made);
    free(ranks);
    trace_distinct_fini(&d);
    if (status == HALLEY_OK) {
        halley_trace_set_free(*set);
        *set = fresh;
    }
    return status;
}

bool scale_is_data_parallel(const scale_job *job, const halley_trace *trace,
                            uint32_t node)
{
    assert(node < halley_trace_count(trace));
    trace_roles r;
    if (halley_node_type_of(trace, node) != HALLEY_NODE_COLL)
        return false;
    trace_roles_read(&r, trace, node);
    const halley_bytes group = trace_roles_group(&r);
    return map64_find(&job->data_parallel, hash_bytes(group.at, group.n, 0)) != HASH_NONE;
}

uint32_t scale_members(const trace_groups *groups, halley_bytes name, uint32_t n_ranks)
{
    assert(n_ranks > 0);
    for (size_t i = 0; i < groups->list.n; i++)
        if (str_eq(groups->list.at[i].name, (str){name.at, name.n}))
            return groups->list.at[i].n_ranks;
    return n_ranks;
}

static uint64_t count_scaled_nodes(const halley_trace_set *set)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++)
        n += halley_trace_count(halley_trace_set_get(set, r));
    return n;
}

/* True if all communication of a recorded rank is between all ranks of its job. */
static bool uses_whole_job(const scale_job *job, const halley_trace *t, uint32_t world)
{
    trace_roles roles;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const uint32_t type = halley_node_type_of(t, i);
        if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
            return false;
        if (type != HALLEY_NODE_COLL)
            continue;
        trace_roles_read(&roles, t, i);
        if (scale_members(&job->groups, trace_roles_group(&roles), world) != world)
            return false;
    }
    return true;
}

/* How many ranks a set represents. One recorded rank of a data-parallel job represents
 * all of them, because its replicas do the same. */
static halley_status count_ranks(uint32_t *n, const scale_job *job,
                                 const halley_trace_set *set, halley_error *err)
{
    enum { MOST_RANKS = 65536 };
    const halley_trace *const first = halley_trace_set_get(set, 0);
    *n = halley_trace_set_count(set);
    const uint64_t world = trace_recorded_number(first, "world", 1);
    if (*n > 1 || job->opts->dp == 0 || world < 2 || world > MOST_RANKS)
        return HALLEY_OK;
    if (!uses_whole_job(job, first, (uint32_t)world))
        return error_set(err, HALLEY_EINVAL,
                         "this is one rank of a job of %" PRIu64 " ranks with several "
                         "groups: make all ranks with 'halley trace spread' first",
                         world);
    *n = (uint32_t)world;
    return HALLEY_OK;
}

/* Makes a new set that shares the traces; the n ranks of a job may share one. */
static halley_status share_traces(halley_trace_set **out, const halley_trace_set *set,
                                  uint32_t n, halley_error *err)
{
    const uint32_t n_given = halley_trace_set_count(set);
    halley_trace **const ranks = mem_array(n, sizeof *ranks);
    if (!ranks)
        return error_nomem(err);
    for (uint32_t r = 0; r < n; r++)
        ranks[r] = (halley_trace *)(uintptr_t)halley_trace_set_get(set, r % n_given);
    const halley_status status = halley_trace_set_new(out, ranks, n, err);
    for (uint32_t r = 0; status == HALLEY_OK && r < n; r++)
        (void)halley_trace_keep(ranks[r]);
    free(ranks);
    return status;
}

static bool is_factor(double f)
{
    return f != 0 && f != 1;
}

static halley_status scale_set(whole *w, const halley_trace_set *set, halley_error *err)
{
    assert(halley_trace_set_count(set) > 0);
    scale_job *const job = &w->job;
    const halley_scale_opts *const o = job->opts;
    halley_trace_set **const now = &w->s.set;
    TRY(synth_groups_of(&job->groups, set, o->groups_path, err));
    TRY(count_ranks(&w->s.n_ranks_before, job, set, err));
    TRY(share_traces(now, set, w->s.n_ranks_before, err));
    w->s.n_nodes_before = count_scaled_nodes(*now);
    if (o->layers_from != o->layers_to) {
        TRY(scale_find_data_parallel(job, *now, true, err));
        job->report->dp_before = 0;
        TRY(scale_layers(now, job, err));
    }
    if (o->swap != HALLEY_SWAP_NONE)
        TRY(scale_swap(now, job, err));
    if (o->dp != 0)
        TRY(scale_find_data_parallel(job, *now, false, err));
    if (o->dp != 0 && o->dp != job->dp)
        TRY(scale_ranks(now, job, err));
    if (is_factor(o->batch) || is_factor(o->number))
        TRY(scale_find_data_parallel(job, *now, true, err));
    if (is_factor(o->compute) || is_factor(o->bytes) || is_factor(o->number) ||
        is_factor(o->batch) || is_factor(o->host))
        TRY(scale_numbers(now, job, err));
    if (o->offload > 0)
        TRY(scale_offload(now, job, err));
    w->s.n_ranks = halley_trace_set_count(*now);
    w->s.n_nodes = count_scaled_nodes(*now);
    return synth_passes(*now, &job->groups, NULL, err);
}

static halley_status check_opts(const halley_scale_opts *o, halley_error *err)
{
    const double factors[] = {o->compute, o->bytes, o->number, o->batch, o->host};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!(factors[i] >= 0 && factors[i] <= 1e9))
            return error_set(err, HALLEY_EINVAL,
                             "a factor must be above 0 and at most 1e9, is %s",
                             number_digits(factors[i], 6).at);
    if (!(o->offload >= 0 && o->offload <= 1))
        return error_set(err, HALLEY_EINVAL,
                         "the offloaded share must be from 0 to 1, is %s",
                         number_digits(o->offload, 6).at);
    if ((o->layers_from == 0) != (o->layers_to == 0))
        return error_set(err, HALLEY_EINVAL, "layers go from one number to another");
    return HALLEY_OK;
}

halley_status halley_trace_scale(halley_scaled **out, const halley_trace_set *set,
                                 const halley_scale_opts *opts, halley_error *err)
{
    assert(out != NULL && opts != NULL);
    TRY(check_opts(opts, err));
    whole *const w = mem_array_zero(1, sizeof *w);
    if (!w)
        return error_nomem(err);
    w->s.size = sizeof w->s;
    w->s.memory = w;
    w->job.opts = opts;
    w->job.report = &w->s;
    const halley_status status = scale_set(w, set, err);
    if (status == HALLEY_OK)
        *out = &w->s;
    else
        halley_scaled_free(&w->s);
    return status;
}

halley_status halley_scaled_save_groups(const halley_scaled *s, const char *path,
                                        halley_error *err)
{
    const whole *const w = s->memory;
    if (w->job.groups.list.n == 0)
        return HALLEY_OK;
    return trace_groups_save(&w->job.groups, path, false, err);
}

void halley_scaled_free(halley_scaled *s)
{
    if (!s)
        return;
    whole *const w = s->memory;
    halley_trace_set_free(s->set);
    trace_groups_fini(&w->job.groups);
    map64_fini(&w->job.data_parallel);
    free(w);
}
