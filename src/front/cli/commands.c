/* The table of commands, in the order of the help. */
#include "cli/commands.h"

#include "base/arena.h"
#include "cli/chakra.h"
#include "halley/version.h"
#include "request/verbs.h"

/* clang-format off */
static const request_verb *const commands[] = {
    REQUEST_TRACE_VERBS(REQUEST_VERB_ROW)
    &cmd_trace_learn,
    &cmd_trace_synth,
    REQUEST_OTHER_VERBS(REQUEST_VERB_ROW)
    &cmd_replay,
    &cmd_serve,
    &cmd_request,
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
    .date = "2026-11-17",
    .summary = "how fast a model will train on a cluster before it exists, and why",
    .description =
        "halley predicts how fast a model will train on a cluster before it exists, and "
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

int cli_start(int argc, char **argv)
{
    arena memory = {0};
    int chakra_code;
    if (cli_chakra_run(&chakra_code, argc, argv))
        return chakra_code;
    char **const words = cli_astra_words(&memory, &argc, argv);
    const int code = cli_main(&cli_halley, argc, words);
    arena_fini(&memory);
    return code;
}
