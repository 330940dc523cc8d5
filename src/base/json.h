/*
 * base/json.h - a pull tokenizer for JSON of any size: no tree, no recursion, and no
 * allocation but for the window over a file that is read piece by piece.
 *
 * Accepts several top-level values one after the other, with or without white space
 * between them (Chakra's jsonizer writes that, and so do JSON lines). Depth is limited to
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
    JSON_END, /* the input is used up, between top-level values */
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
    const char *start, *at, *end; /* of what is in memory */
    json_window *window;          /* NULL: all of the input is in memory */
    bool foreign;                 /* also takes NaN and Infinity as numbers, and control
                                     characters in strings; the caller's to set */
    uint64_t token_at;            /* byte of the input at which the last token starts */
    str text;     /* of the last key, string or number; lent by the input, with a window
                     only until the next call */
    bool escaped; /* text contains backslashes: json_unescape */
    uint32_t depth;
    bool wants_value;          /* a key or comma was read */
    bool has_items;            /* something stands before, at this depth */
    char open[JSON_MAX_DEPTH]; /* '{' or '[' at each depth */
    const char *problem;       /* after JSON_ERROR: what is wrong, in words */
} json_reader;

void json_open(json_reader *r, str input);
/* Read a file piece by piece; json_close frees the window, not the file. The window
 * grows only where one string does not fit. */
halley_status json_open_stream(json_reader *r, file_stream *file, halley_error *err);
void json_close(json_reader *r); /* for json_open, too: does nothing */
json_token json_next(json_reader *r);
/* Pass over the value whose first token was just read. False: JSON_ERROR came up. */
bool json_skip(json_reader *r, json_token first);
/* The same, several times faster: of what it passes over, only quotes, escapes and the
 * number of brackets are looked at. */
bool json_leap(json_reader *r, json_token first);
/* Does a closing bracket come next? Reads nothing but white space. */
bool json_closes(json_reader *r);
/* Pass over a null if that comes next. */
bool json_take_null(json_reader *r);
/* The last text with its escapes resolved, appended to `to`; false: a bad escape or lone
 * surrogate (r->problem), or no memory (to->failed). */
bool json_unescape(json_reader *r, strbuf *to);
/* Byte of the (inflated) input at which the reader stands. */
uint64_t json_offset(const json_reader *r);
/* An error with line, column and byte: "what", where the last token starts, or (NULL)
 * r->problem, where the reader stands. What reading the file failed with comes first. */
halley_status json_error(const json_reader *r, halley_error *err, const char *what);

#endif
