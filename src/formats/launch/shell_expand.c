/*
 * Expands the variables in words. A part that needs a program, or a variable without a
 * value, becomes a mark with the number of its cause. If the value of an important
 * argument is unknown, the error can then name the variable and its line.
 */
#include "launch/shell_state.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { MAX_CAUSES = 1024 };

static bool is_shell_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static halley_status refuse_size(shell *s)
{
    error_set(s->err, HALLEY_ELIMIT,
              "the script's variables grow beyond what a launch script needs");
    error_at_line(s->err, s->line, 0);
    return HALLEY_ELIMIT;
}

static halley_status append_shell_text(shell *s, strbuf *out, str text)
{
    s->work += text.n;
    if (s->work > SHELL_MAX_WORK || out->n + text.n > SHELL_MAX_KEPT)
        return refuse_size(s);
    strbuf_add(out, text);
    return out->failed ? error_nomem(s->err) : HALLEY_OK;
}

static halley_status append_unknown(shell *s, strbuf *out, str name, shell_why why)
{
    const shell_cause cause = {name, s->line, why};
    shell_script *script = s->script;
    if (s->work + 8 > SHELL_MAX_WORK || out->n + 8 > SHELL_MAX_KEPT)
        return refuse_size(s);
    if (script->causes.n < MAX_CAUSES && !array_push(&script->causes, cause))
        return error_nomem(s->err);
    s->work += 8;
    strbuf_printf(out, "%c%zu%c", SHELL_UNKNOWN, script->causes.n - 1, SHELL_KNOWN);
    return out->failed ? error_nomem(s->err) : HALLEY_OK;
}

shell_variable *shell_variable_find(const shell *s, str name)
{
    const uint32_t i = map64_find(&s->index, hash_bytes(name.at, name.n, 0));
    if (i == HASH_NONE || !str_eq(s->variables.at[i].name, name))
        return NULL;
    return &s->variables.at[i];
}

static halley_status add_variable(shell *s, str name, shell_variable **out)
{
    if (s->variables.n >= SHELL_MAX_VARIABLES)
        return refuse_size(s);
    const char *copy = arena_copy(&s->script->memory, name);
    const shell_variable v = {.name = {copy, name.n}};
    if (copy == NULL || !array_push(&s->variables, v) ||
        !map64_set(&s->index, hash_bytes(name.at, name.n, 0),
                   (uint32_t)(s->variables.n - 1)))
        return error_nomem(s->err);
    *out = &s->variables.at[s->variables.n - 1];
    return HALLEY_OK;
}

static halley_status keep_text(shell *s, str text, str *out)
{
    if (s->script->memory.total_bytes + text.n > SHELL_MAX_MEMORY)
        return refuse_size(s);
    const char *copy = arena_copy(&s->script->memory, text);
    if (copy == NULL)
        return error_nomem(s->err);
    *out = (str){copy, text.n};
    return HALLEY_OK;
}

halley_status shell_variable_set(shell *s, str name, str value, bool more)
{
    shell_variable *v = shell_variable_find(s, name);
    if (v != NULL && v->is_fixed)
        return HALLEY_OK;
    if (v == NULL)
        TRY(add_variable(s, name, &v));
    if (!more || !v->is_set || v->value.n == 0) {
        TRY(keep_text(s, value, &v->value));
    } else {
        strbuf joined = {0};
        halley_status status = append_shell_text(s, &joined, v->value);
        if (status == HALLEY_OK)
            status = append_shell_text(s, &joined, value);
        if (status == HALLEY_OK)
            status = keep_text(s, strbuf_str(&joined), &v->value);
        strbuf_fini(&joined);
        TRY(status);
    }
    v->is_set = true;
    return HALLEY_OK;
}

halley_status shell_variable_doubt(shell *s, str name, shell_why why, uint32_t line)
{
    strbuf mark = {0};
    const uint32_t here = s->line;
    shell_variable *v = shell_variable_find(s, name);
    if (v == NULL)
        TRY(add_variable(s, name, &v));
    s->line = line;
    halley_status status = append_unknown(s, &mark, v->name, why);
    s->line = here;
    if (status == HALLEY_OK)
        status = shell_variable_set(s, v->name, strbuf_str(&mark), false);
    strbuf_fini(&mark);
    return status;
}

/* A variable that is not set: empty in tests, else unknown. */
static halley_status append_unset(shell *s, strbuf *out, str name, unsigned flags)
{
    if ((flags & SHELL_UNSET_IS_EMPTY) != 0)
        return HALLEY_OK;
    str kept = name; /* additional causes share the last number */
    if (s->script->causes.n < MAX_CAUSES)
        TRY(keep_text(s, name, &kept));
    const shell_why why =
        isdigit((unsigned char)name.at[0]) || name.at[0] == '@' || name.at[0] == '*'
            ? SHELL_FROM_ARGUMENT
            : SHELL_NEVER_SET;
    return append_unknown(s, out, kept, why);
}

static halley_status append_variable(shell *s, strbuf *out, str name, unsigned flags)
{
    const shell_variable *v = shell_variable_find(s, name);
    if (v != NULL && v->is_set)
        return append_shell_text(s, out, v->value);
    if (str_eq(name, STR("PWD")))
        return append_shell_text(s, out, STR("."));
    if (str_eq(name, STR("0")) || str_eq(name, STR("BASH_SOURCE")))
        return append_shell_text(s, out, STR("./script")); /* for its folder */
    return append_unset(s, out, name, flags);
}

/* Take NAME at the beginning of the text inside ${ }. */
static str take_shell_name(str *rest)
{
    size_t n = 0;
    if (rest->n > 0 && strchr("@*#?$!-", rest->at[0]) != NULL)
        n = 1;
    while (n < rest->n && is_shell_name_char(rest->at[n]))
        n++;
    const str name = {rest->at, n};
    *rest = (str){rest->at + n, rest->n - n};
    return name;
}

/* ${A[@]}: remove the index of all elements, and the first of BASH_SOURCE; false: another
 * index. */
static bool drop_index(str name, str *rest)
{
    const bool first = str_eq(name, STR("BASH_SOURCE")) && str_starts(*rest, STR("[0]"));
    if (first || str_starts(*rest, STR("[@]")) || str_starts(*rest, STR("[*]"))) {
        *rest = (str){rest->at + 3, rest->n - 3};
        return true;
    }
    return rest->n == 0 || rest->at[0] != '[';
}

/* ${NAME:-word} and similar forms; `rest` begins with the operator. */
static halley_status append_default(shell *s, strbuf *out, str name, str rest,
                                    unsigned flags)
{
    const bool colon = rest.at[0] == ':';
    const char what = rest.at[colon ? 1 : 0];
    const str word = {rest.at + (colon ? 2 : 1), rest.n - (colon ? 2 : 1)};
    const shell_variable *v = shell_variable_find(s, name);
    const bool has = v != NULL && v->is_set && (!colon || v->value.n > 0);
    if (what == '+')
        return has ? shell_expand(s, out, word, flags) : HALLEY_OK;
    if (has)
        return append_shell_text(s, out, v->value);
    if (what != '=')
        return shell_expand(s, out, word, flags);
    strbuf value = {0};
    halley_status status = shell_expand(s, &value, word, flags);
    if (status == HALLEY_OK)
        status = shell_variable_set(s, name, strbuf_str(&value), false);
    if (status == HALLEY_OK)
        status = append_shell_text(s, out, strbuf_str(&value));
    strbuf_fini(&value);
    return status;
}

static halley_status append_braced(shell *s, strbuf *out, str inside, unsigned flags)
{
    str rest = inside;
    const str name = take_shell_name(&rest);
    if (name.n == 0 || name.at[0] == '#' || name.at[0] == '!' || !drop_index(name, &rest))
        return append_unknown(s, out, name, SHELL_FROM_COMMAND);
    if (rest.n == 0)
        return append_variable(s, out, name, flags);
    const char next = rest.n > 1 ? rest.at[1] : '\0';
    const bool simple = rest.at[0] == '-' || rest.at[0] == '=' || rest.at[0] == '+';
    if (simple || (rest.at[0] == ':' && next != '\0' && strchr("-=+", next) != NULL))
        return append_default(s, out, name, rest, flags);
    if (rest.at[0] == '?' || (rest.at[0] == ':' && next == '?')) /* else it would stop */
        return append_variable(s, out, name, flags);
    return append_unknown(s, out, name, SHELL_FROM_COMMAND);
}

static halley_status append_number(shell *s, strbuf *out, str expression)
{
    int64_t value;
    if (!shell_compute(s, expression, &value))
        return append_unknown(s, out, s->expanding, SHELL_FROM_COMMAND);
    strbuf text = {0};
    strbuf_printf(&text, "%lld", (long long)value);
    const halley_status status =
        text.failed ? error_nomem(s->err) : append_shell_text(s, out, strbuf_str(&text));
    strbuf_fini(&text);
    return status;
}

/* The argument of "dirname WORD", or of "cd WORD && pwd", "readlink -f WORD" or "realpath
 * WORD", which keep the path (`keep`). False: none of them. */
static bool find_path_word(str inside, str *word, bool *keep)
{
    static const char *const starts[] = {"cd ", "readlink -f ", "realpath ", "dirname "};
    str rest = str_trim(inside);
    size_t i = 0;
    while (i < 4 && !str_starts(rest, str_from(starts[i])))
        i++;
    if (i == 4)
        return false;
    const size_t n = strlen(starts[i]);
    *keep = i < 3;
    rest = str_trim((str){rest.at + n, rest.n - n});
    if (str_starts(rest, STR("-- ")))
        rest = str_trim((str){rest.at + 3, rest.n - 3});
    if (i == 0) {
        const char *and = memmem(rest.at, rest.n, "&&", 2);
        if (and == NULL)
            return false;
        const str then = {and+2, rest.n - (size_t)(and+2 - rest.at)};
        rest = (str){rest.at, (size_t)(and-rest.at)};
        if (!str_starts(str_trim(then), STR("pwd")))
            return false;
        const char *to = memchr(rest.at, '>', rest.n); /* > /dev/null */
        rest = to != NULL ? (str){rest.at, (size_t)(to - rest.at)} : rest;
    }
    *word = str_trim(rest);
    return word->n > 0;
}

/* The folder of a known path; that of the script is ".". */
static bool find_known_folder(str path, bool keep, str *out)
{
    path = str_trim(path);
    if (memchr(path.at, SHELL_UNKNOWN, path.n) != NULL ||
        memchr(path.at, ' ', path.n) != NULL || path.n == 0)
        return false;
    const char *slash = memrchr(path.at, '/', path.n);
    if (!keep && (slash == NULL || slash == path.at))
        return false; /* a folder above the script's */
    *out = keep ? path : (str){path.at, (size_t)(slash - path.at)};
    return true;
}

/* $( ): nothing is run, but the folder of the script is known. */
static halley_status append_command(shell *s, strbuf *out, str inside)
{
    str word, folder;
    bool keep;
    if (str_eq(str_trim(inside), STR("pwd")))
        return append_shell_text(s, out, STR("."));
    if (find_path_word(inside, &word, &keep)) {
        strbuf path = {0};
        halley_status status = shell_expand(s, &path, word, 0);
        const bool known = status == HALLEY_OK && !path.failed && path.n > 0 &&
                           find_known_folder(strbuf_str(&path), keep, &folder);
        if (known)
            status = append_shell_text(s, out, folder);
        strbuf_fini(&path);
        if (known || status != HALLEY_OK)
            return status;
    }
    return append_unknown(s, out, s->expanding, SHELL_FROM_COMMAND);
}

/* Expand from the $ at *at; *at is moved to the end of the expansion. */
static halley_status expand_dollar(shell *s, strbuf *out, str raw, size_t *at,
                                   unsigned flags)
{
    const size_t i = *at + 1;
    const char c = i < raw.n ? raw.at[i] : '\0';
    if (c == '(' || c == '{') {
        const size_t end = shell_find_close(raw, i, 0);
        if (end == 0) {
            *at = raw.n;
            return append_unknown(s, out, s->expanding, SHELL_FROM_COMMAND);
        }
        *at = end;
        const str inside = {raw.at + i + 1, end - i - 2};
        if (c == '{')
            return append_braced(s, out, inside, flags);
        if (inside.n >= 2 && inside.at[0] == '(' && inside.at[inside.n - 1] == ')')
            return append_number(s, out, (str){inside.at + 1, inside.n - 2});
        return append_command(s, out, inside);
    }
    size_t end = i;
    if (isdigit((unsigned char)c) || (c != '\0' && strchr("@*#?$!-", c) != NULL))
        end = i + 1;
    else
        while (end < raw.n && is_shell_name_char(raw.at[end]))
            end++;
    *at = end > i ? end : i;
    if (end == i)
        return append_shell_text(s, out, STR("$"));
    if (c == '#')
        return append_shell_text(s, out, STR("0"));
    return append_variable(s, out, (str){raw.at + i, end - i}, flags);
}

/* Expand from the quote at *at. */
static halley_status expand_quoted(shell *s, strbuf *out, str raw, size_t *at,
                                   unsigned flags)
{
    const char quote = raw.at[*at];
    size_t end = shell_find_close(raw, *at, 0);
    if (end == 0)
        end = raw.n + 1;
    const str inside = {raw.at + *at + 1, end - *at - 2};
    *at = end > raw.n ? raw.n : end;
    if (quote == '`')
        return append_command(s, out, inside);
    if (quote == '"')
        return shell_expand(s, out, inside, flags | SHELL_IN_DOUBLE);
    if ((flags & SHELL_INSIDE_SINGLE) != 0)
        return shell_expand(s, out, inside, flags & ~(unsigned)SHELL_IN_DOUBLE);
    return append_shell_text(s, out, inside);
}

/* Expand from the backslash at *at. */
static halley_status expand_escape(shell *s, strbuf *out, str raw, size_t *at,
                                   unsigned flags)
{
    const char next = *at + 1 < raw.n ? raw.at[*at + 1] : '\0';
    const bool is_line = next == '\n' || next == '\r';
    const bool literal = (flags & (SHELL_IN_DOUBLE | SHELL_LITERAL_QUOTES)) != 0 &&
                         strchr("$`\"\\\n\r", next) == NULL;
    const str kept = {raw.at + *at + (literal ? 0 : 1), literal ? 2 : 1};
    *at += next == '\0' ? 1 : 2;
    if (next == '\r' && *at < raw.n && raw.at[*at] == '\n')
        ++*at;
    return is_line || next == '\0' ? HALLEY_OK : append_shell_text(s, out, kept);
}

static bool is_quote(char c, unsigned flags)
{
    if (c == '`')
        return true;
    return (c == '"' || c == '\'') &&
           (flags & (SHELL_IN_DOUBLE | SHELL_LITERAL_QUOTES)) == 0;
}

static halley_status expand_parts(shell *s, strbuf *out, str raw, unsigned flags)
{
    size_t i = 0;
    while (i < raw.n) {
        const char c = raw.at[i];
        if (c == '\\') {
            TRY(expand_escape(s, out, raw, &i, flags));
        } else if (c == '$' && i + 1 < raw.n && raw.at[i + 1] == '\'' &&
                   is_quote('\'', flags)) {
            i++;
        } else if (c == '$') {
            TRY(expand_dollar(s, out, raw, &i, flags));
        } else if (is_quote(c, flags)) {
            TRY(expand_quoted(s, out, raw, &i, flags));
        } else {
            size_t end = i + 1;
            while (end < raw.n && strchr("\\$`\"'", raw.at[end]) == NULL)
                end++;
            TRY(append_shell_text(s, out, (str){raw.at + i, end - i}));
            i = end;
        }
    }
    return HALLEY_OK;
}

halley_status shell_expand(shell *s, strbuf *out, str raw, unsigned flags)
{
    if (s->depth >= SHELL_MAX_DEPTH)
        return refuse_size(s);
    s->depth++;
    const halley_status status = expand_parts(s, out, raw, flags);
    s->depth--;
    return status;
}

halley_status shell_expand_list(shell *s, strbuf *out, str list)
{
    assert(list.n >= 2);
    shell_lexer x = {.text = {list.at + 1, list.n - 2}, .line = s->line, .err = s->err};
    halley_status status = HALLEY_OK;
    str word;
    while (shell_lexer_element(&x, &word, &status)) {
        TRY(shell_expand(s, out, word, 0));
        const char end[] = {SHELL_ELEMENT, '\0'};
        TRY(append_shell_text(s, out, str_from(end)));
    }
    return status;
}

const shell_cause *shell_find_cause(const shell_script *script, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != SHELL_UNKNOWN)
            continue;
        size_t id = 0;
        for (i++; i < text.n && isdigit((unsigned char)text.at[i]); i++)
            id = id * 10 + (size_t)(text.at[i] - '0');
        return id < script->causes.n ? &script->causes.at[id] : NULL;
    }
    return NULL;
}
