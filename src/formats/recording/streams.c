/*
 * What devices wait for, and what the host waits for on devices.
 *
 * A kernel waits for its launch and for the previous work of its stream. Across streams,
 * cudaStreamWaitEvent makes a stream wait for what was on another stream when an event
 * was recorded there. With CUDA synchronisation events in the trace (cuda_sync; off by
 * default in PyTorch) the streams and events are known. Without them the wait is guessed:
 * the thread's next launch waits for what the other streams were given before the call.
 * Only work that had ended when the launched kernel started is taken. Calls that wait are
 * handled in the same way: a device synchronisation waits for all streams, any other call
 * for the stream that ended last.
 *
 * A stream may idle between two kernels although the second was launched long before.
 * Nothing in the recording explains this time. It is added up, and becomes a gap node
 * when the sum reaches split_ns.
 */
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

typedef ARRAY(uint32_t) event_array;

typedef struct streams {
    link_graph *g;
    event_array *of;     /* by stream: its events in order of time */
    int64_t *owed_ns;    /* by stream: unexplained idle time not yet in a gap node */
    uint32_t *waits_for; /* by event: what it waits for on other streams that ends last */
    map64 by_correlation; /* RECORD and WAIT calls */
    map64 sync_of;        /* correlation → cuda_sync event */
    bool has_syncs;       /* the trace has cuda_sync events */
} streams;

static const device_event *event_at(const streams *s, uint32_t e)
{
    return &s->g->device->events.at[e];
}

static bool collect(streams *s)
{
    link_graph *const g = s->g;
    const device_trace *const d = g->device;
    const size_t n = d->streams.n;
    s->of = mem_array_zero(n, sizeof *s->of);
    s->owed_ns = mem_array_zero(n, sizeof *s->owed_ns);
    s->waits_for = mem_array(d->events.n, sizeof *s->waits_for);
    if (!s->of || !s->owed_ns || !s->waits_for)
        return false;
    for (size_t e = 0; e < d->events.n; e++)
        s->waits_for[e] = LINK_NONE;
    for (uint32_t e = 0; e < d->events.n; e++) {
        const device_event *const event = &d->events.at[e];
        bool ok = true;
        if (g->node_of[e] != LINK_NONE)
            ok = array_push(&s->of[event->place], e);
        else if (event->key == PULL_NONE)
            continue;
        else if (event->kind == DEVICE_RECORD || event->kind == DEVICE_WAIT)
            ok = map64_set(&s->by_correlation, event->key, e);
        else if (event->kind == DEVICE_SYNC)
            ok = map64_set(&s->sync_of, event->key, e);
        if (!ok)
            return false;
    }
    s->has_syncs = d->syncs.n > 0;
    return true;
}

/* The number of events of a stream that were launched before `at`. */
static size_t n_given_before(const streams *s, size_t stream, int64_t at)
{
    const event_array *const events = &s->of[stream];
    size_t low = 0, high = events->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (event_at(s, s->g->call_of[events->at[mid]])->start_ns < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The last event of a stream that was launched before `at`; LINK_NONE = none. */
static uint32_t given_before(const streams *s, size_t stream, int64_t at)
{
    const size_t n = n_given_before(s, stream, at);
    return n > 0 ? s->of[stream].at[n - 1] : LINK_NONE;
}

static uint32_t given_after(const streams *s, size_t stream, int64_t at)
{
    const size_t n = n_given_before(s, stream, at);
    return n < s->of[stream].n ? s->of[stream].at[n] : LINK_NONE;
}

/* Index of the stream with this number; SIZE_MAX = no such stream was used. */
static size_t find_stream(const streams *s, uint64_t device, uint64_t stream)
{
    for (size_t i = 0; i < s->g->device->streams.n; i++) {
        const device_stream *const known = &s->g->device->streams.at[i];
        if (known->stream == stream && (known->device == device || device == PULL_NONE))
            return i;
    }
    return SIZE_MAX;
}

static bool wait_across(streams *s, uint32_t from, uint32_t to, uint64_t *count)
{
    if (from == LINK_NONE || to == LINK_NONE || from == to)
        return true;
    uint32_t *const longest = &s->waits_for[to];
    if (*longest == LINK_NONE ||
        device_end(event_at(s, from)) > device_end(event_at(s, *longest)))
        *longest = from;
    return link_add_edge(s->g, s->g->node_of[from], s->g->node_of[to], count);
}

/* A cuda_sync "Stream Wait Event". */
static bool wait_as_said(streams *s, const device_event *event)
{
    const device_sync *const sync = &s->g->device->syncs.at[event->extra];
    const uint32_t call =
        event->key == PULL_NONE ? HASH_NONE : map64_find(&s->by_correlation, event->key);
    const uint32_t record = sync->record == PULL_NONE
                                ? HASH_NONE
                                : map64_find(&s->by_correlation, sync->record);
    const int64_t at = call != HASH_NONE ? event_at(s, call)->start_ns : event->start_ns;
    const int64_t recorded = record != HASH_NONE ? event_at(s, record)->start_ns : at;
    const size_t waiting = find_stream(s, sync->device, sync->waiter);
    const size_t awaited = find_stream(s, sync->device, sync->stream);
    if (waiting == SIZE_MAX || awaited == SIZE_MAX || waiting == awaited)
        return true;
    return wait_across(s, given_before(s, awaited, recorded), given_after(s, waiting, at),
                       &s->g->report->n_event_waits);
}

/* cudaStreamWaitEvent without cuda_sync: the thread's next launch is assumed to be what
 * waits. */
static bool wait_as_guessed(streams *s, const device_event *wait, uint32_t next)
{
    const device_event *const kernel = event_at(s, next);
    for (size_t i = 0; i < s->g->device->streams.n; i++) {
        const uint32_t before =
            i == kernel->place ? LINK_NONE : given_before(s, i, wait->start_ns);
        if (before != LINK_NONE && device_end(event_at(s, before)) <= kernel->start_ns &&
            !wait_across(s, before, next, &s->g->report->n_event_waits_guessed))
            return false;
    }
    return true;
}

/* Pair the waits of each thread with its next launch. If several waits precede one
 * launch, the last counts. */
static bool guess_waits(streams *s, const uint32_t *first_launched)
{
    const link_graph *const g = s->g;
    for (uint32_t t = 0; t < g->n_threads; t++) {
        uint32_t next = LINK_NONE; /* what the next call of the thread launches */
        uint32_t done = LINK_NONE; /* the launch that has its edges already */
        for (uint32_t i = g->threads[t].n; i-- > 0;) {
            const uint32_t e = g->by_thread[g->threads[t].first + i];
            if (first_launched[e] != LINK_NONE) {
                next = first_launched[e];
            } else if (event_at(s, e)->kind == DEVICE_WAIT && next != LINK_NONE &&
                       next != done) {
                if (!wait_as_guessed(s, event_at(s, e), next))
                    return false;
                done = next;
            }
        }
    }
    return true;
}

static bool event_waits(streams *s)
{
    const link_graph *const g = s->g;
    const size_t n = g->device->events.n;
    if (s->has_syncs) {
        for (uint32_t e = 0; e < n; e++) {
            const device_event *const event = event_at(s, e);
            if (event->kind == DEVICE_SYNC &&
                g->device->syncs.at[event->extra].kind == DEVICE_WAIT_STREAM_EVENT &&
                !wait_as_said(s, event))
                return false;
        }
        return true;
    }
    uint32_t *const first_launched = mem_array(n, sizeof *first_launched);
    if (!first_launched)
        return false;
    for (size_t e = 0; e < n; e++)
        first_launched[e] = LINK_NONE;
    for (uint32_t e = (uint32_t)n; e-- > 0;)
        if (g->call_of[e] != LINK_NONE)
            first_launched[g->call_of[e]] = e;
    const bool ok = guess_waits(s, first_launched);
    free(first_launched);
    return ok;
}

/* The step of the launching thread that a launch at `call` belongs to. */
static uint32_t launching_step(const link_graph *g, uint32_t call)
{
    const device_event *const event = &g->device->events.at[call];
    const link_thread *const t = &g->threads[event->place];
    size_t low = 0, high = t->steps.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->steps.at[mid].at_ns <= event->start_ns)
            low = mid + 1;
        else
            high = mid;
    }
    while (low > 0) {
        const uint32_t node = t->steps.at[--low].node;
        if (g->nodes.at[node].kind != LINK_WAIT || g->nodes.at[node].ref != call)
            return node;
    }
    return LINK_NONE;
}

static bool launch_edges(streams *s)
{
    link_graph *const g = s->g;
    for (uint32_t e = 0; e < g->device->events.n; e++) {
        const uint32_t node = g->node_of[e];
        if (node == LINK_NONE)
            continue;
        uint32_t from = launching_step(g, g->call_of[e]);
        if (from == LINK_NONE)
            from = g->nodes.at[node].parent;
        if (!link_add_edge(g, from, node, &g->report->n_launch))
            return false;
    }
    return true;
}

/* Account for idle time of a stream before event e: its launch call and everything it
 * waits for had ended. */
static bool idle_gap(streams *s, uint32_t before, uint32_t e, size_t stream)
{
    link_graph *const g = s->g;
    const device_event *const event = event_at(s, e);
    uint32_t last = s->waits_for[e];
    if (last == LINK_NONE || (before != LINK_NONE && device_end(event_at(s, before)) >
                                                         device_end(event_at(s, last))))
        last = before;
    if (last == LINK_NONE)
        return true;
    const int64_t ready = device_end(event_at(s, last));
    if (ready < device_end(event_at(s, g->call_of[e])) || event->start_ns <= ready)
        return true;
    s->owed_ns[stream] += event->start_ns - ready;
    g->report->device_gap_ns += event->start_ns - ready;
    if (s->owed_ns[stream] < (int64_t)g->opts.split_ns)
        return true;
    const uint32_t gap = link_add_node(g, (link_node){.at_ns = ready,
                                                      .start_ns = ready,
                                                      .duration_ns = s->owed_ns[stream],
                                                      .ref = LINK_NONE,
                                                      .parent = LINK_NONE,
                                                      .order = UINT32_MAX,
                                                      .stream = (uint32_t)stream,
                                                      .kind = LINK_GAP,
                                                      .timed = true});
    s->owed_ns[stream] = 0;
    g->report->n_gap_nodes++;
    return gap != LINK_NONE && link_add_edge(g, g->node_of[last], gap, NULL) &&
           link_add_edge(g, gap, g->node_of[e], NULL);
}

static bool stream_order(streams *s)
{
    link_graph *const g = s->g;
    for (size_t i = 0; i < g->device->streams.n; i++) {
        uint32_t before = LINK_NONE;
        for (size_t k = 0; k < s->of[i].n; k++) {
            const uint32_t e = s->of[i].at[k];
            if (before != LINK_NONE &&
                !link_add_edge(g, g->node_of[before], g->node_of[e],
                               &g->report->n_stream_order))
                return false;
            if (!idle_gap(s, before, e, i))
                return false;
            before = e;
        }
    }
    return true;
}

/* A waiting call and what it waits for. */
typedef struct waiting {
    uint32_t node;
    int64_t end_ns;    /* of the call */
    int64_t device_ns; /* when the last of the awaited work ended */
} waiting;

static bool wait_for(streams *s, waiting *w, uint32_t e, uint64_t *count)
{
    if (e == LINK_NONE || device_end(event_at(s, e)) > w->end_ns)
        return true;
    const int64_t end = device_end(event_at(s, e));
    w->device_ns = end > w->device_ns ? end : w->device_ns;
    return link_add_edge(s->g, s->g->node_of[e], w->node, count);
}

static bool wait_for_all(streams *s, waiting *w, const device_event *call,
                         uint64_t device, uint64_t *count)
{
    for (size_t i = 0; i < s->g->device->streams.n; i++)
        if ((device == PULL_NONE || s->g->device->streams.at[i].device == device) &&
            !wait_for(s, w, given_before(s, i, call->start_ns), count))
            return false;
    return true;
}

/* Wait for the stream whose work ended last before the call returned. */
static bool wait_for_latest(streams *s, waiting *w, const device_event *call)
{
    uint32_t latest = LINK_NONE;
    for (size_t i = 0; i < s->g->device->streams.n; i++) {
        const uint32_t e = given_before(s, i, call->start_ns);
        if (e != LINK_NONE && device_end(event_at(s, e)) <= w->end_ns &&
            (latest == LINK_NONE ||
             device_end(event_at(s, e)) > device_end(event_at(s, latest))))
            latest = e;
    }
    return wait_for(s, w, latest, &s->g->report->n_syncs_guessed);
}

static bool wait_as_recorded(streams *s, waiting *w, const device_event *call,
                             const device_sync *sync)
{
    uint64_t *const count = &s->g->report->n_syncs;
    if (sync->kind == DEVICE_WAIT_CONTEXT)
        return wait_for_all(s, w, call, sync->device, count);
    const size_t stream = find_stream(s, sync->device, sync->stream);
    int64_t at = call->start_ns;
    if (sync->kind == DEVICE_WAIT_EVENT) {
        const uint32_t record = sync->record == PULL_NONE
                                    ? HASH_NONE
                                    : map64_find(&s->by_correlation, sync->record);
        if (record == HASH_NONE || stream == SIZE_MAX)
            return wait_for_latest(s, w, call);
        at = event_at(s, record)->start_ns;
    }
    return stream == SIZE_MAX || wait_for(s, w, given_before(s, stream, at), count);
}

static bool wait_of_call(streams *s, waiting *w, uint32_t call_id)
{
    const device_event *const call = event_at(s, call_id);
    const link_graph *const g = s->g;
    const str name = intern_text(&g->device->texts, call->name);
    if (call->kind == DEVICE_CALL) { /* a blocking copy: its stream up to itself */
        for (size_t i = 0; i < g->device->streams.n; i++) {
            const uint32_t e = given_before(s, i, call->start_ns + 1);
            if (e != LINK_NONE && g->call_of[e] == call_id)
                return wait_for(s, w, e, &g->report->n_syncs);
        }
        return true;
    }
    const uint32_t sync =
        call->key == PULL_NONE ? HASH_NONE : map64_find(&s->sync_of, call->key);
    if (sync != HASH_NONE)
        return wait_as_recorded(s, w, call,
                                &g->device->syncs.at[event_at(s, sync)->extra]);
    if (str_contains(name, STR("DeviceSynchronize")) ||
        str_contains(name, STR("CtxSynchronize")))
        return wait_for_all(s, w, call, PULL_NONE, &g->report->n_syncs);
    return wait_for_latest(s, w, call);
}

/* A waiting call takes only the time from the end of what it waits for to its own end. */
static bool host_waits(streams *s)
{
    link_graph *const g = s->g;
    const size_t n_nodes = g->nodes.n;
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (g->nodes.at[i].kind != LINK_WAIT)
            continue;
        const uint32_t call = g->nodes.at[i].ref;
        waiting w = {.node = i, .end_ns = g->nodes.at[i].at_ns, .device_ns = INT64_MIN};
        if (!wait_of_call(s, &w, call))
            return false;
        link_node *const n = &g->nodes.at[i];
        if (w.device_ns > n->start_ns) {
            g->report->wait_ns += w.device_ns - n->start_ns;
            n->duration_ns = w.end_ns - w.device_ns;
        }
    }
    return true;
}

halley_status link_streams(link_graph *g, halley_error *err)
{
    streams s = {.g = g};
    const bool ok = collect(&s) && event_waits(&s) && launch_edges(&s) &&
                    stream_order(&s) && host_waits(&s);
    for (size_t i = 0; s.of && i < g->device->streams.n; i++)
        array_fini(&s.of[i]);
    free(s.of);
    free(s.owed_ns);
    free(s.waits_for);
    map64_fini(&s.by_correlation);
    map64_fini(&s.sync_of);
    return ok ? HALLEY_OK : error_nomem(err);
}
