/*
 * trace/format/holes.c - find the holes of a file, and compare another file with it.
 *
 * Equal ranges are skipped with memcmp. If a difference is inside a text hole and the
 * text has the same length, that text is the difference. At any other difference the node
 * is compared field by field, because a value of another length changes the lengths of
 * its attribute and node.
 */
#include "trace/format/holes.h"

#include "trace/core/regroup.h"
#include "trace/core/roles.h"
#include "trace/format/et.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ATTR_FIELD = 10, LONGEST_TEXT = 1 << 16 };

static trace_hole_role find_role(const attr_shapes *s, const attr_desc *d)
{
    const bool is_text = d->kind == HALLEY_ATTR_STRING;
    const bool is_varint = !is_text && trace_kind_is_integer((halley_attr_kind)d->kind) &&
                           et_wire_type((halley_attr_kind)d->kind) == WIRE_VARINT;
    if (d->n_header == UINT32_MAX || d->n_header > UINT8_MAX || d->has_unknown)
        return TRACE_HOLE_NONE;
    switch (d->role) {
    case TRACE_ROLE_PG_NAME:
        return is_text ? TRACE_HOLE_GROUP : TRACE_HOLE_NONE;
    case TRACE_ROLE_COMM_SRC:
        return is_varint ? TRACE_HOLE_SRC : TRACE_HOLE_NONE;
    case TRACE_ROLE_COMM_DST:
        return is_varint ? TRACE_HOLE_DST : TRACE_HOLE_NONE;
    case TRACE_ROLE_COMM_TAG:
        return is_varint ? TRACE_HOLE_TAG : TRACE_HOLE_NONE;
    default:
        return is_varint && str_eq(attr_desc_name(s, d), STR("root")) ? TRACE_HOLE_ROOT
                                                                      : TRACE_HOLE_NONE;
    }
}

typedef ARRAY(trace_hole) hole_array;

typedef struct hole_finder {
    const trace_store *s;
    const uint8_t *base;
    uint8_t *roles; /* by desc */
    hole_array holes;
    bool failed; /* no memory */
} hole_finder;

/* Find the value of an attribute, if its other bytes are in the form that writers use. */
static bool find_value(trace_hole *hole, const hole_finder *f, const attr_desc *d,
                       const uint8_t *at, size_t n)
{
    const uint8_t *p = at + d->n_header, *const end = at + n, *bytes;
    uint64_t number;
    size_t length;
    if (n <= d->n_header ||
        memcmp(at, f->s->shapes.headers.at + d->header_at, d->n_header) != 0)
        return false;
    if (d->kind == HALLEY_ATTR_STRING) {
        if (!wire_len(&p, end, &bytes, &length) || length > LONGEST_TEXT)
            return false;
        hole->at = (uint64_t)(bytes - f->base);
        hole->n = (uint32_t)length;
    } else {
        bytes = p;
        if (!wire_varint(&p, end, &number))
            return false;
        hole->at = (uint64_t)(bytes - f->base);
        hole->n = (uint32_t)(p - bytes);
    }
    return p == end;
}

/* Find the holes of one node. False: its number of attributes differs from what was
 * read. */
static bool find_node_holes(hole_finder *f, uint32_t node, const uint8_t *at,
                            const uint8_t *end)
{
    const trace_store *s = f->s;
    const attr_shape *shape = &s->shapes.shapes.at[s->shape.at[node]];
    uint32_t k = 0;
    while (at < end) {
        uint32_t field;
        wire_type type;
        const uint8_t *bytes;
        size_t n;
        if (!wire_tag(&at, end, &field, &type))
            return false;
        if (field != ATTR_FIELD || type != WIRE_LEN) {
            if (!wire_skip(&at, end, field, type))
                return false;
            continue;
        }
        if (k == shape->n || !wire_len(&at, end, &bytes, &n))
            return false;
        const attr_slot *slot = &s->shapes.flat.at[shape->first + k++];
        const attr_desc *d = &s->shapes.descs.at[slot->desc];
        trace_hole hole = {.node = node,
                           .attr = (uint64_t)(bytes - f->base),
                           .value = s->value_at.at[node] + slot->slot,
                           .role = f->roles[slot->desc],
                           .kind = d->kind,
                           .n_start = (uint8_t)d->n_header};
        if (hole.role != TRACE_HOLE_NONE && find_value(&hole, f, d, bytes, n))
            f->failed = f->failed || !array_push(&f->holes, hole);
    }
    return k == shape->n;
}

/* Iterate over the messages. False: the file is not laid out like the columns. */
static bool walk_nodes(hole_finder *f, uint64_t *nodes_at, const file_input *in)
{
    const uint8_t *at = in->at, *const end = in->at + in->n;
    uint64_t n;
    if (!wire_varint(&at, end, &n) || n > (uint64_t)(end - at))
        return false;
    at += n; /* skip the metadata */
    for (uint32_t i = 0; i < f->s->n; i++) {
        nodes_at[i] = (uint64_t)(at - in->at);
        if (!wire_varint(&at, end, &n) || n > (uint64_t)(end - at) ||
            !find_node_holes(f, i, at, at + n))
            return false;
        at += n;
    }
    nodes_at[f->s->n] = (uint64_t)(at - in->at);
    return at == end;
}

void trace_holes_free(trace_holes *h)
{
    if (h == NULL)
        return;
    free(h->at);
    free(h->nodes_at);
    free(h);
}

static uint8_t *list_roles(const attr_shapes *s)
{
    uint8_t *roles = mem_array(s->descs.n, 1);
    for (size_t i = 0; roles != NULL && i < s->descs.n; i++)
        roles[i] = i == 0 ? TRACE_HOLE_NONE : (uint8_t)find_role(s, &s->descs.at[i]);
    return roles;
}

halley_status trace_holes_new(trace_holes **out, const halley_trace *trace,
                              halley_error *err)
{
    const trace_store *s = &trace->s;
    assert(s->shape.n == s->n && s->value_at.n >= s->n);
    *out = NULL;
    if (trace->form != HALLEY_FORM_ET || trace->in.at == NULL || trace->in.is_packed ||
        !s->meta.present)
        return HALLEY_OK;
    hole_finder f = {.s = s, .base = trace->in.at, .roles = list_roles(&s->shapes)};
    trace_holes *h = mem_array_zero(1, sizeof *h);
    uint64_t *nodes_at = mem_array((size_t)s->n + 1, sizeof *nodes_at);
    const bool room = f.roles != NULL && h != NULL && nodes_at != NULL;
    const bool fine = room && walk_nodes(&f, nodes_at, &trace->in) && !f.failed;
    free(f.roles);
    if (fine) {
        *h = (trace_holes){trace, f.holes.at, (uint32_t)f.holes.n, nodes_at};
        *out = h;
        return HALLEY_OK;
    }
    free(h);
    free(nodes_at);
    array_fini(&f.holes);
    return room && !f.failed ? HALLEY_OK : error_nomem(err);
}

typedef ARRAY(trace_difference) difference_array;
typedef ARRAY(char) text_array;

typedef struct comparison {
    const trace_holes *h;
    const uint8_t *base, *other; /* files */
    size_t n_base, n_other;
    size_t b, o;   /* equal, or known to differ, up to here */
    uint32_t hole; /* next hole that may be met */
    uint32_t node; /* node that was found last */
    difference_array found;
    text_array texts;
    bool failed; /* no memory */
} comparison;

/* The number of equal bytes at the start. */
static size_t count_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint64_t u[8], v[8];
    size_t i = 0;
    for (; n - i >= sizeof u; i += sizeof u) {
        uint64_t apart = 0;
        memcpy(u, a + i, sizeof u);
        memcpy(v, b + i, sizeof v);
        for (int k = 0; k < 8; k++)
            apart |= u[k] ^ v[k];
        if (apart != 0)
            break;
    }
    for (uint64_t x, y; n - i >= sizeof x; i += sizeof x) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* Store a text. It shares the storage of an equal text of a recent difference. */
static uint64_t keep_text(comparison *c, const uint8_t *at, size_t n)
{
    for (size_t k = c->found.n, tries = 0; k-- > 0 && tries < 8; tries++) {
        const trace_difference *d = &c->found.at[k];
        if (c->h->at[d->hole].kind == HALLEY_ATTR_STRING && d->n == n &&
            memcmp(c->texts.at + d->bits, at, n) == 0)
            return d->bits;
    }
    const uint64_t place = c->texts.n;
    if (!array_reserve(&c->texts, n + 1)) {
        c->failed = true;
        return 0;
    }
    memcpy(c->texts.at + place, at, n);
    c->texts.n += n;
    return place;
}

static void add_text(comparison *c, uint32_t hole, const uint8_t *at, size_t n)
{
    const trace_difference d = {hole, (uint32_t)n, keep_text(c, at, n)};
    c->failed = c->failed || !array_push(&c->found, d);
}

static void add_number(comparison *c, uint32_t hole, uint64_t varint)
{
    const halley_attr_kind kind = (halley_attr_kind)c->h->at[hole].kind;
    const trace_difference d = {hole, 0, et_from_varint(kind, varint)};
    c->failed = c->failed || !array_push(&c->found, d);
}

/* Skip a text of the same length, if the difference at `p` of the first file is inside
 * it. */
static bool pass_text(comparison *c, size_t p)
{
    const trace_holes *h = c->h;
    while (c->hole < h->n && h->at[c->hole].at + h->at[c->hole].n <= p)
        c->hole++;
    if (c->hole == h->n)
        return false;
    const trace_hole *hole = &h->at[c->hole];
    assert(c->b <= p && p < c->n_base);
    if (hole->at > p || hole->kind != HALLEY_ATTR_STRING)
        return false;
    const size_t from = c->o + (hole->at - c->b);
    if (from + hole->n > c->n_other)
        return false;
    add_text(c, c->hole, c->other + from, hole->n);
    c->b = hole->at + hole->n;
    c->o = from + hole->n;
    return true;
}

/* A message of the first file and the corresponding one of the other. */
typedef struct two_messages {
    const uint8_t *a, *a_end, *b, *b_end;
} two_messages;

static bool is_equal(const uint8_t *a, const uint8_t *b, size_t n_a, size_t n_b)
{
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

/* An attribute differs. Is the difference only in the value of its hole? */
static bool compare_attr(comparison *c, const uint8_t *a, size_t n_a, const uint8_t *b,
                         size_t n_b)
{
    const trace_holes *h = c->h;
    const size_t from = (size_t)(a - c->base);
    while (c->hole < h->n && h->at[c->hole].at < from)
        c->hole++;
    if (c->hole == h->n || h->at[c->hole].at > from + n_a)
        return false;
    const trace_hole *hole = &h->at[c->hole];
    const uint8_t *p = b + hole->n_start, *const end = b + n_b, *bytes;
    uint64_t number;
    size_t n;
    if (n_b <= hole->n_start || memcmp(a, b, hole->n_start) != 0)
        return false;
    if (hole->kind != HALLEY_ATTR_STRING) {
        if (!wire_varint(&p, end, &number) || p != end)
            return false;
        add_number(c, c->hole, number);
        return true;
    }
    if (!wire_len(&p, end, &bytes, &n) || p != end || n > LONGEST_TEXT)
        return false;
    if (!is_equal(c->base + hole->at, bytes, hole->n, n))
        add_text(c, c->hole, bytes, n);
    return true;
}

/* Compare the next field of both: they must be equal except for a hole. */
static bool compare_field(comparison *c, two_messages *m)
{
    const uint8_t *const a_tag = m->a, *const b_tag = m->b, *a, *b;
    uint32_t field, b_field;
    wire_type type, b_type;
    size_t n_a, n_b;
    if (!wire_tag(&m->a, m->a_end, &field, &type) ||
        !wire_tag(&m->b, m->b_end, &b_field, &b_type) ||
        !is_equal(a_tag, b_tag, (size_t)(m->a - a_tag), (size_t)(m->b - b_tag)))
        return false;
    if (field == ATTR_FIELD && type == WIRE_LEN) {
        if (!wire_len(&m->a, m->a_end, &a, &n_a) || !wire_len(&m->b, m->b_end, &b, &n_b))
            return false;
        return is_equal(a, b, n_a, n_b) || compare_attr(c, a, n_a, b, n_b);
    }
    a = m->a;
    b = m->b;
    if (!wire_skip(&m->a, m->a_end, field, type) ||
        !wire_skip(&m->b, m->b_end, b_field, b_type))
        return false;
    return is_equal(a, b, (size_t)(m->a - a), (size_t)(m->b - b));
}

/* The node that contains byte `p` of the first file. */
static uint32_t find_node(comparison *c, size_t p)
{
    const uint64_t *at = c->h->nodes_at;
    uint32_t low = c->node, high = c->h->trace->s.n;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (at[middle] <= p)
            low = middle;
        else
            high = middle;
    }
    assert(at[low] <= p && p < at[low + 1]);
    c->node = low;
    return low;
}

/* Is it the only hole of its node? */
static bool is_alone(const trace_holes *h, uint32_t i)
{
    return (i == 0 || h->at[i - 1].node != h->at[i].node) &&
           (i + 1 == h->n || h->at[i + 1].node != h->at[i].node);
}

/* Is it a varint of that value and that number of bytes? */
static bool is_varint(const uint8_t **at, const uint8_t *end, uint64_t value, uint32_t n)
{
    const uint8_t *const start = *at;
    uint64_t found;
    return wire_varint(at, end, &found) && found == value && *at - start == n;
}

/*
 * The usual case: the node has one hole, a text that is longer or shorter, and all
 * lengths around it have the same number of bytes. The hole is the next one at or after
 * `p`, where the files differ. False: compare field by field.
 */
static bool pass_other_text(comparison *c, size_t p)
{
    const trace_holes *h = c->h;
    if (c->hole == h->n || h->at[c->hole].kind != HALLEY_ATTR_STRING ||
        !is_alone(h, c->hole))
        return false;
    const trace_hole *hole = &h->at[c->hole];
    const uint64_t node = h->nodes_at[hole->node], next = h->nodes_at[hole->node + 1];
    if (p < node || p >= next || node < c->b)
        return false;
    const uint8_t *a = c->base + node, *b = c->other + c->o + (node - c->b);
    const uint8_t *const a_end = c->base + next;
    const uint64_t n_attr = hole->at + hole->n - hole->attr;
    const uint32_t n_size = wire_varint_size(hole->n),
                   attr_size = wire_varint_size(n_attr);
    uint64_t n_a, n_b;
    if (!wire_varint(&a, a_end, &n_a) || !wire_varint(&b, c->other + c->n_other, &n_b) ||
        n_b > (uint64_t)(c->other + c->n_other - b) || n_b + hole->n < n_a)
        return false;
    const uint8_t *const b_end = b + n_b;
    const uint64_t n_text = hole->n + n_b - n_a;
    const size_t before = (size_t)(c->base + hole->attr - attr_size - a);
    const size_t after = (size_t)(next - (hole->at + hole->n));
    if (n_text > LONGEST_TEXT || n_b < before + after || memcmp(a, b, before) != 0)
        return false;
    b += before;
    if (!is_varint(&b, b_end, n_attr + n_b - n_a, attr_size) ||
        (uint64_t)(b_end - b) < hole->n_start ||
        memcmp(c->base + hole->attr, b, hole->n_start) != 0)
        return false;
    b += hole->n_start;
    if (!is_varint(&b, b_end, n_text, n_size) ||
        (uint64_t)(b_end - b) != n_text + after ||
        memcmp(c->base + hole->at + hole->n, b + n_text, after) != 0)
        return false;
    add_text(c, c->hole, b, n_text);
    c->b = next;
    c->o = (size_t)(b_end - c->other);
    return true;
}

/* Compare the node that contains the difference at `p` field by field, and continue after
 * it. */
static bool pass_node(comparison *c, size_t p)
{
    const trace_holes *h = c->h;
    if (h->trace->s.n == 0 || p < h->nodes_at[0] || p >= c->n_base)
        return false;
    const uint32_t node = find_node(c, p);
    const size_t at = h->nodes_at[node];
    if (at < c->b && c->b - at > c->o)
        return false;
    const size_t o = at >= c->b ? c->o + (at - c->b) : c->o - (c->b - at);
    while (c->found.n > 0 && h->at[c->found.at[c->found.n - 1].hole].node == node)
        c->found.n--; /* they will be found again */
    while (c->hole > 0 && h->at[c->hole - 1].node >= node)
        c->hole--;
    two_messages m = {.a = c->base + at,
                      .a_end = c->base + h->nodes_at[node + 1],
                      .b = c->other + o,
                      .b_end = c->other + c->n_other};
    uint64_t n_a, n_b;
    if (!wire_varint(&m.a, m.a_end, &n_a) || !wire_varint(&m.b, m.b_end, &n_b) ||
        n_b > (uint64_t)(m.b_end - m.b) || n_b == 0)
        return false;
    m.b_end = m.b + n_b;
    while (m.a < m.a_end && m.b < m.b_end)
        if (!compare_field(c, &m))
            return false;
    if (m.a != m.a_end || m.b != m.b_end)
        return false;
    c->b = h->nodes_at[node + 1];
    c->o = (size_t)(m.b_end - c->other);
    return true;
}

static bool compare_files(comparison *c)
{
    while (!c->failed) {
        const size_t left_b = c->n_base - c->b, left_o = c->n_other - c->o;
        const size_t least = left_b < left_o ? left_b : left_o;
        const size_t n = count_equal(c->base + c->b, c->other + c->o, least);
        if (n == least)
            return left_b == left_o;
        if (!pass_text(c, c->b + n) && !pass_other_text(c, c->b + n) &&
            !pass_node(c, c->b + n))
            return false;
        assert(c->b <= c->n_base && c->o <= c->n_other);
    }
    return false;
}

/* Store the list and then the texts in one block. */
static halley_status keep_found(trace_differences **out, const comparison *c,
                                halley_error *err)
{
    const size_t list = sizeof **out + c->found.n * sizeof *c->found.at;
    assert(c->b <= c->n_base && c->found.n <= c->h->n);
    trace_differences *d = mem_array(list + c->texts.n + 1, 1);
    if (d == NULL)
        return error_nomem(err);
    d->n = (uint32_t)c->found.n;
    d->texts = (const char *)d + list;
    if (c->found.n > 0)
        memcpy(d->at, c->found.at, c->found.n * sizeof *c->found.at);
    if (c->texts.n > 0)
        memcpy((char *)d + list, c->texts.at, c->texts.n);
    *out = d;
    return HALLEY_OK;
}

halley_status trace_holes_compare(trace_differences **out, const trace_holes *h,
                                  const uint8_t *at, size_t n, halley_error *err)
{
    comparison c = {.h = h,
                    .base = h->trace->in.at,
                    .n_base = h->trace->in.n,
                    .other = at,
                    .n_other = n};
    *out = NULL;
    halley_status status = HALLEY_OK;
    if (compare_files(&c))
        status = keep_found(out, &c, err);
    else if (c.failed)
        status = error_nomem(err);
    array_fini(&c.found);
    array_fini(&c.texts);
    return status;
}

halley_status trace_holes_apply(halley_trace **out, const trace_holes *h,
                                const trace_differences *d, const char *path,
                                halley_error *err)
{
    halley_trace *t = NULL;
    TRY(trace_lend(&t, (halley_trace *)(uintptr_t)h->trace, err));
    char *name = strdup(path);
    bool room = name != NULL;
    for (uint32_t i = 0; room && i < d->n; i++) {
        assert(d->at[i].hole < h->n && h->at[d->at[i].hole].value < t->s.values.n);
        const trace_hole *hole = &h->at[d->at[i].hole];
        uint64_t bits = d->at[i].bits;
        if (hole->kind == HALLEY_ATTR_STRING) {
            bits = trace_text_copy(&t->s, trace_difference_text(d, &d->at[i]), (str){0});
            room = bits != 0;
        }
        t->s.values.at[hole->value] = bits;
    }
    if (name != NULL) {
        free(t->path);
        t->path = name;
    }
    if (!room) {
        halley_trace_free(t);
        return error_nomem(err);
    }
    *out = t;
    return HALLEY_OK;
}
