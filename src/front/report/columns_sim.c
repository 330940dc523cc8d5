/*
 * A simulation as columns. For a plan, the first row of a rank shows its passes (forward
 * and backward of each micro-batch). Its memory is derived from them: the fixed part of a
 * stage, plus activations in proportion to the micro-batches in flight. So the peak is
 * that of the estimate.
 *
 * Ranks with equal totals are drawn once. The critical path and messages of a rank that
 * is not drawn are shown at the rank that represents it.
 */
#include "base/array.h"
#include "base/hash.h"
#include "report/columns.h"
#include "report/tracks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACK_PASSES = 0, TRACK_FIRST = 1 };
/* Marks a rank that is not drawn. Maps reserve UINT32_MAX for themselves. */
static const uint32_t NO_SLOT = UINT32_MAX - 1;

typedef struct shown_rank {
    uint32_t rank, alike;
    uint32_t *boxes; /* by node; UINT32_MAX = none */
} shown_rank;

typedef struct sim_writer {
    const halley_result *result;
    const report_traces *traces;
    const halley_trace *trace; /* of the current rank */
    const report_columns_options *o;
    report_columns *to;
    double per_s;
    ARRAY(shown_rank) shown;
    uint32_t *slots;       /* by rank: the shown rank that represents it */
    uint32_t *order;       /* nodes of one rank by begin */
    map64 sends, receives; /* by key: count so far */
    map64 flows;           /* by flow: the box of its first end */
    bool failed;
} sim_writer;

static uint64_t hash_totals(const sim_writer *w, uint32_t rank)
{
    const halley_rank_result r = halley_result_rank(w->result, rank);
    const uint64_t of[] = {
        w->traces->roles != NULL ? halley_template_role_of(w->traces->roles, rank) : 0,
        halley_trace_count(report_traces_like(w->traces, rank)),
        r.finish,
        r.compute,
        r.gpu,
        r.comm,
        r.cpu,
        r.memory,
        r.busy,
        r.bare_comm,
        r.local_peak_bytes};
    return hash_bytes(of, sizeof of, 0);
}

/* Choose the ranks that are drawn, and the one that represents each rank. */
static bool choose_shown_ranks(sim_writer *w, uint32_t *left_out)
{
    const uint32_t n = halley_result_ranks(w->result);
    const uint64_t most =
        w->o->page != NULL ? REPORT_COLUMNS_MOST_IN_PAGE : REPORT_COLUMNS_MOST;
    uint64_t n_boxes = 0;
    map64 seen = {0};
    bool ok = true;
    *left_out = 0;
    for (uint32_t r = 0; r < n && ok; r++) {
        const uint64_t key = w->o->all_ranks ? r : hash_totals(w, r);
        uint32_t slot = (uint32_t)w->shown.n;
        bool fresh = false;
        ok = map64_put(&seen, key, &slot, &fresh);
        w->slots[r] = slot;
        const uint32_t nodes = halley_trace_count(report_traces_like(w->traces, r));
        if (ok && fresh && n_boxes + nodes > most && r > 0) {
            ok = map64_set(&seen, key, NO_SLOT);
            w->slots[r] = NO_SLOT;
        } else if (ok && fresh) {
            n_boxes += nodes;
            ok = array_push(&w->shown, (shown_rank){.rank = r});
        } else if (slot < w->shown.n) {
            w->shown.at[slot].alike++;
        } else {
            w->slots[r] = NO_SLOT;
        }
        *left_out += w->slots[r] == NO_SLOT;
    }
    map64_fini(&seen);
    return ok;
}

static str find_node_kind(const halley_trace *t, uint32_t node)
{
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COLL:
        return str_from(halley_coll_type_name(tracks_attr(t, node, "comm_type")));
    case HALLEY_NODE_SEND:
        return STR("send");
    case HALLEY_NODE_RECV:
        return STR("receive");
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return STR("memory");
    case HALLEY_NODE_COMP:
        return tracks_kind_of(t, node) == TRACKS_CPU ? STR("host") : STR("compute");
    default:
        return STR("other");
    }
}

/* A recorded kernel's class is more specific than its type. */
static str find_node_class(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS) &&
        attr.kind == HALLEY_ATTR_STRING && attr.bytes.n > 0)
        return (str){attr.bytes.at, attr.bytes.n};
    return find_node_kind(t, node);
}

static str find_group_name(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    if (halley_node_type_of(t, node) != HALLEY_NODE_COLL ||
        !halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_PG_NAME) ||
        attr.kind != HALLEY_ATTR_STRING || attr.bytes.n == 0)
        return STR("");
    const str name = {attr.bytes.at, attr.bytes.n};
    return str_eq(name, STR("0")) ? STR("") : name;
}

/* A number that is equal on both ends of a message: the k-th send of a key matches the
 * k-th receive. Ranks are those that are drawn. */
static uint64_t find_message_flow(sim_writer *w, const halley_trace *t, uint32_t rank,
                                  uint32_t node)
{
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    const uint64_t peer = tracks_attr(t, node, sends ? "comm_dst" : "comm_src");
    const uint32_t n = halley_result_ranks(w->result);
    const uint64_t other = peer < n ? w->slots[peer] : NO_SLOT;
    const uint64_t from = sends ? w->slots[rank] : other;
    const uint64_t to = sends ? other : w->slots[rank];
    const uint64_t parts[] = {from, to, tracks_attr(t, node, "comm_tag"),
                              tracks_attr(t, node, "comm_size")};
    const uint64_t key = hash_bytes(parts, sizeof parts, 0);
    map64 *counts = sends ? &w->sends : &w->receives;
    const uint32_t before = map64_find(counts, key);
    const uint32_t k = before == HASH_NONE ? 0 : before;
    w->failed |= !map64_set(counts, key, k + 1);
    return hash_u64(key + k);
}

static void add_flow(sim_writer *w, const halley_trace *t, uint32_t rank, uint32_t node,
                     uint32_t box)
{
    const uint32_t type = halley_node_type_of(t, node);
    if (type != HALLEY_NODE_SEND && type != HALLEY_NODE_RECV)
        return;
    uint32_t first = box;
    bool fresh = false;
    if (!map64_put(&w->flows, find_message_flow(w, t, rank, node), &first, &fresh))
        w->failed = true;
    else if (!fresh && type == HALLEY_NODE_RECV)
        report_columns_arrow(w->to, first, box);
    else if (!fresh)
        report_columns_arrow(w->to, box, first);
}

static void add_node_box(sim_writer *w, shown_rank *s, uint32_t node)
{
    const halley_trace *t = w->trace;
    const halley_node_times times = halley_result_node(w->result, s->rank, node);
    s->boxes[node] = UINT32_MAX;
    if (!times.ran)
        return;
    strbuf track = {0};
    const uint64_t id = tracks_of(t, node);
    const halley_bytes name = halley_node_name(t, node);
    tracks_name(&track, id);
    const report_columns_box box = {.start_s = (double)times.begin / w->per_s,
                                    .end_s = (double)times.end / w->per_s,
                                    .bytes = (double)tracks_bytes(t, node),
                                    .name = {name.at, name.n},
                                    .kind = find_node_class(t, node),
                                    .group = find_group_name(t, node),
                                    .track = TRACK_FIRST + id,
                                    .track_name = strbuf_str(&track)};
    s->boxes[node] = report_columns_add(w->to, &box);
    w->failed |= track.failed;
    strbuf_fini(&track);
    add_flow(w, t, s->rank, node, s->boxes[node]);
}

typedef struct by_begin {
    const halley_result *result;
    uint32_t rank;
} by_begin;

static int compare_box_begins(const void *a, const void *b, void *context)
{
    const by_begin *by = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const halley_node_times x = halley_result_node(by->result, by->rank, i);
    const halley_node_times y = halley_result_node(by->result, by->rank, k);
    if (x.begin != y.begin)
        return x.begin < y.begin ? -1 : 1;
    if ((x.end == x.begin) != (y.end == y.begin)) /* instants come first */
        return x.end == x.begin ? -1 : 1;
    if (x.end != y.end)
        return x.end > y.end ? -1 : 1;
    return i < k ? -1 : 1;
}

static void add_node_boxes(sim_writer *w, shown_rank *s)
{
    const uint32_t n = halley_trace_count(report_traces_like(w->traces, s->rank));
    by_begin by = {w->result, s->rank};
    for (uint32_t i = 0; i < n; i++)
        w->order[i] = i;
    qsort_r(w->order, n, sizeof *w->order, compare_box_begins, &by);
    for (uint32_t i = 0; i < n; i++)
        add_node_box(w, s, w->order[i]);
}

typedef struct pass_span {
    double begin_s, end_s;
} pass_span;

/* The span from the first compute node of a pass to its last. */
static pass_span find_pass_span(const sim_writer *w, const shown_rank *s,
                                const halley_plan_pass *p)
{
    const halley_trace *t = report_traces_like(w->traces, s->rank);
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = p->first_node; i < p->first_node + p->n_nodes; i++) {
        assert(i < halley_trace_count(t));
        const halley_node_times times = halley_result_node(w->result, s->rank, i);
        if (!times.ran || halley_node_type_of(t, i) != HALLEY_NODE_COMP)
            continue;
        begin = times.begin < begin ? times.begin : begin;
        end = times.end > end ? times.end : end;
    }
    return begin < end ? (pass_span){(double)begin / w->per_s, (double)end / w->per_s}
                       : (pass_span){0, 0};
}

static void add_pass(sim_writer *w, const shown_rank *s, const halley_plan_pass *p,
                     bool has_chunks)
{
    static const char *const kinds[] = {"forward", "backward", "backward", "weights"};
    const pass_span span = find_pass_span(w, s, p);
    char name[64];
    if (!(span.end_s > span.begin_s))
        return;
    if (has_chunks)
        snprintf(name, sizeof name, "%u.%u", p->micro_batch, p->chunk);
    else
        snprintf(name, sizeof name, "%u", p->micro_batch);
    const report_columns_box box = {.start_s = span.begin_s,
                                    .end_s = span.end_s,
                                    .name = str_from(name),
                                    .kind = str_from(kinds[p->kind]),
                                    .track = TRACK_PASSES,
                                    .track_name = STR("passes")};
    (void)report_columns_add(w->to, &box);
}

/* +1 when a micro-batch begins to hold activations, -1 when it releases them. */
typedef struct flight_change {
    double at_s;
    int by;
} flight_change;

static int compare_changes(const void *a, const void *b)
{
    const flight_change *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return x->by < y->by ? -1 : x->by > y->by;
}

static int count_flight_peak(const flight_change *changes, size_t n)
{
    int now = 0, peak = 0;
    for (size_t i = 0; i < n; i++) {
        now += changes[i].by;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static size_t list_changes(flight_change *out, const sim_writer *w, const shown_rank *s,
                           const report_columns_stage *stage)
{
    size_t n = 0;
    for (size_t i = 0; i < stage->n_passes; i++) {
        const halley_plan_pass *p = &stage->passes[i];
        const pass_span span = find_pass_span(w, s, p);
        if (!(span.end_s > span.begin_s))
            continue;
        if (p->kind == HALLEY_PASS_FORWARD)
            out[n++] = (flight_change){span.begin_s, 1};
        else if (p->kind == HALLEY_PASS_BACKWARD || p->kind == HALLEY_PASS_WEIGHT)
            out[n++] = (flight_change){span.end_s, -1};
    }
    qsort(out, n, sizeof *out, compare_changes);
    return n;
}

static void add_plan_memory(sim_writer *w, const shown_rank *s,
                            const report_columns_stage *stage)
{
    flight_change *changes = mem_array(stage->n_passes, sizeof *changes);
    if (changes == NULL) {
        w->failed = true;
        return;
    }
    const size_t n = list_changes(changes, w, s, stage);
    const int peak = count_flight_peak(changes, n);
    int now = 0;
    report_columns_level(w->to, 0, stage->fixed_bytes);
    for (size_t i = 0; i < n; i++) {
        now += changes[i].by;
        report_columns_level(w->to, changes[i].at_s,
                             stage->fixed_bytes +
                                 stage->activation_bytes * now / (peak > 0 ? peak : 1));
    }
    free(changes);
}

static void add_traced_memory(sim_writer *w, const shown_rank *s)
{
    const halley_memory_level *levels;
    const size_t n = halley_result_memory(&levels, w->result, s->rank);
    for (size_t i = 0; i < n; i++)
        report_columns_level(w->to, (double)levels[i].at / w->per_s,
                             (double)levels[i].bytes);
}

static halley_status add_shown_rank(sim_writer *w, shown_rank *s, halley_error *err)
{
    halley_trace *made;
    char name[48] = "";
    const report_columns_stage *stage = NULL;
    if (w->o->stages != NULL) {
        const uint32_t role = halley_template_role_of(w->traces->roles, s->rank);
        snprintf(name, sizeof name, "stage %u", role);
        stage = &w->o->stages[role];
    }
    report_columns_rank(w->to, s->rank, s->alike, str_from(name));
    if (stage == NULL) {
        add_traced_memory(w, s);
    } else {
        bool has_chunks = false;
        for (size_t i = 0; i < stage->n_passes; i++)
            has_chunks |= stage->passes[i].chunk > 0;
        for (size_t i = 0; i < stage->n_passes; i++)
            add_pass(w, s, &stage->passes[i], has_chunks);
        add_plan_memory(w, s, stage);
    }
    TRY(report_traces_open(&w->trace, &made, w->traces, s->rank, err));
    add_node_boxes(w, s);
    halley_trace_free(made);
    return HALLEY_OK;
}

static halley_status add_critical_path(sim_writer *w, halley_error *err)
{
    halley_path_step *path;
    size_t n;
    TRY(halley_result_path(&path, &n, w->result, err));
    for (size_t i = 0; i < n; i++) {
        const uint32_t slot = w->slots[path[i].rank];
        const uint32_t box =
            slot == NO_SLOT ? UINT32_MAX : w->shown.at[slot].boxes[path[i].node];
        report_columns_step(w->to, box, (double)path[i].begin / w->per_s,
                            (double)path[i].end / w->per_s);
    }
    free(path);
    return HALLEY_OK;
}

static void add_link_heat(sim_writer *w)
{
    const uint32_t n_bins = halley_result_bins(w->result);
    const uint32_t n_npus = halley_result_ranks(w->result);
    float *use = n_bins == 0 ? NULL : mem_array((size_t)n_npus * n_bins, sizeof *use);
    if (n_bins == 0)
        return;
    w->failed |= use == NULL;
    for (uint32_t d = 0; use != NULL && d < halley_result_dims(w->result); d++) {
        const halley_dim_result dim = halley_result_dim(w->result, d);
        for (uint32_t i = 0; i < n_npus; i++)
            for (uint32_t k = 0; k < n_bins; k++)
                use[(size_t)i * n_bins + k] =
                    (float)halley_result_heat(w->result, d, i, k);
        report_columns_heat(w->to, &dim, n_npus, n_bins, halley_result_bin_s(w->result),
                            use);
    }
    free(use);
}

static halley_status fill_columns(sim_writer *w, halley_error *err)
{
    uint32_t left_out, most = 0;
    const uint32_t n = halley_result_ranks(w->result);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t nodes = halley_trace_count(report_traces_like(w->traces, i));
        most = nodes > most ? nodes : most;
    }
    w->slots = mem_array(n, sizeof *w->slots);
    w->order = mem_array(most, sizeof *w->order);
    if (w->slots == NULL || w->order == NULL || !choose_shown_ranks(w, &left_out))
        return error_nomem(err);
    report_columns_total(w->to, n, left_out);
    report_columns_capacity(w->to, w->o->capacity_bytes, w->o->headroom);
    report_columns_nodes(w->to, w->o->npus_per_node);
    for (size_t i = 0; i < w->shown.n; i++) {
        shown_rank *s = &w->shown.at[i];
        s->boxes = mem_array(halley_trace_count(report_traces_like(w->traces, s->rank)),
                             sizeof *s->boxes);
        if (s->boxes == NULL)
            return error_nomem(err);
        TRY(add_shown_rank(w, s, err));
    }
    add_link_heat(w);
    TRY(add_critical_path(w, err));
    return w->failed ? error_nomem(err) : HALLEY_OK;
}

halley_status report_sim_columns(const halley_result *result, const report_traces *traces,
                                 const report_columns_options *o, const char *path,
                                 halley_error *err)
{
    sim_writer w = {.result = result,
                    .traces = traces,
                    .o = o,
                    .to = report_columns_new("simulation"),
                    .per_s = halley_result_ticks_per_s(result)};
    halley_status status = w.to == NULL ? error_nomem(err) : fill_columns(&w, err);
    for (size_t i = 0; i < w.shown.n; i++)
        free(w.shown.at[i].boxes);
    array_fini(&w.shown);
    map64_fini(&w.sends);
    map64_fini(&w.receives);
    map64_fini(&w.flows);
    free(w.slots);
    free(w.order);
    if (status == HALLEY_OK)
        return report_columns_save(w.to, path, o->page, err);
    report_columns_free(w.to);
    return status;
}
