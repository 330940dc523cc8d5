/*
 * The tokenizer is one switch over the characters that may come next.
 *
 * With a window, at least LOW bytes (or all that are left) are in memory when a token
 * starts. So only strings and white space must check for the window's end. Strings are
 * scanned 16 bytes at a time if the machine has SSE2, because they are most of any trace.
 */
#include "base/json.h"

#include "base/array.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WINDOW = 1 << 18, LOW = 1 << 14, MOST = 1 << 26 };

struct json_window {
    file_stream *file;
    char *buffer;
    size_t cap;
    uint64_t n_before; /* bytes that have left the window */
    uint64_t line_at;  /* offset at which the line at the window's start begins */
    uint32_t n_lines;  /* newlines that have left the window */
    bool at_end;
    halley_error err; /* why reading failed */
};

static void skip_mark(json_reader *r)
{
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
        r->at += 3;
}

void json_open(json_reader *r, str input)
{
    assert(input.n == 0 || input.at != NULL);
    memset(r, 0, offsetof(json_reader, open));
    r->problem = NULL;
    r->start = r->at = input.n ? input.at : "";
    r->end = r->start + input.n;
    skip_mark(r);
}

/* Count the lines of the bytes that leave the window. */
static void forget_read(json_window *w, const char *at, size_t n)
{
    assert(n == 0 || at != NULL);
    uint32_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += at[i] == '\n';
    if (lines > 0) {
        const char *const last = memrchr(at, '\n', n);
        w->line_at = w->n_before + (uint64_t)(last + 1 - at);
    }
    w->n_lines += lines;
    w->n_before += n;
}

uint64_t json_offset(const json_reader *r)
{
    return (r->window ? r->window->n_before : 0) + (uint64_t)(r->at - r->start);
}

/* Drop the bytes before `keep` and read more. Returns false if nothing more came. All
 * pointers into the window move; r->at keeps its position. */
static bool refill_window(json_reader *r, const char *keep)
{
    assert(r->at <= r->end);
    json_window *const w = r->window;
    if (!w || w->at_end)
        return false;
    const size_t n_kept = (size_t)(r->end - keep), at = (size_t)(r->at - keep);
    forget_read(w, w->buffer, (size_t)(keep - w->buffer));
    memmove(w->buffer, keep, n_kept);
    if (n_kept > w->cap / 2 && w->cap >= MOST) {
        r->problem = "a text is longer than 64 MiB";
        w->at_end = true;
    } else if (n_kept > w->cap / 2) {
        char *const larger = realloc(w->buffer, 2 * w->cap);
        if (!larger) {
            error_nomem(&w->err);
            r->problem = "memory ran out";
            w->at_end = true;
        } else {
            w->buffer = larger;
            w->cap *= 2;
        }
    }
    size_t n = n_kept, got = 1;
    while (!w->at_end && n < w->cap && got > 0) {
        if (file_stream_read(w->file, w->buffer + n, w->cap - n, &got, &w->err)) {
            r->problem = "the file cannot be read";
            got = 0;
        }
        n += got;
        w->at_end = got == 0;
    }
    r->start = w->buffer;
    r->at = w->buffer + at;
    r->end = w->buffer + n;
    return n > n_kept;
}

static inline void keep_ahead(json_reader *r)
{
    if (r->window && r->end - r->at < LOW)
        refill_window(r, r->at);
}

halley_status json_open_stream(json_reader *r, file_stream *file, halley_error *err)
{
    assert(file != NULL);
    json_open(r, (str){0});
    json_window *const w = mem_array_zero(1, sizeof *w);
    char *const buffer = w ? malloc(WINDOW) : NULL;
    if (!buffer) {
        free(w);
        return error_nomem(err);
    }
    w->file = file;
    w->buffer = buffer;
    w->cap = WINDOW;
    r->window = w;
    r->start = r->at = r->end = buffer;
    refill_window(r, r->at);
    skip_mark(r);
    return HALLEY_OK;
}

void json_close(json_reader *r)
{
    if (r->window)
        free(r->window->buffer);
    free(r->window);
    r->window = NULL;
}

static json_token set_problem(json_reader *r, const char *problem)
{
    r->problem = problem;
    return JSON_ERROR;
}

static bool is_json_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_json_space(json_reader *r)
{
    assert(r->at <= r->end);
    do
        while (r->at < r->end && is_json_space(*r->at))
            r->at++;
    while (r->at == r->end && refill_window(r, r->at));
}

/* The first quote, backslash or control character from p on; `end` if there is none. */
static const char *find_special(const char *p, const char *end)
{
    assert(p <= end);
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'),
                  control = _mm_set1_epi8(0x1f);
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i found = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)),
            _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        const unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (uint8_t)*p >= 0x20)
        p++;
    return p;
}

/* The cursor is after the opening quote; on success after the closing one. */
static bool take_string(json_reader *r)
{
    assert(r->at <= r->end);
    size_t n = 0; /* bytes known to belong to the string */
    r->escaped = false;
    for (;;) {
        const char *const p = find_special(r->at + n, r->end);
        n = (size_t)(p - r->at);
        if (p == r->end || (*p == '\\' && p + 1 == r->end)) {
            if (refill_window(r, r->at))
                continue;
            if (!r->problem)
                r->problem = "a string without its closing quote; the file is cut";
            return false;
        }
        if (*p == '"') {
            r->text = (str){r->at, n};
            r->at = p + 1;
            return true;
        }
        if (*p == '\\') {
            r->escaped = true;
            n += 2;
        } else if (r->foreign) {
            n++;
        } else {
            r->at = p;
            r->problem = "a control character inside a string; it must be escaped";
            return false;
        }
    }
}

static bool is_json_digit(const json_reader *r, const char *p)
{
    return p < r->end && *p >= '0' && *p <= '9';
}

static json_token take_json_number(json_reader *r)
{
    const char *const start = r->at;
    const char *p = start + (*start == '-');
    if (!is_json_digit(r, p))
        return set_problem(r, "a number without digits");
    if (*p == '0' && is_json_digit(r, p + 1))
        return set_problem(r, "a number with a leading zero");
    while (is_json_digit(r, p))
        p++;
    if (p < r->end && *p == '.') {
        if (!is_json_digit(r, ++p))
            return set_problem(r, "a number without digits after its point");
        while (is_json_digit(r, p))
            p++;
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < r->end && (*p == '+' || *p == '-'))
            p++;
        if (!is_json_digit(r, p))
            return set_problem(r, "a number without digits in its exponent");
        while (is_json_digit(r, p))
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
    } words[] = {{{"true", 4}, JSON_TRUE},       {{"false", 5}, JSON_FALSE},
                 {{"null", 4}, JSON_NULL},       {{"NaN", 3}, JSON_NUMBER},
                 {{"nan", 3}, JSON_NUMBER},      {{"-nan", 4}, JSON_NUMBER},
                 {{"Infinity", 8}, JSON_NUMBER}, {{"-Infinity", 9}, JSON_NUMBER},
                 {{"inf", 3}, JSON_NUMBER},      {{"-inf", 4}, JSON_NUMBER}};
    const str rest = {r->at, (size_t)(r->end - r->at)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_starts(rest, words[i].word) &&
            (r->foreign || words[i].token != JSON_NUMBER)) {
            r->text = (str){r->at, words[i].word.n};
            r->at += words[i].word.n;
            return words[i].token;
        }
    return set_problem(r, "something that is no JSON value");
}

static json_token take_open(json_reader *r, json_token token)
{
    assert(r->depth <= JSON_MAX_DEPTH);
    if (r->depth == JSON_MAX_DEPTH)
        return set_problem(r, "nested more than 512 deep");
    r->open[r->depth++] = *r->at++;
    r->has_items = false;
    r->wants_value = false;
    return token;
}

static json_token take_close(json_reader *r)
{
    const char bracket = *r->at;
    if (r->depth == 0 || r->open[r->depth - 1] != (bracket == '}' ? '{' : '['))
        return set_problem(r, "a closing bracket that closes nothing");
    if (r->wants_value)
        return set_problem(r, "a closing bracket where a value is wanted");
    r->at++;
    r->depth--;
    r->has_items = true;
    return bracket == '}' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static json_token take_json_value(json_reader *r)
{
    if (*r->at == '{')
        return take_open(r, JSON_OBJECT);
    if (*r->at == '[')
        return take_open(r, JSON_ARRAY);
    json_token token;
    if (*r->at == '"') {
        r->at++;
        token = take_string(r) ? JSON_STRING : JSON_ERROR;
    } else if (is_json_digit(r, r->at) ||
               (*r->at == '-' && (!r->foreign || is_json_digit(r, r->at + 1)))) {
        token = take_json_number(r);
        if (r->at == r->end && r->window && !r->window->at_end)
            return set_problem(r, "a number is too long");
    } else {
        token = take_word(r);
    }
    r->wants_value = false;
    r->has_items = true;
    return token;
}

/* After a comma or at the start of an object. */
static json_token take_json_key(json_reader *r)
{
    if (*r->at != '"')
        return set_problem(r, "an object needs a key in quotes here");
    r->at++;
    if (!take_string(r))
        return JSON_ERROR;
    do
        while (r->at < r->end && is_json_space(*r->at))
            r->at++;
    while (r->at == r->end && refill_window(r, r->text.at) && (r->text.at = r->start));
    if (r->at == r->end || *r->at != ':')
        return set_problem(r, "a colon is missing after a key");
    r->at++;
    r->wants_value = true;
    return JSON_KEY;
}

json_token json_next(json_reader *r)
{
    assert(r->at <= r->end && r->depth <= JSON_MAX_DEPTH);
    if (r->problem)
        return JSON_ERROR;
    skip_json_space(r);
    keep_ahead(r);
    r->token_at = json_offset(r);
    if (r->at == r->end && r->problem)
        return JSON_ERROR;
    if (r->at == r->end)
        return r->depth == 0 ? JSON_END
                             : set_problem(r, "the file ends inside a value; it is cut");
    if (r->wants_value || r->depth == 0)
        return *r->at == '}' || *r->at == ']' ? take_close(r) : take_json_value(r);
    if (*r->at == '}' || *r->at == ']')
        return take_close(r);
    if (r->has_items) {
        if (*r->at != ',')
            return set_problem(r, "a comma is missing between two values");
        r->at++;
        skip_json_space(r);
        keep_ahead(r);
        r->token_at = json_offset(r);
        if (r->at == r->end)
            return set_problem(r, "the file ends inside a value; it is cut");
        if (*r->at == '}' || *r->at == ']')
            return set_problem(r, "a comma with nothing after it");
    }
    return r->open[r->depth - 1] == '{' ? take_json_key(r) : take_json_value(r);
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

/* The first quote or bracket from p on; `end` when there is none. */
static const char *find_bracket(const char *p, const char *end)
{
    assert(p <= end);
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20),
                  open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* [ and ] differ from { and } only in this bit. */
        const __m128i folded = _mm_or_si128(bytes, bit);
        const __m128i found = _mm_or_si128(
            _mm_cmpeq_epi8(bytes, quote),
            _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)));
        const unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    return p;
}

bool json_leap(json_reader *r, json_token first)
{
    if (first != JSON_OBJECT && first != JSON_ARRAY)
        return first != JSON_ERROR;
    uint32_t depth = r->depth;
    while (depth >= r->depth) {
        keep_ahead(r);
        r->at = find_bracket(r->at, r->end);
        if (r->at == r->end) {
            if (refill_window(r, r->at))
                continue;
            if (!r->problem)
                r->problem = "the file ends inside a value; it is cut";
            return false;
        }
        const char c = *r->at++;
        if (c == '"') {
            if (!take_string(r))
                return false;
        } else if ((c | 0x20) == '}') {
            depth--;
        } else if (++depth > JSON_MAX_DEPTH) {
            r->problem = "nested more than 512 deep";
            return false;
        }
    }
    r->depth--;
    r->has_items = true;
    r->wants_value = false;
    return true;
}

bool json_closes(json_reader *r)
{
    skip_json_space(r);
    return r->at == r->end || *r->at == ']' || *r->at == '}';
}

bool json_take_null(json_reader *r)
{
    skip_json_space(r);
    keep_ahead(r);
    return r->at < r->end && *r->at == 'n' && json_next(r) == JSON_NULL;
}

static bool take_hex(const char *p, const char *end, uint32_t *out)
{
    assert(p <= end);
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
    assert(code <= 0x10ffff);
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

/* Decode \uXXXX, and its second half if it is a surrogate. *p is after the u. */
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
    assert(to != NULL);
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
                r->at = slash;
                r->problem = "a bad \\u escape";
                return false;
            }
        } else {
            r->at = slash;
            r->problem = "an escape that JSON does not have";
            return false;
        }
    }
    return !to->failed;
}

halley_status json_error(const json_reader *r, halley_error *err, const char *what)
{
    assert(r->at <= r->end);
    const json_window *const w = r->window;
    if (w && w->err.code) {
        if (err)
            *err = w->err;
        return w->err.code;
    }
    uint32_t line = 1 + (w ? w->n_lines : 0);
    uint64_t from = w ? w->line_at : 0;
    /* The start of a long token may have left the window. */
    const uint64_t n_before = w ? w->n_before : 0;
    const uint64_t place = what && r->token_at >= n_before ? r->token_at : json_offset(r);
    const char *const at = r->start + (place - n_before);
    for (const char *p = r->start; (p = memchr(p, '\n', (size_t)(at - p)));) {
        from = n_before + (uint64_t)(++p - r->start);
        line++;
    }
    error_set(err, HALLEY_EFORMAT, "%s",
              what         ? what
              : r->problem ? r->problem
                           : "malformed JSON");
    error_at_line(err, line, (uint32_t)(place - from) + 1);
    error_at_offset(err, place);
    return HALLEY_EFORMAT;
}
