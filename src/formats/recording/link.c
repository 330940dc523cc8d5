/*
 * Link two recordings into a trace: read both, match operators, attach device work to
 * them, order threads and streams, and write the result. Each step has its own file; this
 * file calls them in order.
 */
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

uint32_t link_add_node(link_graph *g, link_node node)
{
    if (g->nodes.n >= LINK_NONE - 1 || !array_push(&g->nodes, node))
        return LINK_NONE;
    return (uint32_t)g->nodes.n - 1;
}

bool link_before(const link_graph *g, uint32_t a, uint32_t b)
{
    const link_node *const x = &g->nodes.at[a], *const y = &g->nodes.at[b];
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns;
    return x->order != y->order ? x->order < y->order : a < b;
}

bool link_add_edge(link_graph *g, uint32_t from, uint32_t to, uint64_t *count)
{
    if (!link_before(g, from, to)) {
        g->report->n_against_time++;
        return true;
    }
    if (count)
        (*count)++;
    return array_push(&g->edges, (link_edge){from, to});
}

/* Nodes 0 … n-1 are the host nodes in order of their ids. */
static bool add_host_nodes(link_graph *g)
{
    const size_t n = g->host->nodes.n;
    if (!array_reserve(&g->nodes, n + n / 2))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (link_add_node(g, (link_node){.ref = i, .parent = LINK_NONE}) == LINK_NONE)
            return false;
    return true;
}

/* Cut the edge that closes a cycle on the way to the root. */
static void cut_cycles(link_graph *g, uint32_t *seen)
{
    const size_t n = g->host->nodes.n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        while (at != LINK_NONE && seen[at] == 0) {
            seen[at] = i + 1;
            const uint32_t up = g->nodes.at[at].parent;
            if (up != LINK_NONE && seen[up] == i + 1) {
                g->nodes.at[at].parent = LINK_NONE;
                g->report->n_bad_parents++;
            }
            at = g->nodes.at[at].parent;
        }
    }
}

/* Set the parents of host nodes so that they form a forest. */
static halley_status link_host_parents(link_graph *g, halley_error *err)
{
    const size_t n = g->host->nodes.n;
    for (uint32_t i = 0; i < n; i++) {
        const host_node *const node = &g->host->nodes.at[i];
        if (node->parent == node->id || node->parent == PULL_NONE)
            continue;
        const uint32_t parent = host_find(g->host, node->parent);
        g->nodes.at[i].parent = parent == HOST_NONE ? LINK_NONE : parent;
        g->report->n_bad_parents += parent == HOST_NONE;
    }
    uint32_t *const seen = mem_array_zero(n, sizeof *seen);
    if (!seen)
        return error_nomem(err);
    cut_cycles(g, seen);
    free(seen);
    return HALLEY_OK;
}

static bool fill_none(uint32_t **out, size_t n)
{
    *out = mem_array(n, sizeof **out);
    for (size_t i = 0; *out && i < n; i++)
        (*out)[i] = LINK_NONE;
    return *out != NULL;
}

static bool is_host_side(device_kind kind)
{
    return kind <= DEVICE_WAIT;
}

static int by_host(const void *a, const void *b, void *host_of)
{
    const uint32_t *const of = host_of;
    const uint32_t x = of[*(const uint32_t *)a], y = of[*(const uint32_t *)b];
    return x < y ? -1 : x > y;
}

/* If operators start at the same time, order them as in the host trace. */
static void order_moment(link_graph *g, uint32_t *events, uint32_t n, uint32_t *scratch)
{
    uint32_t n_linked = 0;
    for (uint32_t i = 0; i < n; i++)
        if (g->host_of[events[i]] != LINK_NONE)
            scratch[n_linked++] = events[i];
    if (n_linked < 2)
        return;
    qsort_r(scratch, n_linked, sizeof *scratch, by_host, g->host_of);
    n_linked = 0;
    for (uint32_t i = 0; i < n; i++)
        if (g->host_of[events[i]] != LINK_NONE)
            events[i] = scratch[n_linked++];
}

static bool order_moments(link_graph *g)
{
    uint32_t *const scratch = mem_array(g->device->events.n, sizeof *scratch);
    if (!scratch)
        return false;
    for (uint32_t t = 0; t < g->n_threads; t++) {
        uint32_t *const events = g->by_thread + g->threads[t].first;
        for (uint32_t i = 0, n; i < g->threads[t].n; i += n) {
            const int64_t start = g->device->events.at[events[i]].start_ns;
            for (n = 1; i + n < g->threads[t].n &&
                        g->device->events.at[events[i + n]].start_ns == start;)
                n++;
            if (n > 1)
                order_moment(g, events + i, n, scratch);
        }
    }
    free(scratch);
    return true;
}

/* Sort the host-side events by thread; they are already in order of time. */
static bool group_by_thread(link_graph *g)
{
    const device_trace *const d = g->device;
    g->n_threads = d->threads.n;
    g->threads = mem_array_zero(g->n_threads, sizeof *g->threads);
    g->by_thread = mem_array(d->events.n, sizeof *g->by_thread);
    if (!g->threads || !g->by_thread)
        return false;
    for (size_t e = 0; e < d->events.n; e++)
        if (is_host_side(d->events.at[e].kind))
            g->threads[d->events.at[e].place].n++;
    uint32_t first = 0;
    for (uint32_t t = 0; t < g->n_threads; t++) {
        g->threads[t].first = first;
        first += g->threads[t].n;
        g->threads[t].n = 0;
    }
    for (uint32_t e = 0; e < d->events.n; e++)
        if (is_host_side(d->events.at[e].kind)) {
            link_thread *const t = &g->threads[d->events.at[e].place];
            g->by_thread[t->first + t->n++] = e;
            t->used |= g->host_of[e] != LINK_NONE;
        }
    return order_moments(g);
}

static void describe_input(link_graph *g)
{
    halley_link_report *const r = g->report;
    const host_trace *const h = g->host;
    r->n_host_nodes = h->nodes.n;
    r->n_duplicate_ids = h->n_duplicates;
    r->n_no_id = h->n_no_id;
    r->n_unknown_keys = h->n_unknown_keys;
    if (h->schema != HOST_NONE) {
        const str schema = intern_text(&h->texts, h->schema);
        const size_t n = schema.n < sizeof r->schema ? schema.n : sizeof r->schema - 1;
        memcpy(r->schema, schema.at, n);
    }
    const device_trace *const d = g->device;
    if (!d)
        return;
    r->n_device_events = d->n_events;
    r->n_operators = d->n[DEVICE_OP] + d->n[DEVICE_ANNOTATION];
    r->n_kernels = d->n[DEVICE_KERNEL];
    r->n_copies = d->n[DEVICE_COPY];
    r->n_sets = d->n[DEVICE_SET];
    r->n_other_events = d->n_other;
    r->n_quiet_calls = d->n_quiet;
    r->n_bad_times = d->n_bad_times;
    r->n_negative = d->n_negative;
    r->n_duplicate_events = d->n_duplicates;
    r->n_groups = d->job.groups.n;
}

/* Choose the shortest time that becomes a node of its own: 0.1 % of the recording, but at
 * least 2 us and at most 30 us. So one late launch costs at most 0.1 % of the
 * recording. */
static void choose_split(link_graph *g)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < g->host->nodes.n; i++) {
        if (g->event_of[i] == LINK_NONE)
            continue;
        const device_event *const event = &g->device->events.at[g->event_of[i]];
        from = event->start_ns < from ? event->start_ns : from;
        to = device_end(event) > to ? device_end(event) : to;
    }
    const uint64_t share = to > from ? (uint64_t)(to - from) / 1000 : 0;
    g->opts.split_ns = share < 2000 ? 2000 : share > 30000 ? 30000 : share;
}

static halley_status link_pair(link_graph *g, const char *host_path,
                               const char *device_path, halley_error *err)
{
    const size_t n_events = g->device->events.n;
    if (n_events == 0) {
        error_set(err, HALLEY_EINVAL,
                  "none of its %llu events is an operator, a runtime call or a kernel",
                  (unsigned long long)g->device->n_events);
        error_at_file(err, device_path);
        return HALLEY_EINVAL;
    }
    if (!fill_none(&g->host_of, n_events) || !fill_none(&g->node_of, n_events) ||
        !fill_none(&g->call_of, n_events) || !fill_none(&g->event_of, g->host->nodes.n))
        return error_nomem(err);
    TRY(link_match(g, host_path, device_path, err));
    if (g->opts.split_ns == 0)
        choose_split(g);
    if (!group_by_thread(g))
        return error_nomem(err);
    TRY(link_launches(g, err));
    TRY(link_threads(g, err));
    return link_streams(g, err);
}

str link_name(const link_graph *g, uint32_t i)
{
    const link_node *const n = &g->nodes.at[i];
    if (n->kind == LINK_GAP)
        return n->ref == LINK_NONE ? STR("device gap") : STR("host gap");
    if (n->kind != LINK_HOST)
        return intern_text(&g->device->texts, g->device->events.at[n->ref].name);
    const uint32_t name = g->host->nodes.at[n->ref].name;
    return name == HOST_NONE ? STR("") : intern_text(&g->host->texts, name);
}

bool link_declares_groups(const link_graph *g, uint32_t i)
{
    return g->nodes.at[i].kind == LINK_HOST &&
           str_contains(link_name(g, i), STR("process_group:init"));
}

static void find_span(link_graph *g)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const link_node *const n = &g->nodes.at[i];
        if (!n->timed)
            continue;
        int64_t end = n->kind == LINK_WAIT ? n->at_ns : n->start_ns;
        if (n->kind == LINK_GPU)
            end += n->duration_ns;
        else if (n->kind == LINK_HOST)
            end = device_end(&g->device->events.at[g->event_of[i]]);
        from = n->start_ns < from ? n->start_ns : from;
        to = end > to ? end : to;
    }
    g->from_ns = from == INT64_MAX ? 0 : from;
    g->to_ns = from == INT64_MAX ? 0 : to;
    g->report->recorded_ns = g->to_ns - g->from_ns;
}

static void graph_fini(link_graph *g)
{
    for (uint32_t t = 0; g->threads && t < g->n_threads; t++) {
        array_fini(&g->threads[t].steps);
        array_fini(&g->threads[t].quiet);
    }
    free(g->threads);
    free(g->by_thread);
    free(g->event_of);
    free(g->host_of);
    free(g->node_of);
    free(g->call_of);
    free(g->comm_of);
    array_fini(&g->comms);
    array_fini(&g->nodes);
    array_fini(&g->edges);
}

halley_status link_job_build(link_job *job, halley_error *err)
{
    link_graph *const g = &job->graph;
    job->report.size = sizeof job->report;
    *g = (link_graph){.host = &job->host,
                      .device = job->device_path || job->host.timings.n > 0 ? &job->device
                                                                            : NULL,
                      .device_path = job->device_path,
                      .report = &job->report};
    if (job->opts)
        g->opts = *job->opts;
    if (g->opts.quiet_ns == 0)
        g->opts.quiet_ns = 100000;
    describe_input(g);
    if (g->host->nodes.n == 0) {
        error_set(err, HALLEY_EINVAL, "the execution trace has no nodes");
        error_at_file(err, job->host_path);
        return HALLEY_EINVAL;
    }
    if (!add_host_nodes(g))
        return error_nomem(err);
    TRY(link_host_parents(g, err));
    const char *const device_path = job->device_path ? job->device_path : job->host_path;
    TRY(g->device ? link_pair(g, job->host_path, device_path, err)
                  : link_untimed(g, err));
    TRY(link_batches(g, err));
    TRY(link_comms(g, err));
    find_span(g);
    return link_replay(g, err);
}

halley_status link_job_run(link_job *job, halley_error *err)
{
    TRY(host_read(&job->host, job->host_path, err));
    if (job->look != NULL && !watcher_add(job->look, 1))
        return watcher_error(job->look, err);
    if (job->device_path)
        TRY(device_read(&job->device, job->device_path, err));
    else if (job->host.timings.n > 0)
        TRY(link_take_apart(&job->device, &job->host, err));
    if (job->look != NULL && !watcher_add(job->look, job->device_path != NULL))
        return watcher_error(job->look, err);
    return link_job_build(job, err);
}

void link_job_fini(link_job *job)
{
    graph_fini(&job->graph);
    host_fini(&job->host);
    device_fini(&job->device);
}

halley_status link_job_emit(halley_trace **out, link_job *job, halley_error *err)
{
    link_names names = {0};
    halley_status status = link_names_add(&names, &job->graph, err);
    if (status == HALLEY_OK)
        status = link_names_finish(&names, err);
    job->graph.names = &names;
    if (status == HALLEY_OK)
        status = link_emit(out, &job->graph, job->graph.from_ns, err);
    job->graph.names = NULL;
    link_names_fini(&names);
    return status;
}

halley_status halley_trace_link(halley_trace **out, halley_link_report *report,
                                const char *host_path, const char *device_path,
                                const halley_link_opts *opts, halley_error *err)
{
    watcher look;
    link_job job = {
        .host_path = host_path, .device_path = device_path, .opts = opts, .look = &look};
    watcher_init(&look, opts != NULL ? opts->watch : NULL, "linking", "recordings",
                 device_path != NULL ? 2 : 1);
    if (watcher_is_cancelled(&look))
        return watcher_error(&look, err);
    halley_status status = link_job_run(&job, err);
    if (status == HALLEY_OK && !watcher_add(&look, 0))
        status = watcher_error(&look, err);
    if (status == HALLEY_OK)
        status = link_job_emit(out, &job, err);
    if (status == HALLEY_OK && report)
        *report = job.report;
    link_job_fini(&job);
    return status;
}
