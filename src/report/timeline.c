/*
 * report/timeline.c - every node of a run: as CSV rows, and as Chrome trace events. In
 * the timeline a process is a rank and a thread a kind of work, or the thread or stream
 * that was recorded; a send and the receive that it meets are joined by a flow. Which
 * receive that is follows from counting: the k-th send of a key (tag, sender, receiver,
 * bytes) meets the k-th receive of it. Recorded times, where there are any, become
 * processes of their own behind those of the run.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "report/recorded.h"
#include "report/sim.h"
#include "report/tracks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A writer of one file. */
typedef struct writer {
    const halley_result *result;
    const halley_trace_set *traces;
    file_output *to;
    strbuf text;           /* one row at a time */
    double per_s, per_us;  /* ticks */
    map64 sends, receives; /* by key: how many so far */
    map64 named;           /* rows that have their name */
    uint32_t *order;       /* nodes of one rank by begin */
    bool first, no_memory;
} writer;

static str name_of(const halley_trace *t, uint32_t node)
{
    const halley_bytes name = halley_node_name(t, node);
    return (str){name.at, name.n};
}

static void flush(writer *w)
{
    file_output_str(w->to, strbuf_str(&w->text));
    w->no_memory = w->no_memory || w->text.failed;
    w->text.n = 0;
}

typedef void row_writer(writer *w, uint32_t rank, uint32_t node,
                        const halley_node_times *times);

static void csv_row(writer *w, uint32_t rank, uint32_t node,
                    const halley_node_times *times)
{
    const halley_trace *t = halley_trace_set_get(w->traces, rank);
    strbuf_printf(&w->text, "%u,%" PRIu64 ",", rank, halley_node_id(t, node));
    strbuf_csv(&w->text, name_of(t, node));
    strbuf_printf(&w->text, ",%s,%s,%" PRIu64 ",",
                  halley_node_type_name(halley_node_type_of(t, node)),
                  tracks_kind_names[tracks_kind_of(t, node)], tracks_bytes(t, node));
    strbuf_double(&w->text, (double)times->begin / w->per_s);
    strbuf_add_char(&w->text, ',');
    strbuf_double(&w->text, (double)times->end / w->per_s);
    strbuf_add_char(&w->text, '\n');
    flush(w);
}

/* The flow between a send and its receive: equal numbers on both ends, never 0. */
static uint64_t flow_of(writer *w, const halley_trace *t, uint32_t rank, uint32_t node)
{
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    const uint64_t peer = tracks_attr(t, node, sends ? "comm_dst" : "comm_src");
    const uint64_t from = sends ? rank : peer, to = sends ? peer : rank;
    const uint64_t parts[] = {from, to, tracks_attr(t, node, "comm_tag"),
                              tracks_attr(t, node, "comm_size")};
    const uint64_t key = hash_bytes(parts, sizeof parts, 0);
    map64 *counts = sends ? &w->sends : &w->receives;
    const uint32_t before = map64_find(counts, key);
    const uint32_t k = before == HASH_NONE ? 0 : before;
    if (!map64_set(counts, key, k + 1))
        w->no_memory = true;
    return hash_u64(key + k) >> 12 | 1; /* 52 bits: exact as a JSON number */
}

static void begin_event(writer *w)
{
    strbuf_add(&w->text, w->first ? STR("\n") : STR(",\n"));
    w->first = false;
}

static void flow_event(writer *w, uint32_t rank, uint32_t node,
                       const halley_node_times *times)
{
    const halley_trace *t = halley_trace_set_get(w->traces, rank);
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    begin_event(w);
    strbuf_printf(
        &w->text,
        "{\"ph\":\"%s\",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu64
        ",\"pid\":%u,\"tid\":%" PRIu64 ",%s\"ts\":",
        sends ? "s" : "f", flow_of(w, t, rank, node), rank, tracks_of(t, node),
        sends ? "" : "\"bp\":\"e\",");
    strbuf_double(&w->text, (double)(sends ? times->begin : times->end) / w->per_us);
    strbuf_add_char(&w->text, '}');
}

static void name_track(writer *w, uint32_t rank, uint64_t track)
{
    strbuf name = {0};
    tracks_name(&name, track);
    begin_event(w);
    tracks_add_name(&w->text, rank, track, "thread_name", strbuf_str(&name));
    w->no_memory |= name.failed;
    strbuf_fini(&name);
}

static void name_new_track(writer *w, uint32_t rank, uint64_t track)
{
    uint32_t value = 0;
    bool fresh = false;
    if (!map64_put(&w->named, track << 21 | rank, &value, &fresh))
        w->no_memory = true;
    if (fresh)
        name_track(w, rank, track);
}

static void name_tracks(writer *w, uint32_t rank)
{
    char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    begin_event(w);
    tracks_add_name(&w->text, rank, 0, "process_name", str_from(name));
    for (int i = 0; i < TRACKS_N_KINDS; i++)
        name_track(w, rank, (uint64_t)i);
    flush(w);
}

static void timeline_row(writer *w, uint32_t rank, uint32_t node,
                         const halley_node_times *times)
{
    const halley_trace *t = halley_trace_set_get(w->traces, rank);
    const uint32_t type = halley_node_type_of(t, node);
    const tracks_event event = {.pid = rank,
                                .tid = tracks_of(t, node),
                                .start_us = (double)times->begin / w->per_us,
                                .duration_us =
                                    (double)(times->end - times->begin) / w->per_us};
    if (event.tid >= TRACKS_N_KINDS)
        name_new_track(w, rank, event.tid);
    begin_event(w);
    tracks_add_node(&w->text, t, node, &event);
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
        flow_event(w, rank, node, times);
    flush(w);
}

typedef struct by_begin {
    const halley_result *result;
    uint32_t rank;
} by_begin;

static int earlier(const void *a, const void *b, void *context)
{
    const by_begin *by = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const uint64_t x = halley_result_node(by->result, by->rank, i).begin;
    const uint64_t y = halley_result_node(by->result, by->rank, k).begin;
    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : 1;
}

static void write_rank(writer *w, uint32_t rank, row_writer *row)
{
    const uint32_t n = halley_trace_count(halley_trace_set_get(w->traces, rank));
    by_begin by = {w->result, rank};
    for (uint32_t i = 0; i < n; i++)
        w->order[i] = i;
    qsort_r(w->order, n, sizeof *w->order, earlier, &by);
    for (uint32_t i = 0; i < n; i++) {
        const halley_node_times times = halley_result_node(w->result, rank, w->order[i]);
        if (times.ran)
            row(w, rank, w->order[i], &times);
    }
}

static halley_status writer_open(writer *w, const halley_result *result,
                                 const halley_trace_set *traces, const char *path,
                                 halley_error *err)
{
    uint32_t most = 0;
    *w = (writer){.result = result,
                  .traces = traces,
                  .first = true,
                  .per_s = halley_result_ticks_per_s(result),
                  .per_us = halley_result_ticks_per_s(result) / 1e6};
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint32_t n = halley_trace_count(halley_trace_set_get(traces, i));
        most = n > most ? n : most;
    }
    w->order = mem_array(most, sizeof *w->order);
    if (w->order == NULL)
        return error_nomem(err);
    const halley_status status = file_output_open(&w->to, path, err);
    if (status != HALLEY_OK)
        free(w->order);
    return status;
}

static halley_status writer_close(writer *w, halley_error *err)
{
    strbuf_fini(&w->text);
    map64_fini(&w->sends);
    map64_fini(&w->receives);
    map64_fini(&w->named);
    free(w->order);
    if (!w->no_memory)
        return file_output_commit(w->to, err);
    file_output_abort(w->to);
    return error_nomem(err);
}

halley_status report_sim_nodes(const halley_result *result,
                               const halley_trace_set *traces, const char *path,
                               halley_error *err)
{
    writer w;
    TRY(writer_open(&w, result, traces, path, err));
    file_output_str(w.to, STR("rank,node,name,type,track,bytes,begin_s,end_s\n"));
    for (uint32_t i = 0; i < halley_result_ranks(result); i++)
        write_rank(&w, i, csv_row);
    return writer_close(&w, err);
}

/* The recordings next to the run, as processes of their own. */
static halley_status write_recorded(writer *w, halley_error *err)
{
    const uint32_t n = halley_result_ranks(w->result);
    for (uint32_t i = 0; i < n; i++) {
        const halley_trace *const t = halley_trace_set_get(w->traces, i);
        char name[48];
        if (!report_recorded_has(t))
            continue;
        snprintf(name, sizeof name, "rank %u, recorded", i);
        TRY(report_recorded_rank(w->to, t, (uint64_t)n + i, str_from(name), &w->first,
                                 err));
    }
    return HALLEY_OK;
}

halley_status report_sim_timeline(const halley_result *result,
                                  const halley_trace_set *traces, const char *path,
                                  halley_error *err)
{
    writer w;
    TRY(writer_open(&w, result, traces, path, err));
    file_output_str(w.to, STR("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        name_tracks(&w, i);
        write_rank(&w, i, timeline_row);
    }
    const halley_status status = write_recorded(&w, err);
    file_output_str(w.to, STR("\n]}\n"));
    w.no_memory |= status != HALLEY_OK;
    return writer_close(&w, err);
}
