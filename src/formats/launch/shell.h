/*
 * launch/shell.h - reads a shell script without running it.
 *
 * It follows assignments, arrays, export, ${N:-default}, integer arithmetic,
 * here-documents, and `source` of a file next to the script. It also follows if and case
 * with known operands. It skips bodies of loops and functions, and variables that they
 * assign become unknown. Everything that needs a program ($( ), ` `, patterns in ${ }) is
 * also unknown. Nothing is ever started.
 *
 * An unknown part of a text is written as SHELL_UNKNOWN id SHELL_KNOWN. The id is the
 * number of its cause: which variable, which line, why. An element of an array ends in
 * SHELL_ELEMENT.
 *
 * Time and memory are bounded. Expansions write at most SHELL_MAX_WORK bytes, of which at
 * most SHELL_MAX_KEPT are kept. Otherwise the script is refused.
 */
#ifndef LAUNCH_SHELL_H
#define LAUNCH_SHELL_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "workload/notes.h"

enum {
    SHELL_MAX_TEXT = 1 << 20, /* bytes of a script */
    SHELL_MAX_WORK = 1 << 21, /* total bytes that expansions write */
    SHELL_MAX_KEPT = 1 << 18, /* bytes of kept values */
    /* of all kept values, in blocks; the last block is as large as the others together */
    SHELL_MAX_MEMORY = SHELL_MAX_KEPT / 2 * 3,
    SHELL_MAX_VARIABLES = 2048,
    SHELL_MAX_WORDS = 4096, /* per command */
    SHELL_MAX_DEPTH = 64,   /* of if, case, loops and of nested quotes */
};
#define SHELL_UNKNOWN '\x01'
#define SHELL_KNOWN '\x02'
#define SHELL_ELEMENT '\x1f'

typedef enum shell_why {
    SHELL_FROM_COMMAND,  /* $( ), ` ` or another unsupported expansion */
    SHELL_NEVER_SET,     /* a variable of the environment, or a forgotten one */
    SHELL_FROM_ARGUMENT, /* $1 and so on */
    SHELL_FROM_LOOP,     /* assigned in a loop or function */
    SHELL_FROM_BRANCH,   /* assigned only in a branch whose condition is unknown */
    SHELL_FROM_ITSELF,   /* its value depends on itself */
} shell_why;

typedef struct shell_cause {
    str name; /* of the variable; empty: a part of a word */
    uint32_t line;
    shell_why why;
} shell_cause;

/* "NAME=VALUE" from the user: set before the first line, overrides every assignment. */
typedef struct shell_options {
    const char *const *sets;
    size_t n_sets;
    const char *const *marks; /* prefixes of words that identify a training command; NULL:
                                 Megatron's arguments */
    const char *folder;       /* where `source` finds files; NULL: nowhere */
    halley_import *import;    /* receives the notes */
} shell_options;

/* What a script would start, as far as it is known. */
typedef struct shell_script {
    arena memory;
    str command; /* its words, separated by blanks; empty: no training command */
    uint32_t command_line;
    ARRAY(str) documents; /* here-documents, expanded */
    ARRAY(shell_cause) causes;
    ARRAY(str) batch; /* texts after "#SBATCH" */
} shell_script;

/* Read a script. `name` is its path, for errors. On success, free it with
 * shell_script_fini. HALLEY_EFORMAT: an unterminated quote or bracket; HALLEY_ELIMIT: it
 * exceeds a limit. */
halley_status shell_script_read(shell_script *out, str text, const char *name,
                                const shell_options *options, halley_error *err);
void shell_script_fini(shell_script *script);

/* The first cause of an unknown part in a text; NULL: the whole text is known. */
const shell_cause *shell_find_cause(const shell_script *script, str text);

#endif
