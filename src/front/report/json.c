/*
 * The writer keeps three bits for each open container: whether it is an array, whether it
 * needs a comma, and whether it is written on one line. Everything goes directly to the
 * stream.
 */
#include "report/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static bool test_bit(uint64_t bits, uint32_t depth)
{
    return bits >> depth & 1;
}

static uint64_t with_bit(uint64_t bits, uint32_t depth, bool value)
{
    return (bits & ~(UINT64_C(1) << depth)) | (uint64_t)value << depth;
}

void report_json_init(report_json *j, FILE *to)
{
    *j = (report_json){.to = to};
}

static void start_json_line(report_json *j)
{
    fprintf(j->to, "\n%*s", (int)(2 * j->depth), "");
}

/* If memory ran out at the first text, the buffer is empty and its pointer is NULL. */
static void put_scratch(report_json *j)
{
    if (j->scratch.n > 0)
        fwrite(j->scratch.at, 1, j->scratch.n, j->to);
}

static void put_quoted(report_json *j, str text)
{
    j->scratch.n = 0;
    strbuf_json(&j->scratch, text);
    put_scratch(j);
}

/* Write what precedes a value: comma, new line and key. */
static void before_value(report_json *j, const char *key)
{
    if (j->depth == 0)
        return;
    const uint32_t inside = j->depth - 1;
    assert(test_bit(j->array, inside) == (key == NULL));
    if (test_bit(j->started, inside))
        fputc(',', j->to);
    if (!test_bit(j->flat, inside))
        start_json_line(j);
    else if (test_bit(j->started, inside))
        fputc(' ', j->to);
    j->started = with_bit(j->started, inside, true);
    if (!key)
        return;
    put_quoted(j, str_from(key));
    fputs(": ", j->to);
}

static void open_container(report_json *j, const char *key, bool array, bool flat)
{
    assert(j->depth < REPORT_JSON_DEPTH);
    before_value(j, key);
    const bool within_flat = j->depth > 0 && test_bit(j->flat, j->depth - 1);
    j->array = with_bit(j->array, j->depth, array);
    j->flat = with_bit(j->flat, j->depth, flat || within_flat);
    j->started = with_bit(j->started, j->depth, false);
    j->depth++;
    fputc(array ? '[' : '{', j->to);
}

void report_json_object(report_json *j, const char *key)
{
    open_container(j, key, false, false);
}

void report_json_array(report_json *j, const char *key)
{
    open_container(j, key, true, false);
}

void report_json_flat_object(report_json *j, const char *key)
{
    open_container(j, key, false, true);
}

void report_json_flat_array(report_json *j, const char *key)
{
    open_container(j, key, true, true);
}

void report_json_end(report_json *j)
{
    assert(j->depth > 0);
    j->depth--;
    if (test_bit(j->started, j->depth) && !test_bit(j->flat, j->depth))
        start_json_line(j);
    fputc(test_bit(j->array, j->depth) ? ']' : '}', j->to);
}

void report_json_text(report_json *j, const char *key, str value)
{
    before_value(j, key);
    put_quoted(j, value);
}

void report_json_u64(report_json *j, const char *key, uint64_t value)
{
    before_value(j, key);
    fprintf(j->to, "%" PRIu64, value);
}

void report_json_i64(report_json *j, const char *key, int64_t value)
{
    before_value(j, key);
    fprintf(j->to, "%" PRId64, value);
}

void report_json_double(report_json *j, const char *key, double value)
{
    if (key != NULL && !isfinite(value))
        return;
    before_value(j, key);
    j->scratch.n = 0;
    strbuf_double(&j->scratch, value);
    put_scratch(j);
}

void report_json_bool(report_json *j, const char *key, bool value)
{
    before_value(j, key);
    fputs(value ? "true" : "false", j->to);
}

void report_json_raw(report_json *j, const char *key, str value)
{
    before_value(j, key);
    fwrite(value.at, 1, value.n, j->to);
}

void report_json_null(report_json *j, const char *key)
{
    before_value(j, key);
    fputs("null", j->to);
}

halley_status report_json_fini(report_json *j, halley_error *err)
{
    assert(j->depth == 0);
    fputc('\n', j->to);
    const bool failed = j->scratch.failed;
    strbuf_fini(&j->scratch);
    return failed ? error_nomem(err) : HALLEY_OK;
}
