/* halley topology show - what a network is made of. */
#include "base/error.h"
#include "report/topology.h"
#include "request/topology.h"
#include "request/verbs.h"

typedef struct show_options {
    request_topology_choice choice;
    const char *picture;
} show_options;

static const request_option options[] = {
    {.name = "no-cuts",
     .kind = REQUEST_FLAG,
     .offset = offsetof(show_options, choice.no_cuts),
     .doc =
         "leave out cuts, bisections and collectives, which take long on large networks"},
    {.name = "picture",
     .kind = REQUEST_TEXT,
     .offset = offsetof(show_options, picture),
     .metavar = "FILE",
     .doc = "draw the network into FILE, .svg or .html"},
    REQUEST_TOPOLOGY_SOURCE(show_options, choice.source),
    REQUEST_OUTPUT_OPTIONS(show_options, choice.output),
    {0},
};

static const request_example examples[] = {
    {"halley topology show fabric.yaml", "sizes, distances, bisection, cost and power"},
    {"halley topology show fabric.yaml --json", "the same for programs"},
    {"halley topology show ibnet.out.zst --picture fabric.html", "a real fabric, drawn"},
    {0},
};
static bool generator_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_generator(i, &out->name, &out->doc) != 0;
}
static bool key_entry(request_entry *out, size_t i)
{
    *out = (request_entry){0};
    return halley_topology_key(i, &out->name, &out->doc) != 0;
}
static const request_list lists[] = {
    {"topologies", generator_entry}, {"keys of a network", key_entry}, {0}};

static halley_status show_run(request_call *call, halley_error *err)
{
    const show_options *o = call->options;
    report_form form;
    halley_topology *topology;
    halley_topology_report *report;
    TRY(request_output_form(&form, call, &o->choice.output, err));
    TRY(request_topology_measure(&report, &topology, call, &o->choice, !o->choice.no_cuts,
                                 err));
    halley_status status = HALLEY_OK;
    if (o->picture != NULL)
        status =
            report_topology_picture(topology, report, call->args[0], o->picture, err);
    if (status == HALLEY_OK)
        status = form == REPORT_JSON ? request_topology_json(call, report, err)
                                     : request_topology_table(call, report, form, err);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return status;
}

static const char *const topology_key[] = {"topology", NULL};

const request_verb request_verb_topology_show = {
    .name = "topology show",
    .summary = "describe a network: sizes, bisection, cost and power",
    .arguments = "FILE",
    .arg_keys = topology_key,
    .description =
        "Builds the graph of a network and prints what it is made of: devices by kind, "
        "cables with their rates and latencies, distances between the NPUs in links, the "
        "rate at which an NPU can inject, the cut between the first half of the NPUs and "
        "the rest, the bisection (the smallest such cut; by the formula of the topology, "
        "or "
        "over all equal splits of at most 12 NPUs), the capacity down over the capacity "
        "up "
        "of every tier of switches, the time of an all-reduce and an all-to-all of 1 GB "
        "per "
        "NPU on the idle network, cost and power.\n"
        "\n" REQUEST_TOPOLOGY_FILE,
    .examples = examples,
    .options = options,
    .options_size = sizeof(show_options),
    .min_args = 1,
    .max_args = 1,
    .lists = lists,
    .run = show_run,
};
