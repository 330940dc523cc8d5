/*
 * report/timeline.c - every node of a run: as CSV rows, and as Chrome trace events. In
 * the timeline a process is a rank and a thread a kind of work; a send and the receive
 * that it meets are joined by a flow. Which receive that is follows from counting: the
 * k-th send of a key (tag, sender, receiver, bytes) meets the k-th receive of it.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "report/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum track { CPU, GPU, COMM, RECV, MEMORY, OTHER, N_TRACKS } track;
static const char *const track_names[N_TRACKS] = {
    "CPU", "GPU", "communication", "receive", "remote memory", "other"};

static uint64_t attr_u64(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    if (halley_node_find_attr(&attr, t, node, name))
        (void)halley_attr_to_u64(&attr, &value);
    return value;
}

static track track_of(const halley_trace *t, uint32_t node)
{
    if (attr_u64(t, node, "is_cpu_op") != 0)
        return CPU;
    switch (halley_node_type_of(t, node)) {
    case HALLEY_NODE_COMP:
        return GPU;
    case HALLEY_NODE_COLL:
    case HALLEY_NODE_SEND:
        return COMM;
    case HALLEY_NODE_RECV:
        return RECV;
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return MEMORY;
    default:
        return OTHER;
    }
}

/* Bytes that the node moves, or 0. */
static uint64_t bytes_of(const halley_trace *t, uint32_t node)
{
    const uint32_t type = halley_node_type_of(t, node);
    const bool communicates =
        type == HALLEY_NODE_COLL || type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
    return attr_u64(t, node, communicates ? "comm_size" : "tensor_size");
}

/* A writer of one file. */
typedef struct writer {
    const halley_result *result;
    const halley_trace_set *traces;
    file_output *to;
    strbuf text;           /* one row at a time */
    double per_s, per_us;  /* ticks */
    map64 sends, receives; /* by key: how many so far */
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
                  track_names[track_of(t, node)], bytes_of(t, node));
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
    const uint64_t peer = attr_u64(t, node, sends ? "comm_dst" : "comm_src");
    const uint64_t from = sends ? rank : peer, to = sends ? peer : rank;
    const uint64_t parts[] = {from, to, attr_u64(t, node, "comm_tag"),
                              attr_u64(t, node, "comm_size")};
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
        ",\"pid\":%u,\"tid\":%d,%s\"ts\":",
        sends ? "s" : "f", flow_of(w, t, rank, node), rank, track_of(t, node),
        sends ? "" : "\"bp\":\"e\",");
    strbuf_double(&w->text, (double)(sends ? times->begin : times->end) / w->per_us);
    strbuf_add_char(&w->text, '}');
}

static void timeline_row(writer *w, uint32_t rank, uint32_t node,
                         const halley_node_times *times)
{
    const halley_trace *t = halley_trace_set_get(w->traces, rank);
    const uint32_t type = halley_node_type_of(t, node);
    begin_event(w);
    strbuf_printf(&w->text, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%d,\"name\":", rank,
                  track_of(t, node));
    strbuf_json(&w->text, name_of(t, node));
    strbuf_add(&w->text, STR(",\"ts\":"));
    strbuf_double(&w->text, (double)times->begin / w->per_us);
    strbuf_add(&w->text, STR(",\"dur\":"));
    strbuf_double(&w->text, (double)(times->end - times->begin) / w->per_us);
    strbuf_printf(
        &w->text, ",\"args\":{\"id\":%" PRIu64 ",\"type\":\"%s\",\"bytes\":%" PRIu64,
        halley_node_id(t, node), halley_node_type_name(type), bytes_of(t, node));
    if (type == HALLEY_NODE_COLL)
        strbuf_printf(&w->text, ",\"collective\":\"%s\"",
                      halley_coll_type_name(attr_u64(t, node, "comm_type")));
    strbuf_add(&w->text, STR("}}"));
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

static void name_track(writer *w, uint32_t rank, int tid, const char *what,
                       const char *name)
{
    begin_event(w);
    strbuf_printf(
        &w->text,
        "{\"ph\":\"M\",\"pid\":%u,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":"
        "\"%s\"}}",
        rank, tid, what, name);
}

static void name_tracks(writer *w, uint32_t rank)
{
    char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    name_track(w, rank, 0, "process_name", name);
    for (int i = 0; i < N_TRACKS; i++)
        name_track(w, rank, i, "thread_name", track_names[i]);
    flush(w);
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
    file_output_str(w.to, STR("\n]}\n"));
    return writer_close(&w, err);
}
