/* et_bytes.h - messages written down by hand, field by field, right or wrong. */
#ifndef ET_BYTES_H
#define ET_BYTES_H

#include "halley/trace.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* A message being written. {0} is empty; free(m.at) at the end. */
typedef struct bytes {
    uint8_t *at;
    size_t n, cap;
} bytes;

static inline void put_raw(bytes *m, const void *at, size_t n)
{
    if (m->n + n > m->cap) {
        m->cap = 2 * (m->n + n) + 64;
        m->at = realloc(m->at, m->cap);
        assert_non_null(m->at);
    }
    if (n)
        memcpy(m->at + m->n, at, n);
    m->n += n;
}

static inline void put_varint(bytes *m, uint64_t value)
{
    uint8_t to[10];
    size_t n = 0;
    for (; value >= 0x80 && n < 9; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    put_raw(m, to, n);
}

static inline void put_tag(bytes *m, uint32_t field, uint32_t wire_type)
{
    put_varint(m, (uint64_t)field << 3 | wire_type);
}

static inline void put_u64(bytes *m, uint32_t field, uint64_t value)
{
    put_tag(m, field, 0);
    put_varint(m, value);
}

static inline void put_bytes(bytes *m, uint32_t field, const void *at, size_t n)
{
    put_tag(m, field, 2);
    put_varint(m, n);
    put_raw(m, at, n);
}

static inline void put_text(bytes *m, uint32_t field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

/* A sub-message, which is freed. */
static inline void put_message(bytes *m, uint32_t field, bytes sub)
{
    put_bytes(m, field, sub.at, sub.n);
    free(sub.at);
}

static inline void put_fixed32(bytes *m, uint32_t field, uint32_t value)
{
    put_tag(m, field, 5);
    put_raw(m, &value, sizeof value);
}

static inline void put_fixed64(bytes *m, uint32_t field, uint64_t value)
{
    put_tag(m, field, 1);
    put_raw(m, &value, sizeof value);
}

/* A field with a small value of any wire type, groups included. */
static inline void put_any(bytes *m, uint32_t field, uint32_t wire_type)
{
    switch (wire_type) {
    case 0:
        put_u64(m, field, 1);
        break;
    case 1:
        put_fixed64(m, field, 1);
        break;
    case 2:
        put_text(m, field, "");
        break;
    case 5:
        put_fixed32(m, field, 1);
        break;
    default:
        put_tag(m, field, wire_type);
        if (wire_type == 3)
            put_tag(m, field, 4);
    }
}

/* Append a message with its length, and free it: the framing of an .et file. */
static inline void put_framed(bytes *file, bytes message)
{
    put_varint(file, message.n);
    put_raw(file, message.at, message.n);
    free(message.at);
}

/* A file with a metadata message of version "1.0.0". */
static inline bytes start_file(void)
{
    bytes file = {0}, meta = {0};
    put_text(&meta, 1, "1.0.0");
    put_framed(&file, meta);
    return file;
}

/* A node {id, name, type} to add more fields to. */
static inline bytes start_node(uint64_t id, const char *name, uint64_t type)
{
    bytes node = {0};
    if (id)
        put_u64(&node, 1, id);
    put_text(&node, 2, name);
    put_u64(&node, 3, type);
    return node;
}

/* Parse a file in memory, which is freed; the trace is the caller's. */
static inline halley_trace *parse_file(bytes file)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_trace_parse(&t, file.at, file.n, "made", NULL, &err) != HALLEY_OK)
        fail_msg("byte %llu: %s", (unsigned long long)err.offset, err.text);
    free(file.at);
    return t;
}

/* Parse a file that must be refused with this code and a sentence that contains `words`;
 * the file is freed. */
static inline halley_error parse_wrong(bytes file, halley_status code, const char *words)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    const halley_status status =
        halley_trace_parse(&t, file.at, file.n, "made", NULL, &err);
    free(file.at);
    if (status == HALLEY_OK)
        fail_msg("accepted, but should say: %s", words);
    assert_null(t);
    assert_int_equal(err.code, status);
    if (status != code || !strstr(err.text, words))
        fail_msg("status %d: \"%s\" does not say \"%s\"", (int)status, err.text, words);
    assert_string_equal(err.file, "made");
    return err;
}

static inline void assert_bytes(halley_bytes is, const char *wanted)
{
    if (is.n != strlen(wanted) || memcmp(is.at, wanted, is.n) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)is.n, is.at, wanted);
}

/* Writing the trace gives these bytes again. */
static inline void assert_encodes(const halley_trace *t, const void *at, size_t n)
{
    uint8_t *out = NULL;
    size_t n_out = 0;
    assert_int_equal(halley_trace_encode_et(&out, &n_out, t, NULL), HALLEY_OK);
    assert_int_equal(n_out, n);
    assert_memory_equal(out, at, n);
    free(out);
}

#endif
