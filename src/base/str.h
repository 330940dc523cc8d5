/* base/str.h - string views, text buffers, UTF-8, nearest name. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A view of n bytes that the view does not own; not terminated, may contain zeros. */
typedef struct str {
    const char *at;
    size_t n;
} str;

#define STR(literal) ((str){"" literal, sizeof(literal) - 1})
/* For printf: "%.*s", STR_ARG(s). */
#define STR_ARG(s) (int)((s).n > 4096 ? 4096 : (s).n), (s).at

str str_from(const char *terminated); /* NULL gives an empty view */
bool str_eq(str a, str b);
int str_cmp(str a, str b); /* bytewise, shorter first; <0, 0, >0 */
bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);
bool str_contains(str s, str part);
str str_trim(str s); /* without white space at both ends */
/* Split off the part before the first `by` into *head; the rest stays in *s. False at the
 * end. */
bool str_next(str *s, char by, str *head);
/* Parse a text that is one number in range: returns true and writes *out, else false. For
 * doubles see number_read in base/number/number.h. */
bool str_to_u64(str s, uint64_t *out);
bool str_to_i64(str s, int64_t *out);
bool str_utf8_valid(str s); /* protobuf's rules: no surrogates, no overlong forms */
/* Number of edits (insert, delete, replace, swap of neighbours) between two short
 * names. */
uint32_t str_distance(str a, str b);
/* The nearest of n names if it is near enough to be what the user meant, else NULL. */
const char *str_nearest(str wrong, const char *const *names, size_t n);

/* A growable text. {0} is empty. After an append that ran out of memory, `failed` stays
 * true and later appends do nothing, so one check at the end is enough. */
typedef struct strbuf {
    char *at; /* terminated when n > 0 */
    size_t n, cap;
    bool failed;
} strbuf;

void strbuf_add(strbuf *b, str s);
void strbuf_add_char(strbuf *b, char c);
void strbuf_printf(strbuf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(strbuf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Append s as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void strbuf_json(strbuf *b, str s);
/* Append s as text of XML and HTML: < > & " ' escaped, control characters as U+FFFD. */
void strbuf_xml(strbuf *b, str s);
/* Append s as a CSV text field, quoted only if necessary (RFC 4180). Terminal control
 * characters become \xNN. A text that a spreadsheet would read as a formula (it starts
 * with = + - @) gets a leading apostrophe. Numbers do not use this function. */
void strbuf_csv(strbuf *b, str s);
/* Append s for a terminal: control characters become \xNN. */
void strbuf_visible(strbuf *b, str s);
/* Append the shortest decimal text that reads back as the same double (number_shortest),
 * for JSON; null if it is not finite. */
void strbuf_double(strbuf *b, double value);
/* Bytes as base64, with padding. */
void strbuf_base64(strbuf *b, str bytes);
str strbuf_str(const strbuf *b);
void strbuf_fini(strbuf *b);

#endif
