/* Read tags, and skip unknown fields. */
#include "trace/format/wire.h"

enum { MAX_GROUP_DEPTH = 100 };

bool wire_tag(const uint8_t **at, const uint8_t *end, uint32_t *field, wire_type *type)
{
    uint64_t tag;
    if (!wire_varint(at, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > 5)
        return false;
    *field = (uint32_t)(tag >> 3);
    *type = (wire_type)(tag & 7);
    return true;
}

static bool skip_plain(const uint8_t **at, const uint8_t *end, wire_type type)
{
    const uint8_t *bytes;
    size_t n;
    uint64_t value;
    uint32_t value32;
    switch (type) {
    case WIRE_VARINT:
        return wire_varint(at, end, &value);
    case WIRE_FIXED64:
        return wire_fixed64(at, end, &value);
    case WIRE_FIXED32:
        return wire_fixed32(at, end, &value32);
    case WIRE_LEN:
        return wire_len(at, end, &bytes, &n);
    default:
        return false;
    }
}

bool wire_skip(const uint8_t **at, const uint8_t *end, uint32_t field, wire_type type)
{
    if (type != WIRE_GROUP)
        return skip_plain(at, end, type);
    uint32_t open[MAX_GROUP_DEPTH];
    uint32_t depth = 0;
    open[depth++] = field;
    while (depth > 0) {
        if (!wire_tag(at, end, &field, &type))
            return false;
        if (type == WIRE_GROUP) {
            if (depth == MAX_GROUP_DEPTH)
                return false;
            open[depth++] = field;
        } else if (type == WIRE_GROUP_END) {
            if (open[--depth] != field)
                return false;
        } else if (!skip_plain(at, end, type)) {
            return false;
        }
    }
    return true;
}
