/*
 * Encode the twins of a trace that is already encoded (regroup.h). Twins differ only in
 * the names of groups and in the lengths before them, so all other bytes are copied.
 */
#include "trace/format/et.h"

#include <stdlib.h>
#include <string.h>

enum { ATTR_FIELD = 10 };

/* By shape: the one attribute that names a group, or HASH_NONE. NULL: no memory, or it is
 * ambiguous. */
static uint32_t *find_groups(const attr_shapes *s)
{
    uint32_t *const group = mem_array(s->shapes.n, sizeof *group);
    bool plain = group != NULL;
    for (uint32_t k = 0; plain && k < s->shapes.n; k++) {
        const attr_shape *const a = &s->shapes.at[k];
        group[k] = HASH_NONE;
        for (uint32_t i = a->first; plain && i < a->first + a->n; i++) {
            const attr_desc *const d = &s->descs.at[s->flat.at[i].desc];
            if (!str_eq(attr_desc_name(s, d), STR("pg_name")))
                continue;
            plain = group[k] == HASH_NONE && d->kind == HALLEY_ATTR_STRING &&
                    d->n_header != UINT32_MAX;
            group[k] = i;
        }
    }
    if (plain)
        return group;
    free(group);
    return NULL;
}

/* Where the attribute with that header begins; 0 = there is none. */
static uint64_t find_attr(const uint8_t *base, const uint8_t *at, const uint8_t *end,
                          str header)
{
    while (at < end) {
        const uint8_t *const start = at, *bytes;
        uint32_t field;
        wire_type type;
        uint64_t n;
        if (!wire_tag(&at, end, &field, &type))
            return 0;
        const uint8_t *content = at;
        if (!wire_skip(&at, end, field, type))
            return 0;
        if (field != ATTR_FIELD || type != WIRE_LEN || !wire_varint(&content, end, &n))
            continue;
        bytes = content;
        if (n >= header.n && memcmp(bytes, header.at, header.n) == 0)
            return (uint64_t)(start - base);
    }
    return 0;
}

static bool find_places(et_layout *l, const halley_trace *t)
{
    const trace_store *const s = &t->s;
    const uint8_t *const base = t->encoded.at, *const end = base + t->encoded.n;
    const uint8_t *at = base;
    uint64_t n;
    if (!wire_varint(&at, end, &n))
        return false;
    at += n; /* skip the metadata */
    for (uint32_t i = 0; i < s->n; i++) {
        l->node_at[i] = (uint64_t)(at - base);
        if (!wire_varint(&at, end, &n) || n > (uint64_t)(end - at))
            return false;
        const uint32_t group = l->group[s->shape.at[i]];
        if (group != HASH_NONE) {
            const attr_desc *const d = &s->shapes.descs.at[s->shapes.flat.at[group].desc];
            const str header = {(const char *)s->shapes.headers.at + d->header_at,
                                d->n_header};
            l->attr_at[i] = find_attr(base, at, at + n, header);
            if (l->attr_at[i] == 0)
                return false;
        }
        at += n;
    }
    l->node_at[s->n] = (uint64_t)(at - base);
    return at == end;
}

void et_layout_free(et_layout *l)
{
    if (!l)
        return;
    free(l->group);
    free(l->node_at);
    free(l->attr_at);
    free(l);
}

static et_layout *new_layout(const halley_trace *t)
{
    et_layout *const l = mem_array_zero(1, sizeof *l);
    if (!l)
        return NULL;
    l->group = find_groups(&t->s.shapes);
    l->node_at = mem_array((size_t)t->s.n + 1, sizeof *l->node_at);
    l->attr_at = mem_array_zero(t->s.n, sizeof *l->attr_at);
    if (l->group && l->node_at && l->attr_at && find_places(l, t))
        return l;
    et_layout_free(l);
    return NULL;
}

halley_status et_keep_layout(halley_trace *trace, size_t most, halley_error *err)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    if (!trace->s.meta.present || trace->s.meta.unknown != 0 ||
        halley_trace_version(trace).n == 0)
        return HALLEY_OK;
    TRY(halley_trace_encode_et(&bytes, &n, trace, err));
    if (n > most) {
        free(bytes);
        return HALLEY_OK;
    }
    et_keep_encoded(trace, bytes, n);
    trace->layout = new_layout(trace);
    return HALLEY_OK;
}

static void put_twin(u8_array *to, const uint8_t *at, size_t n)
{
    if (n > 0)
        memcpy(to->at + to->n, at, n);
    to->n += n;
}

static void put_length(u8_array *to, uint64_t n)
{
    to->n = (size_t)(wire_put_varint(to->at + to->n, n) - to->at);
}

/* Write a node with another group name. Room is reserved. */
static void put_node(u8_array *to, const halley_trace *lender, uint32_t i, str name)
{
    const et_layout *const l = lender->layout;
    const uint8_t *const base = lender->encoded.at;
    const uint8_t *const end = base + l->node_at[i + 1];
    const attr_slot *const slot =
        &lender->s.shapes.flat.at[l->group[lender->s.shape.at[i]]];
    const size_t n_header = lender->s.shapes.descs.at[slot->desc].n_header;
    const uint8_t *body = base + l->node_at[i], *at = base + l->attr_at[i] + 1;
    uint64_t n_old_node = 0, n_old_attr = 0, n_old_name = 0;
    (void)wire_varint(&body, end, &n_old_node);
    (void)wire_varint(&at, end, &n_old_attr);
    const uint8_t *const header = at;
    at += n_header;
    (void)wire_varint(&at, end, &n_old_name);
    const uint64_t n_attr = n_header + wire_varint_size(name.n) + name.n;
    const uint64_t n_before = (uint64_t)(base + l->attr_at[i] + 1 - body);
    const uint8_t *const rest = at + n_old_name;
    put_length(to, n_before + wire_varint_size(n_attr) + n_attr + (uint64_t)(end - rest));
    put_twin(to, body, n_before);
    put_length(to, n_attr);
    put_twin(to, header, n_header);
    put_length(to, name.n);
    put_twin(to, (const uint8_t *)name.at, name.n);
    put_twin(to, rest, (size_t)(end - rest));
}

halley_status et_encode_twin(uint8_t **out, size_t *n, const halley_trace *trace,
                             halley_error *err)
{
    const halley_trace *const lender = trace->lender;
    const et_layout *const l = lender->layout;
    const trace_store *const s = &trace->s;
    u8_array to = {0};
    uint64_t done = 0; /* bytes of the lender that are copied */
    bool fine = array_reserve(&to, lender->encoded.n + 16);
    for (uint32_t i = 0; fine && i < s->n; i++) {
        if (l->attr_at[i] == 0)
            continue;
        const attr_slot *const slot = &s->shapes.flat.at[l->group[s->shape.at[i]]];
        const size_t value = s->value_at.at[i] + slot->slot;
        const str name = trace_text(s, s->values.at[value]);
        if (str_eq(name, trace_text(&lender->s, lender->s.values.at[value])))
            continue;
        const size_t size = (size_t)(l->node_at[i + 1] - done);
        fine = array_reserve(&to, size + name.n + 30);
        if (!fine)
            break;
        put_twin(&to, lender->encoded.at + done, (size_t)(l->node_at[i] - done));
        put_node(&to, lender, i, name);
        done = l->node_at[i + 1];
    }
    const size_t rest = lender->encoded.n - (size_t)done;
    fine = fine && array_reserve(&to, rest);
    if (!fine) {
        array_fini(&to);
        return error_nomem(err);
    }
    put_twin(&to, lender->encoded.at + done, rest);
    *out = to.at;
    *n = to.n;
    return HALLEY_OK;
}
