/*
 * Numbers, times and values of recordings.
 *
 * Times are decimal microseconds with up to three digits after the point. A double loses
 * nanoseconds beyond 2^53 ns (104 days), and absolute times are greater than that. So
 * times are read as digits.
 */
#include "recording/pull.h"

#include "base/error.h"
#include "base/number/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool hex_u64(str text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 2; i < text.n; i++) {
        const char c = (char)(text.at[i] | 0x20);
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0 || *out >> 60)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return text.n > 2;
}

uint64_t pull_u64(const json_reader *r, json_token token)
{
    if (token != JSON_NUMBER && token != JSON_STRING)
        return PULL_NONE;
    uint64_t value = 0;
    const str text = r->text;
    size_t i = 0;
    for (; i < text.n && i < 19 && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        value = 10 * value + (uint64_t)(text.at[i] - '0');
    if (i == text.n && i > 0)
        return value;
    int64_t negative;
    double number;
    if (str_to_u64(text, &value))
        return value;
    if (str_to_i64(text, &negative))
        return (uint64_t)negative;
    if (text.n > 2 && text.at[0] == '0' && text.at[1] == 'x' && hex_u64(text, &value))
        return value;
    if (number_read(text, &number) && number >= 0 && number < 1e18 &&
        number == floor(number))
        return (uint64_t)number;
    return PULL_NONE;
}

bool pull_us_as_ns(str text, int64_t *out)
{
    const char *p = text.at, *const end = p + text.n;
    const bool negative = p < end && *p == '-';
    p += negative;
    const char *const digits = p;
    uint64_t us = 0, ns = 0;
    while (p < end && *p >= '0' && *p <= '9' && p - digits < 16)
        us = 10 * us + (uint64_t)(*p++ - '0');
    if (p > digits && p < end && *p == '.') {
        p++;
        uint64_t unit = 100;
        for (; p < end && *p >= '0' && *p <= '9'; p++) {
            if (unit > 0)
                ns += unit * (uint64_t)(*p - '0');
            else if (p - 4 >= text.at && p[-4] == '.' && *p >= '5')
                ns++; /* the fourth digit rounds */
            unit /= 10;
        }
    }
    if (p == end && p > digits && us < UINT64_C(9000000000000000)) {
        const int64_t total = (int64_t)(us * 1000 + ns);
        *out = negative ? -total : total;
        return true;
    }
    double value;
    if (!number_read(text, &value) || !(fabs(value) < 9e15))
        return false;
    *out = (int64_t)llround(value * 1000);
    return true;
}

str pull_text(json_reader *r, strbuf *scratch)
{
    if (!r->escaped)
        return r->text;
    scratch->n = 0;
    const char *const problem = r->problem;
    if (!json_unescape(r, scratch)) {
        r->problem = problem; /* an unknown escape: keep the text unchanged */
        return r->text;
    }
    return strbuf_str(scratch);
}

/* Python's repr() of a str: single quotes, unless only those would need escapes. */
static void repr_text(str text, strbuf *to)
{
    const bool has_single = text.n > 0 && memchr(text.at, '\'', text.n) != NULL;
    const bool has_double = text.n > 0 && memchr(text.at, '"', text.n) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    strbuf_add_char(to, quote);
    size_t start = 0; /* start of the run that is copied unchanged */
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.at[i];
        if ((uint8_t)c >= 0x20 && c != quote && c != '\\' && c != 0x7f)
            continue;
        strbuf_add(to, (str){text.at + start, i - start});
        start = i + 1;
        if (c == quote || c == '\\')
            strbuf_printf(to, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            strbuf_printf(to, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else
            strbuf_printf(to, "\\x%02x", (unsigned)(uint8_t)c);
    }
    strbuf_add(to, (str){text.at + start, text.n - start});
    strbuf_add_char(to, quote);
}

static void repr_number(str text, strbuf *to)
{
    bool is_float = false;
    for (size_t i = 0; i < text.n; i++)
        is_float |=
            text.at[i] == '.' || (text.at[i] | 0x20) == 'e' || (text.at[i] | 0x20) == 'n';
    double value;
    if (!is_float)
        strbuf_add(to, text);
    else if (number_read(text, &value))
        strbuf_add(to, str_from(number_repr(value).at));
    else
        strbuf_add(to, (text.at[text.n - 1] | 0x20) == 'n' ? STR("nan")
                       : text.at[0] == '-'                 ? STR("-inf")
                                                           : STR("inf"));
}

static void repr_string(json_reader *r, strbuf *to)
{
    if (!r->escaped) {
        repr_text(r->text, to);
        return;
    }
    strbuf plain = {0};
    const str text = pull_text(r, &plain);
    repr_text(text, to);
    to->failed |= plain.failed;
    strbuf_fini(&plain);
}

bool pull_repr(json_reader *r, json_token token, strbuf *to)
{
    const uint32_t depth = r->depth - (token == JSON_OBJECT || token == JSON_ARRAY);
    bool first = true; /* no item before, at this level */
    for (;; token = json_next(r)) {
        const bool closes = token == JSON_OBJECT_END || token == JSON_ARRAY_END;
        if (!first && !closes)
            strbuf_add(to, STR(", "));
        first = token == JSON_OBJECT || token == JSON_ARRAY || token == JSON_KEY;
        switch (token) {
        case JSON_OBJECT:
            strbuf_add_char(to, '{');
            break;
        case JSON_ARRAY:
            strbuf_add_char(to, '[');
            break;
        case JSON_OBJECT_END:
            strbuf_add_char(to, '}');
            break;
        case JSON_ARRAY_END:
            strbuf_add_char(to, ']');
            break;
        case JSON_KEY:
            repr_string(r, to);
            strbuf_add(to, STR(": "));
            break;
        case JSON_STRING:
            repr_string(r, to);
            break;
        case JSON_NUMBER:
            repr_number(r->text, to);
            break;
        case JSON_TRUE:
            strbuf_add(to, STR("True"));
            break;
        case JSON_FALSE:
            strbuf_add(to, STR("False"));
            break;
        case JSON_NULL:
            strbuf_add(to, STR("None"));
            break;
        default:
            return false;
        }
        if (r->depth == depth && token != JSON_KEY)
            return true;
    }
}

halley_status pull_bad(pull_reader *r, halley_error *err, const char *what)
{
    return r->no_memory ? error_nomem(err) : json_error(&r->json, err, what);
}

uint32_t pull_intern(pull_reader *r, json_token token)
{
    if (token != JSON_STRING && token != JSON_NUMBER)
        return HASH_NONE;
    const uint32_t id = intern_add(r->texts, pull_text(&r->json, &r->scratch));
    r->no_memory |= id == HASH_NONE || r->scratch.failed;
    return id;
}
