/*
 * Parses the words after a command's name by its table of options: --name value,
 * --name=value, -n value, -nvalue. Options and arguments may come in any order; "--" ends
 * the options. A word that starts with '-' and continues like a number is an argument, as
 * is a lone '-'.
 */
#include "base/error.h"
#include "base/number/units.h"
#include "base/str.h"
#include "cli/cli.h"
#include "halley/plan_keys.h"

#include <stdarg.h>
#include <string.h>

typedef struct parser {
    request_call *call;
    arena *memory;
    halley_error *err;
    const char *const *words;
    size_t n_words, at;
    char *options;        /* the command's options struct, being filled */
    const char **args;    /* space for every word */
    const char **unknown; /* the same */
} parser;

static halley_status refuse_words(const parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static halley_status refuse_words(const parser *p, const char *format, ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(p->err, HALLEY_EINVAL, "%s", text);
}

static bool find_letter(request_option *out, const request_verb *command, char letter)
{
    for (request_option_walk w = {.verb = command}; request_option_next(&w);)
        if (w.option.letter != 0 && w.option.letter == letter) {
            *out = w.option;
            return true;
        }
    return false;
}

static bool find_negated(request_option *out, const request_verb *command, str name)
{
    return str_starts(name, STR("no-")) &&
           request_option_find(out, command, (str){name.at + 3, name.n - 3}) &&
           out->kind == REQUEST_FLAG && out->negatable;
}

/* The plan key with this name in training programs, if the command has it. With
 * `only_alias`, only names that are accepted as an alias of its option; else also names
 * for a hint. */
static bool find_foreign(request_option *out, const request_verb *command, str name,
                         bool only_alias)
{
    char word[64];
    halley_plan_key key;
    bool is_alias;
    snprintf(word, sizeof word, "%.*s", STR_ARG(name));
    if (str_eq(name, STR("vocab-size")) || str_eq(name, STR("padded-vocab-size")))
        return request_option_find(out, command, STR("vocab"));
    if (!halley_plan_key_find(&key, &is_alias, word) || (only_alias && !is_alias))
        return false;
    return request_option_find(out, command, str_from(halley_plan_key_name(key)));
}

/* Find an option of the table, also with _ for -, or by its name in a training program.
 */
static bool find_option(request_option *out, const request_verb *command, str name)
{
    char dashed[64];
    if (request_option_find(out, command, name))
        return true;
    if (name.n >= sizeof dashed)
        return false;
    for (size_t i = 0; i < name.n; i++)
        dashed[i] = name.at[i] == '_' ? '-' : name.at[i];
    return request_option_find(out, command, (str){dashed, name.n}) ||
           find_foreign(out, command, name, true);
}

static halley_status set_flag(const parser *p, const request_option *option, bool value)
{
    request_option_set_flag(p->call, p->options, option, value);
    return HALLEY_OK;
}

/* True if the word is an option that this command declares; then it is not a value. */
static bool is_declared(const request_verb *command, const char *word)
{
    request_option o;
    if (word[0] != '-' || word[1] == 0)
        return false;
    if (word[1] != '-')
        return word[2] == 0 && find_letter(&o, command, word[1]);
    str rest = str_from(word + 2), name;
    return str_next(&rest, '=', &name) && find_option(&o, command, name);
}

/* The value: the text after '=' or directly after -n, else the next word. */
static halley_status take_option_value(parser *p, const request_option *option,
                                       const char *attached)
{
    const char *text = attached ? attached : option->implicit;
    if (!text) {
        if (p->at == p->n_words || strcmp(p->words[p->at], "--") == 0 ||
            is_declared(p->call->verb, p->words[p->at]))
            return refuse_words(p, "--%s needs a value, %s", option->name,
                                option->metavar ? option->metavar : "one of its choices");
        text = p->words[p->at++];
    }
    char shown[64];
    snprintf(shown, sizeof shown, "--%s", option->name);
    if (option->is_document && request_given(p->call, option->name))
        return refuse_words(p, "--%s is given twice", option->name);
    return request_option_set(p->call, p->options, p->memory, option, shown, text,
                              p->err);
}

/* True for --gpus, --nnodes and the like, in a command with --cluster NAME:N. */
static bool is_count_of_npus(const request_verb *command, str name)
{
    static const char *const words[] = {
        "gpus",  "num-gpus",  "n-gpus", "npus",           "nnodes",      "world-size",
        "nodes", "num-nodes", "chips",  "nproc-per-node", "accelerators"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(name, str_from(words[i])))
            return request_option_find(NULL, command, STR("cluster"));
    return false;
}

static halley_status unknown_option(const parser *p, str name, const char *word)
{
    const char *known[REQUEST_MAX_OPTIONS + 2];
    size_t n = 0;
    known[n++] = "help";
    known[n++] = "max-memory";
    for (request_option_walk w = {.verb = p->call->verb}; request_option_next(&w);)
        known[n++] = w.option.name;
    request_option meant;
    const char *near = name.n == 0 ? NULL
                       : find_foreign(&meant, p->call->verb, name, false)
                           ? meant.name
                           : str_nearest(name, known, n);
    const size_t shown = strcspn(word, "=");
    if (near == NULL && is_count_of_npus(p->call->verb, name))
        return refuse_words(p,
                            "unknown option %.*s; the number of accelerators is part of "
                            "--cluster, for example --cluster dgx-h100:64",
                            (int)shown, word);
    if (near)
        return refuse_words(p, "unknown option %.*s, did you mean --%s?", (int)shown,
                            word, near);
    return refuse_words(p, "unknown option %.*s", (int)shown, word);
}

/* An option that the table does not have: collected for commands that ask for it, else an
 * error. */
static halley_status keep_unknown(parser *p, str name, const char *word)
{
    if (!p->call->verb->keeps_unknown)
        return unknown_option(p, name, word);
    p->unknown[p->call->n_unknown++] = word;
    return HALLEY_OK;
}

/* --max-memory, which every command has. */
static halley_status take_max_memory(parser *p, const char *attached)
{
    double bytes;
    if (attached == NULL && p->at == p->n_words)
        return refuse_words(p, "--max-memory needs a value, SIZE");
    const char *const text = attached != NULL ? attached : p->words[p->at++];
    const halley_status status = units_parse(&bytes, str_from(text), UNITS_BYTES, p->err);
    if (status != HALLEY_OK) {
        error_prefix(p->err, "--max-memory");
        return status;
    }
    if (!(bytes >= 1))
        return refuse_words(p, "--max-memory must be positive, is \"%s\"", text);
    p->call->max_memory = bytes < 9e18 ? (uint64_t)bytes : INT64_MAX;
    return HALLEY_OK;
}

static halley_status take_long(parser *p, const char *word, bool *help)
{
    const char *equals = strchr(word, '=');
    const str name = {word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word) - 2};
    const request_verb *command = p->call->verb;
    if (str_eq(name, STR("help")) && !equals) {
        *help = true;
        return HALLEY_OK;
    }
    if (str_eq(name, STR("max-memory")))
        return take_max_memory(p, equals ? equals + 1 : NULL);
    request_option option;
    const bool is_plain = find_option(&option, command, name);
    if (!is_plain && !find_negated(&option, command, name))
        return keep_unknown(p, name, word);
    if (option.kind == REQUEST_FLAG && equals)
        return refuse_words(p, "--%.*s takes no value", STR_ARG(name));
    if (option.kind == REQUEST_FLAG)
        return set_flag(p, &option, is_plain);
    return take_option_value(p, &option, equals ? equals + 1 : NULL);
}

static halley_status take_short(parser *p, const char *word, bool *help)
{
    if (strcmp(word, "-h") == 0) {
        *help = true;
        return HALLEY_OK;
    }
    request_option option;
    if (!find_letter(&option, p->call->verb, word[1]) ||
        (option.kind == REQUEST_FLAG && word[2]))
        return unknown_option(p, (str){"", 0}, word);
    if (option.kind == REQUEST_FLAG)
        return set_flag(p, &option, true);
    return take_option_value(p, &option, word[2] ? word + 2 : NULL);
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
            return refuse_words(p, "argument %zu is empty", p->call->n_args + 1);
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
    const request_verb *command = p->call->verb;
    const size_t n = p->call->n_args;
    if (n >= command->min_args && n <= command->max_args)
        return HALLEY_OK;
    if (command->max_args == 0)
        return refuse_words(p, "%s takes no arguments, was given '%s'", command->name,
                            p->args[0]);
    if (n < command->min_args)
        return refuse_words(
            p, "%s needs %s%u argument%s (%s), was given %zu", command->name,
            command->max_args > command->min_args ? "at least " : "", command->min_args,
            command->min_args == 1 ? "" : "s", command->arguments, n);
    return refuse_words(p, "%s takes at most %u argument%s (%s), was given %zu",
                        command->name, command->max_args,
                        command->max_args == 1 ? "" : "s", command->arguments, n);
}

static halley_status make_word_room(parser *p)
{
    const request_verb *command = p->call->verb;
    p->options = request_options_make(command, p->memory);
    p->args = arena_array(p->memory, p->n_words + 1, sizeof *p->args);
    p->unknown = arena_array(p->memory, p->n_words + 1, sizeof *p->unknown);
    if (!p->options || !p->args || !p->unknown)
        return error_nomem(p->err);
    p->call->options = p->options;
    p->call->args = p->args;
    p->call->unknown = p->unknown;
    return HALLEY_OK;
}

halley_status cli_parse(request_call *call, arena *memory, bool *help,
                        const char *const *words, size_t n_words, halley_error *err)
{
    parser p = {
        .call = call, .memory = memory, .err = err, .words = words, .n_words = n_words};
    *help = false;
    memset(call->given, 0, sizeof call->given);
    call->n_args = call->n_unknown = 0;
    TRY(make_word_room(&p));
    TRY(take_words(&p, help));
    return *help ? HALLEY_OK : check_count(&p);
}
