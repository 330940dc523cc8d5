/* Views, numbers, UTF-8 and nearest names. Nothing here allocates. */
#include "base/str.h"

#include "base/utf8.h"

#include <assert.h>
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

static bool is_str_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_str_digit(char c)
{
    return c >= '0' && c <= '9';
}

str str_trim(str s)
{
    while (s.n > 0 && is_str_space(s.at[0]))
        s = (str){s.at + 1, s.n - 1};
    while (s.n > 0 && is_str_space(s.at[s.n - 1]))
        s.n--;
    return s;
}

bool str_next(str *s, char by, str *head)
{
    assert(s != NULL && head != NULL);
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
        if (!is_str_digit(s.at[i]) || __builtin_mul_overflow(value, 10, &value) ||
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

size_t utf8_length(const uint8_t *at, size_t n)
{
    assert(n > 0);
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

uint32_t utf8_decode(const uint8_t *at, size_t length)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    assert(length >= 1 && length <= 4);
    uint32_t code = at[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (at[i] & 0x3fu);
    return code;
}

size_t utf8_visible_length(const uint8_t *at, size_t n)
{
    static const struct {
        uint32_t first, last;
    } acting[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
    };
    const size_t length = utf8_length(at, n);
    const uint32_t code = length > 0 ? utf8_decode(at, length) : 0;
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        if (code >= acting[i].first && code <= acting[i].last)
            return 0;
    return length;
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

static uint32_t find_least_of_3(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t least = a < b ? a : b;
    return least < c ? least : c;
}

uint32_t str_distance(str a, str b)
{
    enum {
        LONGEST = 64
    }; /* longer texts are not names: they are equal or wholly
          different */
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
            now[j] = find_least_of_3(last[j] + 1, now[j - 1] + 1, last[j - 1] + change);
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
    assert(names != NULL || n == 0);
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
