/*
 * Any bytes as JSON: a window over a file shows the same tokens as memory does, a leap
 * lands where a walk does, and whatever has escapes can be asked for its text.
 */
#include "base/file/file_stream.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void resolve(json_reader *r)
{
    json_reader copy = *r; /* a bad escape is kept as the reader's problem */
    strbuf text = {0};
    (void)json_unescape(&copy, &text);
    strbuf_fini(&text);
}

static void compare_windows(str input, bool foreign)
{
    json_reader a, b;
    file_stream *file = NULL;
    json_open(&a, input);
    if (file_stream_lend(&file, input.at, input.n, "input", NULL) != HALLEY_OK)
        return; /* looks like gzip */
    if (file_stream_is_packed(file) || json_open_stream(&b, file, NULL) != HALLEY_OK) {
        file_stream_close(file);
        return;
    }
    a.foreign = b.foreign = foreign;
    json_token token;
    do {
        token = json_next(&a);
        if (json_next(&b) != token || json_offset(&a) != json_offset(&b))
            abort();
        if ((token == JSON_KEY || token == JSON_STRING) &&
            (!str_eq(a.text, b.text) || a.escaped != b.escaped))
            abort();
        if (token == JSON_KEY || token == JSON_STRING)
            resolve(&a);
    } while (token != JSON_END && token != JSON_ERROR);
    halley_error err = {0};
    if (token == JSON_ERROR &&
        (!a.problem || json_error(&a, &err, NULL) != HALLEY_EFORMAT || err.line == 0))
        abort();
    json_close(&b);
    file_stream_close(file);
}

/* Where a value is well-formed, both ways over it end at the same place. */
static void compare_leaps(str input)
{
    json_reader walk, leap;
    json_open(&walk, input);
    json_open(&leap, input);
    for (;;) {
        const json_token first = json_next(&walk);
        if (json_next(&leap) != first)
            abort();
        if (first == JSON_END || !json_skip(&walk, first))
            return;
        if (!json_leap(&leap, first) || walk.at != leap.at)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    const str input = {(const char *)at, n};
    compare_windows(input, false);
    compare_windows(input, true);
    compare_leaps(input);
    return 0;
}
