/* halley trace link - turns recordings into traces that can be simulated. */
#include "base/error.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "halley/ingest.h"
#include "request/files.h"
#include "request/trace/fidelity.h"
#include "request/trace/recordings.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct link_options {
    const char *out, *rules, *recorded_on;
    bool ranks, quiet, partial;
    uint32_t form, threads, reader;
    uint64_t pid;
    double split_s, quiet_s;
    request_output output;
} link_options;

static const request_option options[] = {
    REQUEST_OUT_OPTION(link_options, out, "OUT",
                       "file to write; with --ranks, prefix or folder", REQUEST_REQUIRED,
                       "step.et"),
    {.name = "ranks",
     .kind = REQUEST_FLAG,
     .offset = offsetof(link_options, ranks),
     .doc = "link many ranks: %d in both names represents the rank, from 0 on"},
    {.name = "form",
     .kind = REQUEST_CHOICE,
     .choices = traces_form_names,
     .offset = offsetof(link_options, form),
     .doc = "file format to write",
     .by_default = "by the ending of OUT, .et for sets"},
    FIDELITY_FOR_OPTION(link_options, reader),
    {.name = "split",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(link_options, split_s),
     .doc = "smallest self time of an operator, after its first child, that becomes a "
            "node of its own",
     .by_default = "1/1000 of the recording, between 2 and 30 us",
     .example = "10 us"},
    {.name = "quiet-time",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(link_options, quiet_s),
     .doc = "a thread without events for this long may be waiting for another thread",
     .by_default = "100 us",
     .example = "200 us"},
    {.name = "rules",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(link_options, rules),
     .doc = "kernel rules (JSON) that take precedence over the built-in ones",
     .by_default = "none",
     .example = "rules.json"},
    {.name = "recorded-on",
     .kind = REQUEST_TEXT,
     .metavar = "DEVICE",
     .offset = offsetof(link_options, recorded_on),
     .doc = "device of a recording that does not name it",
     .by_default = "as recorded",
     .example = "h100-sxm-80gb"},
    {.name = "pid",
     .kind = REQUEST_U64,
     .metavar = "N",
     .offset = offsetof(link_options, pid),
     .doc = "nsys exports: only this process",
     .by_default = "every process is a rank",
     .example = "4242"},
    {.name = "partial",
     .kind = REQUEST_FLAG,
     .offset = offsetof(link_options, partial),
     .doc = "read the complete events of a recording that is cut off"},
    REQUEST_THREADS_OPTION(link_options, threads, "ranks to link"),
    {.name = "quiet",
     .letter = 'q',
     .kind = REQUEST_FLAG,
     .offset = offsetof(link_options, quiet),
     .doc = "print no report"},
    REQUEST_OUTPUT_OPTIONS(link_options, output),
    {0},
};

/* The report as rows; tables omit a row that is 0 in every rank. */
static const struct {
    const char *what, *key;
    size_t offset;
    bool always, is_time;
} rows[] = {
#define COUNT(what, member)                                                              \
    {                                                                                    \
        what, #member, offsetof(halley_link_report, member), false, false                \
    }
#define ALWAYS(what, member)                                                             \
    {                                                                                    \
        what, #member, offsetof(halley_link_report, member), true, false                 \
    }
#define TIME(what, member)                                                               \
    {                                                                                    \
        what, #member, offsetof(halley_link_report, member), false, true                 \
    }
    ALWAYS("host nodes read", n_host_nodes),
    ALWAYS("device events read", n_device_events),
    COUNT("operators in the device trace", n_operators),
    COUNT("kernels in the device trace", n_kernels),
    COUNT("copies in the device trace", n_copies),
    COUNT("sets in the device trace", n_sets),
    COUNT("linked by record function id", n_by_record_function),
    COUNT("linked by external id", n_by_external_id),
    COUNT("linked by order on a thread", n_by_order),
    COUNT("linked although names differ", n_other_name),
    COUNT("host nodes without a time", n_unmatched_host),
    COUNT("operators not in the host trace", n_unmatched_operators),
    COUNT("kernels linked", n_linked_kernels),
    COUNT("copies linked", n_linked_copies),
    COUNT("sets linked", n_linked_sets),
    COUNT("dropped: no launching call", n_no_launch),
    COUNT("dropped: no linked operator", n_no_operator),
    COUNT("launched together with others", n_graph_launches),
    COUNT("edges: program order", n_program_order),
    COUNT("edges: launches", n_launch),
    COUNT("edges: stream order", n_stream_order),
    COUNT("edges: event waits", n_event_waits),
    COUNT("edges: event waits, guessed", n_event_waits_guessed),
    COUNT("edges: host waits for device", n_syncs),
    COUNT("edges: host waits, guessed", n_syncs_guessed),
    COUNT("edges: hand-overs of threads", n_hand_overs),
    COUNT("edges: order of collectives", n_collective_order),
    COUNT("edges dropped: against time", n_against_time),
    COUNT("nodes added: waits", n_wait_nodes),
    COUNT("nodes added: gaps", n_gap_nodes),
    COUNT("nodes added: self time further back", n_split_nodes),
    TIME("waited for devices", wait_ns),
    TIME("host time in gaps", gap_ns),
    TIME("self time further back", split_ns),
    TIME("device idle, unexplained", device_gap_ns),
    COUNT("collectives", n_collectives),
    COUNT("sends", n_sends),
    COUNT("receives", n_recvs),
    COUNT("sends and receives of one kernel", n_batched),
    COUNT("communication of unknown size or peer", n_no_size),
    COUNT("communication of unknown type", n_unknown_comm),
    COUNT("process groups", n_groups),
    COUNT("process groups given a number", n_renamed_groups),
    COUNT("kernels with operations and bytes", n_with_work),
    COUNT("bad: events without a usable time", n_bad_times),
    COUNT("bad: negative durations, taken as 0", n_negative),
    COUNT("bad: repeated events, dropped", n_duplicate_events),
    COUNT("bad: host ids used twice", n_duplicate_ids),
    COUNT("bad: host nodes without an id", n_no_id),
    COUNT("bad: parents missing or in a cycle", n_bad_parents),
    COUNT("not kept: host attributes", n_unknown_keys),
    COUNT("not kept: runtime calls", n_quiet_calls),
    COUNT("not kept: arrows, names, frames", n_other_events),
    ALWAYS("nodes written", n_nodes),
    ALWAYS("data dependencies written", n_data_edges),
    ALWAYS("control dependencies written", n_ctrl_edges),
    TIME("recorded", recorded_ns),
    TIME("replayed", replayed_ns),
    TIME("lost in replay: on the host", lost_host_ns),
    TIME("lost in replay: from launch to device", lost_launch_ns),
    TIME("lost in replay: on devices", lost_device_ns),
    TIME("lost in replay: from device to host", lost_wait_ns),
    TIME("lost in replay: at both ends", lost_ends_ns),
    TIME("clock shifted by", clock_offset_ns),
#undef COUNT
#undef ALWAYS
#undef TIME
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static uint64_t count_at(const halley_link_report *report, size_t row)
{
    uint64_t count;
    memcpy(&count, (const char *)report + rows[row].offset, sizeof count);
    return count;
}

/* JSON has times in seconds: "recorded_ns" becomes recorded_s. */
static void write_count(report_json *j, const halley_link_report *report, size_t row)
{
    char key[64];
    const int64_t value = (int64_t)count_at(report, row);
    snprintf(key, sizeof key, "%s", rows[row].key);
    if (!rows[row].is_time) {
        report_json_i64(j, key, value);
        return;
    }
    assert(str_ends(str_from(key), STR("_ns")));
    memcpy(key + strlen(key) - 2, "s", 2);
    report_json_double(j, key, (double)value / 1e9);
}

static halley_status write_link_json(const request_call *call,
                                     const halley_link_report *reports, uint32_t n,
                                     halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_array(&j, "ranks");
    for (uint32_t r = 0; r < n; r++) {
        report_json_object(&j, NULL);
        report_json_u64(&j, "rank", r);
        report_json_text(&j, "schema", str_from(reports[r].schema));
        for (size_t i = 0; i < N_ROWS; i++)
            write_count(&j, &reports[r], i);
        report_json_end(&j);
    }
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static halley_status write_link_csv(FILE *to, const halley_link_report *reports,
                                    uint32_t n)
{
    fprintf(to, "rank,schema");
    for (size_t i = 0; i < N_ROWS; i++)
        fprintf(to, ",%s", rows[i].key);
    for (uint32_t r = 0; r < n; r++) {
        fprintf(to, "\n%u,%s", r, reports[r].schema);
        for (size_t i = 0; i < N_ROWS; i++)
            fprintf(to, ",%lld", (long long)count_at(&reports[r], i));
    }
    fprintf(to, "\n");
    return HALLEY_OK;
}

static const report_column one_columns[] = {
    {.title = "What", .key = "what", .kind = REPORT_WORDS},
    {.title = "Value", .key = "value", .kind = REPORT_WORDS},
};

/* Write the whole report on one rank. */
static halley_status write_one(FILE *to, const halley_link_report *report,
                               halley_error *err)
{
    report_table *const t = report_table_new(one_columns, 2);
    if (!t)
        return error_nomem(err);
    for (size_t i = 0; i < N_ROWS; i++) {
        const uint64_t value = count_at(report, i);
        if (value == 0 && !rows[i].always)
            continue;
        char text[64];
        if (rows[i].is_time)
            units_format(text, sizeof text, (double)(int64_t)value * 1e-9, UNITS_TIME);
        else
            snprintf(text, sizeof text, "%llu", (unsigned long long)value);
        report_table_words(t, str_from(rows[i].what));
        report_table_words(t, str_from(text));
    }
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    return status;
}

static const report_column many_columns[] = {
    {.title = "Rank", .key = "rank", .kind = REPORT_COUNT},
    {.title = "Host nodes", .key = "host_nodes", .kind = REPORT_COUNT},
    {.title = "Linked", .key = "linked", .kind = REPORT_QUANTITY, .unit = UNITS_SHARE},
    {.title = "Device", .key = "device", .kind = REPORT_COUNT},
    {.title = "Dropped", .key = "dropped", .kind = REPORT_COUNT},
    {.title = "Communication", .key = "communication", .kind = REPORT_COUNT},
    {.title = "Nodes", .key = "nodes", .kind = REPORT_COUNT},
    {.title = "Edges", .key = "edges", .kind = REPORT_COUNT},
    {.title = "Recorded",
     .key = "recorded_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_TIME},
    {.title = "Replayed",
     .key = "replayed_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_TIME},
    {.title = "Clock", .key = "clock_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
};

static halley_status write_many(FILE *to, const halley_link_report *reports, uint32_t n,
                                halley_error *err)
{
    report_table *const t =
        report_table_new(many_columns, sizeof many_columns / sizeof *many_columns);
    if (!t)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        const halley_link_report *const r = &reports[i];
        const uint64_t linked = r->n_host_nodes - r->n_unmatched_host;
        report_table_count(t, i);
        report_table_count(t, r->n_host_nodes);
        if (r->n_host_nodes > 0)
            report_table_number(t, (double)linked / (double)r->n_host_nodes);
        else
            report_table_empty(t);
        report_table_count(t,
                           r->n_linked_kernels + r->n_linked_copies + r->n_linked_sets);
        report_table_count(t, r->n_no_launch + r->n_no_operator);
        report_table_count(t, r->n_collectives + r->n_sends + r->n_recvs);
        report_table_count(t, r->n_nodes);
        report_table_count(t, r->n_data_edges + r->n_ctrl_edges);
        report_table_number(t, (double)r->recorded_ns * 1e-9);
        report_table_number(t, (double)r->replayed_ns * 1e-9);
        report_table_number(t, (double)r->clock_offset_ns * 1e-9);
    }
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    return status;
}

/* Warnings in addition to the table. */
/* Warn about work of the device that is missing in the result, and about the error of its
 * replay. */
static void warn_of_losses(const request_call *call, const halley_link_report *r,
                           uint32_t rank)
{
    const uint64_t dropped = r->n_no_launch + r->n_no_operator;
    const uint64_t all = r->n_kernels + r->n_copies + r->n_sets;
    const double off =
        r->recorded_ns > 0 ? (double)r->replayed_ns / (double)r->recorded_ns - 1 : 0;
    if (100 * dropped > all)
        request_note(
            call,
            "rank %u: %llu of %llu kernels, copies and sets (%s %%) are left out: "
            "no operator of the execution trace launched them. Were both "
            "recorded over the same steps?",
            rank, (unsigned long long)dropped, (unsigned long long)all,
            number_fixed(100 * (double)dropped / (double)all, 0).at);
    if (fabs(off) > 0.03)
        request_note(call, "rank %u: the replay takes %s %% %s than the recording", rank,
                     number_fixed(100 * fabs(off), 0).at, off > 0 ? "longer" : "less");
}

static void warn_of_links(const request_call *call, const halley_link_report *reports,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const halley_link_report *const r = &reports[i];
        const uint64_t linked = r->n_host_nodes - r->n_unmatched_host;
        if (r->n_device_events > 0 && 2 * linked < r->n_host_nodes)
            request_note(
                call,
                "rank %u: only %llu of %llu host nodes are in the device trace; were "
                "both recorded over the same steps?",
                i, (unsigned long long)linked, (unsigned long long)r->n_host_nodes);
        if (r->n_no_size > 0)
            request_note(
                call,
                "rank %u: %llu communications of unknown size or peer are kept as "
                "work of recorded length",
                i, (unsigned long long)r->n_no_size);
        warn_of_losses(call, r, i);
    }
}

static halley_status write_report(const request_call *call,
                                  const halley_link_report *reports, uint32_t n,
                                  report_form form, halley_error *err)
{
    const link_options *const o = call->options;
    warn_of_links(call, reports, n);
    if (form == REPORT_JSON)
        return write_link_json(call, reports, n, err);
    if (o->quiet)
        return HALLEY_OK;
    if (form == REPORT_CSV)
        return write_link_csv(call->out, reports, n);
    return n == 1 ? write_one(call->out, &reports[0], err)
                  : write_many(call->out, reports, n, err);
}

/* Read and link the recordings that the command names; into `sink`, if possible. */
static halley_status link_recordings(halley_trace_set **set, halley_link_report **reports,
                                     request_call *call, traces_sink *sink,
                                     halley_error *err)
{
    const link_options *const o = call->options;
    const halley_link_opts opts = {.split_ns = whole_u64(o->split_s * 1e9),
                                   .quiet_ns = whole_u64(o->quiet_s * 1e9),
                                   .classes = true,
                                   .n_threads = o->threads,
                                   .watch = call->watch};
    const halley_recording_opts recording = {.rules = o->rules,
                                             .recorded_on = o->recorded_on,
                                             .pid = o->pid,
                                             .partial = o->partial,
                                             .n_threads = o->threads,
                                             .watch = call->watch,
                                             .save_as =
                                                 sink != NULL ? traces_sink_path : NULL,
                                             .save_context = sink};
    const recordings_input in = {.paths = call->args,
                                 .n_paths = call->n_args,
                                 .is_pattern = o->ranks,
                                 .pairs = &opts,
                                 .alone = &recording};
    const halley_status status = recordings_link(set, reports, &in, err);
    request_work_end(call);
    return status;
}

/* Write a set that was linked in memory. Its groups are those that `set` declares. */
static halley_status save_linked(const halley_trace_set *set, traces_output *output,
                                 request_call *call, halley_error *err)
{
    const link_options *const o = call->options;
    halley_trace_set *portable = NULL;
    output->one = !o->ranks && halley_trace_set_count(set) == 1;
    output->save_groups = output->one ? NULL : traces_save_declared;
    output->groups = set;
    if (o->reader != FIDELITY_ASTRA_SIM)
        return traces_save(set, output, call, err);
    TRY(fidelity_make_portable(&portable, call, set, err));
    const halley_status status = traces_save(portable, output, call, err);
    halley_trace_set_free(portable);
    return status;
}

/* Link and write: either rank by rank, or first link all and then write all. */
static halley_status link_and_save(halley_trace_set **set, halley_link_report **reports,
                                   request_call *call, halley_error *err)
{
    const link_options *const o = call->options;
    traces_output output = {.path = o->out,
                            .form = (traces_form)o->form,
                            .one = !o->ranks,
                            .n_threads = o->threads,
                            .save_groups = traces_save_declared};
    traces_sink *sink = NULL;
    if (o->reader == FIDELITY_HALLEY)
        TRY(traces_sink_open(&sink, &output, err));
    halley_status status = link_recordings(set, reports, call, sink, err);
    const bool is_written = status == HALLEY_OK && sink && traces_sink_is_used(sink);
    if (status != HALLEY_OK && sink)
        traces_sink_name_files(sink, err);
    const halley_status closed = traces_sink_close(sink, is_written ? *set : NULL, call,
                                                   status == HALLEY_OK ? err : NULL);
    if (status != HALLEY_OK || is_written)
        return status != HALLEY_OK ? status : closed;
    return save_linked(*set, &output, call, err);
}

static halley_status trace_link_run(request_call *call, halley_error *err)
{
    const link_options *const o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (!o->out)
        return request_usage(call, err, "where to? name the output with -o");
    halley_trace_set *set = NULL;
    halley_link_report *reports = NULL;
    halley_status status = link_and_save(&set, &reports, call, err);
    if (status == HALLEY_OK)
        traces_warn(call, set);
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_trace_set_count(set); i++)
        if (reports[i].lacks_classes)
            request_note(call,
                         "note: the kernels of rank %u have no classes: the device trace "
                         "could not be read twice; name a file instead of a pipe",
                         i);
    if (status == HALLEY_OK)
        status = write_report(call, reports, halley_trace_set_count(set), form, err);
    free(reports);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace link kineto.json.gz -o step.et", "a profiler's recording alone"},
    {"halley trace link traces/ -o step/", "all ranks in a folder, into a new folder"},
    {"halley trace link host.json device.json -o step.et",
     "one rank's recordings as a trace"},
    {"halley trace link --ranks 'host.%d.json.gz' 'device.%d.json.gz' -o step",
     "step.0.et and so on, clocks aligned"},
    {"halley trace link host.json -o untimed.et", "a host trace alone: no times"},
    {0},
};

static const char *const link_keys[] = {"recording", NULL};

const request_verb request_verb_trace_link = {
    .name = "trace link",
    .summary = "make traces of recordings of real runs",
    .arguments = "RECORDING...",
    .arg_keys = link_keys,
    .description =

        "Makes Chakra traces that can be simulated from recordings of real runs. It "
        "reads Kineto traces of PyTorch's profiler (CUDA, ROCm, MTIA), SQLite exports"
        " of Nsight Systems, xplane.pb of JAX, and JSON and CSV of rocprofv3. Name "
        "one file, the files of several ranks, or a folder; the format is found by "
        "content. Files may be compressed with gzip.\n\n"
        "A profiler's recording is enough. Every host thread is cut at each start and"
        " end of an event. Kernels depend on their launch, their stream, events, and "
        "collectives of other streams. Blocking calls depend on what they waited for."
        " Lags are kept, so that the replay equals the recording. Device work that "
        "was launched before the window is kept and starts at its recorded time. "
        "Kernels get a class (matmul, attention, comm.all_reduce, ...) from rules on "
        "their names.\n\n"
        "A PyTorch execution trace (from ExecutionTraceObserver) and the Kineto trace"
        " of the same run, in any order, are linked into one trace with the values "
        "and outputs of all operators. Operators are matched with the device trace by"
        " record function id, else by external id, else by their order on a thread. "
        "Kernels, copies and memsets become children of the operators that launched "
        "them. Edges represent what the hardware waits for: program order of threads,"
        " launches, stream order, events between streams, and blocking calls. They "
        "also represent threads that wait for each other and the order of collectives"
        " in a group. Time that belongs to no operator is kept as gap nodes.\n\n"
        "Durations are written as duration_micros, rounded, and as duration_ns. "
        "Collectives, sends and receives get type, bytes, element type, group and "
        "peers. Kernels get the operations and bytes that follow from the shapes of "
        "their operator.\n\n"
        "The report lists what was linked, guessed and dropped. `recorded` is the "
        "length of the recording, and `replayed` that of the result with recorded "
        "durations, as in `halley sim --replay`. The lines below show where the two "
        "differ. Without DEVICE nothing has a time, and only order, shapes and "
        "communication are known.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(link_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_link_run,
};
