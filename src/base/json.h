/*
 * base/json.h - a pull tokenizer for JSON of any size: no tree, no allocation, no
 * recursion.
 *
 * Accepts several top-level values one after the other, with or without white space
 * between them (Chakra's jsonizer writes that, and so do JSON lines). Depth is limited to
 * JSON_MAX_DEPTH.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"
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

typedef struct json_reader {
    const char *start, *at, *end;
    str text;     /* of the last key, string or number; lent by the input */
    bool escaped; /* text contains backslashes: json_unescape */
    uint32_t depth;
    bool wants_value;          /* a key or comma was read */
    bool has_items;            /* something stands before, at this depth */
    char open[JSON_MAX_DEPTH]; /* '{' or '[' at each depth */
    const char *problem;       /* after JSON_ERROR: what is wrong, in words */
} json_reader;

void json_open(json_reader *r, str input);
json_token json_next(json_reader *r);
/* Pass over the value whose first token was just read. False: JSON_ERROR came up. */
bool json_skip(json_reader *r, json_token first);
/* Does a closing bracket come next? Reads nothing but white space. */
bool json_closes(json_reader *r);
/* The last text with its escapes resolved, appended to `to`; false: a bad escape or lone
 * surrogate (r->problem), or no memory (to->failed). */
bool json_unescape(json_reader *r, strbuf *to);
/* An error at the place of the last token: line, column and byte; "what" or r->problem
 * when NULL. */
halley_status json_error(const json_reader *r, halley_error *err, const char *what);

#endif
