/*
 * Splits a script into commands and words. A line that ends in a backslash continues.
 * Comments start with # at the beginning of a word. Quotes, $( ), ${ }, ` ` and NAME=( )
 * may contain separators. Words keep their quotes. They are views of the text: nothing is
 * copied.
 */
#include "launch/shell_lex.h"

#include "launch/shell.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool is_shell_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char get_char(const shell_lexer *x, size_t ahead)
{
    return x->at + ahead < x->text.n ? x->text.at[x->at + ahead] : '\0';
}

/* The end of '...' , "..." or `...` that begins at `at`; 0: unterminated. */
static size_t find_quote_end(str text, size_t at, uint32_t depth)
{
    const char quote = text.at[at];
    for (size_t i = at + 1; i < text.n; i++) {
        if (text.at[i] == quote)
            return i + 1;
        if (text.at[i] == '\\' && quote != '\'') {
            i++;
        } else if (quote == '"' && text.at[i] == '$' && i + 1 < text.n &&
                   (text.at[i + 1] == '(' || text.at[i + 1] == '{')) {
            const size_t end = shell_find_close(text, i + 1, depth + 1);
            if (end == 0)
                return 0;
            i = end - 1;
        }
    }
    return 0;
}

static bool starts_comment(str text, size_t at)
{
    return text.at[at] == '#' && (at == 0 || is_shell_blank(text.at[at - 1]) ||
                                  text.at[at - 1] == '\n' || text.at[at - 1] == ';');
}

static size_t skip_comment(str text, size_t at)
{
    while (at < text.n && text.at[at] != '\n')
        at++;
    return at;
}

size_t shell_find_close(str text, size_t at, uint32_t depth)
{
    if (depth > SHELL_MAX_DEPTH)
        return 0;
    const char open = text.at[at];
    if (open == '"' || open == '\'' || open == '`')
        return find_quote_end(text, at, depth);
    const char close = open == '(' ? ')' : '}';
    for (size_t i = at + 1; i < text.n; i++) {
        const char c = text.at[i];
        if (c == close)
            return i + 1;
        if (c == '\\') {
            i++;
        } else if (c == '"' || c == '\'' || c == '`' || c == open) {
            const size_t end = shell_find_close(text, i, depth + 1);
            if (end == 0)
                return 0;
            i = end - 1;
        } else if (open == '(' && starts_comment(text, i)) {
            i = skip_comment(text, i) - 1;
        }
    }
    return 0;
}

static halley_status refuse_open(shell_lexer *x, char what)
{
    error_set(x->err, HALLEY_EFORMAT, "%c is never closed", what);
    error_at_line(x->err, x->line, 0);
    return HALLEY_EFORMAT;
}

static void advance_shell_text(shell_lexer *x, size_t to)
{
    assert(to <= x->text.n);
    for (; x->at < to; x->at++)
        x->line += x->text.at[x->at] == '\n';
}

/* The length of a backslash at the end of a line; 0: none. */
static size_t get_continuation(const shell_lexer *x)
{
    if (get_char(x, 0) != '\\')
        return 0;
    if (get_char(x, 1) == '\n')
        return 2;
    return get_char(x, 1) == '\r' && get_char(x, 2) == '\n' ? 3 : 0;
}

static void skip_blanks(shell_lexer *x)
{
    for (;;) {
        const size_t joined = get_continuation(x);
        if (joined > 0)
            advance_shell_text(x, x->at + joined);
        else if (x->at < x->text.n && is_shell_blank(get_char(x, 0)))
            x->at++;
        else
            return;
    }
}

static bool is_shell_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* True if the word so far is NAME= or NAME+=, so that ( begins an array. */
static bool begins_array(str word)
{
    if (word.n < 2 || word.at[word.n - 1] != '=')
        return false;
    size_t n = word.n - 1;
    if (word.at[n - 1] == '+')
        n--;
    for (size_t i = 0; i < n; i++)
        if (!is_shell_name_char(word.at[i]))
            return false;
    return n > 0;
}

static bool is_name(str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!is_shell_name_char(word.at[i]) && word.at[i] != '-')
            return false;
    return word.n > 0;
}

/* True if a bracket or quote that belongs to the word begins here. */
static bool opens_part(const shell_lexer *x, size_t start)
{
    const char c = get_char(x, 0), next = get_char(x, 1);
    const str word = {x->text.at + start, x->at - start};
    if (c == '"' || c == '\'' || c == '`')
        return true;
    if (c == '(')
        return begins_array(word) || (word.n == 0 && next == '(') ||
               (word.n > 0 && word.at[word.n - 1] == '$') ||
               (is_name(word) && next == ')') || /* NAME() */
               (word.n > 0 && strchr("@?*+!", word.at[word.n - 1]) != NULL);
    return c == '{' && word.n > 0 && word.at[word.n - 1] == '$';
}

static halley_status scan_word(shell_lexer *x, shell_word *out)
{
    const size_t start = x->at;
    const uint32_t line = x->line;
    while (x->at < x->text.n) {
        const char c = get_char(x, 0);
        const size_t joined = get_continuation(x);
        if (joined > 0) {
            advance_shell_text(x, x->at + joined);
        } else if (c == '\\') {
            advance_shell_text(x, x->at + (x->at + 2 <= x->text.n ? 2 : 1));
        } else if (opens_part(x, start)) {
            const size_t end = shell_find_close(x->text, x->at, 0);
            if (end == 0)
                return refuse_open(x, c);
            advance_shell_text(x, end);
        } else if (is_shell_blank(c) || strchr("\n;&|<>()", c) != NULL) {
            break;
        } else {
            x->at++;
        }
    }
    *out = (shell_word){{x->text.at + start, x->at - start}, line};
    return HALLEY_OK;
}

bool shell_lexer_element(shell_lexer *x, str *word, halley_status *status)
{
    for (;;) {
        skip_blanks(x);
        if (get_char(x, 0) == '#')
            advance_shell_text(x, skip_comment(x->text, x->at));
        else if (x->at < x->text.n && strchr("\n;&|<>()", get_char(x, 0)) != NULL &&
                 get_char(x, 0) != '\0')
            advance_shell_text(x, x->at + 1);
        else
            break;
    }
    shell_word w;
    if (x->at >= x->text.n)
        return false;
    *status = scan_word(x, &w);
    if (*status != HALLEY_OK || w.raw.n == 0)
        return false;
    *word = w.raw;
    return true;
}

/* One line of a here-document, without its line end. */
static str take_line(shell_lexer *x)
{
    const size_t start = x->at;
    while (x->at < x->text.n && x->text.at[x->at] != '\n')
        x->at++;
    const str line = {x->text.at + start, x->at - start};
    if (x->at < x->text.n)
        advance_shell_text(x, x->at + 1);
    return line;
}

static void take_here_bodies(shell_lexer *x, shell_command *c)
{
    for (uint32_t i = c->n_here - x->n_waiting; i < c->n_here; i++) {
        shell_here *h = &c->here[i];
        const size_t start = x->at;
        size_t end = start;
        while (x->at < x->text.n) {
            end = x->at;
            str line = take_line(x);
            while (h->is_tabbed && line.n > 0 && line.at[0] == '\t')
                line = (str){line.at + 1, line.n - 1};
            if (line.n > 0 && line.at[line.n - 1] == '\r')
                line.n--;
            if (str_eq(line, h->delimiter))
                break;
            end = x->at;
        }
        h->body = (str){x->text.at + start, end - start};
    }
    x->n_waiting = 0;
}

static halley_status read_here(shell_lexer *x, shell_command *c, bool is_tabbed)
{
    shell_word w;
    skip_blanks(x);
    TRY(scan_word(x, &w));
    str d = w.raw;
    const bool quoted = d.n >= 2 && (d.at[0] == '\'' || d.at[0] == '"');
    if (quoted)
        d = (str){d.at + 1, d.n - 2};
    else if (d.n > 1 && d.at[0] == '\\')
        d = (str){d.at + 1, d.n - 1};
    if (c->n_here < SHELL_MAX_HERE && d.n > 0) {
        c->here[c->n_here++] = (shell_here){.delimiter = d,
                                            .quoted = quoted || w.raw.at[0] == '\\',
                                            .is_tabbed = is_tabbed};
        x->n_waiting++;
    }
    return HALLEY_OK;
}

/* Skip < > and similar redirections with their word. */
static halley_status skip_redirection(shell_lexer *x, shell_command *c)
{
    const bool in = get_char(x, 0) == '<';
    if (in && get_char(x, 1) == '<' && get_char(x, 2) != '<') {
        const bool is_tabbed = get_char(x, 2) == '-';
        x->at += is_tabbed ? 3 : 2;
        return read_here(x, c, is_tabbed);
    }
    while (x->at < x->text.n && strchr("<>&|", get_char(x, 0)) != NULL)
        x->at++;
    if (get_char(x, 0) == '(') { /* <( command ) */
        const size_t end = shell_find_close(x->text, x->at, 0);
        if (end == 0)
            return refuse_open(x, '(');
        advance_shell_text(x, end);
        return HALLEY_OK;
    }
    shell_word w;
    skip_blanks(x);
    return scan_word(x, &w);
}

/* Consume a separator; false: there is none here. */
static bool take_end(shell_lexer *x, shell_command *c)
{
    static const struct {
        str text;
        shell_end end;
    } ends[] = {
        {{";;&", 3}, SHELL_END_CASE}, {{";;", 2}, SHELL_END_CASE},
        {{";&", 2}, SHELL_END_CASE},  {{"&&", 2}, SHELL_END_AND},
        {{"||", 2}, SHELL_END_OR},    {{"|&", 2}, SHELL_END_PIPE},
        {{"|", 1}, SHELL_END_PIPE},   {{"&", 1}, SHELL_END_LINE},
        {{";", 1}, SHELL_END_LINE},   {{"\n", 1}, SHELL_END_LINE},
        {{"(", 1}, SHELL_END_LINE},   {{")", 1}, SHELL_END_LINE},
    };
    const str rest = {x->text.at + x->at, x->text.n - x->at};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!str_starts(rest, ends[i].text) || str_starts(rest, STR("&>")))
            continue;
        const bool is_line = get_char(x, 0) == '\n';
        c->end = ends[i].end;
        advance_shell_text(x, x->at + ends[i].text.n);
        if (is_line && x->n_waiting > 0)
            take_here_bodies(x, c);
        return true;
    }
    return false;
}

/* Everything up to ]] belongs to one command, including && and <. */
static halley_status take_test(shell_lexer *x, shell_command *c)
{
    for (;;) {
        skip_blanks(x);
        if (x->at >= x->text.n)
            return HALLEY_OK;
        const size_t start = x->at;
        shell_word w;
        TRY(scan_word(x, &w));
        if (w.raw.n == 0) {
            const bool is_pair = get_char(x, 0) == get_char(x, 1) &&
                                 (get_char(x, 0) == '&' || get_char(x, 0) == '|');
            advance_shell_text(x, x->at + (is_pair ? 2 : 1));
            w = (shell_word){{x->text.at + start, x->at - start}, x->line};
            if (w.raw.at[0] == '\n')
                continue;
        }
        if (c->words.n >= SHELL_MAX_WORDS || !array_push(&c->words, w))
            return error_set(x->err, HALLEY_ELIMIT, "a command has too many words");
        if (str_eq(w.raw, STR("]]")))
            return HALLEY_OK;
    }
}

/* True if the grammar ends the command after this word. */
static bool ends_by_grammar(const shell_command *c)
{
    static const char *const alone[] = {"then", "else", "do",    "{",
                                        "if",   "elif", "while", "until"};
    const str first = c->words.at[0].raw;
    if (c->words.n == 3 && str_eq(first, STR("case")))
        return str_eq(c->words.at[2].raw, STR("in"));
    for (size_t i = 0; c->words.n == 1 && i < sizeof alone / sizeof *alone; i++)
        if (str_eq(first, str_from(alone[i])))
            return true;
    return c->words.n == 1 && c->is_function;
}

/* NAME() or NAME ( ): consume the brackets. */
static void take_function(shell_lexer *x, shell_command *c)
{
    str *first = &c->words.at[0].raw;
    if (str_ends(*first, STR("()")) && is_name((str){first->at, first->n - 2})) {
        first->n -= 2;
        c->is_function = true;
        return;
    }
    const size_t before = x->at;
    skip_blanks(x);
    const bool opens = is_name(*first) && get_char(x, 0) == '(';
    x->at += opens;
    skip_blanks(x);
    if (opens && get_char(x, 0) == ')') {
        x->at++;
        c->is_function = true;
    } else if (opens) {
        x->at = before; /* there is no line break between: the line count stays right */
    }
}

/* True if only ! precedes the last word. */
static bool is_negated(const shell_command *c)
{
    for (size_t i = 0; i + 1 < c->words.n; i++)
        if (!str_eq(c->words.at[i].raw, STR("!")))
            return false;
    return true;
}

halley_status shell_lexer_next(shell_lexer *x, shell_command *c)
{
    c->words.n = 0;
    c->n_here = 0;
    c->is_function = false;
    c->end = SHELL_END_FILE;
    skip_blanks(x);
    c->line = x->line;
    while (x->at < x->text.n) {
        shell_word w;
        const char here = get_char(x, 0);
        if (here == '#' && (x->at == 0 || starts_comment(x->text, x->at))) {
            advance_shell_text(x, skip_comment(x->text, x->at));
        } else if (here == '<' || here == '>' || (here == '&' && get_char(x, 1) == '>')) {
            TRY(skip_redirection(x, c));
        } else if ((here != '(' || get_char(x, 1) != '(' || c->words.n > 1) &&
                   take_end(x, c)) {
            return HALLEY_OK;
        } else {
            const size_t before = x->at;
            TRY(scan_word(x, &w));
            if (x->at == before) { /* a zero byte or another stray one */
                advance_shell_text(x, x->at + 1);
                continue;
            }
            if (c->words.n >= SHELL_MAX_WORDS || !array_push(&c->words, w))
                return error_set(x->err, HALLEY_ELIMIT, "a command has too many words");
            if (c->words.n == 1)
                take_function(x, c);
            if (str_eq(w.raw, STR("[[")) && is_negated(c))
                TRY(take_test(x, c));
            c->end = SHELL_END_LINE;
            if (ends_by_grammar(c))
                return HALLEY_OK;
            c->end = SHELL_END_FILE;
        }
        skip_blanks(x);
    }
    return HALLEY_OK;
}

halley_status shell_lexer_pattern(shell_lexer *x, str *pattern, uint32_t *line)
{
    for (;;) {
        skip_blanks(x);
        if (get_char(x, 0) == '#')
            advance_shell_text(x, skip_comment(x->text, x->at));
        else if (x->at < x->text.n && (get_char(x, 0) == '\n' || get_char(x, 0) == '(' ||
                                       get_char(x, 0) == ';'))
            advance_shell_text(x, x->at + 1);
        else
            break;
    }
    *line = x->line;
    const size_t start = x->at;
    while (x->at < x->text.n && get_char(x, 0) != ')' && get_char(x, 0) != '\n') {
        const char c = get_char(x, 0);
        if (c == '"' || c == '\'') {
            const size_t end = shell_find_close(x->text, x->at, 0);
            if (end == 0)
                return refuse_open(x, c);
            advance_shell_text(x, end);
        } else {
            x->at++;
        }
        const str so_far = {x->text.at + start, x->at - start};
        if (str_eq(so_far, STR("esac")) && !is_shell_name_char(get_char(x, 0)) &&
            get_char(x, 0) != ')')
            break;
    }
    *pattern = str_trim((str){x->text.at + start, x->at - start});
    if (x->at < x->text.n && get_char(x, 0) == ')')
        x->at++;
    else if (x->at < x->text.n && !str_eq(*pattern, STR("esac")))
        advance_shell_text(x, x->at + 1);
    return HALLEY_OK;
}
