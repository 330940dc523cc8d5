/*
 * Statistics of a set. Each distinct trace is analysed once, on several threads. The
 * results are then summed in the order of ranks, weighted by the number of ranks that
 * share each trace.
 */
#include "base/error.h"
#include "base/pool.h"
#include "halley/trace_stats.h"
#include "trace/core/distinct.h"
#include "trace/stats.h"

#include <string.h>

typedef struct set_job {
    const trace_distinct *distinct;
    halley_trace_stats **to;
} set_job;

static halley_status describe_trace(void *context, size_t i, uint32_t worker,
                                    halley_error *err)
{
    (void)worker;
    const set_job *job = context;
    return halley_trace_stats_new(&job->to[i], job->distinct->trace[i], err);
}

static void add_stats(uint64_t *to, uint64_t x, uint64_t times)
{
    uint64_t product = 0;
    if (__builtin_mul_overflow(x, times, &product) ||
        __builtin_add_overflow(*to, product, to))
        *to = UINT64_MAX;
}

static void add_span(halley_trace_stats *to, const halley_trace_stats *s)
{
    if (s->first_start_us != 0 &&
        (to->first_start_us == 0 || s->first_start_us < to->first_start_us))
        to->first_start_us = s->first_start_us;
    if (s->last_end_us > to->last_end_us)
        to->last_end_us = s->last_end_us;
    if (s->depth > to->depth)
        to->depth = s->depth;
    if (s->width > to->width)
        to->width = s->width;
}

static void merge_sums(halley_trace_stats *to, const halley_trace_stats *s,
                       uint32_t times)
{
    add_stats(&to->n_nodes, s->n_nodes, times);
    for (uint32_t t = 0; t < HALLEY_N_NODE_TYPES; t++) {
        add_stats(&to->n_by_type[t], s->n_by_type[t], times);
        add_stats(&to->time_by_type_us[t], s->time_by_type_us[t], times);
    }
    add_stats(&to->n_other_type, s->n_other_type, times);
    add_stats(&to->n_data_deps, s->n_data_deps, times);
    add_stats(&to->n_ctrl_deps, s->n_ctrl_deps, times);
    add_stats(&to->n_dangling, s->n_dangling, times);
    add_stats(&to->n_cyclic, s->n_cyclic, times);
    add_stats(&to->n_cpu, s->n_cpu, times);
    add_stats(&to->n_device, s->n_device, times);
    add_stats(&to->cpu_us, s->cpu_us, times);
    add_stats(&to->device_us, s->device_us, times);
    to->flops += s->flops * times;
    to->tensor_bytes += s->tensor_bytes * times;
    to->load_bytes += s->load_bytes * times;
    to->store_bytes += s->store_bytes * times;
    to->coll_bytes += s->coll_bytes * times;
    to->send_bytes += s->send_bytes * times;
    to->recv_bytes += s->recv_bytes * times;
}

static bool merge_rows(stats_colls *colls, stats_attrs *attrs,
                       const halley_trace_stats *s, uint32_t times)
{
    for (uint32_t i = 0; i < s->n_colls; i++) {
        halley_coll_stats row = s->colls[i];
        row.n *= times;
        if (!stats_colls_add(colls, &row))
            return false;
    }
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        halley_attr_stats row = s->attrs[i];
        row.n *= times;
        if (!stats_attrs_add(attrs, &row))
            return false;
    }
    return true;
}

static bool copy_path(halley_trace_stats *to, const halley_trace_stats *s, uint32_t rank)
{
    uint32_t *path = mem_array(s->n_critical, sizeof *path);
    if (path == NULL)
        return false;
    if (s->n_critical > 0)
        memcpy(path, s->critical_path, s->n_critical * sizeof *path);
    to->critical_path = path;
    to->n_critical = s->n_critical;
    to->critical_us = s->critical_us;
    to->critical_rank = rank;
    return true;
}

static bool sum_up(halley_trace_stats *to, const halley_set_stats *s,
                   const trace_distinct *d)
{
    stats_colls colls = {0};
    stats_attrs attrs = {0};
    uint32_t longest = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->n; i++) {
        merge_sums(to, s->distinct[i], d->n_sharing[i]);
        add_span(to, s->distinct[i]);
        ok = merge_rows(&colls, &attrs, s->distinct[i], d->n_sharing[i]);
        if (s->distinct[i]->critical_us > s->distinct[longest]->critical_us)
            longest = i;
    }
    stats_colls_take(&colls, &to->colls, &to->n_colls);
    stats_attrs_take(&attrs, &to->attrs, &to->n_attrs);
    return ok &&
           (d->n == 0 || copy_path(to, s->distinct[longest], d->first_rank[longest]));
}

static halley_status fill_stats(halley_set_stats *s, trace_distinct *d,
                                uint32_t n_threads, halley_error *err)
{
    s->size = sizeof *s;
    s->n_ranks = d->n_ranks;
    s->n_distinct = d->n;
    s->distinct = mem_array_zero(d->n, sizeof *s->distinct);
    s->total = calloc(1, sizeof *s->total);
    if (s->distinct == NULL || s->total == NULL)
        return error_nomem(err);
    s->total->size = sizeof *s->total;
    set_job job = {d, s->distinct};
    TRY(pool_run(n_threads, d->n, describe_trace, &job, err));
    if (!sum_up(s->total, s, d))
        return error_nomem(err);
    s->which = d->which;
    s->first_rank = d->first_rank;
    d->which = d->first_rank = NULL;
    return HALLEY_OK;
}

halley_status halley_set_stats_new(halley_set_stats **out, const halley_trace_set *set,
                                   uint32_t n_threads, halley_error *err)
{
    trace_distinct d;
    TRY(trace_distinct_init(&d, set, err));
    halley_set_stats *s = calloc(1, sizeof *s);
    const halley_status status =
        s == NULL ? error_nomem(err) : fill_stats(s, &d, n_threads, err);
    trace_distinct_fini(&d);
    if (status != HALLEY_OK) {
        halley_set_stats_free(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

void halley_set_stats_free(halley_set_stats *stats)
{
    if (stats == NULL)
        return;
    for (uint32_t i = 0; stats->distinct != NULL && i < stats->n_distinct; i++)
        halley_trace_stats_free(stats->distinct[i]);
    halley_trace_stats_free(stats->total);
    free((void *)stats->distinct);
    free(stats->first_rank);
    free(stats->which);
    free(stats);
}
