/*
 * The evidence for causes of lost time. How many launches wait for the device? Are
 * kernels shorter than their launch calls? How long does the training thread wait for
 * data while the device is idle? How much device time only changes the layout of tensors?
 */
#include "base/error.h"
#include "recording/kernels/kernels.h"

#include <stdlib.h>

/* A launch that begins to wait, or a kernel that begins to run. */
typedef struct queue_change {
    int64_t at_ns;
    int change;
} queue_change;

static int compare_changes(const void *a, const void *b)
{
    const queue_change *const x = a, *const y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

/* The mean number of launches that wait, over the time from the first to the last. */
static bool count_queue(kernel_counter *c)
{
    ARRAY(queue_change) changes = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        if (e->launch_ns < 0 || e->is_sync || e->begin_ns < e->launch_ns)
            continue;
        ok = array_push(&changes, (queue_change){e->launch_ns, 1}) &&
             array_push(&changes, (queue_change){e->begin_ns, -1});
    }
    if (ok && changes.n > 1) {
        qsort(changes.at, changes.n, sizeof *changes.at, compare_changes);
        double area = 0, n = 0;
        for (size_t i = 1; i < changes.n; i++) {
            n += changes.at[i - 1].change;
            area += n * (double)(changes.at[i].at_ns - changes.at[i - 1].at_ns);
        }
        const double span =
            (double)(changes.at[changes.n - 1].at_ns - changes.at[0].at_ns);
        c->k.causes.mean_queue = span > 0 ? area / span : 0;
    }
    array_fini(&changes);
    return ok;
}

static double find_median_s(int64_t *at, size_t n)
{
    const size_t middle = n / 2;
    mem_sort_i64(at, n);
    return n > 0 ? (double)at[middle] * 1e-9 : 0;
}

static bool count_lengths(kernel_counter *c)
{
    ARRAY(int64_t) lengths = {0}, calls = {0};
    uint64_t n_shorter = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        const int64_t length = e->end_ns - e->begin_ns;
        if (e->is_sync)
            continue;
        ok = array_push(&lengths, length) &&
             (e->launch_ns < 0 || array_push(&calls, e->call_ns));
        n_shorter += e->launch_ns >= 0 && length < e->call_ns;
    }
    if (ok) {
        c->k.causes.shorter_than_call =
            calls.n > 0 ? (double)n_shorter / (double)calls.n : 0;
        c->k.causes.median_kernel_s = find_median_s(lengths.at, lengths.n);
        c->k.causes.median_call_s = find_median_s(calls.at, calls.n);
    }
    array_fini(&lengths);
    array_fini(&calls);
    return ok;
}

static bool changes_layout(str name)
{
    static const char *const parts[] = {"nchwToNhwc", "nhwcToNchw", "transpose",
                                        "Transpose"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (str_contains(name, str_from(parts[i])))
            return true;
    return false;
}

/* Time in which the host waits for data, and how much of it the device is idle. */
static bool count_spans(kernel_counter *c)
{
    rec_spans busy = {0};
    int64_t layout_ns = 0, all_ns = 0, begin_ns = INT64_MAX, end_ns = INT64_MIN;
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        const halley_bytes name =
            halley_node_name(halley_trace_set_get(c->set, e->rank), e->node);
        if (e->is_sync)
            continue;
        ok = array_push(&busy, (rec_span){e->begin_ns, e->end_ns});
        all_ns += e->end_ns - e->begin_ns;
        layout_ns += changes_layout((str){name.at, name.n}) ? e->end_ns - e->begin_ns : 0;
        begin_ns = e->begin_ns < begin_ns ? e->begin_ns : begin_ns;
        end_ns = e->end_ns > end_ns ? e->end_ns : end_ns;
    }
    rec_spans_merge(&busy);
    rec_spans_merge(&c->loading);
    const int64_t loading = rec_spans_length(&c->loading);
    const int64_t hidden = rec_spans_common(&c->loading, &busy);
    halley_causes *const k = &c->k.causes;
    k->layout_share = all_ns > 0 ? (double)layout_ns / (double)all_ns : 0;
    k->loading_share =
        end_ns > begin_ns ? (double)loading / (double)(end_ns - begin_ns) : 0;
    k->loading_idle = loading > 0 ? (double)(loading - hidden) / (double)loading : 0;
    array_fini(&busy);
    return ok;
}

halley_status kernels_find_causes(kernel_counter *c, halley_error *err)
{
    return count_queue(c) && count_lengths(c) && count_spans(c) ? HALLEY_OK
                                                                : error_nomem(err);
}
