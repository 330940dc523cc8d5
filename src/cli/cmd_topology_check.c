/* halley topology check - whether a network can be built. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/topology.h"

#include <inttypes.h>

static const cli_example examples[] = {
    {"halley topology check fabric.yaml",
     "one line, or one sentence that says what is wrong"},
    {0},
};

static halley_status check_run(cli_call *call, halley_error *err)
{
    const cli_topology_choice *o = call->options;
    report_form form;
    halley_topology *topology;
    halley_topology_report *report;
    TRY(cli_output_form(&form, call, &o->output, err));
    TRY(cli_topology_measure(&report, &topology, call->args[0],
                             !o->no_cuts && form != REPORT_TEXT, err));
    halley_status status = HALLEY_OK;
    if (form == REPORT_TEXT)
        printf("%s: %s of %" PRIu32 " NPUs, %" PRIu64 " switches and %" PRIu32
               " cables, connected\n",
               call->args[0], report->generator, report->endpoints, report->devices[2],
               report->links);
    else
        status = form == REPORT_JSON ? cli_topology_json(report, err)
                                     : cli_topology_table(report, form, err);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return status;
}

const cli_command cmd_topology_check = {
    .name = "topology check",
    .summary = "check that a network can be built and is connected",
    .arguments = "FILE",
    .description =
        "Builds the graph of a network and checks it: known keys, sizes that multiply, "
        "positive rates, devices that exist, and a way from every NPU to every other. "
        "Prints one line, or with --json the report of topology show; exits with 1 and "
        "one "
        "sentence when something is wrong.\n"
        "\n" CLI_TOPOLOGY_FILE,
    .examples = examples,
    .options = cli_topology_options,
    .options_size = sizeof(cli_topology_choice),
    .min_args = 1,
    .max_args = 1,
    .run = check_run,
};
