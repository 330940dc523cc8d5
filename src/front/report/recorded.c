/*
 * Recorded times as Chrome trace events. A process is a rank; a row is a thread or a
 * stream. The length of an operator includes everything inside it (inclusive_ns). The
 * linker adds nodes for time that belongs to no operator. They have no such length and
 * are not drawn, because the gap is visible.
 */
#include "report/recorded.h"

#include "base/array.h"
#include "base/hash.h"
#include "report/tracks.h"

#include <stdio.h>
#include <stdlib.h>

/* Our own attributes in nanoseconds override the schema's microseconds. */
static bool read_slice(report_slice *out, const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    uint64_t start = 0, length = 0;
    const bool exact = halley_node_find_attr(&attr, t, node, "start_ns") &&
                       halley_attr_to_u64(&attr, &start);
    const bool whole = halley_node_find_attr(&attr, t, node, "inclusive_ns") &&
                       halley_attr_to_u64(&attr, &length);
    if (exact && !whole && tracks_kind_of(t, node) == TRACKS_CPU)
        return false;
    if (exact && !whole)
        length = tracks_attr(t, node, "duration_ns");
    if (!exact) {
        start = halley_node_start_us(t, node);
        length = halley_node_duration_us(t, node);
        if (start == 0 || __builtin_mul_overflow(start, 1000, &start) ||
            __builtin_mul_overflow(length, 1000, &length))
            return false;
    }
    *out = (report_slice){start, length, tracks_of(t, node), node};
    return true;
}

halley_status report_recorded_refuse(halley_error *err)
{
    return error_set(err, HALLEY_EINVAL,
                     "no node says when it ran; traces that halley trace link makes "
                     "of two recordings do");
}

bool report_recorded_has(const halley_trace *trace)
{
    report_slice s;
    for (uint32_t i = 0; i < halley_trace_count(trace); i++)
        if (read_slice(&s, trace, i))
            return true;
    return false;
}

/* Order by row, then by time, containing slices first. */
static int compare_slices(const void *a, const void *b)
{
    const report_slice *const x = a, *const y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void next_event(strbuf *text, bool *first)
{
    strbuf_add(text, *first ? STR("\n") : STR(",\n"));
    *first = false;
}

/* The node that launched a kernel: its operator, else the call that began at the launch.
 */
static uint32_t find_launcher(const halley_trace *trace, uint32_t node,
                              const map64 *calls, uint64_t launch_ns)
{
    if (halley_node_ctrl_count(trace, node) > 0)
        return halley_node_ctrl(trace, node, 0).index;
    const uint32_t call = map64_find(calls, launch_ns);
    return call == HASH_NONE ? HALLEY_NO_NODE : call;
}

/* Index the host's slices by their begin, the innermost of several. False: no memory. */
static bool index_calls(map64 *calls, const halley_trace *trace,
                        const report_slices *slices)
{
    for (size_t i = 0; i < slices->n; i++)
        if (tracks_kind_of(trace, slices->at[i].node) == TRACKS_CPU &&
            !map64_set(calls, slices->at[i].start_ns, slices->at[i].node))
            return false;
    return true;
}

/* Write an arrow from the launcher of a kernel, at the time of the launch. Ids are unique
 * over all ranks. */
static void write_launch_arrow(strbuf *text, const halley_trace *trace, uint32_t node,
                               const map64 *calls, const tracks_event *event, bool *first)
{
    halley_attr attr;
    uint64_t launch_ns;
    if (!halley_node_find_attr(&attr, trace, node, HALLEY_ATTR_NAME_LAUNCH_NS) ||
        !halley_attr_to_u64(&attr, &launch_ns))
        return;
    const uint32_t launcher = find_launcher(trace, node, calls, launch_ns);
    if (launcher == HALLEY_NO_NODE)
        return;
    const uint64_t id = event->pid << 32 | node;
    const tracks_event from = {.pid = event->pid,
                               .tid = tracks_of(trace, launcher),
                               .start_us = (double)launch_ns / 1e3};
    next_event(text, first);
    tracks_add_arrow(text, false, id, &from);
    next_event(text, first);
    tracks_add_arrow(text, true, id, event);
}

static bool write_slices(file_output *to, const halley_trace *trace,
                         const report_slices *slices, uint64_t pid, bool *first)
{
    strbuf text = {0}, name = {0};
    map64 calls = {0};
    const bool is_indexed = index_calls(&calls, trace, slices);
    for (size_t i = 0; is_indexed && i < slices->n && !text.failed; i++) {
        const report_slice *const s = &slices->at[i];
        if (i == 0 || s->track != slices->at[i - 1].track) {
            name.n = 0;
            tracks_name(&name, s->track);
            next_event(&text, first);
            tracks_add_name(&text, pid, s->track, "thread_name", strbuf_str(&name));
        }
        const tracks_event event = {.pid = pid,
                                    .tid = s->track,
                                    .start_us = (double)s->start_ns / 1e3,
                                    .duration_us = (double)s->duration_ns / 1e3,
                                    .is_rich = true};
        next_event(&text, first);
        tracks_add_node(&text, trace, s->node, &event);
        write_launch_arrow(&text, trace, s->node, &calls, &event, first);
        file_output_str(to, strbuf_str(&text));
        text.n = 0;
    }
    const bool ok = is_indexed && !text.failed && !name.failed;
    strbuf_fini(&text);
    strbuf_fini(&name);
    map64_fini(&calls);
    return ok;
}

bool report_recorded_list(report_slices *out, const halley_trace *trace)
{
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        report_slice s;
        if (read_slice(&s, trace, i) && !array_push(out, s))
            return false;
    }
    if (out->n > 0)
        qsort(out->at, out->n, sizeof *out->at, compare_slices);
    return true;
}

halley_status report_recorded_rank(file_output *to, const halley_trace *trace,
                                   uint64_t pid, str process, bool *first,
                                   halley_error *err)
{
    report_slices slices = {0};
    strbuf text = {0};
    bool ok = report_recorded_list(&slices, trace);
    next_event(&text, first);
    tracks_add_name(&text, pid, 0, "process_name", process);
    ok = ok && !text.failed;
    if (ok) {
        file_output_str(to, strbuf_str(&text));
        ok = write_slices(to, trace, &slices, pid, first);
    }
    strbuf_fini(&text);
    array_fini(&slices);
    return ok ? HALLEY_OK : error_nomem(err);
}

halley_status report_recorded_timeline(const halley_trace_set *traces, const char *path,
                                       halley_error *err)
{
    bool any = false, first = true;
    const uint32_t n = halley_trace_set_count(traces);
    for (uint32_t i = 0; !any && i < n; i++)
        any = report_recorded_has(halley_trace_set_get(traces, i));
    if (!any)
        return report_recorded_refuse(err);
    file_output *to = NULL;
    TRY(file_output_open(&to, path, err));
    file_output_str(to, STR("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++) {
        char name[48];
        snprintf(name, sizeof name, "rank %u, recorded", i);
        status = report_recorded_rank(to, halley_trace_set_get(traces, i), i,
                                      str_from(name), &first, err);
    }
    file_output_str(to, STR("\n]}\n"));
    if (status == HALLEY_OK)
        return file_output_commit(to, err);
    file_output_abort(to);
    return status;
}
