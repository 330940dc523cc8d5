/*
 * The words behind a command's name, by its table of options: --name value, --name=value,
 * -n value, -nvalue; options and arguments in any order, "--" ends the options. A word
 * that starts with '-' and goes on like a number is an argument, as is a lone '-'.
 */
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "cli/cli.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

typedef struct parser {
    cli_call *call;
    arena *memory;
    halley_error *err;
    const char *const *words;
    size_t n_words, at;
    char *options;        /* the command's options struct, being filled */
    const char **args;    /* room for every word */
    const char **unknown; /* the same */
} parser;

static halley_status wrong(const parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static halley_status wrong(const parser *p, const char *format, ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(p->err, HALLEY_EINVAL, "%s", text);
}

static halley_status wrong_choice(const parser *p, const cli_option *option, str value)
{
    strbuf names = {0};
    size_t n = 0;
    for (; option->choices[n]; n++)
        strbuf_printf(&names, "%s%s", n ? ", " : "", option->choices[n]);
    const char *near = str_nearest(value, option->choices, n);
    const halley_status status =
        wrong(p, "--%s must be one of %.*s; is '%.*s'%s%s%s", option->name,
              STR_ARG(strbuf_str(&names)), STR_ARG(value), near ? ", did you mean " : "",
              near ? near : "", near ? "?" : "");
    strbuf_fini(&names);
    return status;
}

static halley_status in_range(const parser *p, const cli_option *option, double number,
                              const char *text)
{
    if (option->min == 0 && option->max == 0)
        return HALLEY_OK;
    if (number >= option->min && number <= option->max)
        return HALLEY_OK;
    const bool low = number < option->min;
    return wrong(p, "--%s must be at %s %s, is %s", option->name, low ? "least" : "most",
                 number_digits(low ? option->min : option->max, 10).at, text);
}

static halley_status store_whole(const parser *p, const cli_option *option,
                                 const char *text)
{
    uint64_t number;
    char *to = p->options + option->offset;
    if (!str_to_u64(str_from(text), &number) ||
        (option->kind == CLI_U32 && number > UINT32_MAX))
        return wrong(p, "--%s wants a whole number, is '%s'", option->name, text);
    TRY(in_range(p, option, (double)number, text));
    const uint32_t small = (uint32_t)number;
    if (option->kind == CLI_U32)
        memcpy(to, &small, sizeof small);
    else
        memcpy(to, &number, sizeof number);
    return HALLEY_OK;
}

static halley_status store_number(const parser *p, const cli_option *option,
                                  const char *text)
{
    double number = 0;
    if (option->kind == CLI_QUANTITY) {
        const halley_status status =
            units_parse(&number, str_from(text), option->unit, p->err);
        if (status != HALLEY_OK) {
            error_prefix(p->err, "--%s: ", option->name);
            return status;
        }
    } else if (!number_read(str_from(text), &number)) {
        return wrong(p, "--%s wants a number, is '%s'", option->name, text);
    }
    TRY(in_range(p, option, number, text));
    memcpy(p->options + option->offset, &number, sizeof number);
    return HALLEY_OK;
}

static halley_status store_choice(const parser *p, const cli_option *option,
                                  const char *text)
{
    for (uint32_t i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) != 0)
            continue;
        memcpy(p->options + option->offset, &i, sizeof i);
        return HALLEY_OK;
    }
    return wrong_choice(p, option, str_from(text));
}

/* The list has room for as many texts as there are words. */
static halley_status store_texts(const parser *p, const cli_option *option,
                                 const char *text)
{
    cli_texts list;
    char *to = p->options + option->offset;
    const bool first = !cli_given(p->call, option->name);
    memcpy(&list, to, sizeof list);
    const char **at = (const char **)(uintptr_t)list.at;
    if (first) {
        list.n = 0;
        at = arena_array(p->memory, p->n_words, sizeof *at);
        if (!at)
            return error_nomem(p->err);
    }
    at[list.n++] = text;
    list.at = at;
    memcpy(to, &list, sizeof list);
    return HALLEY_OK;
}

static halley_status store(const parser *p, const cli_option *option, const char *text)
{
    switch (option->kind) {
    case CLI_FLAG:
        break;
    case CLI_TEXT:
        memcpy(p->options + option->offset, &text, sizeof text);
        break;
    case CLI_TEXTS:
        return store_texts(p, option, text);
    case CLI_U32:
    case CLI_U64:
        return store_whole(p, option, text);
    case CLI_DOUBLE:
    case CLI_QUANTITY:
        return store_number(p, option, text);
    case CLI_CHOICE:
        return store_choice(p, option, text);
    }
    return HALLEY_OK;
}

static const cli_option *find_long(const cli_command *command, str name)
{
    for (const cli_option *o = command->options; o && o->name; o++)
        if (str_eq(name, str_from(o->name)))
            return o;
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (const cli_option *o = command->options; o && o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static const cli_option *find_negated(const cli_command *command, str name)
{
    if (!str_starts(name, STR("no-")))
        return NULL;
    const cli_option *o = find_long(command, (str){name.at + 3, name.n - 3});
    return o && o->kind == CLI_FLAG && o->negatable ? o : NULL;
}

static void mark_given(const parser *p, const cli_option *option)
{
    const size_t i = (size_t)(option - p->call->command->options);
    assert(i < CLI_MAX_OPTIONS);
    p->call->given[i / 64] |= UINT64_C(1) << i % 64;
}

static halley_status set_flag(const parser *p, const cli_option *option, bool value)
{
    memcpy(p->options + option->offset, &value, sizeof value);
    mark_given(p, option);
    return HALLEY_OK;
}

/* Is the word an option that this command declares? Then it is no value. */
static bool is_declared(const cli_command *command, const char *word)
{
    if (word[0] != '-' || word[1] == 0)
        return false;
    if (word[1] != '-')
        return word[2] == 0 && find_letter(command, word[1]);
    str rest = str_from(word + 2), name;
    return str_next(&rest, '=', &name) && find_long(command, name);
}

/* The value: what stands behind '=' or the letter, else the next word. */
static halley_status take_value(parser *p, const cli_option *option, const char *attached)
{
    const char *text = attached ? attached : option->implicit;
    if (!text) {
        if (p->at == p->n_words || strcmp(p->words[p->at], "--") == 0 ||
            is_declared(p->call->command, p->words[p->at]))
            return wrong(p, "--%s wants a value, %s", option->name,
                         option->metavar ? option->metavar : "one of its choices");
        text = p->words[p->at++];
    }
    if (*text == '\0' && (option->kind == CLI_TEXT || option->kind == CLI_TEXTS))
        return wrong(p, "--%s wants a value, is empty", option->name);
    TRY(store(p, option, text));
    mark_given(p, option);
    return HALLEY_OK;
}

static halley_status unknown_option(const parser *p, str name, const char *word)
{
    const char *known[CLI_MAX_OPTIONS + 1];
    size_t n = 0;
    known[n++] = "help";
    for (const cli_option *o = p->call->command->options; o && o->name; o++)
        known[n++] = o->name;
    const char *near = name.n > 0 ? str_nearest(name, known, n) : NULL;
    const size_t shown = strcspn(word, "=");
    if (near)
        return wrong(p, "unknown option %.*s, did you mean --%s?", (int)shown, word,
                     near);
    return wrong(p, "unknown option %.*s", (int)shown, word);
}

/* An option the table does not have: kept for commands that ask, else a mistake. */
static halley_status keep_unknown(parser *p, str name, const char *word)
{
    if (!p->call->command->keeps_unknown)
        return unknown_option(p, name, word);
    p->unknown[p->call->n_unknown++] = word;
    return HALLEY_OK;
}

static halley_status take_long(parser *p, const char *word, bool *help)
{
    const char *equals = strchr(word, '=');
    const str name = {word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word) - 2};
    const cli_command *command = p->call->command;
    if (str_eq(name, STR("help")) && !equals) {
        *help = true;
        return HALLEY_OK;
    }
    const cli_option *option = find_long(command, name);
    const cli_option *negated = option ? NULL : find_negated(command, name);
    if (!option && !negated)
        return keep_unknown(p, name, word);
    if ((negated || option->kind == CLI_FLAG) && equals)
        return wrong(p, "--%.*s takes no value", STR_ARG(name));
    if (negated)
        return set_flag(p, negated, false);
    if (option->kind == CLI_FLAG)
        return set_flag(p, option, true);
    return take_value(p, option, equals ? equals + 1 : NULL);
}

static halley_status take_short(parser *p, const char *word, bool *help)
{
    if (strcmp(word, "-h") == 0) {
        *help = true;
        return HALLEY_OK;
    }
    const cli_option *option = find_letter(p->call->command, word[1]);
    if (!option || (option->kind == CLI_FLAG && word[2]))
        return unknown_option(p, (str){"", 0}, word);
    if (option->kind == CLI_FLAG)
        return set_flag(p, option, true);
    return take_value(p, option, word[2] ? word + 2 : NULL);
}

static bool is_argument(const char *word)
{
    if (word[0] != '-' || word[1] == 0)
        return true;
    return (word[1] >= '0' && word[1] <= '9') || word[1] == '.';
}

static halley_status take_words(parser *p, bool *help)
{
    bool ended = false;
    while (p->at < p->n_words && !*help) {
        const char *word = p->words[p->at++];
        if (!ended && strcmp(word, "--") == 0)
            ended = true;
        else if (*word == '\0')
            return wrong(p, "argument %zu is empty", p->call->n_args + 1);
        else if (ended || is_argument(word))
            p->args[p->call->n_args++] = word;
        else if (word[1] == '-')
            TRY(take_long(p, word, help));
        else
            TRY(take_short(p, word, help));
    }
    return HALLEY_OK;
}

static halley_status check_count(const parser *p)
{
    const cli_command *command = p->call->command;
    const size_t n = p->call->n_args;
    if (n >= command->min_args && n <= command->max_args)
        return HALLEY_OK;
    if (command->max_args == 0)
        return wrong(p, "%s takes no arguments, was given '%s'", command->name,
                     p->args[0]);
    if (n < command->min_args)
        return wrong(p, "%s wants %s%u argument%s (%s), was given %zu", command->name,
                     command->max_args > command->min_args ? "at least " : "",
                     command->min_args, command->min_args == 1 ? "" : "s",
                     command->arguments, n);
    return wrong(p, "%s wants at most %u argument%s (%s), was given %zu", command->name,
                 command->max_args, command->max_args == 1 ? "" : "s", command->arguments,
                 n);
}

static halley_status make_room(parser *p)
{
    const cli_command *command = p->call->command;
    p->options = arena_array(p->memory, command->options_size + 1, 1);
    p->args = arena_array(p->memory, p->n_words + 1, sizeof *p->args);
    p->unknown = arena_array(p->memory, p->n_words + 1, sizeof *p->unknown);
    if (!p->options || !p->args || !p->unknown)
        return error_nomem(p->err);
    if (command->defaults)
        memcpy(p->options, command->defaults, command->options_size);
    p->call->options = p->options;
    p->call->args = p->args;
    p->call->unknown = p->unknown;
    return HALLEY_OK;
}

halley_status cli_parse(cli_call *call, arena *memory, bool *help,
                        const char *const *words, size_t n_words, halley_error *err)
{
    parser p = {
        .call = call, .memory = memory, .err = err, .words = words, .n_words = n_words};
    *help = false;
    memset(call->given, 0, sizeof call->given);
    call->n_args = call->n_unknown = 0;
    TRY(make_room(&p));
    TRY(take_words(&p, help));
    return *help ? HALLEY_OK : check_count(&p);
}
