/* halley topology check - whether a network can be built. */
#include "base/error.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <inttypes.h>

static const request_example examples[] = {
    {"halley topology check fabric.yaml",
     "one line, or one sentence that says what is wrong"},
    {0},
};

static halley_status check_run(request_call *call, halley_error *err)
{
    const request_topology_choice *o = call->options;
    report_form form;
    halley_topology *topology;
    halley_topology_report *report;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(request_topology_measure(&report, &topology, call->args[0],
                                 !o->no_cuts && form != REPORT_TEXT, err));
    halley_status status = HALLEY_OK;
    if (form == REPORT_TEXT)
        fprintf(call->out,
                "%s: %s of %" PRIu32 " NPUs, %" PRIu64 " switches and %" PRIu32
                " cables, connected\n",
                call->args[0], report->generator, report->endpoints, report->devices[2],
                report->links);
    else
        status = form == REPORT_JSON ? request_topology_json(call, report, err)
                                     : request_topology_table(call, report, form, err);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return status;
}

static const char *const topology_key[] = {"topology", NULL};

const request_verb request_verb_topology_check = {
    .name = "topology check",
    .summary = "check that a network can be built and is connected",
    .arguments = "FILE",
    .arg_keys = topology_key,
    .description =
        "Builds the graph of a network and checks it: known keys, sizes that multiply, "
        "positive rates, devices that exist, and a way from every NPU to every other. "
        "Prints one line, or with --json the report of topology show; exits with 1 and "
        "one "
        "sentence when something is wrong.\n"
        "\n" REQUEST_TOPOLOGY_FILE,
    .examples = examples,
    .options = request_topology_options,
    .options_size = sizeof(request_topology_choice),
    .min_args = 1,
    .max_args = 1,
    .run = check_run,
};
