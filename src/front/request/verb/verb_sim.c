/*
 * halley sim - simulate traces on a cluster. ASTRA-sim's own options and files select its
 * rules, which match it to the cycle.
 */
#include "base/error.h"
#include "base/str.h"
#include "halley/astra.h"
#include "halley/sim.h"
#include "report/sim.h"
#include "request/design.h"
#include "request/document.h"
#include "request/page.h"
#include "request/sim/jobs.h"
#include "request/sim/sim_astra.h"
#include "request/sim/sim_options.h"
#include "request/sim/sim_output.h"
#include "request/sim/sim_plan.h"
#include "request/sim/sim_untimed.h"
#include "request/sim/sim_usage.h"
#include "request/trace/fidelity.h"
#include "request/trace/roles.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <stdlib.h>
#include <string.h>

/* The last two are the names of version 1. */
static const char *const models[] = {
    "flow", "free", "queue", "unaware", "aware", "contention-free", "link-queue", NULL};
enum { FIRST_OLD_MODEL = 5 };
/* With --columns, more ranks have no use of links, which would need all ranks simulated.
 */
enum { MOST_HEAT_RANKS = 1024 };
static const halley_network_model models_of_words[] = {
    HALLEY_NETWORK_FLOW,  HALLEY_NETWORK_FREE, HALLEY_NETWORK_LINKS, HALLEY_NETWORK_FREE,
    HALLEY_NETWORK_LINKS, HALLEY_NETWORK_FREE, HALLEY_NETWORK_LINKS};
static const char *const computes[] = {"duration", "roofline", "cost", NULL};

/* Options for files, none by default: one that is read, one that is written. */
#define INPUT(key, member, meta, text, example_)                                         \
    {                                                                                    \
        .name = key, .kind = REQUEST_TEXT, .metavar = meta,                              \
        .offset = offsetof(sim_options, member), .doc = text, .by_default = "none",      \
        .example = example_                                                              \
    }
#define OUTPUT(key, member, meta, text, example_)                                        \
    {                                                                                    \
        .name = key, .kind = REQUEST_TEXT, .writes = true, .metavar = meta,              \
        .offset = offsetof(sim_options, member), .doc = text, .by_default = "none",      \
        .example = example_                                                              \
    }

typedef sim_options options_struct;
static const request_option options[] = {
    DESIGN_NAMES("none, simulate traces",
                 "none"){.name = "replay",
                         .kind = REQUEST_FLAG,
                         .offset = offsetof(sim_options, replay),
                         .doc = "use no cluster: every node takes its recorded duration"},
    {.name = "recorded-on",
     .kind = REQUEST_TEXT,
     .metavar = "DEVICE",
     .offset = offsetof(sim_options, recorded_on),
     .doc = "device of a recording that does not name it; kernels are re-timed for the "
            "cluster's device",
     .by_default = "as recorded",
     .example = "h100-sxm-80gb"},
    INPUT("workload-configuration", workload, "PREFIX",
          "simulate the traces PREFIX.0.et, PREFIX.1.et, ...", "workload/all_reduce"),
    INPUT("system-configuration", system, "FILE", "ASTRA-sim's system.json",
          "system.json"),
    INPUT("network-configuration", network, "FILE", "ASTRA-sim's network.yml",
          "network.yml"),
    {.name = "remote-memory-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, memory),
     .doc = "ASTRA-sim's remote_memory.json",
     .by_default = "no remote memory",
     .example = "remote_memory.json"},
    {.name = "comm-group-configuration",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(sim_options, group),
     .doc = "ASTRA-sim's comm_group.json",
     .by_default = "no groups; with --cluster, PREFIX.comm_group.json next to the traces "
                   "if it exists",
     .example = "comm_group.json"},
    {.name = "network-model",
     .kind = REQUEST_CHOICE,
     .choices = models,
     .offset = offsetof(sim_options, model),
     .doc = "flow: messages share links fairly; free: no contention; queue: one "
            "message per link at a time; unaware, aware: as in ASTRA-sim",
     .by_default = "the cluster's, else flow"},
    {.name = "compute",
     .kind = REQUEST_CHOICE,
     .choices = computes,
     .offset = offsetof(sim_options, compute),
     .doc = "time compute nodes as recorded, by the roofline, or by the cost model of "
            "the device",
     .by_default = "the cluster file's, else duration"},
    {.name = "num-queues-per-dim",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 4096,
     .metavar = "N",
     .offset = offsetof(sim_options, queues),
     .doc = "number of chunk queues per dimension",
     .by_default = "1",
     .example = "2"},
    {.name = "injection-scale",
     .kind = REQUEST_DOUBLE,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .offset = offsetof(sim_options, injection),
     .doc = "multiply endpoint-delay by X",
     .by_default = "1",
     .example = "0.5"},
    {.name = "rendezvous-protocol",
     .kind = REQUEST_TEXT,
     .metavar = "true|false",
     .implicit = "true",
     .offset = offsetof(sim_options, rendezvous),
     .doc = "use the rendezvous protocol for every message",
     .by_default = "false",
     .example = "true"},
    {.name = "comm-scale",
     .kind = REQUEST_DOUBLE,
     .metavar = "X",
     .offset = offsetof(sim_options, comm_scale),
     .doc = "ASTRA-sim 1.0 workloads: multiply message sizes by X; otherwise ignored",
     .by_default = "1",
     .example = "0.5"},
    {.name = "compute-scale",
     .kind = REQUEST_DOUBLE,
     .metavar = "X",
     .offset = offsetof(sim_options, compute_scale),
     .doc = "ASTRA-sim 1.0 workloads: multiply compute times by X; otherwise ignored",
     .by_default = "1",
     .example = "0.5"},
    INPUT("logging-configuration", logging, "FILE",
          "accepted for compatibility with ASTRA-sim and ignored", "logging.toml"),
    {.name = "logging-folder",
     .kind = REQUEST_TEXT,
     .metavar = "FOLDER",
     .writes = true,
     .offset = offsetof(sim_options, logging_folder),
     .doc = "with --astra-output: also write FOLDER/log.log and FOLDER/err.log, as "
            "ASTRA-sim does",
     .by_default = "none; log when called as ASTRA-sim",
     .example = "log"},
    INPUT("logical-topology-configuration", logical_topology, "FILE",
          "ASTRA-sim with ns-3: the logical dimensions. --network-configuration is "
          "then ns-3's config.txt. The flow model is used instead of packets",
          "logical_8nodes_1D.json"),
    INPUT("htsim-proto", htsim_proto, "PROTOCOL",
          "ASTRA-sim with HTSim: the protocol; ignored by the flow model", "tcp"),
    INPUT("htsim-topology", htsim_topology, "FILE",
          "ASTRA-sim with HTSim: the network, as in --htsim_opts -topo FILE; the flow "
          "model is used instead of packets",
          "leaf_spine.topo"),
    {.name = "num-passes",
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1000000,
     .metavar = "N",
     .offset = offsetof(sim_options, passes),
     .doc = "ASTRA-sim 1.0 workloads: number of training steps",
     .by_default = "1",
     .example = "2"},
    OUTPUT("write-cluster", write_cluster, "FILE",
           "write the cluster as a halley cluster file; without traces, do only that",
           "cluster.yaml"),
    {.name = "astra-output",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, astra_output),
     .doc = "write ASTRA-sim's log, including dates and rings"},
    {.name = "per-rank",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, per_rank),
     .doc = "write a CSV row per rank"},
    OUTPUT("per-node", per_node, "FILE", "write a CSV row per node of every rank to FILE",
           "nodes.csv"),
    OUTPUT("timeline", timeline, "FILE",
           "write a timeline for Perfetto and chrome://tracing: one representative rank "
           "of each symmetry class",
           "step.json"),
    INPUT("expand", expand, "RANKS", "with --timeline: also show these ranks, or all",
          "0-7,64"),
    OUTPUT("columns", columns, "FILE",
           "write timeline, critical path, memory and (up to 1,024 ranks) link "
           "utilization as binary columns for the web page (doc/reference/columns.md)",
           "step.columns"),
    {.name = "all-ranks",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, all_ranks),
     .doc = "with --columns: write every rank, not only one of those whose totals are "
            "equal"},
    OUTPUT("heat", heat, "FILE",
           "write link utilization over time as CSV, or as a picture if FILE ends with "
           ".svg",
           "heat.svg"),
    OUTPUT("links", links, "FILE",
           "write bytes, utilization and users of every link, in both directions, as CSV",
           "links.csv"),
    OUTPUT("memory", memory_out, "FILE",
           "write the memory use of the NPUs over time as CSV", "memory.csv"),
    {.name = "explain",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, explain),
     .doc = "explain the time: print the critical path"},
    {.name = "stop-at",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(sim_options, stop_at),
     .doc = "stop at this simulated time and report what was done so far",
     .by_default = "none",
     .example = "5 ms"},
    {.name = "slow",
     .kind = REQUEST_TEXTS,
     .metavar = "NPUS=FACTOR",
     .offset = offsetof(sim_options, slow),
     .doc = "stragglers: compute on these NPUs takes FACTOR times as long. NPUS is 3, "
            "0-7, node2 or node0-3",
     .by_default = "none",
     .example = "node2=1.1"},
    {.name = "late",
     .kind = REQUEST_TEXTS,
     .metavar = "NPUS=TIME",
     .offset = offsetof(sim_options, late),
     .doc = "these NPUs start TIME after the others",
     .by_default = "none",
     .example = "3=5 ms"},
    {.name = "job",
     .kind = REQUEST_TEXTS,
     .metavar = "TRACE",
     .offset = offsetof(sim_options, jobs),
     .doc = "traces of one job, instead of TRACE; repeat it for several jobs on the "
            "cluster. Reports the time of each job alone and with the others",
     .by_default = "none",
     .example = "train"},
    {.name = "placement",
     .kind = REQUEST_TEXT,
     .metavar = "HOW",
     .offset = offsetof(sim_options, placement),
     .doc = "where jobs run: packed (whole nodes in order), spread (over the leaves), "
            "random:SEED, or a file that lists the NPUs of each job",
     .by_default = "packed",
     .example = "random:7"},
    {.name = "no-fold",
     .kind = REQUEST_FLAG,
     .offset = offsetof(sim_options, no_fold),
     .doc = "simulate every rank, without using symmetry; the result is the same"},
    REQUEST_REPORT_OPTION(sim_options, report),
    {.name = "shuffle",
     .kind = REQUEST_U64,
     .min = 1,
     .max = 9e15,
     .metavar = "SEED",
     .offset = offsetof(sim_options, shuffle),
     .doc = "execute events of one instant in a random order (network model flow); a "
            "self-test of the simulator, whose result must not change",
     .by_default = "none",
     .example = "7"},
    REQUEST_OUTPUT_OPTIONS(sim_options, output),
    DESIGN_PLAN DESIGN_HEADROOM{0},
};

static const sim_options defaults = {.queues = 1, .injection = 1};

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
    if (o->system != NULL && in->set != NULL)
        status = fidelity_note_lanes(call, in->set, halley_result_wall_s(result), err);
    if (status == HALLEY_OK)
        status = sim_output_write(call, result, in, cluster, err);
    halley_result_free(result);
    return status;
}

/* Simulate a set that is stored as roles, by its index. */
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

/* Load the traces: the argument, or ASTRA-sim's option. If only a run under the model
 * flow reads them, equivalent ranks need not be loaded completely. */
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
    TRY(request_cluster_load(out, call, o->design.cluster, err));
    if (o->group == NULL)
        return HALLEY_OK;
    const halley_status status = halley_cluster_load_groups(*out, o->group, err);
    if (status != HALLEY_OK)
        halley_cluster_free(*out);
    return status;
}

/* Without traces, report only the cluster that was written. */
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

/* Apply the options that change the cluster. */
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

/* Replay on the machine that the traces were recorded on. */
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

/* Simulate a model and a plan instead of traces. */
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
    TRY(sim_usage_check_plan(call, err));
    if (o->design.model != NULL)
        return simulate_plan(call, err);
    TRY(sim_usage_check(call, err));
    if (o->replay)
        return replay_set(call, err);
    sim_usage_warn(call);
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

        "Simulates Chakra traces, one per rank, on a cluster and reports when every "
        "rank is done. With ASTRA-sim's options and files the cycles are ASTRA-sim's.\n\n"
        "With --model, simulates a training step of a plan instead: one program per "
        "pipeline stage, with the operator times of `halley estimate`, executed by "
        "every rank. Prints the step time next to its closed form, the exposed "
        "communication, and the busiest links with their users.",
    .options = options,
    .options_size = sizeof(sim_options),
    .defaults = &defaults,
    .examples = examples,
    .max_args = REQUEST_ANY,
    .keeps_unknown = true,
    .run = simulate_run,
};
