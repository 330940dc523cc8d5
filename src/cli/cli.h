/*
 * cli/cli.h - the command line as data. A command is one cli_command: parsing, --help,
 * the man page, shell completion and "did you mean" are all made from it.
 *
 * To add a command "trace info":
 *   1. src/cli/cmd_trace_info.c  with `const cli_command cmd_trace_info = {...}`
 *   2. one line in commands.h, one row in commands.c, one line in meson.build
 *   3. tests/cli/trace_info.t    its golden tests (format: tests/cli/README.md)
 * The man page halley-trace-info.1 is made from the table by the build.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/arena.h"
#include "base/units.h"
#include "halley/error.h"
#include "report/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_MAX_OPTIONS = 128 }; /* of one command */

/* What an option takes, and the type of the member it is stored in. */
typedef enum cli_kind {
    CLI_FLAG,     /* nothing; bool */
    CLI_TEXT,     /* any text; const char *, lent from argv */
    CLI_TEXTS,    /* any text, may be repeated; cli_texts */
    CLI_U32,      /* a whole number; uint32_t */
    CLI_U64,      /* a whole number; uint64_t */
    CLI_DOUBLE,   /* a plain number; double */
    CLI_QUANTITY, /* a number with a unit; double in the unit of `unit` */
    CLI_CHOICE,   /* one of `choices`; uint32_t, its index */
} cli_kind;

typedef struct cli_texts {
    const char *const *at;
    size_t n;
} cli_texts;

typedef struct cli_option {
    const char *name; /* "depth" for --depth */
    char letter;      /* 'd' for -d; 0 = none. 'h' is taken by --help */
    cli_kind kind;
    bool negatable;             /* FLAG: --no-depth, too, which stores false */
    units_kind unit;            /* QUANTITY */
    double min, max;            /* numbers: inclusive; both 0 = no bound */
    const char *metavar;        /* "N"; NULL for flags and choices */
    const char *const *choices; /* CHOICE: names, ends with NULL */
    const char *implicit; /* value of "--name" alone; then only "--name=" takes another */
    size_t offset;        /* offsetof the member in the options struct */
    const char *doc;      /* a phrase: "stop after N levels (default: no limit)" */
} cli_option;

typedef struct cli_example {
    const char *command; /* "halley trace info ring" */
    const char *doc;     /* "what it shows", a phrase; may be NULL */
} cli_example;

/* What the library has in a table and a page lists: the keys of a file, its parameters.
 */
typedef struct cli_entry {
    const char *name, *doc;           /* lent */
    const char *by_default, *example; /* values as files write them; NULL = not shown */
    const char *const *values;        /* that it may have, ends with NULL; NULL = any */
} cli_entry;
typedef struct cli_list {
    const char *title;                       /* "keys of a study file" */
    bool (*entry)(cli_entry *out, size_t i); /* false past the last */
} cli_list;
/* Its doc with values, default and example, for a page. */
void cli_entry_doc(strbuf *to, const cli_entry *entry);

/* A kind of file, for section 5 of the manual: `halley help NAME`. */
typedef struct cli_format {
    const char *name;        /* "study" */
    const char *summary;     /* as that of a command */
    const char *description; /* as that of a command */
    const cli_list *lists;   /* ends with {0} */
    const char *commands;    /* that read it: "explore" */
} cli_format;

typedef struct cli_call cli_call;

/*
 * Do the work. Results go to stdout through stdio, nothing else does. On failure return
 * the status with `err` written: the framework prints "halley: <sentence>" and exits 1.
 * For an exit code without a sentence (`diff` found differences) set call->exit_code and
 * return HALLEY_OK. For wrong usage return cli_usage(call, err, ...). Whether stdout took
 * everything is checked by the framework.
 */
typedef halley_status cli_run(cli_call *call, halley_error *err);

typedef struct cli_command {
    const char *name;            /* "trace info", or one word */
    const char *summary;         /* a phrase, no capital, no period: "describe traces" */
    const char *arguments;       /* "TRACE..." as in the synopsis; "" = none */
    const char *description;     /* paragraphs, separated by blank lines */
    const cli_example *examples; /* ends with {0}; may be NULL */
    const cli_option *options;   /* ends with {0}; may be NULL; --help is implied */
    size_t options_size;         /* sizeof the options struct */
    const void *defaults;        /* an options struct to start from; NULL = all zero */
    uint32_t min_args, max_args; /* positional arguments; CLI_ANY = no limit */
    const cli_list *lists; /* shown behind the options; ends with {0}; may be NULL */
    bool keeps_unknown;    /* options not declared are collected, not refused */
    cli_run *run;
} cli_command;

#define CLI_ANY UINT32_MAX

/* The first word of two-word commands. */
typedef struct cli_group {
    const char *name, *summary;
} cli_group;

typedef struct cli_program {
    const char *name, *version, *summary;
    const char *date;                   /* of the version, "2026-11-15"; for man pages */
    const char *description;            /* for the overview man page */
    const cli_command *const *commands; /* in the order of the help; ends with NULL */
    const cli_group *groups;            /* ends with {0} */
    const cli_format *const *formats;   /* ends with NULL; may be NULL */
} cli_program;

/* One command line, parsed. */
struct cli_call {
    const cli_program *program;
    const cli_command *command;
    const void *options; /* the command's options struct, filled */
    const char *const *args;
    size_t n_args;
    const char *const
        *unknown; /* when keeps_unknown: undeclared --name=value, verbatim */
    size_t n_unknown;
    /* bit i % 64 of word i / 64: options[i] was on the command line; use cli_given */
    uint64_t given[CLI_MAX_OPTIONS / 64];
    int exit_code; /* for the run function to set; 0 at first */
};

/*
 * The two options every command with results has. Put a cli_output into the options
 * struct and CLI_OUTPUT_OPTIONS(its type, the member) into the table of options.
 */
typedef struct cli_output {
    bool json, csv;
} cli_output;
#define CLI_OUTPUT_OPTIONS(type, member)                                                 \
    {.name = "json",                                                                     \
     .kind = CLI_FLAG,                                                                   \
     .offset = offsetof(type, member.json),                                              \
     .doc = "write JSON, numbers in base units"},                                        \
    {                                                                                    \
        .name = "csv", .kind = CLI_FLAG, .offset = offsetof(type, member.csv),           \
        .doc = "write CSV, numbers in base units"                                        \
    }
/* What the user asked for; both at once is wrong usage. */
halley_status cli_output_form(report_form *out, cli_call *call, const cli_output *output,
                              halley_error *err);

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USAGE = 2 };

/* Was this option (by its long name, which must be declared) on the command line? */
bool cli_given(const cli_call *call, const char *name);
/* Wrong usage: sets exit code 2 and the sentence; returns HALLEY_EINVAL. */
halley_status cli_usage(cli_call *call, halley_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "halley: <sentence>" on stderr: what the user should know but is no failure. */
void cli_note(const cli_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All of main(): finds and runs the command, prints errors, returns the exit code. */
int cli_main(const cli_program *program, int argc, char **argv);

/* The pieces below are for cmd_help.c, the man pages and the tests. */

/*
 * Parse the words behind the command's name into *call, whose program and command are
 * set. Memory comes from `memory`. *help is set, and nothing else is checked, when --help
 * or -h is among the options.
 */
halley_status cli_parse(cli_call *call, arena *memory, bool *help,
                        const char *const *words, size_t n_words, halley_error *err);
/*
 * The command that words[0] (and words[1]) name, with *n_used words. NULL: *group is the
 * group when words are just its name; else `err` says what is wrong and what was meant.
 */
const cli_command *cli_find(const cli_program *program, const char *const *words,
                            size_t n_words, size_t *n_used, const cli_group **group,
                            halley_error *err);

bool cli_in_group(const cli_command *command, const cli_group *group);
/* "-o, --out FILE" */
void cli_option_spelling(strbuf *to, const cli_option *option);
/* "halley trace info [OPTIONS] TRACE..." */
void cli_synopsis(FILE *to, const cli_program *program, const cli_command *command);
void cli_help_overview(FILE *to, const cli_program *program);
void cli_help_group(FILE *to, const cli_program *program, const cli_group *group);
void cli_help_command(FILE *to, const cli_program *program, const cli_command *command);
/* Man pages in man(7) macros: of a command, and of the whole (command NULL). */
void cli_man(FILE *to, const cli_program *program, const cli_command *command);
/* A kind of file: its page in section 5, and the same as text. */
void cli_man_format(FILE *to, const cli_program *program, const cli_format *format);
void cli_help_format(FILE *to, const cli_program *program, const cli_format *format);
/* NULL when there is none of that name. */
const cli_format *cli_find_format(const cli_program *program, const char *name);
/* A bash completion script for the program. */
void cli_completion(FILE *to, const cli_program *program);

#endif
