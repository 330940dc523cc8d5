/* launch/shell_state.h - the variables of a script during reading; for
 * shell_*.c. */
#ifndef LAUNCH_SHELL_STATE_H
#define LAUNCH_SHELL_STATE_H

#include "launch/shell.h"
#include "launch/shell_lex.h"

typedef struct shell_variable {
    str name, value;       /* elements of an array end in SHELL_ELEMENT */
    bool is_set, is_fixed; /* fixed by the user: assignments are ignored */
} shell_variable;

/* How a section of the script is treated. */
typedef enum shell_mode {
    SHELL_RUN,    /* it is followed */
    SHELL_DOUBT,  /* it cannot be decided whether it runs */
    SHELL_REPEAT, /* a loop or function: its assignments are unknown */
    SHELL_SKIP    /* it does not run */
} shell_mode;

typedef enum shell_truth { SHELL_FALSE, SHELL_TRUE, SHELL_UNDECIDED } shell_truth;

typedef struct shell {
    shell_script *script;
    const shell_options *options;
    map64 index; /* hash of a name -> variable */
    ARRAY(shell_variable) variables;
    size_t work; /* bytes written by expansions */
    uint32_t line, depth;
    str expanding; /* the variable whose value is being expanded */
    halley_error *err;
} shell;

/* NULL: never assigned. */
shell_variable *shell_variable_find(const shell *s, str name);
/* Assign, or with `more` append; `value` is copied. */
halley_status shell_variable_set(shell *s, str name, str value, bool more);
halley_status shell_variable_doubt(shell *s, str name, shell_why why, uint32_t line);

/* How expansion treats single quotes and variables that were never set. */
enum {
    SHELL_INSIDE_SINGLE = 1, /* expand inside '...' too: the text of bash -c */
    SHELL_UNSET_IS_EMPTY = 2,
    SHELL_IN_DOUBLE = 4,
    SHELL_LITERAL_QUOTES = 8, /* a here-document: quotes are text */
};
/* Append a raw word to `out`, expanded. */
halley_status shell_expand(shell *s, strbuf *out, str raw, unsigned flags);
/* The elements of ( ... ), each followed by SHELL_ELEMENT. */
halley_status shell_expand_list(shell *s, strbuf *out, str list);
/* Integers with + - * / % ( ), names, and comparisons. False: not known. */
bool shell_compute(shell *s, str expression, int64_t *out);

/* Evaluate the words of [ ... ], [[ ... ]], test or (( ... )). */
halley_status shell_judge(shell *s, const shell_command *command, shell_truth *out);

#endif
