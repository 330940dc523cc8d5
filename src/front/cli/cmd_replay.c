/* halley replay: run traces on the machine at hand, under mpirun; measure and fit it. */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/str.h"
#include "cli/commands.h"
#include "halley/replay.h"
#include "report/recorded.h"
#include "request/document.h"
#include "request/trace/traces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const computes[] = {"spin", "matmul", "sleep", NULL};
static const char *const progresses[] = {"poll", "thread", NULL};
static const char *const parts[] = {"all", "communication", "compute", NULL};

typedef struct replay_options {
    const char *cluster, *groups, *out, *timeline, *fit, *repeats_file;
    uint32_t repeat, warm_up, compute, progress, only, samples;
    uint64_t seed;
    double scale_sizes, scale_compute, time_limit, stall_time, largest;
    bool shrink, one_trace, dry_run;
    request_output output;
} replay_options;

static const request_option options[] = {
    {.name = "cluster",
     .letter = 'c',
     .kind = REQUEST_TEXT,
     .metavar = "CLUSTER",
     .offset = offsetof(replay_options, cluster),
     .doc = "also simulate the traces on CLUSTER and compare; for example a file written "
            "by --fit",
     .by_default = "none",
     .example = "lab.yaml"},
    {.name = "fit",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(replay_options, fit),
     .doc = "instead of replaying: measure collectives and messages of many sizes on "
            "these processes and write a cluster file",
     .by_default = "none",
     .example = "lab.yaml"},
    {.name = "repeat",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 100000,
     .metavar = "N",
     .offset = offsetof(replay_options, repeat),
     .doc = "number of measured runs; the median step is reported",
     .by_default = "5",
     .example = "20"},
    {.name = "warm-up",
     .kind = REQUEST_U32,
     .max = 100000,
     .metavar = "N",
     .offset = offsetof(replay_options, warm_up),
     .doc = "number of runs before the measured ones",
     .by_default = "1",
     .example = "2"},
    {.name = "compute",
     .kind = REQUEST_CHOICE,
     .choices = computes,
     .offset = offsetof(replay_options, compute),
     .doc = "spin: busy-wait for the recorded time; matmul: multiply matrices with "
            "OpenBLAS that take as long; sleep: sleep for that time",
     .by_default = "spin"},
    {.name = "progress",
     .kind = REQUEST_CHOICE,
     .choices = progresses,
     .offset = offsetof(replay_options, progress),
     .doc = "poll: advance communication between pieces of compute; thread: advance it "
            "on a second thread",
     .by_default = "poll"},
    {.name = "only",
     .kind = REQUEST_CHOICE,
     .choices = parts,
     .offset = offsetof(replay_options, only),
     .doc = "run everything, only communication, or only compute",
     .by_default = "all"},
    {.name = "scale-sizes",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .offset = offsetof(replay_options, scale_sizes),
     .doc = "multiply the sizes of messages, collectives and copies by X",
     .by_default = "1",
     .example = "0.5"},
    {.name = "scale-compute",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .offset = offsetof(replay_options, scale_compute),
     .doc = "multiply compute times by X",
     .by_default = "1",
     .example = "0.5"},
    {.name = "shrink",
     .kind = REQUEST_FLAG,
     .offset = offsetof(replay_options, shrink),
     .doc = "allow fewer processes than ranks: run the first ranks, cut groups to them, "
            "and report what is left out"},
    {.name = "one-trace",
     .kind = REQUEST_FLAG,
     .offset = offsetof(replay_options, one_trace),
     .doc = "run the trace of rank 0 on every process"},
    {.name = "dry-run",
     .kind = REQUEST_FLAG,
     .offset = offsetof(replay_options, dry_run),
     .doc = "check that the ranks match and report what would run; run nothing"},
    {.name = "seed",
     .kind = REQUEST_U64,
     .metavar = "S",
     .offset = offsetof(replay_options, seed),
     .doc = "seed of the data that is sent and multiplied",
     .by_default = "0",
     .example = "7"},
    {.name = "time-limit",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(replay_options, time_limit),
     .doc = "end the job after TIME; finished repeats are reported",
     .by_default = "none",
     .example = "10 min"},
    {.name = "stall-time",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(replay_options, stall_time),
     .doc = "end the job when there is no progress, or no sign of life from a process, "
            "for TIME",
     .by_default = "8 s",
     .example = "30 s"},
    {.name = "comm-group-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(replay_options, groups),
     .doc = "file with the communicator groups",
     .by_default = "PREFIX.comm_group.json or PREFIX.json next to the traces, else what "
                   "their process_group:init nodes declare",
     .example = "groups.json"},
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "OUT",
     .offset = offsetof(replay_options, out),
     .doc = "write the traces with measured times to this prefix or folder",
     .by_default = "none",
     .example = "measured"},
    {.name = "timeline",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(replay_options, timeline),
     .doc = "write a timeline of the median repeat for Perfetto",
     .by_default = "none",
     .example = "step.json"},
    {.name = "repeats",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(replay_options, repeats_file),
     .doc = "write the step time of each repeat as CSV, as soon as it is finished",
     .by_default = "none",
     .example = "steps.csv"},
    {.name = "samples",
     .kind = REQUEST_U32,
     .min = 3,
     .max = 100000,
     .metavar = "N",
     .offset = offsetof(replay_options, samples),
     .doc = "with --fit: measurements per size; the median is used",
     .by_default = "20",
     .example = "50"},
    {.name = "largest",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_BYTES,
     .metavar = "SIZE",
     .offset = offsetof(replay_options, largest),
     .doc = "with --fit: largest size",
     .by_default = "16 MiB",
     .example = "64 MiB"},
    REQUEST_OUTPUT_OPTIONS(replay_options, output),
    {0},
};

static const report_column row_columns[] = {
    {"Communication", "communication", REPORT_WORDS, UNITS_COUNT, 0},
    {"Ranks", "ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"Size", "size_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Count", "count", REPORT_COUNT, UNITS_COUNT, 0},
    {"Measured", "measured_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Recorded", "recorded_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Simulated", "simulated_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"algbw", "algbw_Bps", REPORT_QUANTITY, UNITS_BANDWIDTH, 0},
    {"busbw", "busbw_Bps", REPORT_QUANTITY, UNITS_BANDWIDTH, 0},
};

static report_table *make_row_table(const halley_replay_row *rows, size_t n)
{
    report_table *t = report_table_new(row_columns, 9);
    for (size_t i = 0; t != NULL && i < n; i++) {
        const halley_replay_row *r = &rows[i];
        report_table_words(t, str_from(r->type == HALLEY_NODE_COLL
                                           ? halley_coll_type_name(r->coll)
                                           : "SEND"));
        report_table_count(t, r->n_members);
        report_table_number(t, (double)r->bytes);
        report_table_count(t, r->count);
        report_table_number_or_empty(t, r->measured_s);
        report_table_number_or_empty(t, r->recorded_s);
        report_table_number_or_empty(t, r->simulated_s);
        report_table_number_or_empty(t, r->alg_Bps);
        report_table_number_or_empty(t, r->bus_Bps);
    }
    return t;
}

/* How long the steps took. */
typedef struct step_times {
    double measured_s, least_s, most_s, simulated_s;
    uint32_t n;
} step_times;

static step_times describe_steps(const halley_replay *r, const halley_result *simulated)
{
    const double *steps;
    step_times t = {.n = halley_replay_steps(&steps, r),
                    .measured_s = halley_replay_step_s(r)};
    for (uint32_t i = 0; i < t.n; i++) {
        t.least_s = i == 0 ? steps[i] : fmin(t.least_s, steps[i]);
        t.most_s = fmax(t.most_s, steps[i]);
    }
    for (uint32_t i = 0; simulated != NULL && i < halley_result_ranks(simulated); i++)
        t.simulated_s =
            fmax(t.simulated_s, (double)halley_result_rank(simulated, i).finish /
                                    halley_result_ticks_per_s(simulated));
    return t;
}

static void write_time(strbuf *to, double seconds)
{
    char room[64];
    units_format(room, sizeof room, seconds, UNITS_TIME);
    strbuf_printf(to, "%s", room);
}

static halley_status write_steps_text(const request_call *call, const halley_replay *r,
                                      const step_times *t, halley_error *err)
{
    strbuf text = {0};
    strbuf_printf(&text, "%u ranks, %u repeats: a step takes ", halley_replay_ranks(r),
                  t->n);
    write_time(&text, t->measured_s);
    strbuf_add(&text, STR(" (median; "));
    write_time(&text, t->least_s);
    strbuf_add(&text, STR(" to "));
    write_time(&text, t->most_s);
    strbuf_add(&text, STR(")"));
    if (t->simulated_s > 0) {
        strbuf_add(&text, STR("; simulated "));
        write_time(&text, t->simulated_s);
        strbuf_printf(&text, " (%s %%)",
                      number_signed(100 * (t->simulated_s / t->measured_s - 1), 1).at);
    }
    strbuf_add(&text, STR("\n\n"));
    const bool failed = text.failed;
    if (!failed)
        fwrite(text.at, 1, text.n, call->out);
    strbuf_fini(&text);
    return failed ? error_nomem(err) : HALLEY_OK;
}

static halley_status write_replay_json(const request_call *call, const halley_replay *r,
                                       const step_times *t, const report_table *rows,
                                       halley_error *err)
{
    const double *steps;
    const uint32_t n = halley_replay_steps(&steps, r);
    report_json j;
    request_json_begin(&j, call);
    report_json_u64(&j, "ranks", halley_replay_ranks(r));
    report_json_double(&j, "step_s", t->measured_s);
    if (t->simulated_s > 0)
        report_json_double(&j, "simulated_step_s", t->simulated_s);
    report_json_flat_array(&j, "repeats_s");
    for (uint32_t i = 0; i < n; i++)
        report_json_double(&j, NULL, steps[i]);
    report_json_end(&j);
    report_table_json(rows, &j, "communication");
    return request_json_end(&j, call, err);
}

static halley_status write_replay(request_call *call, const halley_replay *r,
                                  const halley_result *simulated, halley_error *err)
{
    const replay_options *o = call->options;
    const step_times t = describe_steps(r, simulated);
    halley_replay_row *rows;
    report_form form;
    size_t n;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(halley_replay_rows(&rows, &n, r, simulated, err));
    report_table *table = make_row_table(rows, n);
    halley_status status = table == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && form == REPORT_JSON)
        status = write_replay_json(call, r, &t, table, err);
    if (status == HALLEY_OK && form == REPORT_TEXT)
        status = write_steps_text(call, r, &t, err);
    if (status == HALLEY_OK && form != REPORT_JSON && n > 0)
        status = report_table_write(table, form, call->out, err);
    report_table_free(table);
    free(rows);
    return status;
}

/* Simulate the traces that were run, with the times that they were run with. */
static halley_status simulate_replayed(halley_result **out,
                                       const halley_trace_set *traces, request_call *call,
                                       halley_error *err)
{
    const replay_options *o = call->options;
    halley_cluster *cluster;
    const halley_sim_opts opts = {.record = true};
    TRY(request_cluster_load(&cluster, call, o->cluster, err));
    halley_status status = o->groups != NULL && !halley_cluster_has_groups(cluster)
                               ? halley_cluster_load_groups(cluster, o->groups, err)
                               : traces_take_groups(cluster, traces, err);
    if (status == HALLEY_OK)
        status = halley_sim_run(out, traces, cluster, &opts, err);
    halley_cluster_free(cluster);
    return status;
}

static halley_status save_measured(request_call *call, const halley_replay *r,
                                   halley_error *err)
{
    const replay_options *o = call->options;
    halley_trace_set *set;
    if (o->out == NULL && o->timeline == NULL)
        return HALLEY_OK;
    TRY(halley_replay_traces(&set, r, err));
    halley_status status = HALLEY_OK;
    if (o->out != NULL)
        status = traces_save(set, &(traces_output){.path = o->out}, call, err);
    if (status == HALLEY_OK && o->timeline != NULL)
        status = report_recorded_timeline(set, o->timeline, err);
    halley_trace_set_free(set);
    return status;
}

static halley_status finish_replay(request_call *call, const halley_replay *r,
                                   const halley_trace_set *traces, halley_error *err)
{
    const replay_options *o = call->options;
    halley_result *simulated = NULL;
    halley_status status = HALLEY_OK;
    const double *steps;
    if (!halley_replay_is_first(r))
        return HALLEY_OK;
    for (uint32_t i = 0; i < halley_replay_note_count(r); i++)
        request_note(call, "note: %s", halley_replay_note(r, i));
    if (o->dry_run || halley_replay_steps(&steps, r) == 0) {
        fprintf(call->out, "%u ranks fit together\n", halley_replay_ranks(r));
        return HALLEY_OK;
    }
    const bool changed = o->only != 0 || o->shrink || o->one_trace ||
                         o->scale_sizes > 0 || o->scale_compute > 0;
    if (o->cluster != NULL && changed)
        request_note(call, "note: what was run is not what the traces say, so they are "
                           "not simulated");
    else if (o->cluster != NULL)
        status = simulate_replayed(&simulated, traces, call, err);
    if (status == HALLEY_OK)
        status = write_replay(call, r, simulated, err);
    halley_result_free(simulated);
    return status == HALLEY_OK ? save_measured(call, r, err) : status;
}

/* One message is enough: the first process prints it, and mpirun ends the others. */
static void let_first_speak(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank == NULL)
            continue;
        if (strcmp(rank, "0") != 0)
            sleep(4);
        return;
    }
}

static halley_status fit_machine(request_call *call, halley_error *err)
{
    const replay_options *o = call->options;
    const halley_replay_fit_opts opts = {.n_samples = o->samples,
                                         .largest_bytes = o->largest,
                                         .time_limit_s = o->time_limit,
                                         .seed = o->seed};
    char *text = NULL;
    halley_cluster *check;
    TRY(halley_replay_fit(&text, &opts, err));
    if (text == NULL)
        return HALLEY_OK;
    halley_status status =
        halley_cluster_parse(&check, text, strlen(text), "the fitted cluster", err);
    if (status == HALLEY_OK) {
        strbuf whole = {0};
        halley_cluster_free(check);
        strbuf_add(&whole, str_from(text));
        status = file_save(o->fit, &whole, err);
    }
    if (status == HALLEY_OK)
        fprintf(call->out, "wrote %s; predict with halley sim TRACE -c %s\n", o->fit,
                o->fit);
    free(text);
    return status;
}

static halley_replay_opts read_replay_options(const request_call *call)
{
    const replay_options *o = call->options;
    return (halley_replay_opts){
        .n_repeats = o->repeat,
        .n_warm_ups =
            request_given(call, "warm-up") && o->warm_up == 0 ? UINT32_MAX : o->warm_up,
        .only_comm = o->only == 1,
        .only_compute = o->only == 2,
        .size_scale = o->scale_sizes,
        .compute_scale = o->scale_compute,
        .shrink = o->shrink,
        .one_trace = o->one_trace,
        .dry_run = o->dry_run,
        .seed = o->seed,
        .compute = (halley_replay_compute)o->compute,
        .progress = (halley_replay_progress)o->progress,
        .time_limit_s = o->time_limit,
        .stall_limit_s = o->stall_time,
        .groups = o->groups,
        .repeats_file = o->repeats_file};
}

static halley_status replay_traces(request_call *call, halley_error *err)
{
    const halley_replay_opts opts = read_replay_options(call);
    halley_trace_set *traces;
    halley_replay *r = NULL;
    TRY(traces_load(&traces, call, 0, call->n_args, err));
    const halley_status status = halley_replay_run(&r, traces, &opts, err);
    halley_status written = HALLEY_OK;
    if (r != NULL)
        written = finish_replay(call, r, traces, status == HALLEY_OK ? err : NULL);
    /* After a failure of a run its progress thread may still use the traces. */
    if (status == HALLEY_OK || opts.dry_run) {
        halley_replay_free(r);
        halley_trace_set_free(traces);
    }
    return status != HALLEY_OK ? status : written;
}

static halley_status replay_run(request_call *call, halley_error *err)
{
    const replay_options *o = call->options;
    if (o->fit != NULL && call->n_args > 0)
        return request_usage(call, err, "--fit measures the machine and takes no traces");
    if (o->fit == NULL && call->n_args == 0)
        return request_usage(call, err, "name the traces to replay, or --fit FILE");
    const halley_status status =
        o->fit != NULL ? fit_machine(call, err) : replay_traces(call, err);
    if (status == HALLEY_OK && !o->dry_run)
        halley_replay_finish();
    if (status != HALLEY_OK) {
        fflush(call->out);
        let_first_speak();
    }
    return status;
}

static const request_example examples[] = {
    {"mpirun -np 2 halley replay step -o measured", "run two ranks, keep their times"},
    {"mpirun -np 2 halley replay --fit machine.yaml && mpirun -np 2 halley replay step "
     "-c "
     "machine.yaml",
     "describe the machine, then compare the simulation with the replay"},
    {"halley replay step --dry-run", "do the ranks fit together?"},
    {0},
};

const request_verb cmd_replay = {
    .name = "replay",
    .summary = "run traces on this machine with MPI, and fit a cluster to it",
    .arguments = "[TRACE...]",
    .description =

        "Runs a set of traces on this machine, one MPI process per rank. Collectives "
        "and messages are MPI's. Compute is spinning, matmuls or sleep for the "
        "recorded time; loads and stores are copies. Prints the step time. For each "
        "collective and size, also prints measured, recorded and simulated times with"
        " algorithm and bus bandwidth.\n\n"
        "With --fit, measures the machine instead and writes a cluster file with "
        "which halley sim predicts traces. Ranks that do not match are refused before"
        " anything runs. If a process dies or the job is stuck, it ends with an error"
        " message, and finished repeats are kept.",
    .options = options,
    .options_size = sizeof(replay_options),
    .examples = examples,
    .max_args = REQUEST_ANY,
    .run = replay_run,
};
