/*
 * halley sim - replay traces on a cluster. ASTRA-sim's own options and files choose its
 * rules, to the cycle.
 */
#include "base/error.h"
#include "base/str.h"
#include "halley/astra.h"
#include "halley/sim.h"
#include "report/columns.h"
#include "report/sim.h"
#include "request/design.h"
#include "request/document.h"
#include "request/page.h"
#include "request/sim/jobs.h"
#include "request/sim/sim_astra.h"
#include "request/sim/sim_plan.h"
#include "request/sim/sim_untimed.h"
#include "request/trace/roles.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <stdlib.h>
#include <string.h>

/* The last two are the words of version 1. */
static const char *const models[] = {
    "flow", "free", "queue", "unaware", "aware", "contention-free", "link-queue", NULL};
enum { FIRST_OLD_MODEL = 5 };
/* With --columns, more ranks have no use of links: that needs every rank to be run. */
enum { MOST_HEAT_RANKS = 1024 };
static const halley_network_model models_of_words[] = {
    HALLEY_NETWORK_FLOW,  HALLEY_NETWORK_FREE, HALLEY_NETWORK_LINKS, HALLEY_NETWORK_FREE,
    HALLEY_NETWORK_LINKS, HALLEY_NETWORK_FREE, HALLEY_NETWORK_LINKS};
static const char *const computes[] = {"duration", "roofline", "cost", NULL};

typedef struct sim_options {
    const char *write_cluster;
    const char *workload, *system, *network, *memory, *group;
    const char *logging, *logging_folder, *rendezvous;
    const char *logical_topology, *htsim_proto, *htsim_topology;
    uint32_t model, queues, compute, passes;
    double injection, comm_scale, compute_scale;
    bool astra_output, per_rank, explain, replay, no_fold;
    uint64_t shuffle;
    const char *per_node, *timeline, *heat, *links, *memory_out, *recorded_on, *expand;
    const char *report;
    const char *columns;
    bool all_ranks;
    double stop_at;
    request_texts jobs, slow, late;
    const char *placement;
    request_output output;
    design_options design; /* its cluster serves traces, too */
} sim_options;

typedef sim_options options_struct;
static const request_option options[] = {
    DESIGN_NAMES{.name = "replay",
                 .kind = REQUEST_FLAG,
                 .offset = offsetof(sim_options, replay),
                 .doc = "instead of a cluster: every node takes its recorded duration"},
    {.name = "recorded-on",
     .kind = REQUEST_TEXT,
     .metavar = "DEVICE",
     .offset = offsetof(sim_options, recorded_on),
     .doc = "the device of a recording that does not name it: its kernels are re-timed "
            "for the cluster's device"},
    {.name = "workload-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "PREFIX",
     .offset = offsetof(sim_options, workload),
     .doc = "traces PREFIX.0.et, PREFIX.1.et ..."},
    {.name = "system-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, system),
     .doc = "ASTRA-sim's system.json"},
    {.name = "network-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, network),
     .doc = "ASTRA-sim's network.yml"},
    {.name = "remote-memory-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, memory),
     .doc = "ASTRA-sim's remote_memory.json (default: no remote memory)"},
    {.name = "comm-group-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, group),
     .doc = "ASTRA-sim's comm_group.json (default: no groups; with --cluster, "
            "PREFIX.comm_group.json beside the traces if there is one)"},
    {.name = "network-model",
     .kind = REQUEST_CHOICE,
     .choices = models,
     .offset = offsetof(sim_options, model),
     .doc =
         "flow: messages share links fairly; free: every message has its route to "
         "itself; "
         "queue: a link sends one message at a time; unaware, aware: the last two as "
         "ASTRA-sim has them (default: as the cluster file says, else flow, and unaware "
         "with ASTRA-sim's files)"},
    {.name = "compute",
     .kind = REQUEST_CHOICE,
     .choices = computes,
     .offset = offsetof(sim_options, compute),
     .doc = "time compute nodes as recorded, by the roofline, or by the model of the NPU "
            "(default: as the cluster file says, else duration)"},
    {.name = "num-queues-per-dim",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 4096,
     .metavar = "N",
     .offset = offsetof(sim_options, queues),
     .doc = "queues for chunks in every dimension (default: 1)"},
    {.name = "injection-scale",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .offset = offsetof(sim_options, injection),
     .doc = "multiply endpoint-delay by X (default: 1)"},
    {.name = "rendezvous-protocol",
     .kind = REQUEST_TEXT,
     .metavar = "true|false",
     .implicit = "true",
     .offset = offsetof(sim_options, rendezvous),
     .doc = "use the rendezvous protocol for every message (default: false)"},
    {.name = "comm-scale",
     .kind = REQUEST_DOUBLE,
     .metavar = "X",
     .offset = offsetof(sim_options, comm_scale),
     .doc = "factor of sizes of a workload of ASTRA-sim 1.0; else without effect"},
    {.name = "compute-scale",
     .kind = REQUEST_DOUBLE,
     .metavar = "X",
     .offset = offsetof(sim_options, compute_scale),
     .doc = "factor of times of a workload of ASTRA-sim 1.0; else without effect"},
    {.name = "logging-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, logging),
     .doc = "accepted, without effect"},
    {.name = "logging-folder",
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .writes = true,
     .offset = offsetof(sim_options, logging_folder),
     .doc = "with --astra-output: write FOLDER/log.log and FOLDER/err.log, too, as "
            "ASTRA-sim does (default: none; log when called as ASTRA-sim)"},
    {.name = "logical-topology-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, logical_topology),
     .doc =
         "ASTRA-sim with ns-3: its logical dimensions; --network-configuration is then "
         "ns-3's config.txt, and the flow model answers in place of packets"},
    {.name = "htsim-proto",
     .kind = REQUEST_TEXT,
     .metavar = "PROTOCOL",
     .offset = offsetof(sim_options, htsim_proto),
     .doc = "ASTRA-sim with HTSim: its protocol; without effect on the flow model"},
    {.name = "htsim-topology",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, htsim_topology),
     .doc = "ASTRA-sim with HTSim: the network, as --htsim_opts -topo FILE at the end of "
            "the line; the flow model answers in place of packets"},
    {.name = "num-passes",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1000000,
     .metavar = "N",
     .offset = offsetof(sim_options, passes),
     .doc = "training steps of a workload file of ASTRA-sim 1.0 (default: 1)"},
    {.name = "write-cluster",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, write_cluster),
     .doc = "write the cluster in our own form to FILE; without traces, do only that"},
    {.name = "astra-output",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, astra_output),
     .doc = "write the log that ASTRA-sim writes, dates and rings included"},
    {.name = "per-rank",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, per_rank),
     .doc = "write a CSV row for every rank"},
    {.name = "per-node",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, per_node),
     .doc = "write a CSV row for every node of every rank to FILE"},
    {.name = "timeline",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, timeline),
     .doc = "write a timeline that Perfetto and chrome://tracing open: one rank of each "
            "symmetry class, with those it represents"},
    {.name = "expand",
     .kind = REQUEST_TEXT,
     .metavar = "RANKS",
     .offset = offsetof(sim_options, expand),
     .doc = "with --timeline: also these ranks (0-7,64), or all"},
    {.name = "columns",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, columns),
     .doc = "write timeline, critical path, memory and (up to 1,024 ranks) use of links "
            "over time as binary columns for the web page (doc/reference/columns.md)"},
    {.name = "all-ranks",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, all_ranks),
     .doc = "with --columns: write every rank (default: one of those whose totals are "
            "equal)"},
    {.name = "heat",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, heat),
     .doc = "write how busy links were over time, as CSV or (FILE.svg) a picture"},
    {.name = "links",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, links),
     .doc = "write bytes, use and users of every link, in both directions, as CSV"},
    {.name = "memory",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(sim_options, memory_out),
     .doc = "write how full the NPUs' memories were over time, as CSV"},
    {.name = "explain",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, explain),
     .doc = "explain the time: print the critical path"},
    {.name = "stop-at",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(sim_options, stop_at),
     .doc = "end the run after TIME, such as '5 ms', and report what was done"},
    {.name = "slow",
     .kind = REQUEST_TEXTS,
     .metavar = "NPUS=FACTOR",
     .offset = offsetof(sim_options, slow),
     .doc = "stragglers: compute on these NPUs takes FACTOR times as long; NPUS is 3, "
            "0-7, node2 or node0-3; may be repeated"},
    {.name = "late",
     .kind = REQUEST_TEXTS,
     .metavar = "NPUS=TIME",
     .offset = offsetof(sim_options, late),
     .doc = "these NPUs begin TIME after the others, such as '3=5 ms'; may be repeated"},
    {.name = "job",
     .kind = REQUEST_TEXTS,
     .metavar = "TRACE",
     .offset = offsetof(sim_options, jobs),
     .doc = "in place of TRACE, once for each of several jobs on the cluster: the time "
            "of each alone and with the others"},
    {.name = "placement",
     .kind = REQUEST_TEXT,
     .metavar = "HOW",
     .offset = offsetof(sim_options, placement),
     .doc = "where jobs go: packed, whole nodes in order; spread, nodes of each job "
            "dealt out over the leaves; random:SEED; or a file that lists the NPUs of "
            "each job, [[0, 1], \"2-3\"] (default: packed)"},
    {.name = "no-fold",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, no_fold),
     .doc = "run every rank, also those that are known to do the same as another; the "
            "result is the same"},
    REQUEST_REPORT_OPTION(sim_options, report),
    {.name = "shuffle",
     .kind = REQUEST_U64,
     .min = 1,
     .max = 9e15,
     .metavar = "SEED",
     .offset = offsetof(sim_options, shuffle),
     .doc = "carry out what happens at one instant in a random order: a test of the "
            "simulator, whose result must not change (network model flow)"},
    REQUEST_OUTPUT_OPTIONS(sim_options, output),
    DESIGN_PLAN DESIGN_HEADROOM{0},
};

static const sim_options defaults = {.queues = 1, .injection = 1};

static halley_status write_verdict_json(report_json *j, const halley_result *result,
                                        const report_traces *traces, halley_error *err)
{
    char verdict[REPORT_LOSSES_TEXT];
    TRY(report_sim_verdict(verdict, result, traces, err));
    report_json_text(j, "verdict", str_from(verdict));
    return HALLEY_OK;
}

/* A page explains the run. `what` is a sim_outcome. */
typedef struct sim_outcome {
    const halley_result *result;
    const report_traces *traces;
} sim_outcome;

static halley_status write_sim_json(const request_call *call, const void *what,
                                    halley_error *err)
{
    const sim_options *o = call->options;
    const sim_outcome *const s = what;
    const bool explains = o->explain || o->report != NULL;
    report_json j;
    request_json_begin(&j, call);
    halley_status status = report_sim_json(&j, s->result, err);
    if (status == HALLEY_OK && explains)
        status = report_sim_explain_json(&j, s->result, s->traces, o->explain, err);
    if (status == HALLEY_OK && explains)
        status = write_verdict_json(&j, s->result, s->traces, err);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

static halley_status write_sim_page(const request_call *call, const sim_outcome *outcome,
                                    const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    strbuf timeline = {0};
    if (o->report == NULL)
        return HALLEY_OK;
    const report_columns_options columns = {
        .page = &timeline, .npus_per_node = halley_cluster_npus_per_node(cluster)};
    halley_status status =
        report_sim_columns(outcome->result, outcome->traces, &columns, NULL, err);
    if (status == HALLEY_OK) {
        const request_page page = {"sim", "A simulation", write_sim_json, outcome,
                                   strbuf_str(&timeline)};
        status = request_page_save(call, o->report, &page, err);
    }
    strbuf_fini(&timeline);
    return status;
}

static halley_status write_sim_output(request_call *call, const sim_outcome *outcome,
                                      const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    const halley_result *const result = outcome->result;
    char verdict[REPORT_LOSSES_TEXT];
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->astra_output)
        return sim_astra_write_log(call->out, result, outcome->traces, cluster,
                                   o->logging_folder, err);
    if (form == REPORT_JSON)
        return write_sim_json(call, outcome, err);
    if (form == REPORT_CSV || o->per_rank)
        return report_sim_ranks(result, call->out, err);
    TRY(report_sim_text(result, call->out, err));
    if (!o->explain)
        return HALLEY_OK;
    TRY(report_sim_verdict(verdict, result, outcome->traces, err));
    fprintf(call->out, "\nVerdict: %s.\n\n", verdict);
    return report_sim_explain(result, outcome->traces, call->out, err);
}

/* Files come last: none may appear when the result itself cannot be written. */
static halley_status write_sim_result(request_call *call, const halley_result *result,
                                      const report_traces *traces,
                                      const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    const sim_outcome outcome = {result, traces};
    const report_columns_options columns = {.all_ranks = o->all_ranks,
                                            .npus_per_node =
                                                halley_cluster_npus_per_node(cluster)};
    TRY(write_sim_output(call, &outcome, cluster, err));
    if (o->columns != NULL)
        TRY(report_sim_columns(result, traces, &columns, o->columns, err));
    if (o->per_node != NULL)
        TRY(report_sim_nodes(result, traces, o->per_node, err));
    if (o->heat != NULL)
        TRY(report_sim_heat(result, o->heat, err));
    if (o->links != NULL)
        TRY(report_sim_links(result, o->links, err));
    if (o->memory_out != NULL)
        TRY(report_sim_memory(result, o->memory_out, err));
    if (o->timeline != NULL)
        TRY(report_sim_timeline(result, traces, o->timeline, o->expand, err));
    return write_sim_page(call, &outcome, cluster, err);
}

static halley_sim_opts read_run_options(const request_call *call)
{
    const sim_options *o = call->options;
    return (halley_sim_opts){
        .stop_s = o->stop_at,
        .recorded_on = o->recorded_on,
        .no_fold = o->no_fold,
        .shuffle = o->shuffle,
        .heat = o->heat != NULL,
        .all_links = o->links != NULL,
        .watch = call->watch,
        .network = HALLEY_NETWORK_AS_CLUSTER,
        .record = o->per_node != NULL || o->timeline != NULL || o->explain ||
                  o->report != NULL || o->memory_out != NULL || o->columns != NULL,
    };
}

static halley_status simulate_input(request_call *call, const halley_cluster *cluster,
                                    const report_traces *in, halley_error *err)
{
    const sim_options *o = call->options;
    halley_sim_opts opts = read_run_options(call);
    halley_result *result;
    const uint32_t n_ranks = in->roles != NULL ? halley_template_ranks(in->roles)
                                               : halley_trace_set_count(in->set);
    opts.heat = o->heat != NULL || (o->columns != NULL && n_ranks <= MOST_HEAT_RANKS);
    if (o->astra_output)
        opts.journal = halley_astra_journal(cluster, o->logging_folder != NULL);
    TRY(sim_plan_check_expand(call, o->expand, o->timeline, n_ranks, err));
    halley_status status =
        in->roles != NULL
            ? halley_sim_run_template(&result, in->roles, cluster, &opts, err)
            : halley_sim_run(&result, in->set, cluster, &opts, err);
    request_work_end(call);
    if (status != HALLEY_OK)
        return status;
    if (halley_result_stopped(result))
        request_note(call, "stopped before all ranks were done");
    for (uint32_t i = 0; i < halley_result_warning_count(result); i++)
        request_note(call, "warning: %s", halley_result_warning(result, i));
    status = write_sim_result(call, result, in, cluster, err);
    halley_result_free(result);
    return status;
}

/* A set written as roles, by its index. */
static halley_status simulate_roles(request_call *call, const halley_cluster *cluster,
                                    const char *path, halley_error *err)
{
    halley_template *roles;
    TRY(halley_template_load(&roles, path, err));
    halley_status status = halley_template_check(roles, err);
    if (status == HALLEY_OK)
        status = simulate_input(call, cluster, &(report_traces){.roles = roles}, err);
    halley_template_free(roles);
    return status;
}

/* The traces: the argument, or ASTRA-sim's option. Where nothing but a run under the
 * model flow looks at them, ranks that are alike need not be whole. */
static halley_status load_traces(halley_trace_set **out, const request_call *call,
                                 const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    const halley_load_opts opts = {
        .frees_bytes = true,
        .differences_only = cluster != NULL && !read_run_options(call).record &&
                            halley_cluster_network_model(cluster) == HALLEY_NETWORK_FLOW};
    const halley_load_opts whole = {.frees_bytes = true};
    if (o->workload == NULL)
        return traces_load_by(out, call, 0, call->n_args, &opts, err);
    return halley_trace_set_load(out, &o->workload, 1, &whole, err);
}

static sim_astra_files list_astra_files(const sim_options *o)
{
    return (sim_astra_files){.workload = o->workload,
                             .system = o->system,
                             .network = o->network,
                             .memory = o->memory,
                             .group = o->group,
                             .rendezvous = o->rendezvous,
                             .logical_topology = o->logical_topology,
                             .htsim_topology = o->htsim_topology,
                             .queues = o->queues,
                             .passes = o->passes,
                             .injection = o->injection,
                             .comm_scale = o->comm_scale,
                             .compute_scale = o->compute_scale};
}

static halley_status load_sim_cluster(halley_cluster **out, request_call *call,
                                      halley_error *err)
{
    const sim_options *o = call->options;
    const sim_astra_files files = list_astra_files(o);
    if (o->design.cluster == NULL)
        return sim_astra_load_cluster(out, call, &files, err);
    TRY(request_cluster_load(out, o->design.cluster, err));
    if (o->group == NULL)
        return HALLEY_OK;
    const halley_status status = halley_cluster_load_groups(*out, o->group, err);
    if (status != HALLEY_OK)
        halley_cluster_free(*out);
    return status;
}

/* What ASTRA-sim takes and then forgets. */
static void warn_about_options(const request_call *call)
{
    const sim_options *o = call->options;
    static const char *const without_effect[] = {"comm-scale", "compute-scale"};
    for (size_t i = 0; i < 2; i++)
        if (request_given(call, without_effect[i]) && !sim_astra_has_text(o->workload))
            request_note(call, "warning: --%s has no effect", without_effect[i]);
    for (size_t i = 0; i < call->n_unknown; i++)
        request_note(call, "warning: %s is not an option; ignored, as ASTRA-sim does",
                     call->unknown[i]);
    for (size_t i = 0; o->workload != NULL && i < call->n_args; i++)
        request_note(call, "warning: '%s' is ignored, as ASTRA-sim does%s", call->args[i],
                     request_given(call, "rendezvous-protocol")
                         ? "; a value of "
                           "--rendezvous-protocol needs '='"
                         : "");
}

/* Several jobs have results of their own. */
static halley_status check_jobs_usage(request_call *call, halley_error *err)
{
    static const char *const others[] = {
        "per-rank", "per-node", "columns", "timeline", "heat",        "links",
        "memory",   "explain",  "stop-at", "replay",   "astra-output"};
    const sim_options *o = call->options;
    if (o->jobs.n == 0)
        return o->placement == NULL ? HALLEY_OK
                                    : request_usage(call, err, "--placement needs --job");
    if (call->n_args > 0 || o->workload != NULL || o->group != NULL)
        return request_usage(call, err,
                             "--job replaces TRACE; each job's groups are in the file "
                             "beside its traces");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (request_given(call, others[i]))
            return request_usage(call, err, "--%s and --job exclude each other",
                                 others[i]);
    return HALLEY_OK;
}

/* Options that only a plan, or only traces, can have. */
static halley_status check_plan_usage(request_call *call, halley_error *err)
{
    static const char *const of_traces[] = {"replay",
                                            "recorded-on",
                                            "workload-configuration",
                                            "system-configuration",
                                            "network-configuration",
                                            "remote-memory-configuration",
                                            "comm-group-configuration",
                                            "write-cluster",
                                            "astra-output",
                                            "memory",
                                            "stop-at",
                                            "job",
                                            "placement"};
    const sim_options *o = call->options;
    bool of_plan = false;
    if (o->design.model != NULL) {
        if (call->n_args > 0)
            return request_usage(call, err, "give traces or --model, not both");
        for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces; i++)
            if (request_given(call, of_traces[i]))
                return request_usage(call, err, "--%s is for traces, not for --model",
                                     of_traces[i]);
        if (call->n_unknown > 0)
            return request_usage(call, err, "unknown option %s", call->unknown[0]);
        return HALLEY_OK;
    }
    for (const request_option *it = options; it->name != NULL; it++) {
        of_plan |= strcmp(it->name, "plan") == 0;
        const bool of_design = of_plan || strcmp(it->name, "stack") == 0 ||
                               strcmp(it->name, "set") == 0 ||
                               strcmp(it->name, "vocab") == 0;
        if (of_design && request_given(call, it->name))
            return request_usage(call, err, "--%s needs --model", it->name);
    }
    return HALLEY_OK;
}

static halley_status check_sim_usage(request_call *call, halley_error *err)
{
    const sim_options *o = call->options;
    const bool astra = o->system != NULL || o->network != NULL || o->memory != NULL;
    if (o->design.cluster != NULL && astra)
        return request_usage(call, err,
                             "--cluster and ASTRA-sim's files exclude each other");
    if (o->astra_output && o->output.json)
        return request_usage(call, err, "--astra-output and --json exclude each other");
    if (o->replay && (o->design.cluster != NULL || astra))
        return request_usage(call, err, "--replay needs no cluster");
    TRY(check_jobs_usage(call, err));
    const bool has_traces = call->n_args > 0 || o->workload != NULL || o->jobs.n > 0;
    if (!o->replay && o->design.cluster == NULL && o->system == NULL &&
        o->network != NULL)
        return request_usage(call, err, "--system-configuration is missing");
    if (!o->replay && o->design.cluster == NULL && o->system != NULL &&
        o->network == NULL)
        return request_usage(call, err, "--network-configuration is missing");
    if (!o->replay && o->design.cluster == NULL && o->system == NULL)
        return request_usage(call, err,
                             "%s needed: --cluster, or --system-configuration and "
                             "--network-configuration; or --replay",
                             has_traces ? "a cluster is" : "a trace and a cluster are");
    if (call->n_args > 0 && o->workload != NULL && !astra)
        return request_usage(call, err, "traces are named twice");
    if (!has_traces && o->write_cluster == NULL)
        return request_usage(call, err,
                             "traces are needed: TRACE, or --workload-configuration; or "
                             "a model and a plan: --model");
    if (call->n_unknown > 0 && (o->design.cluster != NULL || o->replay))
        return request_usage(call, err, "unknown option %s", call->unknown[0]);
    return HALLEY_OK;
}

/* Without traces the cluster that was written is all there is to tell. */
static halley_status write_cluster_json(const request_call *call,
                                        const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    report_json j;
    if (!o->output.json)
        return HALLEY_OK;
    request_json_begin(&j, call);
    report_json_text(&j, "cluster", str_from(halley_cluster_name(cluster)));
    report_json_u64(&j, "npus", halley_cluster_npus(cluster));
    return request_json_end(&j, call, err);
}

/* What the options change of the cluster. */
static halley_status set_up_cluster(request_call *call, halley_cluster *cluster,
                                    halley_error *err)
{
    const sim_options *o = call->options;
    if (request_given(call, "network-model"))
        TRY(halley_cluster_set_network_model(cluster, models_of_words[o->model], err));
    if (o->model >= FIRST_OLD_MODEL)
        request_note(call, "note: the network model %s is now called %s",
                     models[o->model], models[o->model - FIRST_OLD_MODEL + 1]);
    if (request_given(call, "compute"))
        TRY(halley_cluster_set_compute(cluster, (halley_compute)o->compute, err));
    for (size_t i = 0; i < o->slow.n; i++)
        TRY(halley_cluster_set_slow(cluster, o->slow.at[i], err));
    for (size_t i = 0; i < o->late.n; i++)
        TRY(halley_cluster_set_late(cluster, o->late.at[i], err));
    return HALLEY_OK;
}

static halley_status run_on(request_call *call, halley_cluster *cluster,
                            halley_error *err)
{
    const sim_options *o = call->options;
    halley_trace_set *traces;
    TRY(set_up_cluster(call, cluster, err));
    for (uint32_t i = 0; i < halley_cluster_warning_count(cluster); i++)
        request_note(call, "warning: %s", halley_cluster_warning(cluster, i));
    for (uint32_t i = 0; i < halley_cluster_note_count(cluster); i++)
        request_note(call, "note: %s", halley_cluster_note(cluster, i));
    if (o->write_cluster != NULL)
        TRY(halley_cluster_save(cluster, o->write_cluster, err));
    if (o->jobs.n > 0) {
        const halley_sim_opts opts = read_run_options(call);
        return request_jobs_run(call, cluster, o->jobs, o->placement, &o->output, &opts,
                                err);
    }
    if (call->n_args == 0 && o->workload == NULL)
        return write_cluster_json(call, cluster, err);
    char *index = roles_find(call);
    if (index != NULL) {
        const halley_status done = simulate_roles(call, cluster, index, err);
        free(index);
        return done;
    }
    const sim_astra_files files = list_astra_files(o);
    TRY(sim_astra_has_text(o->workload)
            ? sim_astra_load_text(&traces, &files, cluster, err)
            : load_traces(&traces, call, cluster, err));
    halley_status status = HALLEY_OK;
    if (o->design.cluster != NULL && o->group == NULL)
        status = traces_take_groups(cluster, traces, err);
    if (status == HALLEY_OK)
        status = sim_time_untimed(call, cluster, traces, err);
    if (status == HALLEY_OK)
        status = simulate_input(call, cluster, &(report_traces){.set = traces}, err);
    halley_trace_set_free(traces);
    return status;
}

/* On the machine that the traces were recorded on. */
static halley_status replay_set(request_call *call, halley_error *err)
{
    halley_trace_set *traces;
    halley_cluster *cluster;
    TRY(load_traces(&traces, call, NULL, err));
    halley_status status = sim_time_untimed(call, NULL, traces, err);
    if (status == HALLEY_OK)
        status = halley_cluster_recorded(&cluster, halley_trace_set_count(traces), err);
    if (status == HALLEY_OK) {
        status = simulate_input(call, cluster, &(report_traces){.set = traces}, err);
        halley_cluster_free(cluster);
    }
    halley_trace_set_free(traces);
    return status;
}

/* A model and a plan in place of traces. */
static halley_status simulate_plan(request_call *call, halley_error *err)
{
    const sim_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    const sim_plan_options plan = {.design = &o->design,
                                   .json = form == REPORT_JSON,
                                   .csv = form == REPORT_CSV,
                                   .per_rank = o->per_rank,
                                   .explain = o->explain,
                                   .timeline = o->timeline,
                                   .columns = o->columns,
                                   .all_ranks = o->all_ranks,
                                   .expand = o->expand,
                                   .per_node = o->per_node,
                                   .heat = o->heat,
                                   .links = o->links,
                                   .report = o->report,
                                   .run = {.no_fold = o->no_fold,
                                           .shuffle = o->shuffle,
                                           .heat = o->heat != NULL,
                                           .watch = call->watch,
                                           .network = HALLEY_NETWORK_AS_CLUSTER}};
    return sim_plan_run(call, &plan, set_up_cluster, err);
}

static halley_status simulate_run(request_call *call, halley_error *err)
{
    const sim_options *o = call->options;
    halley_cluster *cluster;
    TRY(check_plan_usage(call, err));
    if (o->design.model != NULL)
        return simulate_plan(call, err);
    TRY(check_sim_usage(call, err));
    if (o->replay)
        return replay_set(call, err);
    warn_about_options(call);
    TRY(load_sim_cluster(&cluster, call, err));
    const halley_status status = run_on(call, cluster, err);
    halley_cluster_free(cluster);
    return status;
}

static const request_example examples[] = {
    {"halley trace gen all-reduce -n 8 -o ar && halley sim ar -c dgx-h100:8", NULL},
    {"halley sim ar -c cluster.yaml --explain", "what the time goes into"},
    {"halley sim -m llama3-8b -c dgx-h100:64 --tp 8 --pp 2 --global-batch 128",
     "a model under a plan: no traces are needed"},
    {"halley sim --workload-configuration=w --system-configuration=system.json "
     "--network-configuration=network.yml --astra-output",
     "as ASTRA-sim is called"},
    {"halley sim -c fabric.yaml --job a --job b --placement spread",
     "two jobs on one fabric"},
    {"halley sim step --replay", "as it was recorded"},
    {0},
};

const request_verb request_verb_sim = {
    .name = "sim",
    .summary = "simulate traces, or a model and a plan, on a cluster",
    .arguments = "[TRACE...]",
    .arg_keys = traces_key,
    .description =
        "Replay Chakra traces, one a rank, on a cluster and say when every rank "
        "is done. With ASTRA-sim's options and files the cycles are ASTRA-sim's.\n\n"
        "With --model, simulate a training step of a plan instead: one program per "
        "pipeline stage, with the prices of `halley estimate`, bound to every rank. "
        "Prints the step beside its closed form, what is exposed, the hottest links and "
        "who used them.",
    .options = options,
    .options_size = sizeof(sim_options),
    .defaults = &defaults,
    .examples = examples,
    .max_args = REQUEST_ANY,
    .keeps_unknown = true,
    .run = simulate_run,
};
