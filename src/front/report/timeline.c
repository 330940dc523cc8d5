/*
 * report/timeline.c - every node of a run: as CSV rows, and as Chrome trace events.
 *
 * In the timeline a process is a rank. A thread is a kind of work, or the recorded thread
 * or stream, and for collectives the group. Nodes that would overlap in a thread go to
 * further threads, because slices of one thread must not overlap. Of equivalent ranks
 * only the first has a process, which names the others, unless more are requested. A
 * counter shows the NPU's memory.
 *
 * A flow joins a send and its receive. The pairs follow from counting: the k-th send of a
 * key (tag, sender, receiver, bytes) matches the k-th receive of it. Recorded times, if
 * there are any, become separate processes after those of the run.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "report/recorded.h"
#include "report/sim.h"
#include "report/tracks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One row of a rank's timeline; rows of the same kind of work are linked. */
typedef struct lane {
    uint64_t until; /* it is occupied until then */
    uint32_t next;
} lane;

/* A writer of one file. */
typedef struct writer {
    const halley_result *result;
    const report_traces *traces;
    const halley_trace *trace; /* of the current rank */
    halley_trace *made;        /* the same, if we must free it */
    const uint8_t *written;    /* by rank: true if it has a process; NULL = all */
    bool has_others;           /* more than one rank of some class has one */
    file_output *to;
    strbuf text;           /* one row at a time */
    double per_s, per_us;  /* ticks */
    map64 sends, receives; /* by key: count so far */
    uint32_t *order;       /* nodes of one rank by begin */
    ARRAY(lane) lanes;     /* of one rank */
    map64 first_lanes;     /* by track and group: the first of its lanes */
    bool first, no_memory;
} writer;

static str find_event_name(const halley_trace *t, uint32_t node)
{
    const halley_bytes name = halley_node_name(t, node);
    return (str){name.at, name.n};
}

static void flush_events(writer *w)
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
    const halley_trace *t = w->trace;
    strbuf_printf(&w->text, "%u,%" PRIu64 ",", rank, halley_node_id(t, node));
    strbuf_csv(&w->text, find_event_name(t, node));
    strbuf_printf(&w->text, ",%s,%s,%" PRIu64 ",",
                  halley_node_type_name(halley_node_type_of(t, node)),
                  tracks_kind_names[tracks_kind_of(t, node)], tracks_bytes(t, node));
    strbuf_double(&w->text, (double)times->begin / w->per_s);
    strbuf_add_char(&w->text, ',');
    strbuf_double(&w->text, (double)times->end / w->per_s);
    strbuf_add_char(&w->text, '\n');
    flush_events(w);
}

/* The lowest rank of the class of a rank. */
static uint32_t find_first_alike(const halley_result *result, uint32_t rank)
{
    return halley_result_class(result, halley_result_class_of(result, rank)).rank;
}

static bool is_written(const writer *w, uint32_t rank)
{
    return w->written == NULL || w->written[rank] != 0;
}

/* The process of a peer: its own, or that of the rank which represents it. */
static uint64_t find_process(const writer *w, uint64_t peer)
{
    return peer >= halley_result_ranks(w->result) || is_written(w, (uint32_t)peer)
               ? peer
               : find_first_alike(w->result, (uint32_t)peer);
}

static uint64_t find_peer(const halley_trace *t, uint32_t node)
{
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    return tracks_attr(t, node, sends ? "comm_dst" : "comm_src");
}

/* If ranks are shown in addition to their representatives, an arrow needs both of its
 * ends. */
static bool has_both_ends(const writer *w, const halley_trace *t, uint32_t node)
{
    const uint64_t peer = find_peer(t, node);
    return !w->has_others || peer >= halley_result_ranks(w->result) ||
           is_written(w, (uint32_t)peer);
}

/* The flow between a send and its receive: the same number on both ends, never 0. */
static uint64_t flow_of(writer *w, const halley_trace *t, uint32_t rank, uint32_t node)
{
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    const uint64_t peer = find_process(w, find_peer(t, node));
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

/* The group of a collective; "" for the world and for other nodes. */
static str group_of(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    if (halley_node_type_of(t, node) != HALLEY_NODE_COLL ||
        !halley_node_find_attr(&attr, t, node, "pg_name") ||
        attr.kind != HALLEY_ATTR_STRING)
        return STR("");
    const str name = {attr.bytes.at, attr.bytes.n};
    return str_eq(name, STR("0")) ? STR("") : name;
}

/* Add a row to a rank. Its name has the kind of work and its number among such rows. */
static uint32_t new_lane(writer *w, uint32_t rank, uint64_t track, str group,
                         uint32_t number)
{
    strbuf name = {0};
    if (!array_push(&w->lanes, (lane){0, UINT32_MAX})) {
        w->no_memory = true;
        return UINT32_MAX;
    }
    const uint32_t id = (uint32_t)w->lanes.n - 1;
    tracks_name(&name, track);
    if (group.n > 0)
        strbuf_printf(&name, ", group %.*s", STR_ARG(group));
    if (number > 1)
        strbuf_printf(&name, " (%u)", number);
    begin_event(w);
    tracks_add_name(&w->text, rank, id, "thread_name", strbuf_str(&name));
    w->no_memory = w->no_memory || name.failed;
    strbuf_fini(&name);
    begin_event(w);
    strbuf_printf(&w->text,
                  "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_sort_index\","
                  "\"args\":{\"sort_index\":%" PRIu64 "}}",
                  rank, id, track);
    return id;
}

/* Find or add the row for a node; nodes must come in order of their begin. */
static uint32_t find_event_lane(writer *w, uint32_t rank, uint32_t node,
                                const halley_node_times *times)
{
    const halley_trace *t = w->trace;
    const uint64_t track = tracks_of(t, node);
    const str group = group_of(t, node);
    const uint64_t key = hash_bytes(group.at, group.n, track + 1);
    uint32_t id = map64_find(&w->first_lanes, key), number = 1;
    if (id == HASH_NONE) {
        id = new_lane(w, rank, track, group, number);
        if (id == UINT32_MAX || !map64_set(&w->first_lanes, key, id))
            w->no_memory = true;
    }
    while (id != UINT32_MAX && w->lanes.at[id].until > times->begin) {
        number++;
        if (w->lanes.at[id].next == UINT32_MAX) {
            const uint32_t made = new_lane(w, rank, track, group, number);
            w->lanes.at[id].next = made;
        }
        id = w->lanes.at[id].next;
    }
    if (id == UINT32_MAX)
        return 0;
    w->lanes.at[id].until = times->end;
    return id;
}

static void write_flow_event(writer *w, uint32_t rank, uint32_t node, uint32_t tid,
                             const halley_node_times *times)
{
    /* A receive's arrow must end inside its slice. */
    const uint64_t end = times->end > times->begin ? times->end - 1 : times->end;
    const halley_trace *t = w->trace;
    const bool sends = halley_node_type_of(t, node) == HALLEY_NODE_SEND;
    begin_event(w);
    strbuf_printf(
        &w->text,
        "{\"ph\":\"%s\",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu64
        ",\"pid\":%u,\"tid\":%u,%s\"ts\":",
        sends ? "s" : "f", flow_of(w, t, rank, node), rank, tid,
        sends ? "" : "\"bp\":\"e\",");
    strbuf_double(&w->text, (double)(sends ? times->begin : end) / w->per_us);
    strbuf_add_char(&w->text, '}');
}

/* Write the ranks of a class as ranges: "0-7,64-71". */
static void add_ranges(strbuf *to, const halley_result *result, uint32_t class_id)
{
    const uint32_t n = halley_result_ranks(result);
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        if (halley_result_class_of(result, i) != class_id)
            continue;
        uint32_t last = i;
        while (last + 1 < n && halley_result_class_of(result, last + 1) == class_id)
            last++;
        strbuf_printf(to, last > i ? "%s%u-%u" : "%s%u", first ? "" : ",", i, last);
        first = false;
        i = last;
    }
}

/* Write which ranks this rank represents, if they are omitted. */
static void add_alike(writer *w, uint32_t rank)
{
    const uint32_t id = halley_result_class_of(w->result, rank);
    const halley_rank_class c = halley_result_class(w->result, id);
    if (w->written == NULL || c.rank != rank || c.n_ranks < 2)
        return;
    begin_event(w);
    strbuf_printf(&w->text,
                  "{\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"name\":\"process_labels\","
                  "\"args\":{\"labels\":\"%u alike\",\"alike\":%u,\"ranks\":\"",
                  rank, c.n_ranks, c.n_ranks);
    add_ranges(&w->text, w->result, id);
    strbuf_add(&w->text, STR("\"}}"));
}

/* Write a rank's process, and its memory over time. */
static void open_rank(writer *w, uint32_t rank)
{
    char name[32];
    const halley_memory_level *levels;
    const size_t n = halley_result_memory(&levels, w->result, rank);
    snprintf(name, sizeof name, "rank %u", rank);
    w->lanes.n = 0;
    map64_fini(&w->first_lanes);
    begin_event(w);
    tracks_add_name(&w->text, rank, 0, "process_name", str_from(name));
    add_alike(w, rank);
    flush_events(w);
    for (size_t i = 0; i < n; i++) {
        begin_event(w);
        strbuf_printf(&w->text,
                      "{\"ph\":\"C\",\"pid\":%u,\"tid\":0,\"name\":\"NPU memory\","
                      "\"args\":{\"bytes\":%" PRIu64 "},\"ts\":",
                      rank, levels[i].bytes);
        strbuf_double(&w->text, (double)levels[i].at / w->per_us);
        strbuf_add_char(&w->text, '}');
        flush_events(w);
    }
}

static void timeline_row(writer *w, uint32_t rank, uint32_t node,
                         const halley_node_times *times)
{
    const halley_trace *t = w->trace;
    const uint32_t type = halley_node_type_of(t, node);
    const uint32_t tid = find_event_lane(w, rank, node, times);
    const tracks_event event = {.pid = rank,
                                .tid = tid,
                                .start_us = (double)times->begin / w->per_us,
                                .duration_us =
                                    (double)(times->end - times->begin) / w->per_us};
    begin_event(w);
    tracks_add_node(&w->text, t, node, &event);
    if ((type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV) &&
        has_both_ends(w, t, node))
        write_flow_event(w, rank, node, tid, times);
    flush_events(w);
}

typedef struct by_begin {
    const halley_result *result;
    uint32_t rank;
} by_begin;

static int compare_starts(const void *a, const void *b, void *context)
{
    const by_begin *by = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const uint64_t x = halley_result_node(by->result, by->rank, i).begin;
    const uint64_t y = halley_result_node(by->result, by->rank, k).begin;
    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : 1;
}

static void write_rank_events(writer *w, uint32_t rank, row_writer *row)
{
    const uint32_t n = halley_trace_count(w->trace);
    by_begin by = {w->result, rank};
    for (uint32_t i = 0; i < n; i++)
        w->order[i] = i;
    qsort_r(w->order, n, sizeof *w->order, compare_starts, &by);
    for (uint32_t i = 0; i < n; i++) {
        const halley_node_times times = halley_result_node(w->result, rank, w->order[i]);
        if (times.ran)
            row(w, rank, w->order[i], &times);
    }
}

static halley_status writer_open(writer *w, const halley_result *result,
                                 const report_traces *traces, const char *path,
                                 halley_error *err)
{
    uint32_t most = 0;
    *w = (writer){.result = result,
                  .traces = traces,
                  .first = true,
                  .per_s = halley_result_ticks_per_s(result),
                  .per_us = halley_result_ticks_per_s(result) / 1e6};
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint32_t n = halley_trace_count(report_traces_like(traces, i));
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

static halley_status writer_close(writer *w, halley_status status, halley_error *err)
{
    halley_trace_free(w->made);
    strbuf_fini(&w->text);
    map64_fini(&w->sends);
    map64_fini(&w->receives);
    map64_fini(&w->first_lanes);
    array_fini(&w->lanes);
    free(w->order);
    if (status == HALLEY_OK && !w->no_memory)
        return file_output_commit(w->to, err);
    file_output_abort(w->to);
    return status != HALLEY_OK ? status : error_nomem(err);
}

/* Make this the rank whose events are written. */
static halley_status open_trace(writer *w, uint32_t rank, halley_error *err)
{
    halley_trace_free(w->made);
    w->made = NULL;
    return report_traces_open(&w->trace, &w->made, w->traces, rank, err);
}

halley_status report_sim_nodes(const halley_result *result, const report_traces *traces,
                               const char *path, halley_error *err)
{
    writer w;
    TRY(writer_open(&w, result, traces, path, err));
    file_output_str(w.to, STR("rank,node,name,type,track,bytes,begin_s,end_s\n"));
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_result_ranks(result); i++) {
        status = open_trace(&w, i, err);
        if (status == HALLEY_OK)
            write_rank_events(&w, i, csv_row);
    }
    return writer_close(&w, status, err);
}

/* Write the recordings next to the run, as separate processes. */
static halley_status write_recorded(writer *w, halley_error *err)
{
    const uint32_t n = halley_result_ranks(w->result);
    for (uint32_t i = 0; i < n && w->traces->roles == NULL; i++) {
        const halley_trace *const t = halley_trace_set_get(w->traces->set, i);
        char name[48];
        if (!is_written(w, i) || !report_recorded_has(t))
            continue;
        snprintf(name, sizeof name, "rank %u, recorded", i);
        TRY(report_recorded_rank(w->to, t, (uint64_t)n + i, str_from(name), &w->first,
                                 err));
    }
    return HALLEY_OK;
}

/* Split off the text up to a character, and drop that character. */
static str cut_at(str *rest, char end)
{
    const char *found = memchr(rest->at, end, rest->n);
    const str part = {rest->at, found == NULL ? rest->n : (size_t)(found - rest->at)};
    const size_t n = part.n + (found != NULL);
    *rest = (str){rest->at + n, rest->n - n};
    return part;
}

/* Read a list of ranks; false: it is not valid. `to` may be NULL. */
static bool read_ranks(uint8_t *to, str list, uint32_t n)
{
    while (list.n > 0) {
        const str part = cut_at(&list, ',');
        str last = part;
        const str first = cut_at(&last, '-');
        uint64_t a, b;
        if (!str_to_u64(first, &a) || !str_to_u64(last.n > 0 ? last : first, &b) ||
            a > b || b >= n || part.n == first.n + 1)
            return false;
        for (uint64_t i = a; to != NULL && i <= b; i++)
            to[i] = 1;
    }
    return true;
}

bool report_sim_expand_is(const char *expand, uint32_t n_ranks)
{
    return expand == NULL || strcmp(expand, "all") == 0 ||
           (expand[0] != 0 && read_ranks(NULL, str_from(expand), n_ranks));
}

/* Choose one rank per class, and those that were requested. NULL: all, or no memory. */
static uint8_t *choose_ranks(const halley_result *result, const char *expand)
{
    const uint32_t n = halley_result_ranks(result);
    uint8_t *written = mem_array_zero(n, 1);
    for (uint32_t i = 0; written != NULL && i < n; i++)
        written[i] = find_first_alike(result, i) == i;
    if (written != NULL && expand != NULL)
        (void)read_ranks(written, str_from(expand), n);
    return written;
}

static halley_status write_timeline_ranks(writer *w, halley_error *err)
{
    for (uint32_t i = 0; i < halley_result_ranks(w->result); i++) {
        if (!is_written(w, i))
            continue;
        TRY(open_trace(w, i, err));
        open_rank(w, i);
        write_rank_events(w, i, timeline_row);
    }
    return write_recorded(w, err);
}

halley_status report_sim_timeline(const halley_result *result,
                                  const report_traces *traces, const char *path,
                                  const char *expand, halley_error *err)
{
    writer w;
    uint8_t *written = NULL;
    if (expand == NULL || strcmp(expand, "all") != 0) {
        written = choose_ranks(result, expand);
        if (written == NULL)
            return error_nomem(err);
    }
    halley_status status = writer_open(&w, result, traces, path, err);
    if (status == HALLEY_OK) {
        w.written = written;
        w.has_others = written != NULL && expand != NULL;
        file_output_str(w.to, STR("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
        status = write_timeline_ranks(&w, err);
        file_output_str(w.to, STR("\n]}\n"));
        status = writer_close(&w, status, err);
    }
    free(written);
    return status;
}

halley_status report_sim_memory(const halley_result *result, const char *path,
                                halley_error *err)
{
    const double per_s = halley_result_ticks_per_s(result);
    strbuf text = {0};
    file_output *to;
    TRY(file_output_open(&to, path, err));
    file_output_str(to, STR("rank,time_s,bytes\n"));
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const halley_memory_level *levels;
        const size_t n = halley_result_memory(&levels, result, i);
        for (size_t k = 0; k < n; k++) {
            text.n = 0;
            strbuf_printf(&text, "%u,", i);
            strbuf_double(&text, (double)levels[k].at / per_s);
            strbuf_printf(&text, ",%" PRIu64 "\n", levels[k].bytes);
            file_output_str(to, strbuf_str(&text));
        }
    }
    const bool failed = text.failed;
    strbuf_fini(&text);
    if (!failed)
        return file_output_commit(to, err);
    file_output_abort(to);
    return error_nomem(err);
}
