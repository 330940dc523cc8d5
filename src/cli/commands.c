/* The table of commands; its order is that of the help. */
#include "cli/commands.h"

#include "halley/version.h"

/* One a line, so that a new one is one line. */
/* clang-format off */
static const cli_command *const commands[] = {
    &cmd_trace_info,
    &cmd_trace_check,
    &cmd_trace_convert,
    &cmd_trace_diff,
    &cmd_trace_slice,
    &cmd_trace_merge,
    &cmd_trace_gen,
    &cmd_trace_link,
    &cmd_trace_view,
    &cmd_trace_obfuscate,
    &cmd_trace_scale,
    &cmd_trace_compare,
    &cmd_trace_learn,
    &cmd_trace_synth,
    &cmd_estimate,
    &cmd_plan,
    &cmd_explore,
    &cmd_results,
    &cmd_sim,
    &cmd_topology_show,
    &cmd_topology_check,
    &cmd_topology_flows,
    &cmd_score,
    &cmd_calibrate,
    &cmd_presets,
    &cmd_help,
    NULL,
};
/* clang-format on */

static const cli_group groups[] = {
    {"topology", "networks as graphs: sizes, bisection, cost, flows"},
    {"trace", "read, check, make and change Chakra execution traces"},
    {0},
};

static const cli_format *const formats[] = {&format_cluster, &format_model, &format_plan,
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
