/* The tokenizer: one switch over what may come next. */
#include "base/json.h"

#include <string.h>

void json_open(json_reader *r, str input)
{
    memset(r, 0, offsetof(json_reader, open));
    r->problem = NULL;
    r->start = r->at = input.n ? input.at : "";
    r->end = r->start + input.n;
    if (input.n >= 3 && memcmp(input.at, "\xef\xbb\xbf", 3) == 0)
        r->at += 3;
}

static json_token fail(json_reader *r, const char *problem)
{
    r->problem = problem;
    return JSON_ERROR;
}

static void skip_space(json_reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* The cursor stands behind the opening quote; on success behind the closing one. */
static bool take_string(json_reader *r)
{
    const char *const start = r->at;
    r->escaped = false;
    for (const char *p = start; p < r->end; p++) {
        if (*p == '"') {
            r->text = (str){start, (size_t)(p - start)};
            r->at = p + 1;
            return true;
        }
        if (*p == '\\') {
            r->escaped = true;
            p++;
        } else if ((uint8_t)*p < 0x20) {
            r->at = p;
            r->problem = "a control character inside a string; it must be escaped";
            return false;
        }
    }
    r->problem = "a string without its closing quote; the file is cut";
    return false;
}

static bool is_digit(const json_reader *r, const char *p)
{
    return p < r->end && *p >= '0' && *p <= '9';
}

static json_token take_number(json_reader *r)
{
    const char *const start = r->at;
    const char *p = start + (*start == '-');
    if (!is_digit(r, p))
        return fail(r, "a number without digits");
    if (*p == '0' && is_digit(r, p + 1))
        return fail(r, "a number with a leading zero");
    while (is_digit(r, p))
        p++;
    if (p < r->end && *p == '.') {
        if (!is_digit(r, ++p))
            return fail(r, "a number without digits behind its point");
        while (is_digit(r, p))
            p++;
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < r->end && (*p == '+' || *p == '-'))
            p++;
        if (!is_digit(r, p))
            return fail(r, "a number without digits in its exponent");
        while (is_digit(r, p))
            p++;
    }
    r->text = (str){start, (size_t)(p - start)};
    r->at = p;
    return JSON_NUMBER;
}

static json_token take_word(json_reader *r)
{
    static const struct {
        str word;
        json_token token;
    } words[] = {
        {{"true", 4}, JSON_TRUE}, {{"false", 5}, JSON_FALSE}, {{"null", 4}, JSON_NULL}};
    const str rest = {r->at, (size_t)(r->end - r->at)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_starts(rest, words[i].word)) {
            r->at += words[i].word.n;
            return words[i].token;
        }
    return fail(r, "something that is no JSON value");
}

static json_token take_open(json_reader *r, json_token token)
{
    if (r->depth == JSON_MAX_DEPTH)
        return fail(r, "nested more than 512 deep");
    r->open[r->depth++] = *r->at++;
    r->has_items = false;
    r->wants_value = false;
    return token;
}

static json_token take_close(json_reader *r)
{
    const char bracket = *r->at;
    if (r->depth == 0 || r->open[r->depth - 1] != (bracket == '}' ? '{' : '['))
        return fail(r, "a closing bracket that closes nothing");
    if (r->wants_value)
        return fail(r, "a closing bracket where a value is wanted");
    r->at++;
    r->depth--;
    r->has_items = true;
    return bracket == '}' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static json_token take_value(json_reader *r)
{
    if (*r->at == '{')
        return take_open(r, JSON_OBJECT);
    if (*r->at == '[')
        return take_open(r, JSON_ARRAY);
    json_token token;
    if (*r->at == '"') {
        r->at++;
        token = take_string(r) ? JSON_STRING : JSON_ERROR;
    } else if (*r->at == '-' || is_digit(r, r->at)) {
        token = take_number(r);
    } else {
        token = take_word(r);
    }
    r->wants_value = false;
    r->has_items = true;
    return token;
}

/* Behind a comma or at the start of an object. */
static json_token take_key(json_reader *r)
{
    if (*r->at != '"')
        return fail(r, "an object needs a key in quotes here");
    r->at++;
    if (!take_string(r))
        return JSON_ERROR;
    const str key = r->text;
    const bool escaped = r->escaped;
    skip_space(r);
    if (r->at == r->end || *r->at != ':')
        return fail(r, "a colon is missing behind a key");
    r->at++;
    r->text = key;
    r->escaped = escaped;
    r->wants_value = true;
    return JSON_KEY;
}

json_token json_next(json_reader *r)
{
    if (r->problem)
        return JSON_ERROR;
    skip_space(r);
    if (r->at == r->end)
        return r->depth == 0 ? JSON_END
                             : fail(r, "the file ends inside a value; it is cut");
    if (r->wants_value || r->depth == 0)
        return *r->at == '}' || *r->at == ']' ? take_close(r) : take_value(r);
    if (*r->at == '}' || *r->at == ']')
        return take_close(r);
    if (r->has_items) {
        if (*r->at != ',')
            return fail(r, "a comma is missing between two values");
        r->at++;
        skip_space(r);
        if (r->at == r->end)
            return fail(r, "the file ends inside a value; it is cut");
        if (*r->at == '}' || *r->at == ']')
            return fail(r, "a comma with nothing behind it");
    }
    return r->open[r->depth - 1] == '{' ? take_key(r) : take_value(r);
}

bool json_skip(json_reader *r, json_token first)
{
    if (first != JSON_OBJECT && first != JSON_ARRAY)
        return first != JSON_ERROR;
    const uint32_t depth = r->depth - 1;
    while (r->depth > depth)
        if (json_next(r) == JSON_ERROR)
            return false;
    return true;
}

bool json_closes(json_reader *r)
{
    skip_space(r);
    return r->at == r->end || *r->at == ']' || *r->at == '}';
}

static bool take_hex(const char *p, const char *end, uint32_t *out)
{
    if (end - p < 4)
        return false;
    *out = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static void add_code_point(strbuf *to, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xe0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80)
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    strbuf_add(to, (str){bytes, n});
}

/* \uXXXX, with its second half where it is a surrogate. *p stands behind the u. */
static bool take_unicode(const char **p, const char *end, strbuf *to)
{
    uint32_t code, low;
    if (!take_hex(*p, end, &code))
        return false;
    *p += 4;
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u' ||
            !take_hex(*p + 2, end, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        *p += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_code_point(to, code);
    return true;
}

bool json_unescape(json_reader *r, strbuf *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *p = r->text.at, *const end = p + r->text.n;
    while (p < end) {
        const char *const slash = memchr(p, '\\', (size_t)(end - p));
        const char *const stop = slash ? slash : end;
        strbuf_add(to, (str){p, (size_t)(stop - p)});
        if (!slash)
            break;
        p = slash + 1;
        const char *const name = p < end && *p ? strchr(names, *p) : NULL;
        if (name) {
            strbuf_add_char(to, values[name - names]);
            p++;
        } else if (p < end && *p == 'u') {
            p++;
            if (!take_unicode(&p, end, to)) {
                r->problem = "a bad \\u escape";
                return false;
            }
        } else {
            r->problem = "an escape that JSON does not have";
            return false;
        }
    }
    return !to->failed;
}

halley_status json_error(const json_reader *r, halley_error *err, const char *what)
{
    uint32_t line = 1;
    const char *from = r->start;
    const char *at = r->at < r->end ? r->at : r->end;
    for (const char *p = r->start; (p = memchr(p, '\n', (size_t)(at - p)));) {
        from = ++p;
        line++;
    }
    error_set(err, HALLEY_EFORMAT, "%s",
              what         ? what
              : r->problem ? r->problem
                           : "malformed JSON");
    error_at_line(err, line, (uint32_t)(at - from) + 1);
    error_at_offset(err, (uint64_t)(at - r->start));
    return HALLEY_EFORMAT;
}
