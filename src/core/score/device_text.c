/*
 * Numbers are replaced in the text itself. Comments, order and everything that is not
 * fitted stay unchanged. Presets write each map on lines of its own and close it with the
 * first "}" or "]" after its name.
 */
#include "score/device_text.h"

#include "base/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The text after "name:" at the left margin, up to the end of its map or line. */
static str region_of(str text, const char *name)
{
    char mark[64];
    const int n = snprintf(mark, sizeof mark, "%s:", name);
    for (size_t i = 0; i + (size_t)n < text.n; i++) {
        if ((i > 0 && text.at[i - 1] != '\n') ||
            memcmp(text.at + i, mark, (size_t)n) != 0)
            continue;
        const str rest = {text.at + i + n, text.n - i - (size_t)n};
        const char first = rest.n > 1 ? rest.at[1] : '\n';
        const char close = first == '{' ? '}' : first == '[' ? ']' : '\n';
        size_t end = 0;
        while (end < rest.n && rest.at[end] != close)
            end++;
        return (str){rest.at, end};
    }
    return (str){text.at, 0};
}

static bool is_in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == 'e' || c == '+';
}

static str number_behind(str region, const char *mark)
{
    const size_t n = strlen(mark);
    for (size_t i = 0; i + n < region.n; i++) {
        const bool start = i == 0 || region.at[i - 1] == '{' || region.at[i - 1] == ' ';
        if (!start || memcmp(region.at + i, mark, n) != 0)
            continue;
        size_t end = i + n;
        while (end < region.n && is_in_number(region.at[end]))
            end++;
        return (str){region.at + i + n, end - i - n};
    }
    return (str){region.at, 0};
}

str score_number_find(str text, const char *block, const char *key, uint32_t n)
{
    char mark[64];
    const str region = region_of(text, *block ? block : key);
    if (n)
        snprintf(mark, sizeof mark, "size: %u, value: ", n);
    else if (*block)
        snprintf(mark, sizeof mark, "%s: ", key);
    else
        snprintf(mark, sizeof mark, " ");
    return number_behind(region, mark);
}

bool score_number_set(strbuf *out, str text, str number, double value)
{
    char shown[40];
    const size_t before = (size_t)(number.at - text.at);
    snprintf(shown, sizeof shown, "%s", number_digits(value, 4).at);
    if (strchr(shown, 'e') && fabs(value) >= 1)
        snprintf(shown, sizeof shown, "%s", number_fixed(value, 0).at);
    strbuf_add(out, (str){text.at, before});
    strbuf_add(out, str_from(shown));
    strbuf_add(out, (str){number.at + number.n, text.n - before - number.n});
    return !out->failed;
}
