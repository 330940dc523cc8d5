/*
 * halley help - prints the same text as --help, and the forms of it that are installed:
 * man pages and shell completion.
 */
#include "base/error.h"
#include "cli/commands.h"

typedef struct help_options {
    bool man, completion;
} help_options;

static const request_option options[] = {
    {.name = "man",
     .kind = REQUEST_FLAG,
     .offset = offsetof(help_options, man),
     .doc = "write the manual page (roff) of COMMAND, or of halley"},
    {.name = "completion",
     .kind = REQUEST_FLAG,
     .offset = offsetof(help_options, completion),
     .doc = "write the completion script for bash"},
    {0},
};

static halley_status help_run(request_call *call, halley_error *err)
{
    const help_options *o = call->options;
    const cli_program *program = call->program;
    if (o->completion) {
        if (call->n_args > 0 || o->man)
            return request_usage(call, err, "--completion stands alone");
        cli_completion(stdout, program);
        return HALLEY_OK;
    }
    const request_verb *command = NULL;
    const cli_group *group = NULL;
    const cli_format *format =
        call->n_args == 1 ? cli_find_format(program, call->args[0]) : NULL;
    if (format) {
        if (o->man)
            cli_man_format(stdout, program, format);
        else
            cli_help_format(stdout, program, format);
        return HALLEY_OK;
    }
    if (call->n_args > 0) {
        size_t n_used = 0;
        command = cli_find(program, call->args, call->n_args, &n_used, &group, err);
        if (err->code != HALLEY_OK || (command && n_used < call->n_args)) {
            call->exit_code = REQUEST_WRONG_USAGE;
            return err->code != HALLEY_OK
                       ? err->code
                       : request_usage(call, err, "'%s' has no sub-commands",
                                       command->name);
        }
    }
    if (o->man)
        cli_man(stdout, program, command);
    else if (command)
        cli_help_command(stdout, program, command);
    else if (group)
        cli_help_group(stdout, program, group);
    else
        cli_help_overview(stdout, program);
    return HALLEY_OK;
}

static const request_example examples[] = {
    {"halley help trace", "list the commands that work on traces"},
    {"halley help study", "list the keys of a study file"},
    {"halley help --completion > /etc/bash_completion.d/halley", NULL},
    {0},
};

const request_verb cmd_help = {
    .name = "help",
    .summary = "explain a command or a file format",
    .arguments = "[COMMAND|FILE]",
    .description =

        "Shows the help of COMMAND, as 'halley COMMAND --help' does. Without "
        "arguments, lists the commands and the file formats. With the name of a file "
        "format (cluster, json, model, plan-file, stack or study), lists its keys.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(help_options),
    .max_args = 2,
    .run = help_run,
};
