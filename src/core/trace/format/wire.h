/*
 * trace/format/wire.h - the protobuf wire format: varints, tags, skipping.
 *
 * All readers take a cursor *at and an end. They stay within the end and return false if
 * the bytes are malformed. They may load, but never use, up to FILE_PAD bytes after the
 * end of the file.
 */
#ifndef TRACE_FORMAT_WIRE_H
#define TRACE_FORMAT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_LEN = 2,
    WIRE_GROUP = 3, /* group start; deprecated, kept only inside unknown fields */
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5
} wire_type;

/* Read a varint of at most ten bytes, the tenth at most 1 (64 bits in total). */
static inline bool wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    const uint8_t *p = *at;
    if (p >= end)
        return false;
    uint64_t value = *p++;
    if (value >= 0x80) {
        value &= 0x7f;
        uint32_t shift = 7;
        for (;;) {
            if (p >= end || shift > 63)
                return false;
            const uint64_t byte = *p++;
            if (shift == 63 && byte > 1)
                return false;
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80)
                break;
            shift += 7;
        }
    }
    *at = p;
    *out = value;
    return true;
}

static inline bool wire_fixed32(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
    if (end - *at < 4)
        return false;
    memcpy(out, *at, 4);
    *at += 4;
    return true;
}

static inline bool wire_fixed64(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    if (end - *at < 8)
        return false;
    memcpy(out, *at, 8);
    *at += 8;
    return true;
}

/* Read a length and that many bytes. *bytes points to them, *at moves after them. */
static inline bool wire_len(const uint8_t **at, const uint8_t *end, const uint8_t **bytes,
                            size_t *n)
{
    uint64_t length;
    if (!wire_varint(at, end, &length) || length > (uint64_t)(end - *at))
        return false;
    *bytes = *at;
    *n = (size_t)length;
    *at += length;
    return true;
}

/* Read the field number (1 … 2^29-1) and wire type of the next field. */
bool wire_tag(const uint8_t **at, const uint8_t *end, uint32_t *field, wire_type *type);
/* Skip the value of a field whose tag has been read. Groups nest at most 100 deep. */
bool wire_skip(const uint8_t **at, const uint8_t *end, uint32_t field, wire_type type);

static inline uint32_t wire_varint_size(uint64_t value)
{
    return (uint32_t)((63 - __builtin_clzll(value | 1)) / 7) + 1;
}

static inline uint8_t *wire_put_varint(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

static inline uint64_t wire_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t wire_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
