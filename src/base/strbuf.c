/* Growable text, and escaping for halley's output formats: JSON, XML, CSV, terminals. */
#include "base/array.h"
#include "base/number/number.h"
#include "base/str.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const str replacement = {"\xef\xbf\xbd", 3}; /* U+FFFD */

/* Room for n more bytes and the terminator. */
static bool reserve_bytes(strbuf *b, size_t n)
{
    assert(b->n <= b->cap);
    if (b->failed)
        return false;
    if (n >= SIZE_MAX - b->n || (b->cap - b->n <= n && !array_reserve(b, n + 1)))
        b->failed = true;
    return !b->failed;
}

void strbuf_add(strbuf *b, str s)
{
    assert(s.n == 0 || s.at != NULL);
    if (s.n == 0 || !reserve_bytes(b, s.n))
        return;
    memcpy(b->at + b->n, s.at, s.n);
    b->n += s.n;
    b->at[b->n] = '\0';
}

void strbuf_add_char(strbuf *b, char c)
{
    strbuf_add(b, (str){&c, 1});
}

static void print_again(strbuf *b, size_t n, const char *format, va_list args)
{
    b->at[b->n] = '\0';
    if (!reserve_bytes(b, n))
        return;
    vsnprintf(b->at + b->n, n + 1, format, args);
    b->n += n;
}

void strbuf_vprintf(strbuf *b, const char *format, va_list args)
{
    va_list again;
    assert(format != NULL);
    if (!reserve_bytes(b, 64))
        return;
    const size_t room = b->cap - b->n;
    va_copy(again, args);
    const int n = vsnprintf(b->at + b->n, room, format, args);
    if (n < 0)
        b->failed = true;
    else if ((size_t)n >= room)
        print_again(b, (size_t)n, format, again);
    else
        b->n += (size_t)n;
    va_end(again);
}

void strbuf_printf(strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vprintf(b, format, args);
    va_end(args);
}

/* How one format escapes a well-formed character: the text to write, or an empty one to
 * leave it unchanged. */
typedef str escape_character(const uint8_t *at, size_t length, char scratch[8]);

static void add_escaped(strbuf *b, str s, escape_character *escape)
{
    assert(escape != NULL);
    const uint8_t *at = (const uint8_t *)s.at;
    size_t start = 0; /* of the run that can be copied as it is */
    for (size_t i = 0; i < s.n;) {
        char scratch[8];
        const size_t length = utf8_length(at + i, s.n - i);
        const str instead = length == 0 ? replacement : escape(at + i, length, scratch);
        const size_t next = i + (length > 0 ? length : 1);
        if (instead.n > 0) {
            strbuf_add(b, (str){s.at + start, i - start});
            strbuf_add(b, instead);
            start = next;
        }
        i = next;
    }
    if (start < s.n)
        strbuf_add(b, (str){s.at + start, s.n - start});
}

/* Terminal control characters are all below U+10000. */
static str escape_json(const uint8_t *at, size_t length, char scratch[8])
{
    const uint8_t c = at[0];
    if (c != '"' && c != '\\' && utf8_visible_length(at, length) > 0)
        return (str){"", 0};
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *l = letters; *l != '\0'; l += 2) {
        if (c == (uint8_t)l[0]) {
            scratch[0] = '\\';
            scratch[1] = l[1];
            return (str){scratch, 2};
        }
    }
    snprintf(scratch, 8, "\\u%04x", utf8_decode(at, length) & 0xffffu);
    return (str){scratch, 6};
}

void strbuf_json(strbuf *b, str s)
{
    strbuf_add_char(b, '"');
    add_escaped(b, s, escape_json);
    strbuf_add_char(b, '"');
}

static str escape_xml(const uint8_t *at, size_t length, char scratch[8])
{
    (void)length;
    (void)scratch;
    switch (at[0]) {
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '&':
        return STR("&amp;");
    case '"':
        return STR("&quot;");
    case '\'':
        return STR("&#39;");
    case '\t':
    case '\n':
    case '\r':
        return (str){"", 0};
    default:
        return at[0] < 0x20 || at[0] == 0x7f ? replacement : (str){"", 0};
    }
}

void strbuf_xml(strbuf *b, str s)
{
    add_escaped(b, s, escape_xml);
}

/* Runs of visible characters are appended at once; every other byte becomes one \xNN. */
void strbuf_visible(strbuf *b, str s)
{
    const uint8_t *at = (const uint8_t *)s.at;
    size_t start = 0; /* of the run */
    for (size_t i = 0; i < s.n;) {
        const size_t length = utf8_visible_length(at + i, s.n - i);
        if (length == 0) {
            strbuf_add(b, (str){s.at + start, i - start});
            strbuf_printf(b, "\\x%02X", at[i]);
            start = i + 1;
        }
        i += length > 0 ? length : 1;
    }
    if (start < s.n)
        strbuf_add(b, (str){s.at + start, s.n - start});
}

/* A spreadsheet reads a cell that starts with one of these as a formula. */
static bool is_formula(str s)
{
    return s.n > 0 && memchr("=+-@\t\r", s.at[0], 6) != NULL;
}

void strbuf_csv(strbuf *b, str s)
{
    strbuf cell = {0};
    if (is_formula(s))
        strbuf_add_char(&cell, '\'');
    strbuf_visible(&cell, s);
    const str text = strbuf_str(&cell);
    if (memchr(text.at, ',', text.n) == NULL && memchr(text.at, '"', text.n) == NULL) {
        strbuf_add(b, text);
    } else {
        strbuf_add_char(b, '"');
        for (size_t i = 0; i < text.n; i++) {
            if (text.at[i] == '"')
                strbuf_add_char(b, '"');
            strbuf_add_char(b, text.at[i]);
        }
        strbuf_add_char(b, '"');
    }
    b->failed |= cell.failed;
    strbuf_fini(&cell);
}

void strbuf_double(strbuf *b, double value)
{
    if (!isfinite(value)) {
        strbuf_add(b, STR("null"));
        return;
    }
    strbuf_add(b, str_from(number_shortest(value).at));
}

str strbuf_str(const strbuf *b)
{
    return b->n > 0 ? (str){b->at, b->n} : (str){"", 0};
}

void strbuf_fini(strbuf *b)
{
    array_fini(b);
    b->failed = false;
}

void strbuf_base64(strbuf *b, str bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.n; i += 3) {
        uint32_t group = 0;
        char four[4];
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (i + k < bytes.n ? (uint8_t)bytes.at[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            four[k] = i + k > bytes.n ? '=' : digits[group >> (18 - 6 * k) & 63];
        strbuf_add(b, (str){four, 4});
    }
}
