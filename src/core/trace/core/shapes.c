/*
 * Shapes: the sequences of (name, kind) of the attributes of nodes.
 *
 * They are stored in a trie whose edges are descs. The decoder walks the trie while it
 * decodes a node, so the shape at the end needs no lookup. Each state remembers which
 * desc followed it last. So the decoder can compare the next bytes of the file with the
 * expected ones instead of looking anything up.
 */
#include "trace/core/roles.h"
#include "trace/format/et.h"

#include <assert.h>
#include <string.h>

enum { MAX_HEADER = 64 };

bool attr_shapes_init(attr_shapes *s)
{
    const attr_desc none = {.n_header = UINT32_MAX};
    const attr_state root = {.shape = HASH_NONE};
    return array_push(&s->descs, none) && array_push(&s->states, root);
}

void attr_shapes_fini(attr_shapes *s)
{
    intern_fini(&s->texts);
    array_fini(&s->descs);
    array_fini(&s->states);
    array_fini(&s->shapes);
    array_fini(&s->flat);
    array_fini(&s->headers);
    map64_fini(&s->desc_of);
    map64_fini(&s->state_of);
}

/* Intern the name alone, or one text of the name's length (8 bytes), the name and the
 * doc. */
static uint32_t intern_names(attr_shapes *s, str name, str doc)
{
    if (doc.n == 0)
        return intern_add(&s->texts, name);
    const uint64_t n_name = name.n;
    char *joined = mem_array(sizeof n_name + name.n + doc.n, 1);
    if (!joined)
        return HASH_NONE;
    memcpy(joined, &n_name, sizeof n_name);
    if (name.n)
        memcpy(joined + sizeof n_name, name.at, name.n);
    memcpy(joined + sizeof n_name + name.n, doc.at, doc.n);
    const uint32_t id =
        intern_add(&s->texts, (str){joined, sizeof n_name + name.n + doc.n});
    free(joined);
    return id;
}

/* Store the bytes of an attribute from its start to its value, as protobuf writes
 * them. */
static bool keep_header(attr_shapes *s, attr_desc *d, str name)
{
    assert(name.n == 0 || name.at != NULL);
    d->n_header = UINT32_MAX;
    if (d->has_doc || d->has_unknown || d->kind == HALLEY_ATTR_NONE ||
        name.n > MAX_HEADER)
        return true;
    if (!array_reserve(&s->headers, MAX_HEADER + 16) || s->headers.n > UINT32_MAX / 2)
        return false;
    uint8_t *const start = s->headers.at + s->headers.n;
    uint8_t *to = start;
    if (name.n > 0) {
        *to++ = 1 << 3 | WIRE_LEN;
        to = wire_put_varint(to, name.n);
        memcpy(to, name.at, name.n);
        to += name.n;
    }
    to = wire_put_varint(to, (uint64_t)d->kind << 3 |
                                 et_wire_type((halley_attr_kind)d->kind));
    d->header_at = (uint32_t)s->headers.n;
    d->n_header = (uint32_t)(to - start);
    s->headers.n += d->n_header;
    return true;
}

uint32_t attr_shapes_desc(attr_shapes *s, str name, str doc, uint8_t kind,
                          bool has_unknown)
{
    assert(kind < HALLEY_ATTR_END);
    attr_desc d = {.kind = kind,
                   .has_doc = doc.n > 0,
                   .has_unknown = has_unknown,
                   .role = (uint8_t)trace_role_of((halley_bytes){name.at, name.n})};
    d.text = intern_names(s, name, doc);
    if (d.text == HASH_NONE)
        return HASH_NONE;
    const uint64_t key = d.text | (uint64_t)kind << 32 | (uint64_t)has_unknown << 40 |
                         (uint64_t)d.has_doc << 41;
    uint32_t id = map64_find(&s->desc_of, key);
    if (id != HASH_NONE)
        return id;
    id = (uint32_t)s->descs.n;
    if (!keep_header(s, &d, name) || !array_push(&s->descs, d))
        return HASH_NONE;
    if (!map64_set(&s->desc_of, key, id)) {
        s->descs.n--;
        return HASH_NONE;
    }
    return id;
}

uint32_t attr_shapes_step(attr_shapes *s, uint32_t state, uint32_t desc)
{
    assert(state < s->states.n && desc > 0 && desc < s->descs.n);
    const uint64_t key = (uint64_t)state << 32 | desc;
    uint32_t next = map64_find(&s->state_of, key);
    if (next == HASH_NONE) {
        const attr_state *const from = &s->states.at[state];
        const attr_state fresh = {
            .parent = state,
            .desc = desc,
            .n_attrs = from->n_attrs + 1,
            .n_values = from->n_values + 1 + s->descs.at[desc].has_unknown,
            .shape = HASH_NONE,
        };
        next = (uint32_t)s->states.n;
        if (s->states.n >= HASH_NONE || !array_push(&s->states, fresh))
            return HASH_NONE;
        if (!map64_set(&s->state_of, key, next)) {
            s->states.n--;
            return HASH_NONE;
        }
    }
    s->states.at[state].next_desc = desc;
    s->states.at[state].next_state = next;
    return next;
}

uint32_t attr_shapes_end(attr_shapes *s, uint32_t state)
{
    assert(state < s->states.n);
    attr_state *const at = &s->states.at[state];
    if (at->shape == HASH_NONE) {
        const attr_shape fresh = {.n = at->n_attrs, .state = state};
        if (!array_push(&s->shapes, fresh))
            return HASH_NONE;
        at->shape = (uint32_t)s->shapes.n - 1;
    }
    return at->shape;
}

bool attr_shapes_flatten(attr_shapes *s)
{
    assert(s->flat.n == 0);
    size_t total = 0;
    for (size_t i = 0; i < s->shapes.n; i++)
        total += s->shapes.at[i].n;
    if (total > UINT32_MAX || !array_reserve(&s->flat, total))
        return false;
    for (size_t i = 0; i < s->shapes.n; i++) {
        attr_shape *const shape = &s->shapes.at[i];
        shape->first = (uint32_t)s->flat.n;
        s->flat.n += shape->n;
        uint32_t state = shape->state;
        for (uint32_t k = shape->n; k-- > 0; state = s->states.at[state].parent) {
            const uint32_t slot = s->states.at[s->states.at[state].parent].n_values;
            s->flat.at[shape->first + k] = (attr_slot){s->states.at[state].desc, slot};
        }
    }
    return true;
}

uint32_t attr_shapes_import(attr_shapes *to, const attr_shapes *from, uint32_t shape)
{
    assert(shape < from->shapes.n);
    const uint32_t n = from->shapes.at[shape].n;
    uint32_t *const descs = mem_array(n, sizeof *descs);
    if (!descs)
        return HASH_NONE;
    uint32_t state = from->shapes.at[shape].state;
    for (uint32_t k = n; k-- > 0; state = from->states.at[state].parent)
        descs[k] = from->states.at[state].desc;
    state = 0;
    for (uint32_t k = 0; k < n && state != HASH_NONE; k++) {
        const attr_desc *const d = &from->descs.at[descs[k]];
        const uint32_t desc = attr_shapes_desc(
            to, attr_desc_name(from, d), attr_desc_doc(from, d), d->kind, d->has_unknown);
        state = desc == HASH_NONE ? HASH_NONE : attr_shapes_step(to, state, desc);
    }
    free(descs);
    return state == HASH_NONE ? HASH_NONE : attr_shapes_end(to, state);
}
