/* halley topology check - whether a network can be built. */
#include "base/error.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <string.h>

static const request_example examples[] = {
    {"halley topology check fabric.yaml",
     "one line, or one sentence that says what is wrong"},
    {0},
};

static const char *name_endpoint(const halley_topology_report *r)
{
    if (strcmp(r->endpoint_kind, "npu") == 0)
        return "NPUs";
    return strcmp(r->endpoint_kind, "nic") == 0 ? "NICs" : "hosts";
}

static halley_status write_checked(const request_call *call,
                                   const halley_topology_report *r, report_form form,
                                   halley_error *err)
{
    if (form != REPORT_TEXT)
        return form == REPORT_JSON ? request_topology_json(call, r, NULL, err)
                                   : request_topology_table(call, r, NULL, form, err);
    if (r->connected)
        fprintf(call->out,
                "%s: %s of %" PRIu32 " %s, %" PRIu64 " switches and %" PRIu32
                " cables, connected\n",
                call->args[0], r->generator, r->endpoints, name_endpoint(r),
                r->devices[2], r->links);
    return HALLEY_OK;
}

static halley_status check_run(request_call *call, halley_error *err)
{
    const request_topology_choice *o = call->options;
    report_form form;
    halley_topology *topology;
    halley_topology_report *report;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(request_topology_measure(&report, &topology, call, o,
                                 !o->no_cuts && form != REPORT_TEXT, err));
    halley_status status = write_checked(call, report, form, err);
    if (status == HALLEY_OK)
        status = halley_topology_check(topology, err);
    if (status != HALLEY_OK)
        error_at_file(err, call->args[0]);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return status;
}

static const char *const topology_key[] = {"topology", NULL};

const request_verb request_verb_topology_check = {
    .name = "topology check",
    .summary = "check that a network can be built and is connected",
    .arguments = "FILE|CLUSTER",
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
