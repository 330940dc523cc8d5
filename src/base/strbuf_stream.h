/*
 * base/strbuf_stream.h - a stream whose bytes go to a text buffer. Unlike open_memstream
 * it cannot lose any silently: once memory has run out the buffer has `failed`.
 */
#ifndef BASE_STRBUF_STREAM_H
#define BASE_STRBUF_STREAM_H

#include "base/str.h"

#include <stdio.h>

/* NULL: no memory. The buffer is complete after fclose; it is the caller's. */
FILE *strbuf_stream_open(strbuf *to);

#endif
