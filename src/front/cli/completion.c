/*
 * Writes the table of commands as a bash completion script: commands, options, and the
 * choices of an option. Everything else falls back to file names.
 */
#include "cli/cli.h"

#include <string.h>

static void first_words(FILE *to, const cli_program *program)
{
    fputs("    '')\n        words='", to);
    for (const cli_group *g = program->groups; g->name; g++)
        fprintf(to, "%s ", g->name);
    for (const request_verb *const *c = program->commands; *c; c++)
        if (!strchr((*c)->name, ' '))
            fprintf(to, "%s ", (*c)->name);
    fputs("--help --version' ;;\n", to);
}

static void second_words(FILE *to, const cli_program *program, const cli_group *group)
{
    fprintf(to, "    '%s')\n        words='", group->name);
    for (const request_verb *const *c = program->commands; *c; c++)
        if (cli_in_group(*c, group))
            fprintf(to, "%s ", (*c)->name + strlen(group->name) + 1);
    fputs("--help' ;;\n", to);
}

static void choices_of(FILE *to, const request_option *option)
{
    if (option->letter)
        fprintf(to, "        -%c|--%s) words='", option->letter, option->name);
    else
        fprintf(to, "        --%s) words='", option->name);
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        fprintf(to, "%s%s", i ? " " : "", option->choices[i]);
    fputs("' ;;\n", to);
}

/* After an option that takes a value: its choices, or nothing (file names). */
static void command_words(FILE *to, const request_verb *command)
{
    fprintf(to, "    '%s')\n        case $previous in\n", command->name);
    for (request_option_walk w = {.verb = command}; request_option_next(&w);)
        if (w.option.kind != REQUEST_FLAG && !w.option.implicit)
            choices_of(to, &w.option);
    fputs("        *) [[ $current != -* ]] || words='", to);
    for (request_option_walk w = {.verb = command}; request_option_next(&w);) {
        fprintf(to, "--%s ", w.option.name);
        if (w.option.negatable)
            fprintf(to, "--no-%s ", w.option.name);
    }
    fputs("--max-memory --help' ;;\n        esac ;;\n", to);
}

void cli_completion(FILE *to, const cli_program *program)
{
    fprintf(to,
            "# bash completion for %s, made by '%s help --completion'\n"
            "_%s()\n{\n"
            "    local current=${COMP_WORDS[COMP_CWORD]} words='' command=''\n"
            "    local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    ((COMP_CWORD < 2)) || command=${COMP_WORDS[1]}\n"
            "    case $command in\n",
            program->name, program->name, program->name);
    for (const cli_group *g = program->groups; g->name; g++)
        fprintf(to, "    %s) ((COMP_CWORD < 3)) || command+=\" ${COMP_WORDS[2]}\" ;;\n",
                g->name);
    fputs("    esac\n    case $command in\n", to);
    first_words(to, program);
    for (const cli_group *g = program->groups; g->name; g++)
        second_words(to, program, g);
    for (const request_verb *const *c = program->commands; *c; c++)
        command_words(to, *c);
    fprintf(to,
            "    esac\n"
            "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
            "}\ncomplete -o bashdefault -o default -F _%s %s\n",
            program->name, program->name);
}
