/*
 * base/json.h - a pull tokenizer for JSON of any size. It builds no tree, does not
 * recurse, and allocates only the window over a file that is read in pieces.
 *
 * It accepts several consecutive top-level values, with or without white space between
 * them, as in the output of Chakra's jsonizer and in JSON lines. Depth is limited to
 * JSON_MAX_DEPTH.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"
#include "base/file/file_stream.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_MAX_DEPTH = 512 };

typedef enum json_token {
    JSON_END, /* end of input, between top-level values */
    JSON_ERROR,
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* text: between the quotes */
    JSON_STRING, /* text: between the quotes */
    JSON_NUMBER, /* text: as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
} json_token;

/* The moving window over a file_stream; owned by the reader. */
typedef struct json_window json_window;

typedef struct json_reader {
    const char *start, *at, *end; /* of the bytes in memory */
    json_window *window;          /* NULL: all of the input is in memory */
    bool foreign;                 /* set by the caller: also accept NaN and Infinity as
                                     numbers, and control characters in strings */
    uint64_t token_at;            /* byte of the input at which the last token starts */
    str text;     /* of the last key, string or number; lent by the input, with a
                     window only until the next call */
    bool escaped; /* text contains backslashes: json_unescape */
    uint32_t depth;
    bool wants_value;          /* a key or comma was read, so a value must follow */
    bool has_items;            /* an item was read before at this depth */
    char open[JSON_MAX_DEPTH]; /* '{' or '[' at each depth */
    const char *problem;       /* after JSON_ERROR: a description of the error */
} json_reader;

void json_open(json_reader *r, str input);
/* Read a file in pieces. json_close frees the window but does not close the file. The
 * window grows only if a single string does not fit. */
halley_status json_open_stream(json_reader *r, file_stream *file, halley_error *err);
void json_close(json_reader *r); /* for json_open, too: does nothing */
json_token json_next(json_reader *r);
/* Skip the value whose first token was just read. Returns false on JSON_ERROR. */
bool json_skip(json_reader *r, json_token first);
/* The same, several times faster: it only checks quotes, escapes and the number of
 * brackets. */
bool json_leap(json_reader *r, json_token first);
/* True if a closing bracket comes next. Consumes only white space. */
bool json_closes(json_reader *r);
/* Skip a null if one comes next. */
bool json_take_null(json_reader *r);
/* Append the last text to `to` with its escapes resolved. Returns false on a bad escape
 * or lone surrogate (r->problem), or if memory ran out (to->failed). */
bool json_unescape(json_reader *r, strbuf *to);
/* The reader's current byte offset in the (uncompressed) input. */
uint64_t json_offset(const json_reader *r);
/* An error with line, column and byte. It is `what` at the start of the last token, or
 * (NULL) r->problem at the reader's position. If reading the file failed, that error is
 * reported instead. */
halley_status json_error(const json_reader *r, halley_error *err, const char *what);

#endif
