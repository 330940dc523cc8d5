/*
 * Answers a request: find the verb, store each key as the option of that name, run the
 * verb, and put the result or the error into an envelope.
 */
#include "halley/request.h"

#include "base/error.h"
#include "base/file/file_root.h"
#include "base/str.h"
#include "base/strbuf_stream.h"
#include "halley/topology.h"
#include "request/document.h"
#include "request/files.h"
#include "request/reader.h"
#include "request/verbs.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REQUEST_BYTES = 64 << 20 };

static halley_status refuse_request(request_reader *r, request_code code,
                                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static halley_status refuse_request(request_reader *r, request_code code,
                                    const char *format, ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->call.code = code;
    return error_set(r->err, HALLEY_EINVAL, "%s", text);
}

/* True if the request "trace.info" names the verb "trace info". */
static bool is_verb_named(const request_verb *verb, str name)
{
    if (strlen(verb->name) != name.n)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        const char c = verb->name[i] == ' ' ? '.' : verb->name[i];
        if (c != name.at[i])
            return false;
    }
    return true;
}

/* The verb that a request names; NULL if there is none. */
static const request_verb *find_named_verb(str name)
{
    for (size_t i = 0; request_verbs[i] != NULL; i++)
        if (is_verb_named(request_verbs[i], name))
            return request_verbs[i];
    return NULL;
}

static halley_status refuse_verb(request_reader *r, str name)
{
    char words[64][32];
    const char *known[64];
    size_t n = 0;
    for (; n < 64 && request_verbs[n] != NULL; n++) {
        snprintf(words[n], sizeof words[n], "%s", request_verbs[n]->name);
        for (char *c = words[n]; *c != '\0'; c++)
            *c = *c == ' ' ? '.' : *c;
        known[n] = words[n];
    }
    const char *near = str_nearest(name, known, n);
    return refuse_request(r, REQUEST_CODE_USAGE, "unknown verb \"%.*s\"%s%s%s",
                          STR_ARG(name), near != NULL ? ", did you mean \"" : "",
                          near != NULL ? near : "", near != NULL ? "\"?" : "");
}

static halley_status find_verb(request_reader *r)
{
    const conf_node *root = r->file.root;
    if (root->kind != CONF_MAP)
        return refuse_request(r, REQUEST_CODE_USAGE,
                              "a request is an object, such as {\"do\": \"version\"}");
    const conf_node *name = conf_find(root, "do");
    if (name == NULL || name->kind != CONF_SCALAR || !name->quoted)
        return refuse_request(r, REQUEST_CODE_USAGE,
                              "a request names its verb: {\"do\": \"estimate\", ...}");
    r->call.verb = find_named_verb(name->text);
    return r->call.verb != NULL ? HALLEY_OK : refuse_verb(r, name->text);
}

/* True for options that choose the form of the output; a request always gets JSON. */
static bool is_form(const char *name)
{
    return strcmp(name, "json") == 0 || strcmp(name, "csv") == 0;
}

/* The option that a key names, with _ for -. */
static bool find_option(request_option *out, const request_verb *verb, str key)
{
    char name[64];
    if (key.n >= sizeof name || memchr(key.at, '-', key.n) != NULL)
        return false;
    memcpy(name, key.at, key.n);
    name[key.n] = '\0';
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return !is_form(name) && request_option_find(out, verb, str_from(name));
}

static halley_status refuse_key(request_reader *r, str key)
{
    const request_verb *verb = r->call.verb;
    char words[REQUEST_MAX_OPTIONS][40];
    const char *known[REQUEST_MAX_OPTIONS + 4];
    size_t n = 0, n_known = 0;
    for (request_option_walk w = {.verb = verb}; request_option_next(&w);) {
        if (is_form(w.option.name))
            continue;
        snprintf(words[n], sizeof words[n], "%s", w.option.name);
        for (char *c = words[n]; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        known[n_known++] = words[n++];
    }
    for (size_t i = 0; verb->arg_keys != NULL && i < 4 && verb->arg_keys[i] != NULL; i++)
        known[n_known++] = verb->arg_keys[i];
    const char *near = str_nearest(key, known, n_known);
    return refuse_request(r, REQUEST_CODE_USAGE, "%s has no key \"%.*s\"%s%s%s",
                          verb->name, STR_ARG(key),
                          near != NULL ? ", did you mean \"" : "",
                          near != NULL ? near : "", near != NULL ? "\"?" : "");
}

/* The text of a value: a scalar as written, an object or list as JSON. */
static halley_status print_request_value(const char **out, request_reader *r,
                                         const conf_node *node)
{
    if (node->kind == CONF_SCALAR) {
        *out = node->text.at; /* terminated, because the tree copies texts */
        return HALLEY_OK;
    }
    strbuf text = {0};
    conf_node_print(&text, node);
    *out = text.failed ? NULL : arena_copy(&r->memory, strbuf_str(&text));
    strbuf_fini(&text);
    return *out != NULL ? HALLEY_OK : error_nomem(r->err);
}

static halley_status store_flag(request_reader *r, const request_option *option, str key,
                                const conf_node *node)
{
    const bool yes = node->kind == CONF_SCALAR && str_eq(node->text, STR("true"));
    const bool no = node->kind == CONF_SCALAR && str_eq(node->text, STR("false"));
    if (node->quoted || (!yes && !no))
        return refuse_request(r, REQUEST_CODE_BAD_VALUE, "%.*s is true or false",
                              STR_ARG(key));
    if (yes || option->negatable)
        request_option_set_flag(&r->call, r->options, option, yes);
    return HALLEY_OK;
}

/* "-" is standard input or output for commands; a request has neither. */
static halley_status refuse_dash(request_reader *r, str key, const char *text)
{
    if (strcmp(text, "-") != 0)
        return HALLEY_OK;
    return refuse_request(
        r, REQUEST_CODE_BAD_VALUE,
        "%.*s is \"-\", but a request has no standard input or output; name a "
        "file",
        STR_ARG(key));
}

static halley_status store_one(request_reader *r, const request_option *option, str key,
                               const conf_node *node)
{
    char shown[64];
    const char *text;
    snprintf(shown, sizeof shown, "%.*s", STR_ARG(key));
    if (node->kind == CONF_NULL)
        return refuse_request(r, REQUEST_CODE_BAD_VALUE, "%s has no value", shown);
    if (node->kind != CONF_SCALAR && !option->is_document)
        return refuse_request(r, REQUEST_CODE_BAD_VALUE, "%s takes a single value",
                              shown);
    TRY(print_request_value(&text, r, node));
    const halley_status status =
        request_option_set(&r->call, r->options, &r->memory, option, shown, text, r->err);
    return request_fail_as(&r->call, REQUEST_CODE_BAD_VALUE, status);
}

static halley_status store_option(request_reader *r, const request_option *option,
                                  str key, const conf_node *node)
{
    if (option->kind == REQUEST_FLAG)
        return store_flag(r, option, key, node);
    if (option->kind != REQUEST_TEXTS || node->kind != CONF_LIST)
        return store_one(r, option, key, node);
    for (uint32_t i = 0; i < node->n; i++)
        TRY(store_one(r, option, key, node->items[i]));
    return HALLEY_OK;
}

/* Store a positional argument of the command by its key. */
static halley_status store_argument(request_reader *r, str key, const conf_node *node)
{
    if (node->kind == CONF_NULL)
        return refuse_request(r, REQUEST_CODE_BAD_VALUE, "%.*s has no value",
                              STR_ARG(key));
    const char *text;
    TRY(print_request_value(&text, r, node));
    if (*text == '\0')
        return refuse_request(r, REQUEST_CODE_BAD_VALUE, "%.*s is empty", STR_ARG(key));
    TRY(refuse_dash(r, key, text));
    r->args[r->call.n_args++] = text;
    return HALLEY_OK;
}

static halley_status store_argument_list(request_reader *r, str key,
                                         const conf_node *node, bool is_last)
{
    if (node->kind != CONF_LIST || !is_last)
        return store_argument(r, key, node);
    for (uint32_t i = 0; i < node->n; i++)
        TRY(store_argument(r, key, node->items[i]));
    return HALLEY_OK;
}

static bool is_argument_key(const request_verb *verb, str key)
{
    for (size_t i = 0; verb->arg_keys != NULL && verb->arg_keys[i] != NULL; i++)
        if (str_eq(key, str_from(verb->arg_keys[i])))
            return true;
    return false;
}

/* Store arguments in the order of the command, whatever their order in the request. */
static halley_status store_arguments(request_reader *r)
{
    const request_verb *verb = r->call.verb;
    const conf_node *root = r->file.root;
    size_t room = 8;
    for (uint32_t i = 0; i < root->n; i++)
        room += root->items[i]->kind == CONF_LIST ? root->items[i]->n : 1;
    r->args = arena_array(&r->memory, room, sizeof *r->args);
    if (r->args == NULL)
        return error_nomem(r->err);
    r->call.args = r->args;
    for (size_t i = 0; verb->arg_keys != NULL && verb->arg_keys[i] != NULL; i++) {
        const conf_node *node = conf_find(root, verb->arg_keys[i]);
        const bool is_last = verb->arg_keys[i + 1] == NULL;
        if (node != NULL)
            TRY(store_argument_list(r, str_from(verb->arg_keys[i]), node, is_last));
        else if (r->call.n_args < verb->min_args)
            return refuse_request(r, REQUEST_CODE_USAGE, "%s needs the key \"%s\"",
                                  verb->name, verb->arg_keys[i]);
        else if (!is_last && conf_find(root, verb->arg_keys[i + 1]) != NULL)
            return refuse_request(r, REQUEST_CODE_USAGE, "%s has \"%s\" but no \"%s\"",
                                  verb->name, verb->arg_keys[i + 1], verb->arg_keys[i]);
    }
    if (r->call.n_args < verb->min_args || r->call.n_args > verb->max_args)
        return refuse_request(r, REQUEST_CODE_USAGE, "%s takes %u to %u of \"%s\"",
                              verb->name, verb->min_args, verb->max_args,
                              verb->arg_keys != NULL ? verb->arg_keys[0] : "");
    return HALLEY_OK;
}

static halley_status store_keys(request_reader *r)
{
    const conf_node *root = r->file.root;
    const request_verb *verb = r->call.verb;
    r->options = request_options_make(verb, &r->memory);
    if (r->options == NULL)
        return error_nomem(r->err);
    r->call.options = r->options;
    request_option option;
    if (request_option_find(&option, verb, STR("json")))
        request_option_set_flag(&r->call, r->options, &option, true);
    for (uint32_t i = 0; i < root->n; i++) {
        const str key = root->keys[i];
        if (str_eq(key, STR("do")) || is_argument_key(verb, key))
            continue;
        if (!find_option(&option, verb, key))
            return refuse_key(r, key);
        TRY(store_option(r, &option, key, root->items[i]));
    }
    return store_arguments(r);
}

static request_code find_code(const request_call *call, halley_status status)
{
    static const request_code codes[] = {
        [HALLEY_OK] = REQUEST_CODE_INTERNAL,
        [HALLEY_ENOMEM] = REQUEST_CODE_LIMIT,
        [HALLEY_EIO] = REQUEST_CODE_BAD_FILE,
        [HALLEY_EFORMAT] = REQUEST_CODE_BAD_FILE,
        [HALLEY_EINVAL] = REQUEST_CODE_BAD_VALUE,
        [HALLEY_ENOTFOUND] = REQUEST_CODE_NOT_FOUND,
        [HALLEY_ELIMIT] = REQUEST_CODE_LIMIT,
        [HALLEY_EDEADLOCK] = REQUEST_CODE_INFEASIBLE,
        [HALLEY_ECANCELED] = REQUEST_CODE_CANCELLED,
    };
    if (status == HALLEY_ECANCELED)
        return REQUEST_CODE_CANCELLED;
    return call->code != REQUEST_CODE_BY_STATUS ? call->code : codes[status];
}

const char *request_code_word(request_code code)
{
    static const char *const words[REQUEST_N_CODES] = {
        [REQUEST_CODE_BY_STATUS] = "internal",
        [REQUEST_CODE_USAGE] = "usage",
        [REQUEST_CODE_NOT_FOUND] = "not-found",
        [REQUEST_CODE_BAD_FILE] = "bad-file",
        [REQUEST_CODE_BAD_VALUE] = "bad-value",
        [REQUEST_CODE_INFEASIBLE] = "infeasible",
        [REQUEST_CODE_UNSUPPORTED] = "unsupported",
        [REQUEST_CODE_CANCELLED] = "cancelled",
        [REQUEST_CODE_LIMIT] = "limit",
        [REQUEST_CODE_INTERNAL] = "internal",
    };
    assert(code < REQUEST_N_CODES);
    return words[code];
}

/* The hint of an error message: the text after "did you mean" or the last semicolon. */
static str find_hint(str sentence)
{
    static const char mark[] = ", did you mean ";
    for (size_t i = 0; i + sizeof mark - 1 < sentence.n; i++)
        if (memcmp(sentence.at + i, mark, sizeof mark - 1) == 0)
            return (str){sentence.at + i + 2, sentence.n - i - 2};
    for (size_t i = sentence.n; i > 1; i--)
        if (sentence.at[i - 2] == ';' && sentence.at[i - 1] == ' ')
            return (str){sentence.at + i, sentence.n - i};
    return (str){"", 0};
}

static void print_error(strbuf *to, request_code code, const halley_error *err)
{
    char word[64]; /* topology files have their own code words */
    const char *own = halley_topology_error_code(err, word, sizeof word);
    strbuf_printf(to, "{\"ok\": false, \"error\": {\"code\": \"%s\", \"message\": ",
                  own != NULL ? own : request_code_word(code));
    strbuf_json(to, str_from(err->text));
    if (err->file[0] != '\0') {
        strbuf_add(to, STR(", \"file\": "));
        strbuf_json(to, str_from(err->file));
    }
    if (err->line > 0)
        strbuf_printf(to, ", \"line\": %u", err->line);
    if (err->column > 0)
        strbuf_printf(to, ", \"column\": %u", err->column);
    const str hint = find_hint(str_from(err->text));
    if (hint.n > 0) {
        strbuf_add(to, STR(", \"hint\": "));
        strbuf_json(to, hint);
    }
    strbuf_add(to, STR("}}\n"));
}

/* Put the result into the envelope, without its final newline. */
static void print_result(strbuf *to, str result)
{
    if (str_ends(result, STR("\n")))
        result.n--;
    strbuf_add(to, STR("{\"ok\": true, \"result\": "));
    strbuf_add(to, result);
    strbuf_add(to, STR("}\n"));
}

static halley_status run_request_verb(request_reader *r, const request_terms *terms,
                                      strbuf *result)
{
    if (terms->is_foreign)
        TRY(request_files_permit(&r->call, terms->is_read_only, r->err));
    r->call.out = strbuf_stream_open(result);
    if (r->call.out == NULL)
        return error_nomem(r->err);
    halley_status status = request_call_run(&r->call, r->err);
    if ((fclose(r->call.out) != 0 || result->failed) && status == HALLEY_OK)
        status = error_nomem(r->err);
    if (status == HALLEY_OK && result->n == 0)
        status = refuse_request(r, REQUEST_CODE_INTERNAL, "%s gave no result",
                                r->call.verb->name);
    return status;
}

halley_status request_read(request_reader *r, const char *json)
{
    const str text = {json, strnlen(json, MAX_REQUEST_BYTES + 1)};
    if (text.n > MAX_REQUEST_BYTES)
        return refuse_request(r, REQUEST_CODE_LIMIT, "a request has at most %d MiB",
                              MAX_REQUEST_BYTES >> 20);
    const halley_status status = conf_parse(&r->file, text, "request.json", r->err);
    if (status == HALLEY_EFORMAT)
        return request_fail_as(&r->call, REQUEST_CODE_USAGE, status);
    TRY(status);
    TRY(find_verb(r));
    return store_keys(r);
}

void request_reader_fini(request_reader *r)
{
    conf_fini(&r->file);
    arena_fini(&r->memory);
}

/* Remove the parser's name for the request, which is useless to the user. */
static void forget_request_name(halley_error *err)
{
    if (strcmp(err->file, "request.json") == 0)
        err->file[0] = '\0';
}

halley_status halley_request(char **reply, const char *json, const halley_watch *watch,
                             halley_error *err)
{
    const request_terms terms = {.is_foreign = file_root_get() >= 0,
                                 .is_read_only = file_root_is_read_only(),
                                 .watch = watch};
    return request_answer(reply, json, &terms, err);
}

halley_status halley_request_confine(const char *folder, int read_only, halley_error *err)
{
    return file_root_set(folder, read_only != 0, err);
}

halley_status request_answer(char **reply, const char *json, const request_terms *terms,
                             halley_error *err)
{
    halley_error problem = {0};
    request_notes warnings = {0};
    request_assumptions assumed = {0};
    request_reader r = {.err = &problem,
                        .call = {.watch = terms->watch,
                                 .warnings = &warnings,
                                 .assumed = &assumed,
                                 .max_output = terms->max_output}};
    strbuf result = {0}, text = {0};
    halley_status status = request_read(&r, json);
    if (status == HALLEY_OK)
        status = run_request_verb(&r, terms, &result);
    forget_request_name(&problem);
    if (status == HALLEY_OK)
        print_result(&text, strbuf_str(&result));
    else
        print_error(&text, find_code(&r.call, status), &problem);
    strbuf_fini(&result);
    request_reader_fini(&r);
    request_notes_fini(&warnings);
    request_assumptions_fini(&assumed);
    if (text.failed) {
        strbuf_fini(&text);
        return error_nomem(err);
    }
    *reply = text.at;
    return HALLEY_OK;
}
