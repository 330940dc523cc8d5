/* Two files, the first as long as the first two bytes say: if the second is like the
 * first, its differences make the trace that reading it does. */
#include "base/file/file.h"
#include "trace/format/et.h"
#include "trace/format/holes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void compare_encoded(const halley_trace *a, const halley_trace *b)
{
    uint8_t *x = NULL, *y = NULL;
    size_t n_x = 0, n_y = 0;
    if (halley_trace_encode_et(&x, &n_x, a, NULL) == HALLEY_OK &&
        halley_trace_encode_et(&y, &n_y, b, NULL) == HALLEY_OK &&
        (n_x != n_y || memcmp(x, y, n_x) != 0))
        abort();
    free(x);
    free(y);
}

static void compare_files(const halley_trace *first, const uint8_t *padded, size_t n)
{
    trace_holes *holes = NULL;
    trace_differences *found = NULL;
    halley_trace *made = NULL, *read = NULL;
    if (trace_holes_new(&holes, first, NULL) == HALLEY_OK && holes != NULL &&
        trace_holes_compare(&found, holes, padded, n, NULL) == HALLEY_OK &&
        found != NULL) {
        if (halley_trace_parse(&read, padded, n, "b", NULL, NULL) != HALLEY_OK ||
            trace_holes_apply(&made, holes, found, "b", NULL) != HALLEY_OK)
            abort();
        compare_encoded(made, read);
    }
    halley_trace_free(made);
    halley_trace_free(read);
    free(found);
    trace_holes_free(holes);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    halley_trace *first = NULL;
    if (n < 2)
        return 0;
    const size_t left = n - 2;
    size_t n_first = (size_t)at[0] | (size_t)at[1] << 8;
    n_first = n_first > left ? left : n_first;
    if (halley_trace_parse(&first, at + 2, n_first, "a", NULL, NULL) != HALLEY_OK)
        return 0;
    const size_t n_other = left - n_first;
    uint8_t *padded = calloc(n_other + FILE_PAD, 1);
    if (padded != NULL) {
        memcpy(padded, at + 2 + n_first, n_other);
        compare_files(first, padded, n_other);
    }
    free(padded);
    halley_trace_free(first);
    return 0;
}
