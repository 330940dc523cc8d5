/*
 * Any bytes as a trace, and the trace as JSON: what we write we read, and writing that
 * again gives the same text, in every style.
 */
#include "trace/format/et.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void check_style(const halley_trace *t, halley_json_style style)
{
    strbuf first = {0}, second = {0};
    halley_trace *again = NULL;
    uint64_t n_dropped = 1;
    if (json_trace_encode(&first, t, style, true, NULL, NULL) != HALLEY_OK)
        abort();
    if (halley_trace_parse(&again, first.at, first.n, "again", NULL, NULL) != HALLEY_OK)
        abort();
    if (json_trace_encode(&second, again, style, false, &n_dropped, NULL) != HALLEY_OK ||
        n_dropped != 0)
        abort();
    if (first.n != second.n || memcmp(first.at, second.at, first.n) != 0)
        abort();
    strbuf_fini(&first);
    strbuf_fini(&second);
    halley_trace_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    halley_error err = {0};
    halley_trace *t = NULL;
    if (halley_trace_parse(&t, at, n, "input", NULL, &err) != HALLEY_OK)
        return 0;
    for (int style = HALLEY_JSON_DOCUMENT; style <= HALLEY_JSON_CHAKRA; style++)
        check_style(t, (halley_json_style)style);
    halley_trace_free(t);
    return 0;
}
