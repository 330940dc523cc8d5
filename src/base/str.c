/* Views, numbers, UTF-8 and nearest names. Nothing here allocates. */
#include "base/str.h"

#include "base/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

str str_from(const char *terminated)
{
    return terminated != NULL ? (str){terminated, strlen(terminated)} : (str){"", 0};
}

bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

int str_cmp(str a, str b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n > 0 ? memcmp(a.at, b.at, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && str_eq((str){s.at, prefix.n}, prefix);
}

bool str_ends(str s, str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || str_eq((str){s.at + s.n - suffix.n, suffix.n}, suffix));
}

bool str_contains(str s, str part)
{
    return part.n == 0 || (s.n >= part.n && memmem(s.at, s.n, part.at, part.n) != NULL);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

str str_trim(str s)
{
    while (s.n > 0 && is_space(s.at[0]))
        s = (str){s.at + 1, s.n - 1};
    while (s.n > 0 && is_space(s.at[s.n - 1]))
        s.n--;
    return s;
}

bool str_next(str *s, char by, str *head)
{
    if (s->at == NULL)
        return false;
    const char *found = s->n > 0 ? memchr(s->at, by, s->n) : NULL;
    if (found == NULL) {
        *head = *s;
        *s = (str){NULL, 0};
        return true;
    }
    const size_t n = (size_t)(found - s->at);
    *head = (str){s->at, n};
    *s = (str){found + 1, s->n - n - 1};
    return true;
}

bool str_to_u64(str s, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.at[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.at[i] - '0'), &value))
            return false;
    }
    if (s.n > 0)
        *out = value;
    return s.n > 0;
}

bool str_to_i64(str s, int64_t *out)
{
    const bool negative = s.n > 0 && s.at[0] == '-';
    if (negative || (s.n > 0 && s.at[0] == '+'))
        s = (str){s.at + 1, s.n - 1};
    uint64_t size;
    if (!str_to_u64(s, &size) || size > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *out = negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

/* What the digits of a decimal number say, for the case that a double holds it exactly.
 */
typedef struct decimal {
    uint64_t digits; /* all of them, point left out; wrong when n_digits > 19 */
    uint32_t n_digits;
    int32_t exponent; /* of ten */
    bool negative;
} decimal;

static bool scan_exponent(const char *at, const char *end, decimal *d)
{
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    int32_t exponent = 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        if (exponent < 100000)
            exponent = 10 * exponent + (*at - '0');
    }
    d->exponent += negative ? -exponent : exponent;
    return true;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before or behind the point. */
static bool scan(str s, decimal *d)
{
    const char *at = s.at, *end = s.at + s.n;
    *d = (decimal){.negative = at < end && *at == '-'};
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    bool has_digit = false, has_point = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !has_point)); at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        has_digit = true;
        d->digits = 10 * d->digits + (uint64_t)(*at - '0');
        d->n_digits += d->n_digits > 0 || *at != '0';
        d->exponent -= has_point;
    }
    if (!has_digit || at == end)
        return has_digit;
    return (*at == 'e' || *at == 'E') && scan_exponent(at + 1, end, d);
}

/* strtod follows the locale, which is "C" as the program never calls setlocale; a host of
 * the library may have called it, and then the slower way round is taken. */
static bool parse_decimal(const char *text, size_t n, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text + n) {
        locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
        if (c_locale == (locale_t)0)
            return false;
        value = strtod_l(text, &end, c_locale);
        freelocale(c_locale);
    }
    if (end != text + n || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool str_to_double(str s, double *out)
{
    enum { LONGEST = 2048 };
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    if (s.n == 0 || s.n >= LONGEST || !scan(s, &d))
        return false;
    /* Digits and power of ten are both exact doubles: one operation, one rounding. */
    if (d.n_digits <= 19 && d.digits <= (1ull << 53) && d.exponent >= -22 &&
        d.exponent <= 22) {
        const double digits = (double)d.digits;
        const double value =
            d.exponent < 0 ? digits / powers[-d.exponent] : digits * powers[d.exponent];
        *out = d.negative ? -value : value;
        return true;
    }
    char text[LONGEST];
    memcpy(text, s.at, s.n);
    text[s.n] = '\0';
    return parse_decimal(text, s.n, out);
}

size_t utf8_length(const uint8_t *at, size_t n)
{
    const uint8_t c = at[0];
    if (c < 0x80)
        return 1;
    const size_t length = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (length == 0 || n < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    const bool wrong = (c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) ||
                       (c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f);
    return wrong ? 0 : length;
}

bool str_utf8_valid(str s)
{
    const uint8_t *at = (const uint8_t *)s.at;
    for (size_t i = 0; i < s.n;) {
        uint64_t eight;
        if (s.n - i >= sizeof eight) {
            memcpy(&eight, at + i, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        const size_t length = utf8_length(at + i, s.n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t least = a < b ? a : b;
    return least < c ? least : c;
}

uint32_t str_distance(str a, str b)
{
    enum { LONGEST = 64 }; /* longer ones are not names: wholly different or equal */
    if (a.n > LONGEST || b.n > LONGEST)
        return str_eq(a, b) ? 0 : (uint32_t)(a.n > b.n ? a.n : b.n);
    uint32_t rows[3][LONGEST + 1]; /* the row before last, the last, this one */
    uint32_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (uint32_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (uint32_t i = 1; i <= a.n; i++) {
        now[0] = i;
        for (uint32_t j = 1; j <= b.n; j++) {
            const uint32_t change = a.at[i - 1] == b.at[j - 1] ? 0 : 1;
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] &&
                a.at[i - 2] == b.at[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        uint32_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b.n];
}

const char *str_nearest(str wrong, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        const str name = str_from(names[i]);
        const size_t longer = name.n > wrong.n ? name.n : wrong.n;
        const size_t limit = longer < 3 ? 1 : (longer + 2) / 3;
        const uint32_t distance = str_distance(wrong, name);
        if (distance < least && distance <= limit && distance < wrong.n) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
