/*
 * workload/launch/shell.h - a shell script is read, not run.
 *
 * What is followed: assignments, arrays, export, ${N:-default}, integer arithmetic, if
 * and case whose operands are known, here-documents, `source` of a file beside the
 * script. Bodies of loops and functions are left out, and what they assign becomes
 * unknown. Everything that needs a program ($( ), ` `, patterns in ${ }) is unknown, too.
 * Nothing is ever started.
 *
 * An unknown part of a text is written as SHELL_UNKNOWN id SHELL_KNOWN, where id counts
 * the causes: which variable, which line, why. An element of an array ends in
 * SHELL_ELEMENT.
 *
 * Time and memory are bounded: at most SHELL_MAX_WORK bytes are written by expansions and
 * SHELL_MAX_KEPT are kept; beyond that the script is refused.
 */
#ifndef WORKLOAD_LAUNCH_SHELL_H
#define WORKLOAD_LAUNCH_SHELL_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "workload/import/report.h"

enum {
    SHELL_MAX_TEXT = 1 << 20, /* bytes of a script */
    SHELL_MAX_WORK = 1 << 21, /* bytes that expansions write, in all */
    SHELL_MAX_KEPT = 1 << 18, /* bytes of values that are kept */
    /* of all that is kept, in blocks of which the last is as large as the others together
     */
    SHELL_MAX_MEMORY = SHELL_MAX_KEPT / 2 * 3,
    SHELL_MAX_VARIABLES = 2048,
    SHELL_MAX_WORDS = 4096, /* of one command */
    SHELL_MAX_DEPTH = 64,   /* of if, case, loops and of nested quotes */
};
#define SHELL_UNKNOWN '\x01'
#define SHELL_KNOWN '\x02'
#define SHELL_ELEMENT '\x1f'

typedef enum shell_why {
    SHELL_FROM_COMMAND,  /* $( ), ` ` or another expansion that halley does not follow */
    SHELL_NEVER_SET,     /* a variable of the environment, or a forgotten one */
    SHELL_FROM_ARGUMENT, /* $1 and so on */
    SHELL_FROM_LOOP,     /* assigned in a loop or function */
    SHELL_FROM_BRANCH,   /* assigned only where a condition cannot be decided */
    SHELL_FROM_ITSELF,   /* its value needs its own value */
} shell_why;

typedef struct shell_cause {
    str name; /* of the variable; empty: a part of a word */
    uint32_t line;
    shell_why why;
} shell_cause;

/* "NAME=VALUE" of the user: fixed before the first line, beats every assignment. */
typedef struct shell_options {
    const char *const *sets;
    size_t n_sets;
    const char *const *marks; /* beginnings of words that a training command has; NULL:
                                 Megatron's arguments */
    const char *folder;       /* where `source` finds files; NULL: nowhere */
    halley_import *import;    /* takes the notes */
} shell_options;

/* What a script would start, as far as it can be known. */
typedef struct shell_script {
    arena memory;
    str command; /* its words, separated by blanks; empty: no training command */
    uint32_t command_line;
    ARRAY(str) documents; /* here-documents, expanded */
    ARRAY(shell_cause) causes;
    ARRAY(str) batch; /* texts after "#SBATCH" */
} shell_script;

/* Read a script. `name` is its path, for errors. On success free with shell_script_fini.
 * HALLEY_EFORMAT: a quote or bracket that never ends; HALLEY_ELIMIT: too much of it. */
halley_status shell_script_read(shell_script *out, str text, const char *name,
                                const shell_options *options, halley_error *err);
void shell_script_fini(shell_script *script);

/* The first cause of an unknown part in a text, or NULL: all of it is known. */
const shell_cause *shell_find_cause(const shell_script *script, str text);

#endif
