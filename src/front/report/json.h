/* report/json.h - writes JSON to a stream, indented, with correct escapes. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { REPORT_JSON_DEPTH = 64 }; /* containers within containers */

/*
 * A document that is written to `to`. Every function takes the key first: text inside an
 * object, NULL inside an array and at the top. Misuse (a key in an array, too deep, an
 * end too many) is a bug of the caller and is asserted.
 */
typedef struct report_json {
    FILE *to;
    strbuf scratch;   /* buffer for one escaped text */
    uint32_t depth;   /* open containers */
    uint64_t array;   /* bit d: the container at depth d is an array */
    uint64_t started; /* bit d: it has an item */
    uint64_t flat;    /* bit d: it is written on one line */
} report_json;

void report_json_init(report_json *j, FILE *to);
void report_json_object(report_json *j, const char *key);
void report_json_array(report_json *j, const char *key);
/* The same on one line, with everything inside: for rows and short lists. */
void report_json_flat_object(report_json *j, const char *key);
void report_json_flat_array(report_json *j, const char *key);
void report_json_end(report_json *j); /* the innermost open container */
void report_json_text(report_json *j, const char *key, str value);
void report_json_u64(report_json *j, const char *key, uint64_t value);
void report_json_i64(report_json *j, const char *key, int64_t value);
/* The shortest form that reads back the same. A value that is not finite is omitted from
 * an object and is null in an array. */
void report_json_double(report_json *j, const char *key, double value);
void report_json_bool(report_json *j, const char *key, bool value);
/* A value that is JSON already. */
void report_json_raw(report_json *j, const char *key, str value);
void report_json_null(report_json *j, const char *key);
/* End the document (everything must be closed) and free what the writer holds. Failures
 * of `to` itself are left to its owner. */
halley_status report_json_fini(report_json *j, halley_error *err);

#endif
