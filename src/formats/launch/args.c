/* Lists of arguments: made from words, looked up by name. */
#include "launch/args.h"

#include "base/number/number.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ARGS = 1024 };

void launch_args_fail(launch_args *a, halley_status code, const char *format, ...)
{
    if (a->status != HALLEY_OK)
        return;
    char text[HALLEY_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    a->status = error_set(a->err, code, "%s", text);
}

static void fail_memory(launch_args *a)
{
    if (a->status == HALLEY_OK)
        a->status = error_nomem(a->err);
}

/* True for Python's words for "absent". */
static bool is_off_word(str value)
{
    static const char *const words[] = {"None", "none", "null", "False", "false", "~"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(value, str_from(words[i])))
            return true;
    return false;
}

void launch_args_add(launch_args *a, str name, str value, uint32_t line)
{
    while (name.n > 0 && name.at[0] == '-')
        name = (str){name.at + 1, name.n - 1};
    if (name.n == 0 || a->status != HALLEY_OK)
        return;
    char *copy = arena_copy(&a->launch->memory, name);
    const char *text = arena_copy(&a->launch->memory, value);
    if (copy == NULL || text == NULL) {
        fail_memory(a);
        return;
    }
    for (size_t i = 0; i < name.n; i++)
        copy[i] = copy[i] == '_' ? '-' : copy[i];
    const launch_arg arg = {{copy, name.n}, {text, value.n}, is_off_word(value), line};
    if (a->list.n >= MAX_ARGS)
        launch_args_fail(a, HALLEY_ELIMIT, "there are more than %d arguments", MAX_ARGS);
    else if (!array_push(&a->list, arg))
        fail_memory(a);
}

static bool is_launch_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == SHELL_ELEMENT;
}

/* The next word, without enclosing quotes; empty at the end. */
str launch_word_take(str *rest)
{
    while (rest->n > 0 && is_launch_space(rest->at[0]))
        *rest = (str){rest->at + 1, rest->n - 1};
    size_t n = 0;
    while (n < rest->n && !is_launch_space(rest->at[n]))
        n++;
    str word = {rest->at, n};
    *rest = (str){rest->at + n, rest->n - n};
    while (word.n > 0 && (word.at[0] == '"' || word.at[0] == '\''))
        word = (str){word.at + 1, word.n - 1};
    while (word.n > 0 && (word.at[word.n - 1] == '"' || word.at[word.n - 1] == '\''))
        word.n--;
    return word;
}

static bool starts_argument(str word)
{
    if (word.n > 2 && word.at[0] == '-' && word.at[1] == '-')
        return isalpha((unsigned char)word.at[2]);
    return word.n >= 2 && word.at[0] == '-' && isalpha((unsigned char)word.at[1]);
}

/* True if a variable's name indicates that it holds arguments. */
static bool names_arguments(str name)
{
    static const char *const ends[] = {"ARGS",    "OPTIONS", "OPTS",  "FLAGS", "args",
                                       "options", "opts",    "flags", "CONFIG"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(name, str_from(ends[i])))
            return true;
    return false;
}

/* Note a word that could hold arguments but is unknown. */
static void note_unknown_word(launch_args *a, str word, bool is_value)
{
    const shell_cause *cause =
        a->script != NULL ? shell_find_cause(a->script, word) : NULL;
    if (cause == NULL || (is_value && !names_arguments(cause->name)) ||
        word.at[0] != SHELL_UNKNOWN || cause->why == SHELL_NEVER_SET ||
        cause->why == SHELL_FROM_ARGUMENT)
        return;
    import_note(a->launch->import,
                "Line %u: what $%.*s adds to the command is not known without running "
                "the script.",
                cause->line, STR_ARG(cause->name));
}

void launch_args_split(launch_args *a, str words, uint32_t line)
{
    strbuf value = {0};
    str name = {"", 0};
    while (words.n > 0 && a->status == HALLEY_OK) {
        const str word = launch_word_take(&words);
        if (starts_argument(word)) {
            if (name.n > 0)
                launch_args_add(a, name, strbuf_str(&value), line);
            value.n = 0;
            const char *equals = memchr(word.at, '=', word.n);
            name = equals == NULL ? word : (str){word.at, (size_t)(equals - word.at)};
            if (equals != NULL)
                strbuf_add(&value, (str){equals + 1, word.n - name.n - 1});
        } else if (word.n > 0) {
            if (str_ends(word, STR(".py")))
                a->program = word;
            note_unknown_word(a, word, name.n > 0 && value.n == 0);
            if (value.n > 0 && word.at[0] == SHELL_UNKNOWN)
                continue; /* may hold anything or nothing, but is never a second value */
            if (value.n > 0)
                strbuf_add_char(&value, ' ');
            strbuf_add(&value, word);
        }
    }
    if (name.n > 0)
        launch_args_add(a, name, strbuf_str(&value), line);
    if (value.failed)
        fail_memory(a);
    strbuf_fini(&value);
}

void launch_args_fini(launch_args *a)
{
    array_fini(&a->list);
}

/* The spelling of a name in the file: --num-layers, or num_layers. */
static const char *show_name(char to[160], const launch_args *a, str name)
{
    snprintf(to, 160, "%s%.*s", a->dashes, STR_ARG(name));
    for (size_t i = 0; a->dashes[0] == '\0' && to[i] != '\0'; i++)
        to[i] = to[i] == '-' ? '_' : to[i];
    return to;
}

/* The last argument with this name. */
static const launch_arg *find_last(launch_args *a, str name)
{
    for (size_t i = a->list.n; i > 0; i--)
        if (str_eq(a->list.at[i - 1].name, name))
            return &a->list.at[i - 1];
    return NULL;
}

static bool has_read(const launch_args *a, str key)
{
    const halley_import *import = a->launch->import;
    for (size_t i = 0; i < import->entries.n; i++)
        if (import->entries.at[i].list == HALLEY_IMPORT_READ &&
            str_eq(str_from(import->entries.at[i].key), key))
            return true;
    return false;
}

/* Note a name that occurred earlier in the list with another value. */
static void note_repeated(launch_args *a, const launch_arg *last)
{
    char shown[160];
    for (size_t i = 0; i < a->list.n && &a->list.at[i] != last; i++) {
        const launch_arg *other = &a->list.at[i];
        if (!str_eq(other->name, last->name) || str_eq(other->value, last->value))
            continue;
        import_note(a->launch->import,
                    "%s is given twice (%.*s, then %.*s); the last one counts.",
                    show_name(shown, a, last->name), STR_ARG(other->value),
                    STR_ARG(last->value));
        return;
    }
}

const launch_arg *launch_args_find(launch_args *a, const char *names)
{
    str rest = str_from(names), name;
    while (str_next(&rest, ' ', &name)) {
        const launch_arg *arg = find_last(a, name);
        if (arg == NULL)
            continue;
        char buffer[160];
        const str shown = str_from(show_name(buffer, a, name));
        if (!has_read(a, shown))
            note_repeated(a, arg);
        import_add(a->launch->import, HALLEY_IMPORT_READ, shown, arg->value);
        if (!arg->is_off)
            return arg;
    }
    return NULL;
}

bool launch_args_has(launch_args *a, const char *names)
{
    return launch_args_find(a, names) != NULL;
}

static const char *describe_cause(char to[200], const shell_cause *c)
{
    static const char *const forms[] = {
        [SHELL_FROM_COMMAND] = "which line %u takes from a command",
        [SHELL_NEVER_SET] = "which the script never sets",
        [SHELL_FROM_ARGUMENT] = "which is an argument of the script",
        [SHELL_FROM_LOOP] = "which the loop or function in line %u sets",
        [SHELL_FROM_BRANCH] = ("which line %u sets only under a condition that cannot be "
                               "decided without running the script"),
        [SHELL_FROM_ITSELF] = "which needs its own value in line %u",
    };
    const int n = snprintf(to, 200, "comes from $%.*s, ", STR_ARG(c->name));
    if (n > 0 && n < 200) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(to + n, 200 - (size_t)n, forms[c->why], c->line);
#pragma GCC diagnostic pop
    }
    return to;
}

/* Refuse an unknown value; false: it is known. */
static bool refuse_unknown(launch_args *a, const launch_arg *arg, str value, int key)
{
    const shell_cause *cause =
        a->script != NULL ? shell_find_cause(a->script, value) : NULL;
    if (cause == NULL)
        return false;
    if (key >= 0 && (a->opts->given >> key & 1) != 0)
        return true; /* the user sets it: nothing is missing */
    char why[200], shown[160], other[64] = "";
    if (key >= 0)
        snprintf(other, sizeof other, " or --%s",
                 halley_plan_key_name((halley_plan_key)key));
    if (cause->name.n > 0)
        launch_args_fail(a, HALLEY_EFORMAT, "%s %s; give --set %.*s=...%s",
                         show_name(shown, a, arg->name), describe_cause(why, cause),
                         STR_ARG(cause->name), other);
    else
        launch_args_fail(a, HALLEY_EFORMAT,
                         "%s needs a value that line %u takes from a command%s%s",
                         show_name(shown, a, arg->name), cause->line,
                         key >= 0 ? "; give" : "", other[0] != '\0' ? other + 3 : "");
    return true;
}

/* The first word of a value, without the underscores of 9_765_625. */
static str get_number_word(char to[64], str value)
{
    str rest = value;
    const str word = launch_word_take(&rest);
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < 63; i++)
        if (word.at[i] != '_')
            to[n++] = word.at[i];
    return (str){to, n};
}

static const launch_arg *find_launch_value(launch_args *a, const char *names, str *word,
                                           char buffer[64], int key)
{
    char shown[160];
    const launch_arg *arg = launch_args_find(a, names);
    if (arg == NULL || a->status != HALLEY_OK)
        return NULL;
    str rest = arg->value;
    const str first = launch_word_take(&rest);
    if (refuse_unknown(a, arg, first, key))
        return NULL;
    if (first.n == 0) {
        launch_args_fail(a, HALLEY_EFORMAT, "%s has no value",
                         show_name(shown, a, arg->name));
        return NULL;
    }
    *word = get_number_word(buffer, arg->value);
    return arg;
}

/* Refuse ${NAME} in a tree that neither the file nor the user sets. */
static bool refuse_reference(launch_args *a, const launch_arg *arg, str word, int key)
{
    char shown[160], other[64] = "";
    if (!str_starts(word, STR("${")) || !str_ends(word, STR("}")))
        return false;
    const str name = {word.at + 2, word.n - 3};
    if (key >= 0 && (a->opts->given >> key & 1) != 0)
        return true; /* the user sets it: nothing is missing */
    if (key >= 0)
        snprintf(other, sizeof other, " or --%s",
                 halley_plan_key_name((halley_plan_key)key));
    launch_args_fail(a, HALLEY_EFORMAT,
                     "%s comes from ${%.*s}, which the file does not set; give --set "
                     "%.*s=...%s",
                     show_name(shown, a, arg->name), STR_ARG(name), STR_ARG(name), other);
    return true;
}

static bool is_whole(double value)
{
    return value >= 0 && value <= INT32_MAX && value == (double)(uint32_t)value;
}

/* Read the first of these arguments as a number; false: absent, or not a number (an
 * error). */
static bool read_launch_number(double *out, launch_args *a, const char *names, int key,
                               bool whole)
{
    char buffer[64], shown[160];
    str word;
    const launch_arg *arg = find_launch_value(a, names, &word, buffer, key);
    if (arg == NULL)
        return false;
    str rest = arg->value;
    if (refuse_reference(a, arg, launch_word_take(&rest), key))
        return false;
    if (number_read(word, out) && (!whole || is_whole(*out)))
        return true;
    launch_args_fail(a, HALLEY_EFORMAT, "%s must be a %snumber, is \"%.*s\"",
                     show_name(shown, a, arg->name), whole ? "whole " : "",
                     STR_ARG(arg->value));
    return false;
}

double launch_args_real(launch_args *a, const char *names, double otherwise, int key)
{
    double value;
    return read_launch_number(&value, a, names, key, false) ? value : otherwise;
}

uint32_t launch_args_whole(launch_args *a, const char *names, uint32_t otherwise, int key)
{
    double value;
    return read_launch_number(&value, a, names, key, true) ? (uint32_t)value : otherwise;
}

str launch_args_choice(launch_args *a, const char *name, str otherwise, int key)
{
    const launch_arg *arg = find_last(a, str_from(name));
    const str word = launch_args_text(a, name, otherwise, key);
    return arg != NULL && str_eq(arg->value, STR("none")) ? arg->value : word;
}

str launch_args_text(launch_args *a, const char *names, str otherwise, int key)
{
    const launch_arg *arg = launch_args_find(a, names);
    if (arg == NULL || refuse_unknown(a, arg, arg->value, key))
        return otherwise;
    return arg->value;
}

void launch_set(halley_launch *l, halley_plan_key key, const char *text)
{
    assert(key < HALLEY_N_PLAN_KEYS);
    l->value[key] = arena_copy(&l->memory, str_from(text));
    if (l->value[key] == NULL)
        l->import->failed = true;
}

void launch_set_number(halley_launch *l, halley_plan_key key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    launch_set(l, key, text);
}

void launch_assume(halley_launch *l, halley_plan_key key, const char *text)
{
    launch_set(l, key, text);
    import_add(l->import, HALLEY_IMPORT_ASSUMED,
               str_from(halley_plan_key_name((halley_plan_key)key)), str_from(text));
}

const launch_key *launch_key_find(const launch_key *keys, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        str key = str_from(keys[i].name);
        const bool is_start = str_ends(key, STR("*"));
        key.n -= is_start ? 1 : 0;
        if (is_start ? str_starts(name, key) : str_eq(name, key))
            return &keys[i];
    }
    return NULL;
}

void launch_args_rest(launch_args *a, const launch_key *keys, size_t n)
{
    for (size_t i = 0; i < a->list.n && a->status == HALLEY_OK; i++) {
        const launch_arg *arg = &a->list.at[i];
        char buffer[160];
        const str name = str_from(show_name(buffer, a, arg->name));
        if (has_read(a, name))
            continue;
        const launch_key *key = launch_key_find(keys, n, arg->name);
        const bool is_set = !arg->is_off && (a->dashes[0] != '\0' || arg->value.n > 0);
        if (key != NULL && key->meaning == LAUNCH_REFUSED && is_set &&
            !str_eq(arg->value, STR("0")))
            launch_args_fail(
                a, HALLEY_EINVAL,
                "%s changes the run in a way that halley cannot model yet (%s)", buffer,
                key->doc);
        else
            import_add(a->launch->import,
                       key != NULL ? HALLEY_IMPORT_IGNORED : HALLEY_IMPORT_UNKNOWN, name,
                       arg->value);
    }
}
