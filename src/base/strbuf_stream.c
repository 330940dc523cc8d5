/*
 * stdio over a strbuf. A short count makes stdio set its error flag; `failed` stays set.
 */
#include "base/strbuf_stream.h"

static ssize_t write_to_text(void *cookie, const char *at, size_t n)
{
    strbuf *const to = cookie;
    strbuf_add(to, (str){at, n});
    return to->failed ? 0 : (ssize_t)n;
}

FILE *strbuf_stream_open(strbuf *to)
{
    return fopencookie(to, "w", (cookie_io_functions_t){.write = write_to_text});
}
