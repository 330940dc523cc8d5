/*
 * When devices were idle and why, and how much communication was exposed.
 *
 * Idle time is per device: the gaps in the union of everything that ran on it. The cause
 * of a gap is the first of these that applies:
 *
 * - Synchronisation: the next event was launched inside the gap, and a blocking call was
 *   running when the gap began.
 * - Host: the next event was launched inside the gap without such a call.
 * - Communication: the event before the gap was a collective.
 * - Launch latency: the gap is shorter than 30 us, the usual latency of a launch.
 * - Nothing: there was nothing to do.
 */
#include "base/error.h"
#include "recording/kernels/kernels.h"

#include <assert.h>
#include <stdlib.h>

enum { LATENCY_NS = 30000 };

/* The busy intervals of one device, and the state at the current event. */
typedef struct device_time {
    int64_t device;
    rec_spans all, comm, compute;
    rec_spans host_copies, others; /* copies between host and device, and all else */
    int64_t end_ns;                /* latest end of the events so far */
    bool last_was_comm;            /* the event that ended then is a collective */
    bool any;
} device_time;

typedef struct idle_counter {
    kernel_counter *c;
    ARRAY(device_time) devices;
    int64_t idle_ns, host_ns, comm_ns, sync_ns, latency_ns, nothing_ns;
    int64_t span_ns, busy_ns, comm_busy_ns, overlap_ns, exposed_ns, copies_ns;
} idle_counter;

static device_time *find_device_time(idle_counter *x, int64_t device)
{
    for (size_t i = 0; i < x->devices.n; i++)
        if (x->devices.at[i].device == device)
            return &x->devices.at[i];
    if (!array_push(&x->devices, (device_time){.device = device}))
        return NULL;
    return &x->devices.at[x->devices.n - 1];
}

static bool was_blocked(const kernel_counter *c, int64_t at_ns)
{
    size_t low = 0, high = c->blocking.n;
    while (low < high) { /* find the last blocking call that begins at or before at_ns */
        const size_t mid = low + (high - low) / 2;
        if (c->blocking.at[mid].begin_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && c->blocking.at[low - 1].end_ns >= at_ns;
}

static void count_idle_gap(idle_counter *x, const device_time *d,
                           const kernel_event *next)
{
    const int64_t gap = next->begin_ns - d->end_ns;
    assert(gap > 0);
    const bool late_launch = next->launch_ns >= d->end_ns;
    int64_t *const cause = late_launch && was_blocked(x->c, d->end_ns) ? &x->sync_ns
                           : late_launch                               ? &x->host_ns
                           : d->last_was_comm                          ? &x->comm_ns
                           : gap < LATENCY_NS                          ? &x->latency_ns
                                                                       : &x->nothing_ns;
    *cause += gap;
    x->idle_ns += gap;
}

static bool add_device_event(idle_counter *x, const kernel_event *e)
{
    device_time *const d = find_device_time(x, e->device);
    const rec_span span = {e->begin_ns, e->end_ns};
    if (d == NULL)
        return false;
    if (d->any && e->begin_ns > d->end_ns)
        count_idle_gap(x, d, e);
    if (!d->any || e->end_ns >= d->end_ns) {
        d->end_ns = e->end_ns;
        d->last_was_comm = e->is_comm;
    }
    d->any = true;
    return array_push(&d->all, span) &&
           (e->is_copy || array_push(e->is_comm ? &d->comm : &d->compute, span)) &&
           array_push(e->is_host_copy ? &d->host_copies : &d->others, span);
}

static void sum_device(idle_counter *x, device_time *d)
{
    rec_spans_merge(&d->all);
    rec_spans_merge(&d->comm);
    rec_spans_merge(&d->compute);
    rec_spans_merge(&d->host_copies);
    rec_spans_merge(&d->others);
    const int64_t comm = rec_spans_length(&d->comm);
    const int64_t both = rec_spans_common(&d->comm, &d->compute);
    x->span_ns += d->all.at[d->all.n - 1].end_ns - d->all.at[0].begin_ns;
    x->busy_ns += rec_spans_length(&d->all);
    x->comm_busy_ns += comm;
    x->overlap_ns += both;
    x->exposed_ns += comm - both;
    x->copies_ns +=
        rec_spans_length(&d->host_copies) - rec_spans_common(&d->host_copies, &d->others);
}

static void keep_idle(const idle_counter *x, halley_kernels *k)
{
    k->span_s = (double)x->span_ns / 1e9;
    k->busy_s = (double)x->busy_ns / 1e9;
    k->idle = (halley_idle){.s = (double)x->idle_ns / 1e9,
                            .host = (double)x->host_ns / 1e9,
                            .communication = (double)x->comm_ns / 1e9,
                            .synchronisation = (double)x->sync_ns / 1e9,
                            .launch_latency = (double)x->latency_ns / 1e9,
                            .nothing = (double)x->nothing_ns / 1e9};
    k->comm_busy_s = (double)x->comm_busy_ns / 1e9;
    k->overlap =
        x->comm_busy_ns > 0 ? (double)x->overlap_ns / (double)x->comm_busy_ns : 0;
    k->exposed_comm_s = (double)x->exposed_ns / 1e9;
    k->copies_alone_s = (double)x->copies_ns / 1e9;
    assert(x->span_ns - x->busy_ns == x->idle_ns);
}

halley_status kernels_count_idle(kernel_counter *c, halley_error *err)
{
    idle_counter x = {.c = c};
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++)
        if (!c->events.at[i].is_sync)
            ok = add_device_event(&x, &c->events.at[i]);
    for (size_t i = 0; ok && i < x.devices.n; i++)
        sum_device(&x, &x.devices.at[i]);
    if (ok)
        keep_idle(&x, &c->k);
    for (size_t i = 0; i < x.devices.n; i++) {
        device_time *const d = &x.devices.at[i];
        array_fini(&d->all);
        array_fini(&d->comm);
        array_fini(&d->compute);
        array_fini(&d->host_copies);
        array_fini(&d->others);
    }
    array_fini(&x.devices);
    return ok ? HALLEY_OK : error_nomem(err);
}
