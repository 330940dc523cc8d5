/* launch/shell_lex.h - a script as simple commands, each a list of raw words. */
#ifndef LAUNCH_SHELL_LEX_H
#define LAUNCH_SHELL_LEX_H

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"

typedef enum shell_end {
    SHELL_END_LINE, /* newline, ; or & */
    SHELL_END_CASE, /* ;; */
    SHELL_END_AND,
    SHELL_END_OR,
    SHELL_END_PIPE,
    SHELL_END_FILE,
} shell_end;

typedef struct shell_word {
    str raw; /* as written, with quotes; NAME=( ... ) is one word */
    uint32_t line;
} shell_word;

enum { SHELL_MAX_HERE = 4 };

typedef struct shell_here {
    str delimiter;
    str body;
    bool quoted;    /* the body is not expanded */
    bool is_tabbed; /* <<-: tabs before the delimiter are ignored */
} shell_here;

typedef struct shell_command {
    ARRAY(shell_word) words;
    shell_end end;
    uint32_t line;
    bool is_function; /* NAME(): the first word is the name */
    uint32_t n_here;
    shell_here here[SHELL_MAX_HERE];
} shell_command;

typedef struct shell_lexer {
    str text;
    size_t at;
    uint32_t line;
    uint32_t n_waiting; /* here-documents whose bodies begin at the next line */
    halley_error *err;
} shell_lexer;

/* The next command. It has no words at the end of the text or if it is empty.
 * Redirections are omitted. `case WORD in` is a separate command. */
halley_status shell_lexer_next(shell_lexer *lexer, shell_command *command);
/* The pattern before ')' of a case; "esac" ends it. */
halley_status shell_lexer_pattern(shell_lexer *lexer, str *pattern, uint32_t *line);
/* The next word of a list: elements of an array. False at its end. */
bool shell_lexer_element(shell_lexer *lexer, str *word, halley_status *status);
/* The end of a bracket or quote that begins at text.at[at]; 0: unterminated. */
size_t shell_find_close(str text, size_t at, uint32_t depth);

#endif
