/* Compute statistics as HTA does; see hta.h. */
#include "recording/record/hta.h"

#include "recording/record/spans.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL_WAIT_NS = 30000 };

typedef enum hta_type { HTA_COMPUTE, HTA_COMM, HTA_MEMORY, HTA_OTHER } hta_type;

typedef struct hta_event {
    int64_t begin_ns, end_ns, stream;
    uint32_t name, seq;
    uint32_t launch;      /* host event; REC_NONE */
    bool has_correlation; /* it names a launch, which may be missing in the file */
    bool is_device;
} hta_event;

typedef struct hta_counter {
    const record *rec;
    ARRAY(hta_event) events;
    map64 before_last; /* correlation -> 1: of a host event that begins before the last
                        * step */
    uint8_t *types;    /* by text: 1 + hta_type; 0 = not found yet */
    bool filters;      /* two steps or more: only what those host events launched */
} hta_counter;

static bool starts_with_one_of(str name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_starts(name, str_from(words[i])))
            return true;
    return false;
}
#define STARTS_WITH_ONE_OF(name, ...)                                                    \
    starts_with_one_of(name, (const char *const[]){__VA_ARGS__},                         \
                       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static hta_type type_name(str name)
{
    if (STARTS_WITH_ONE_OF(name, "nccl", "hip", "hccl") ||
        str_contains(name, STR("ncclKernel")))
        return HTA_COMM;
    if (STARTS_WITH_ONE_OF(name, "Memcpy", "Memset", "dma"))
        return HTA_MEMORY;
    const bool other =
        str_contains(name, STR("Memcpy")) || str_contains(name, STR("Memset")) ||
        str_contains(name, STR("dma")) || str_contains(name, STR("Sync")) ||
        (str_starts(name, STR("cuda")) && str_contains(name, STR("LaunchKernel"))) ||
        STARTS_WITH_ONE_OF(name, "Stream Wait Event", "runFunction", "job_exe", "packet",
                           "pe_exe", "cpum_exe_subgraph",
                           "collective_subgraph_execution");
    return other ? HTA_OTHER : HTA_COMPUTE;
}

/* Ranges on the device count as host events. */
static bool is_on_host(const rec_work *w)
{
    return !w->has_stream && w->correlation != REC_NO_ID;
}

/* List the correlations that no launch has: those of waits, and of ranges on the
 * device. */
static bool list_host_ids(hta_counter *c)
{
    const record *const r = c->rec;
    bool ok = true;
    for (size_t i = 0; ok && i < r->syncs.n; i++)
        if (r->syncs.at[i].correlation != REC_NO_ID)
            ok = map64_set(&c->before_last, r->syncs.at[i].correlation, 0);
    for (uint32_t i = 0; ok && c->before_last.n > 0 && i < r->hosts.n; i++) {
        const rec_host *const h = &r->hosts.at[i];
        if (h->kind == REC_CALL && h->correlation != REC_NO_ID &&
            h->begin_ns < r->last_step_ns &&
            map64_find(&c->before_last, h->correlation) != HASH_NONE)
            ok = map64_set(&c->before_last, h->correlation, 1);
    }
    for (size_t i = 0; ok && i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        if (is_on_host(w) && w->begin_ns < r->last_step_ns)
            ok = map64_set(&c->before_last, w->correlation, 1);
    }
    return ok;
}

/* With two steps or more, keep only what begins on the host before the last step does. */
static bool is_kept(const hta_counter *c, uint64_t correlation, uint32_t launch)
{
    if (!c->filters)
        return true;
    if (launch != REC_NONE && c->rec->hosts.at[launch].begin_ns < c->rec->last_step_ns)
        return true;
    return correlation != REC_NO_ID && map64_find(&c->before_last, correlation) == 1;
}

static bool add_hta_event(hta_counter *c, hta_event event, uint64_t correlation)
{
    event.has_correlation = correlation != REC_NO_ID;
    if (event.stream < 0 || !is_kept(c, correlation, event.launch))
        return true;
    return array_push(&c->events, event);
}

static bool list_hta_events(hta_counter *c)
{
    const record *const r = c->rec;
    bool ok = true;
    for (size_t i = 0; ok && i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const hta_event event = {.begin_ns = w->begin_ns,
                                 .end_ns = w->end_ns,
                                 .stream = r->rows.at[w->row].stream,
                                 .name = w->name,
                                 .seq = w->seq,
                                 .launch = w->launch,
                                 .is_device = true};
        if (w->has_stream)
            ok = add_hta_event(c, event, w->correlation);
    }
    for (size_t i = 0; ok && i < r->syncs.n; i++) {
        const rec_sync *const s = &r->syncs.at[i];
        const hta_event event = {.begin_ns = s->begin_ns,
                                 .end_ns = s->end_ns,
                                 .stream = s->stream,
                                 .name = s->name,
                                 .launch = REC_NONE};
        ok = add_hta_event(c, event, s->correlation);
    }
    for (size_t i = 0; ok && i < r->hosts.n; i++) {
        const rec_host *const h = &r->hosts.at[i];
        const rec_detail *const d = rec_host_detail(r, h);
        if (d == NULL || d->stream < 0)
            continue;
        const hta_event event = {.begin_ns = h->begin_ns,
                                 .end_ns = h->end_ns,
                                 .stream = d->stream,
                                 .name = h->name,
                                 .launch = REC_NONE};
        ok = add_hta_event(c, event, REC_NO_ID);
    }
    return ok;
}

static int compare_by_stream(const void *a, const void *b)
{
    const hta_event *const x = a, *const y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void count_gap(rec_hta *out, const hta_counter *c, const hta_event *before,
                      const hta_event *after)
{
    const int64_t gap = after->begin_ns - before->end_ns;
    /* If the launch is not in the file, HTA takes the first event of the file for it. */
    const int64_t launch_ns =
        after->launch != REC_NONE ? c->rec->hosts.at[after->launch].begin_ns
        : after->has_correlation && c->rec->has_first_event ? c->rec->first_event_ns
                                                            : INT64_MIN;
    if (launch_ns > before->end_ns)
        out->host_wait_ns += gap;
    else if (gap < KERNEL_WAIT_NS)
        out->kernel_wait_ns += gap;
    else
        out->other_ns += gap;
}

static void count_gaps(rec_hta *out, hta_counter *c)
{
    const hta_event *before = NULL;
    qsort(c->events.at, c->events.n, sizeof *c->events.at, compare_by_stream);
    for (size_t i = 0; i < c->events.n; i++) {
        const hta_event *const e = &c->events.at[i];
        if (!e->is_device)
            continue;
        if (before != NULL && before->stream == e->stream)
            count_gap(out, c, before, e);
        before = e;
    }
}

typedef struct hta_edge {
    int64_t at_ns;
    int change; /* +1 or -1 for one type */
    uint32_t bit;
} hta_edge;

static int compare_hta_edges(const void *a, const void *b)
{
    const hta_edge *const x = a, *const y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* Add up the time of each set of types that run at the same time. */
static bool count_sets(rec_hta *out, const rec_spans types[3])
{
    ARRAY(hta_edge) edges = {0};
    bool ok = true;
    for (uint32_t t = 0; t < 3; t++)
        for (size_t i = 0; ok && i < types[t].n; i++)
            ok = array_push(&edges, (hta_edge){types[t].at[i].begin_ns, 1, t}) &&
                 array_push(&edges, (hta_edge){types[t].at[i].end_ns, -1, t});
    if (ok && edges.n > 0)
        qsort(edges.at, edges.n, sizeof *edges.at, compare_hta_edges);
    int running[3] = {0, 0, 0};
    for (size_t i = 0; ok && i + 1 < edges.n; i++) {
        running[edges.at[i].bit] += edges.at[i].change;
        const size_t set = (running[0] > 0 ? 1u : 0u) + (running[1] > 0 ? 2u : 0u) +
                           (running[2] > 0 ? 4u : 0u);
        out->types_us[set] += (edges.at[i + 1].at_ns - edges.at[i].at_ns) / 1000;
    }
    array_fini(&edges);
    return ok;
}

/* Names repeat, so their types are cached. */
static hta_type find_type(hta_counter *c, uint32_t name)
{
    if (c->types[name] == 0)
        c->types[name] = (uint8_t)(1 + type_name(rec_text(c->rec, name)));
    return (hta_type)(c->types[name] - 1);
}

static bool count_spans(rec_hta *out, hta_counter *c)
{
    rec_spans all = {0}, types[4] = {{0}, {0}, {0}, {0}};
    bool ok = true;
    for (size_t i = 0; ok && i < c->events.n; i++) {
        const hta_event *const e = &c->events.at[i];
        const rec_span span = {e->begin_ns, e->end_ns};
        ok = array_push(&all, span) && array_push(&types[find_type(c, e->name)], span);
    }
    if (ok && all.n > 0) {
        rec_spans_merge(&all);
        for (size_t t = 0; t < 4; t++)
            rec_spans_merge(&types[t]);
        const int64_t busy = rec_spans_length(&all);
        out->span_ns = all.at[all.n - 1].end_ns - all.at[0].begin_ns;
        out->idle_ns = out->span_ns - busy;
        out->compute_ns = rec_spans_length(&types[HTA_COMPUTE]);
        out->non_compute_ns = busy - out->compute_ns;
        out->communication_ns = rec_spans_length(&types[HTA_COMM]);
        out->overlap_ns = rec_spans_common(&types[HTA_COMM], &types[HTA_COMPUTE]);
        ok = count_sets(out, types);
    }
    array_fini(&all);
    for (size_t t = 0; t < 4; t++)
        array_fini(&types[t]);
    return ok;
}

bool rec_count_as_hta(rec_hta *out, const record *r)
{
    *out = (rec_hta){0};
    hta_counter c = {.rec = r, .filters = r->step_names.n >= 2};
    c.types = mem_array_zero(r->texts.n, sizeof *c.types);
    const bool ok = c.types != NULL && list_host_ids(&c) && list_hta_events(&c) &&
                    count_spans(out, &c);
    out->n_events = c.events.n;
    if (ok && c.events.n > 0)
        count_gaps(out, &c);
    array_fini(&c.events);
    map64_fini(&c.before_last);
    free(c.types);
    return ok;
}

const char *rec_hta_set_name(size_t set)
{
    static const char *const names[HTA_N_SETS] = {
        "",
        "COMPUTATION",
        "COMMUNICATION",
        "COMPUTATION overlapping COMMUNICATION",
        "MEMORY",
        "COMPUTATION overlapping MEMORY",
        "COMMUNICATION overlapping MEMORY",
        "COMPUTATION overlapping COMMUNICATION overlapping MEMORY"};
    assert(set < HTA_N_SETS);
    return names[set];
}
