/*
 * base/strbuf_stream.h - a stream that writes to a text buffer. Unlike open_memstream it
 * cannot lose bytes silently: if memory runs out, the buffer has `failed` set.
 */
#ifndef BASE_STRBUF_STREAM_H
#define BASE_STRBUF_STREAM_H

#include "base/str.h"

#include <stdio.h>

/* NULL: no memory. The buffer is complete after fclose; the caller owns it. */
FILE *strbuf_stream_open(strbuf *to);

#endif
