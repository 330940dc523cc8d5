/*
 * Attach device work to the operators that launched it.
 *
 * A kernel, copy or set names its launching call by correlation. Its operator is found as
 * in Chakra. It is the latest operator of that thread that started before the call and
 * has the kernel's external id. If there is none, it is the latest operator of the thread
 * before the call. `nccl:coalesced` wraps several collectives and is skipped for NCCL
 * kernels. If the operator found is not in the host trace, the latest earlier operator of
 * the thread that is in it is taken.
 */
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

typedef struct by_external {
    uint64_t external;
    uint32_t thread, event;
} by_external;

typedef struct lookup {
    const link_graph *g;
    by_external *ops; /* by thread, external id, time */
    size_t n_ops;
    /* By position in by_thread: the last operator up to there, and the last one that is
     * linked to the host trace; LINK_NONE = none. */
    uint32_t *last_op, *last_linked;
    int64_t *end_ns; /* by thread: where its last linked operator ends */
    map64 calls;     /* correlation → event */
} lookup;

static int compare(const void *a, const void *b)
{
    const by_external *const x = a, *const y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->external != y->external)
        return x->external < y->external ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static str event_name(const link_graph *g, uint32_t e)
{
    return intern_text(&g->device->texts, g->device->events.at[e].name);
}

/* A step (ProfilerStep) is not an operator: what it contains belongs to the operators
 * inside. */
static bool can_launch(const link_graph *g, uint32_t e)
{
    return device_is_op(g->device->events.at[e].kind) &&
           !str_starts(event_name(g, e), STR("ProfilerStep"));
}

static bool collect_ops(lookup *l)
{
    const link_graph *const g = l->g;
    const size_t n = g->device->events.n;
    l->ops = mem_array(n, sizeof *l->ops);
    l->last_op = mem_array(n, sizeof *l->last_op);
    l->last_linked = mem_array(n, sizeof *l->last_linked);
    l->end_ns = mem_array(g->n_threads, sizeof *l->end_ns);
    if (!l->ops || !l->last_op || !l->last_linked || !l->end_ns)
        return false;
    for (uint32_t t = 0; t < g->n_threads; t++) {
        uint32_t op = LINK_NONE, linked = LINK_NONE;
        l->end_ns[t] = INT64_MIN;
        for (uint32_t i = g->threads[t].first; i < g->threads[t].first + g->threads[t].n;
             i++) {
            const uint32_t e = g->by_thread[i];
            if (can_launch(g, e)) {
                op = e;
                const int64_t end = device_end(&g->device->events.at[e]);
                if (g->host_of[e] != LINK_NONE) {
                    linked = e;
                    l->end_ns[t] = end > l->end_ns[t] ? end : l->end_ns[t];
                }
                l->ops[l->n_ops++] =
                    (by_external){g->device->events.at[e].external, t, e};
            }
            l->last_op[i] = op;
            l->last_linked[i] = linked;
        }
    }
    if (l->n_ops > 0)
        qsort(l->ops, l->n_ops, sizeof *l->ops, compare);
    return true;
}

static bool collect_calls(lookup *l)
{
    const device_trace *const d = l->g->device;
    for (uint32_t e = 0; e < d->events.n; e++) {
        const device_event *const event = &d->events.at[e];
        uint32_t value = e;
        bool fresh;
        if ((event->kind == DEVICE_CALL || event->kind == DEVICE_SYNC_CALL) &&
            event->key != PULL_NONE && !map64_put(&l->calls, event->key, &value, &fresh))
            return false;
    }
    return true;
}

/* Position in by_thread of the last event of the thread that started before `at`. */
static uint32_t position_before(const link_graph *g, uint32_t thread, int64_t at)
{
    uint32_t low = g->threads[thread].first, high = low + g->threads[thread].n;
    const uint32_t first = low;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (g->device->events.at[g->by_thread[mid]].start_ns < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low > first ? low - 1 : LINK_NONE;
}

/* The last operator of the thread with this external id that started before `at`. */
static uint32_t find_external(const lookup *l, uint32_t thread, uint64_t external,
                              int64_t at, bool skip_coalesced)
{
    const device_trace *const d = l->g->device;
    size_t low = 0, high = l->n_ops;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const by_external *const op = &l->ops[mid];
        if (op->thread < thread ||
            (op->thread == thread &&
             (op->external < external ||
              (op->external == external && d->events.at[op->event].start_ns < at))))
            low = mid + 1;
        else
            high = mid;
    }
    while (low > 0 && l->ops[low - 1].thread == thread &&
           l->ops[low - 1].external == external) {
        const uint32_t e = l->ops[--low].event;
        if (!skip_coalesced || !str_eq(event_name(l->g, e), STR("nccl:coalesced")))
            return e;
    }
    return LINK_NONE;
}

static bool is_nccl(str name)
{
    return str_contains(name, STR("nccl")) || str_contains(name, STR("Nccl")) ||
           str_contains(name, STR("NCCL"));
}

/* The operator that launched a device event through `call`; LINK_NONE = none. */
static uint32_t find_operator(const lookup *l, uint32_t event, uint32_t call)
{
    const link_graph *const g = l->g;
    const device_event *const gpu = &g->device->events.at[event];
    const device_event *const launch = &g->device->events.at[call];
    const bool nccl = is_nccl(event_name(g, event));
    uint32_t op = LINK_NONE;
    if (gpu->external != PULL_NONE)
        op = find_external(l, launch->place, gpu->external, launch->start_ns, nccl);
    uint32_t at = position_before(g, launch->place, launch->start_ns);
    if (op == LINK_NONE && at != LINK_NONE) {
        op = l->last_op[at];
        if (op != LINK_NONE && nccl && str_eq(event_name(g, op), STR("nccl:coalesced")))
            op = LINK_NONE;
    }
    if ((op == LINK_NONE || g->host_of[op] == LINK_NONE) && at != LINK_NONE &&
        launch->start_ns < l->end_ns[launch->place])
        op = l->last_linked[at];
    return op == LINK_NONE ? LINK_NONE : g->host_of[op];
}

static bool add_gpu(link_graph *g, const lookup *l, uint32_t e)
{
    const device_event *const event = &g->device->events.at[e];
    halley_link_report *const report = g->report;
    const uint32_t call =
        event->key == PULL_NONE ? HASH_NONE : map64_find(&l->calls, event->key);
    if (call == HASH_NONE) {
        report->n_no_launch++;
        return true;
    }
    const uint32_t parent = find_operator(l, e, call);
    if (parent == LINK_NONE) {
        report->n_no_operator++;
        return true;
    }
    const int64_t launched = g->device->events.at[call].start_ns;
    g->call_of[e] = call;
    g->node_of[e] = link_add_node(
        g, (link_node){.at_ns = event->start_ns > launched ? event->start_ns : launched,
                       .start_ns = event->start_ns,
                       .duration_ns = event->duration_ns,
                       .ref = e,
                       .parent = parent,
                       .kind = LINK_GPU,
                       .timed = true});
    report->n_linked_kernels += event->kind == DEVICE_KERNEL;
    report->n_linked_copies += event->kind == DEVICE_COPY;
    report->n_linked_sets += event->kind == DEVICE_SET;
    return g->node_of[e] != LINK_NONE;
}

halley_status link_launches(link_graph *g, halley_error *err)
{
    lookup l = {.g = g};
    bool ok = collect_ops(&l) && collect_calls(&l);
    for (uint32_t e = 0; ok && e < g->device->events.n; e++)
        if (device_is_gpu(g->device->events.at[e].kind))
            ok = add_gpu(g, &l, e);
    free(l.ops);
    free(l.last_op);
    free(l.last_linked);
    free(l.end_ns);
    map64_fini(&l.calls);
    return ok ? HALLEY_OK : error_nomem(err);
}
