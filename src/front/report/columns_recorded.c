/* Recorded times as columns. A row is a thread or a stream; rows below it hold what runs
 * inside an operator. Arrows lead from launching operators to their kernels. */
#include "report/columns.h"
#include "report/recorded.h"
#include "report/tracks.h"

#include <assert.h>
#include <stdlib.h>

typedef struct rank_writer {
    report_columns *to;
    const halley_trace *trace;
    uint64_t origin_ns;
    uint32_t *boxes; /* by node; UINT32_MAX = none */
} rank_writer;

static str find_slice_kind(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS) &&
        attr.kind == HALLEY_ATTR_STRING && attr.bytes.n > 0)
        return (str){attr.bytes.at, attr.bytes.n};
    return tracks_kind_of(t, node) == TRACKS_CPU ? STR("host") : STR("other");
}

static void add_slice(rank_writer *w, const report_slice *s, str track)
{
    const halley_bytes name = halley_node_name(w->trace, s->node);
    assert(s->start_ns >= w->origin_ns);
    const uint64_t start_ns = s->start_ns - w->origin_ns;
    const report_columns_box box = {.start_s = (double)start_ns / 1e9,
                                    .end_s = (double)(start_ns + s->duration_ns) / 1e9,
                                    .bytes = (double)tracks_bytes(w->trace, s->node),
                                    .name = {name.at, name.n},
                                    .kind = find_slice_kind(w->trace, s->node),
                                    .track = s->track,
                                    .track_name = track};
    w->boxes[s->node] = report_columns_add(w->to, &box);
}

static void add_launches(const rank_writer *w)
{
    const uint32_t n = halley_trace_count(w->trace);
    for (uint32_t i = 0; i < n; i++) {
        halley_attr attr;
        if (w->boxes[i] == UINT32_MAX || halley_node_ctrl_count(w->trace, i) == 0 ||
            !halley_node_find_attr(&attr, w->trace, i, HALLEY_ATTR_NAME_LAUNCH_NS))
            continue;
        const halley_dep parent = halley_node_ctrl(w->trace, i, 0);
        if (parent.index < n && w->boxes[parent.index] != UINT32_MAX)
            report_columns_arrow(w->to, w->boxes[parent.index], w->boxes[i]);
    }
}

static bool add_slices(rank_writer *w, const report_slices *slices)
{
    strbuf track = {0};
    const uint32_t n = halley_trace_count(w->trace);
    w->boxes = mem_array(n, sizeof *w->boxes);
    for (uint32_t i = 0; i < n && w->boxes != NULL; i++)
        w->boxes[i] = UINT32_MAX;
    for (size_t i = 0; i < slices->n && w->boxes != NULL; i++) {
        if (i == 0 || slices->at[i].track != slices->at[i - 1].track) {
            track.n = 0;
            tracks_name(&track, slices->at[i].track);
        }
        add_slice(w, &slices->at[i], strbuf_str(&track));
    }
    const bool ok = w->boxes != NULL && !track.failed;
    if (ok)
        add_launches(w);
    free(w->boxes);
    strbuf_fini(&track);
    return ok;
}

/* Find the earliest time of all ranks; UINT64_MAX if no node has a recorded time. */
static bool find_origin(uint64_t *out, const halley_trace_set *traces)
{
    *out = UINT64_MAX;
    for (uint32_t r = 0; r < halley_trace_set_count(traces); r++) {
        report_slices slices = {0};
        const bool ok = report_recorded_list(&slices, halley_trace_set_get(traces, r));
        for (size_t i = 0; i < slices.n; i++)
            *out = slices.at[i].start_ns < *out ? slices.at[i].start_ns : *out;
        array_fini(&slices);
        if (!ok)
            return false;
    }
    return true;
}

static halley_status add_recorded_ranks(report_columns *to,
                                        const halley_trace_set *traces,
                                        uint64_t origin_ns, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(traces);
    uint32_t left_out = 0;
    bool ok = true;
    for (uint32_t r = 0; r < n && ok; r++) {
        rank_writer w = {
            .to = to, .trace = halley_trace_set_get(traces, r), .origin_ns = origin_ns};
        report_slices slices = {0};
        ok = report_recorded_list(&slices, w.trace);
        if (r > 0 && report_columns_count(to) + slices.n > REPORT_COLUMNS_MOST) {
            left_out++;
        } else if (ok) {
            report_columns_rank(to, r, 0, STR(""));
            ok = add_slices(&w, &slices);
        }
        array_fini(&slices);
    }
    report_columns_total(to, n, left_out);
    return ok ? HALLEY_OK : error_nomem(err);
}

halley_status report_recorded_columns(const halley_trace_set *traces, const char *path,
                                      halley_error *err)
{
    uint64_t origin_ns;
    if (!find_origin(&origin_ns, traces))
        return error_nomem(err);
    if (origin_ns == UINT64_MAX)
        return report_recorded_refuse(err);
    report_columns *to = report_columns_new("recording");
    const halley_status status =
        to == NULL ? error_nomem(err) : add_recorded_ranks(to, traces, origin_ns, err);
    if (status == HALLEY_OK)
        return report_columns_save(to, path, NULL, err);
    report_columns_free(to);
    return status;
}
