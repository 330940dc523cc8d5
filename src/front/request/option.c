/*
 * Sets options from texts. The words of a command line and the values of a request go
 * through the same functions, with the same limits and the same error messages.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "base/str.h"
#include "request/design.h"
#include "request/verb.h"

#include <assert.h>
#include <string.h>

/* An option being set. */
typedef struct setting {
    request_call *call;
    char *options;
    arena *memory;
    const request_option *option;
    const char *shown; /* its name in errors */
    const char *text;
    halley_error *err;
} setting;

static halley_status refuse_choice(const setting *s)
{
    strbuf names = {0};
    size_t n = 0;
    const char *const *choices = s->option->choices;
    for (; choices[n] != NULL; n++)
        strbuf_printf(&names, "%s%s", n > 0 ? ", " : "", choices[n]);
    const char *near = str_nearest(str_from(s->text), choices, n);
    const halley_status status = error_set(
        s->err, HALLEY_EINVAL, "%s must be one of %.*s; is '%s'%s%s%s", s->shown,
        STR_ARG(strbuf_str(&names)), s->text, near != NULL ? ", did you mean " : "",
        near != NULL ? near : "", near != NULL ? "?" : "");
    strbuf_fini(&names);
    return status;
}

static halley_status check_option_range(const setting *s, double number)
{
    const request_option *o = s->option;
    if (o->min == 0 && o->max == 0)
        return HALLEY_OK;
    if (number >= o->min && number <= o->max)
        return HALLEY_OK;
    const bool is_low = number < o->min;
    if (o->kind == REQUEST_QUANTITY && o->unit == UNITS_SHARE)
        return error_set(s->err, HALLEY_EINVAL, "%s must be between %s and %s %%, is %s",
                         s->shown, number_digits(100 * o->min, 6).at,
                         number_digits(100 * o->max, 6).at, s->text);
    return error_set(s->err, HALLEY_EINVAL, "%s must be at %s %s, is %s", s->shown,
                     is_low ? "least" : "most",
                     number_digits(is_low ? o->min : o->max, 10).at, s->text);
}

static halley_status store_whole(const setting *s)
{
    uint64_t number;
    char *to = s->options + s->option->offset;
    const bool is_small = s->option->kind == REQUEST_U32;
    if (!str_to_u64(str_from(s->text), &number) || (is_small && number > UINT32_MAX))
        return error_set(s->err, HALLEY_EINVAL, "%s must be a whole number, is '%s'",
                         s->shown, s->text);
    TRY(check_option_range(s, (double)number));
    const uint32_t small = (uint32_t)number;
    if (is_small)
        memcpy(to, &small, sizeof small);
    else
        memcpy(to, &number, sizeof number);
    return HALLEY_OK;
}

static halley_status store_number(const setting *s)
{
    double number = 0;
    if (s->option->kind == REQUEST_QUANTITY) {
        const halley_status status =
            units_parse(&number, str_from(s->text), s->option->unit, s->err);
        if (status != HALLEY_OK) {
            error_prefix(s->err, "%s: ", s->shown);
            return status;
        }
    } else if (!number_read(str_from(s->text), &number)) {
        return error_set(s->err, HALLEY_EINVAL, "%s must be a number, is '%s'", s->shown,
                         s->text);
    }
    TRY(check_option_range(s, number));
    memcpy(s->options + s->option->offset, &number, sizeof number);
    return HALLEY_OK;
}

static halley_status store_choice(const setting *s)
{
    for (uint32_t i = 0; s->option->choices[i] != NULL; i++) {
        if (strcmp(s->option->choices[i], s->text) != 0)
            continue;
        memcpy(s->options + s->option->offset, &i, sizeof i);
        return HALLEY_OK;
    }
    return refuse_choice(s);
}

/* The first text replaces the defaults. */
static halley_status store_texts(const setting *s)
{
    request_texts list;
    char *to = s->options + s->option->offset;
    memcpy(&list, to, sizeof list);
    if (!request_given(s->call, s->option->name))
        list.n = 0;
    const char **at = (const char **)(uintptr_t)list.at;
    if ((list.n & (list.n - 1)) == 0) { /* capacity grows in powers of two */
        at = arena_array(s->memory, list.n > 0 ? 2 * list.n : 1, sizeof *at);
        if (at == NULL)
            return error_nomem(s->err);
        if (list.n > 0)
            memcpy(at, list.at, list.n * sizeof *at);
    }
    at[list.n++] = s->text;
    list.at = at;
    memcpy(to, &list, sizeof list);
    return HALLEY_OK;
}

static void mark_given(request_call *call, const request_option *option)
{
    const size_t i = option->index;
    assert(i < REQUEST_MAX_OPTIONS);
    call->given[i / 64] |= UINT64_C(1) << i % 64;
}

static halley_status store_value(const setting *s)
{
    switch (s->option->kind) {
    case REQUEST_FLAG:
    case REQUEST_PLAN_KEYS:
        break;
    case REQUEST_TEXT:
        memcpy(s->options + s->option->offset, &s->text, sizeof s->text);
        break;
    case REQUEST_TEXTS:
        return store_texts(s);
    case REQUEST_U32:
    case REQUEST_U64:
        return store_whole(s);
    case REQUEST_DOUBLE:
    case REQUEST_QUANTITY:
        return store_number(s);
    case REQUEST_CHOICE:
        return store_choice(s);
    }
    return HALLEY_OK;
}

halley_status request_option_set(request_call *call, char *options, arena *memory,
                                 const request_option *option, const char *shown,
                                 const char *text, halley_error *err)
{
    const setting s = {call, options, memory, option, shown, text, err};
    const bool is_text = option->kind == REQUEST_TEXT || option->kind == REQUEST_TEXTS;
    if (*text == '\0' && is_text)
        return error_set(err, HALLEY_EINVAL, "%s needs a value, is empty", shown);
    TRY(store_value(&s));
    mark_given(call, option);
    return HALLEY_OK;
}

void request_option_set_flag(request_call *call, char *options,
                             const request_option *option, bool value)
{
    assert(option->kind == REQUEST_FLAG);
    memcpy(options + option->offset, &value, sizeof value);
    mark_given(call, option);
}

bool request_option_next(request_option_walk *w)
{
    const request_option *row =
        w->verb->options != NULL ? &w->verb->options[w->row] : NULL;
    if (row == NULL || row->name == NULL)
        return false;
    if (row->kind == REQUEST_PLAN_KEYS && w->plan_key == HALLEY_N_PLAN_KEYS)
        row = &w->verb->options[++w->row];
    if (row->name == NULL)
        return false;
    if (row->kind == REQUEST_PLAN_KEYS) {
        w->option = design_plan_option((halley_plan_key)w->plan_key++, row->offset);
    } else {
        w->option = *row;
        w->row++;
    }
    w->option.index = w->index++;
    return true;
}

bool request_option_find(request_option *out, const request_verb *verb, str name)
{
    for (request_option_walk w = {.verb = verb}; request_option_next(&w);) {
        if (!str_eq(name, str_from(w.option.name)))
            continue;
        if (out != NULL)
            *out = w.option;
        return true;
    }
    return false;
}

void request_option_doc(strbuf *to, const request_option *option)
{
    strbuf_add(to, str_from(option->doc));
    if (option->kind == REQUEST_TEXTS)
        strbuf_add(to, STR("; repeatable"));
}

char *request_options_make(const request_verb *verb, arena *memory)
{
    char *options = arena_array(memory, verb->options_size + 1, 1);
    if (options == NULL)
        return NULL;
    if (verb->defaults != NULL)
        memcpy(options, verb->defaults, verb->options_size);
    return options;
}
