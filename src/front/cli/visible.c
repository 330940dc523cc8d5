/*
 * A stream that makes text safe to show on a terminal. A name from an input file must not
 * move the cursor, set the window title or change the direction of the line. All text
 * results pass through here, whichever function prints them.
 */
#include "base/array.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct visible {
    FILE *to;
    size_t n_kept; /* bytes of an incomplete character */
    char kept[4];
} visible;

static void show_bytes(FILE *to, const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(to, "\\x%02X", at[i]);
}

/* The number of bytes at the end that may be the start of a character. */
static size_t count_unfinished(const uint8_t *at, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const uint8_t c = at[n - k];
        if (c < 0x80)
            return 0;
        if (c >= 0xc0)
            return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > k ? k : 0;
    }
    return 0;
}

static void show_text(FILE *to, const uint8_t *at, size_t n)
{
    size_t start = 0; /* of the bytes that are written unchanged */
    for (size_t i = 0; i < n;) {
        const bool is_blank = at[i] == '\n' || at[i] == '\t';
        const size_t length = is_blank ? 1 : utf8_visible_length(at + i, n - i);
        if (length == 0) {
            fwrite(at + start, 1, i - start, to);
            show_bytes(to, at + i, 1);
            start = i + 1;
        }
        i += length > 0 ? length : 1;
    }
    fwrite(at + start, 1, n - start, to);
}

static ssize_t write_visible(void *cookie, const char *at, size_t n)
{
    visible *const v = cookie;
    uint8_t joined[8];
    size_t used = 0;
    const uint8_t *const from = (const uint8_t *)at;
    if (v->n_kept > 0) { /* finish the character */
        memcpy(joined, v->kept, v->n_kept);
        size_t n_joined = v->n_kept;
        while (used < n && n_joined < 4 && (used == 0 || (from[used] & 0xc0) == 0x80))
            joined[n_joined++] = from[used++];
        show_text(v->to, joined, n_joined);
        v->n_kept = 0;
    }
    const size_t rest = count_unfinished(from + used, n - used);
    show_text(v->to, from + used, n - used - rest);
    memcpy(v->kept, from + n - rest, rest);
    v->n_kept = rest;
    return ferror(v->to) ? 0 : (ssize_t)n;
}

static int close_visible(void *cookie)
{
    visible *const v = cookie;
    show_bytes(v->to, (const uint8_t *)v->kept, v->n_kept);
    free(v);
    return 0;
}

FILE *cli_visible_open(FILE *to)
{
    visible *const v = mem_array_zero(1, sizeof *v);
    if (v == NULL)
        return NULL;
    v->to = to;
    FILE *const f = fopencookie(
        v, "w", (cookie_io_functions_t){.write = write_visible, .close = close_visible});
    if (f == NULL)
        free(v);
    return f;
}
