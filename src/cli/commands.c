/* The table of commands; its order is that of the help. */
#include "cli/commands.h"

#include "halley/version.h"
#include "request/verbs.h"

/* One a line, so that a new one is one line. */
/* clang-format off */
static const request_verb *const commands[] = {
    &request_verb_trace_info,
    &request_verb_trace_check,
    &request_verb_trace_convert,
    &request_verb_trace_diff,
    &request_verb_trace_slice,
    &request_verb_trace_merge,
    &request_verb_trace_gen,
    &request_verb_trace_link,
    &request_verb_trace_view,
    &request_verb_trace_timeline,
    &request_verb_trace_obfuscate,
    &request_verb_trace_scale,
    &request_verb_trace_spread,
    &request_verb_trace_fit,
    &request_verb_trace_compare,
    &cmd_trace_learn,
    &cmd_trace_synth,
    &request_verb_estimate,
    &request_verb_plan,
    &request_verb_explore,
    &request_verb_results,
    &request_verb_sim,
    &request_verb_topology_show,
    &request_verb_topology_check,
    &request_verb_topology_convert,
    &request_verb_topology_compare,
    &request_verb_topology_flows,
    &request_verb_score,
    &request_verb_calibrate,
    &request_verb_presets,
    &cmd_help,
    NULL,
};
/* clang-format on */

static const cli_group groups[] = {
    {"topology", "networks as graphs: sizes, bisection, cost, flows"},
    {"trace", "read, check, make and change Chakra execution traces"},
    {0},
};

static const cli_format *const formats[] = {
    &format_cluster, &format_json,  &format_model, &format_plan,
    &format_stack,   &format_study, NULL};

const cli_program cli_halley = {
    .name = "halley",
    .version = HALLEY_VERSION,
    .date = "2026-11-15",
    .summary = "how fast a model will train on a cluster before it exists, and why",
    .description =
        "halley tells how fast a model will train on a cluster before it exists, and "
        "why. It makes and works on Chakra execution traces of distributed training, "
        "simulates them with the rules of ASTRA-sim, and estimates training steps in "
        "closed form.\n"
        "\n"
        "Results go to standard output as tables with units; --json and --csv write "
        "plain numbers in base units.",
    .commands = commands,
    .groups = groups,
    .formats = formats,
};
