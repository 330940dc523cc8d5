/* recording/record/wire.h - iterate over protobuf messages, with checks at every step. */
#ifndef RECORDING_RECORD_WIRE_H
#define RECORDING_RECORD_WIRE_H

#include "base/str.h"

#include <stdint.h>

typedef struct wire {
    const uint8_t *at, *end;
    bool bad; /* the message is malformed; iteration has ended */
} wire;

/* One field: a number (varint, fixed) or bytes. */
typedef struct wire_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;
    str bytes;
} wire_field;

static inline wire wire_open(str message)
{
    const uint8_t *const at = (const uint8_t *)message.at;
    return (wire){at, at + message.n, false};
}

static inline bool wire_read_varint(wire *w, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && w->at < w->end; shift += 7) {
        const uint8_t byte = *w->at++;
        if (shift < 64)
            *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    w->bad = true;
    return false;
}

static inline bool wire_take(wire *w, uint64_t n, str *out)
{
    if (n > (uint64_t)(w->end - w->at)) {
        w->bad = true;
        return false;
    }
    *out = (str){(const char *)w->at, (size_t)n};
    w->at += n;
    return true;
}

/* Read the next field. False: the message has ended or is malformed. */
static inline bool wire_next(wire *w, wire_field *f)
{
    uint64_t key, n;
    if (w->bad || w->at == w->end || !wire_read_varint(w, &key))
        return false;
    *f = (wire_field){.number = (uint32_t)(key >> 3)};
    switch (key & 7) {
    case 0:
        return wire_read_varint(w, &f->value);
    case 1:
        return wire_take(w, 8, &f->bytes);
    case 2:
        f->is_bytes = true;
        return wire_read_varint(w, &n) && wire_take(w, n, &f->bytes);
    case 5:
        return wire_take(w, 4, &f->bytes);
    default:
        w->bad = true;
        return false;
    }
}

#endif
