/*
 * cli/cli.h - the command line: turns words into a call of a verb. The table of verbs
 * also defines --help, man pages, completion, and "did you mean".
 *
 * A command is a request_verb (request/verb.h). Most commands are also requests and are
 * defined in src/front/request/verb/; the head of request/verb.h has the checklist for
 * adding one. A command that is no request (help, trace learn, trace synth) needs:
 *   1. src/front/cli/cmd_<name>.c  with `const request_verb cmd_<name> = {...}`
 *   2. one line in commands.h, one row in commands.c, one line in meson.build
 *   3. tests/cli/<name>.t    its golden tests (format: tests/cli/README.md)
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "request/verb.h"

/* Write its doc with values, default and example, for a page. */
void cli_option_doc(strbuf *to, const request_option *option);
void cli_entry_doc(strbuf *to, const request_entry *entry);

/* A kind of file, for section 5 of the manual: `halley help NAME`. */
typedef struct cli_format {
    const char *name;          /* "study" */
    const char *summary;       /* as for a command */
    const char *description;   /* as for a command */
    const request_list *lists; /* ends with {0} */
    const char *commands;      /* commands that read it: "explore" */
} cli_format;

/* The first word of two-word commands. */
typedef struct cli_group {
    const char *name, *summary;
} cli_group;

typedef struct cli_program {
    const char *name, *version, *summary;
    const char *date;                    /* of the version, "2026-11-15"; for man pages */
    const char *description;             /* for the overview man page */
    const request_verb *const *commands; /* in the order of the help; ends with NULL */
    const cli_group *groups;             /* ends with {0} */
    const cli_format *const *formats;    /* ends with NULL; may be NULL */
} cli_program;

/* The documentation of --max-memory, which every command has. */
#define CLI_MAX_MEMORY_DOC                                                               \
    "largest amount of memory to use (default: HALLEY_MAX_MEMORY, else half of the "     \
    "machine's; example: 8 GB)"

/* All of main(): finds and runs the command, prints errors, returns the exit code. */
int cli_main(const cli_program *program, int argc, char **argv);

/* Open a stream that writes its text to `to` and escapes everything that would control a
 * terminal. NULL: no memory. fclose ends it and leaves `to` open. */
FILE *cli_visible_open(FILE *to);

/* The pieces below are for cmd_help.c, the man pages and the tests. */

/*
 * Parse the words after the command's name into *call, whose program and command are set.
 * Memory comes from `memory`. If --help or -h is among the options, *help is set and
 * nothing else is checked.
 */
halley_status cli_parse(request_call *call, arena *memory, bool *help,
                        const char *const *words, size_t n_words, halley_error *err);
/*
 * Find the command that words[0] (and words[1]) name; it uses *n_used words. If NULL:
 * *group is the group if the words are only its name; else `err` explains what is wrong
 * and what was probably meant.
 */
const request_verb *cli_find(const cli_program *program, const char *const *words,
                             size_t n_words, size_t *n_used, const cli_group **group,
                             halley_error *err);

bool cli_in_group(const request_verb *command, const cli_group *group);
/* "-o, --out FILE" */
void cli_option_spelling(strbuf *to, const request_option *option);
/* "halley trace info [OPTIONS] TRACE..." */
void cli_synopsis(FILE *to, const cli_program *program, const request_verb *command);
void cli_help_overview(FILE *to, const cli_program *program);
void cli_help_group(FILE *to, const cli_program *program, const cli_group *group);
void cli_help_command(FILE *to, const cli_program *program, const request_verb *command);
/* Write man pages in man(7) macros: of a command, or of the whole program (command NULL).
 */
void cli_man(FILE *to, const cli_program *program, const request_verb *command);
/* Describe a kind of file: as its page in section 5, and as text. */
void cli_man_format(FILE *to, const cli_program *program, const cli_format *format);
void cli_help_format(FILE *to, const cli_program *program, const cli_format *format);
/* NULL if there is none of that name. */
const cli_format *cli_find_format(const cli_program *program, const char *name);
/* A bash completion script for the program. */
void cli_completion(FILE *to, const cli_program *program);

#endif
