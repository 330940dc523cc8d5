/*
 * Compare two nodes of the same id: type, name, times, dependencies, attributes, inputs
 * and outputs, unknown fields.
 */
#include "trace/diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static halley_attr get_attr(const diff_attrs *list, uint32_t i)
{
    return list->node == HALLEY_NO_NODE ? halley_trace_metadata(list->trace, i)
                                        : halley_node_attr(list->trace, list->node, i);
}

static bool same_value(const halley_attr *a, const halley_attr *b)
{
    return a->kind == b->kind && a->bits == b->bits &&
           diff_same_bytes(a->bytes, b->bytes) && diff_same_bytes(a->doc, b->doc) &&
           diff_same_bytes(a->unknown, b->unknown);
}

/* Format a value for a sentence. */
static const char *show_value(diff *d, halley_diff_kind kind, const halley_attr *attr)
{
    if (d->n_once[kind] >= d->max_per_kind)
        return "";
    strbuf b = {0};
    double number = 0;
    int64_t integer = 0;
    if (attr->kind == HALLEY_ATTR_STRING)
        strbuf_printf(&b, "%s", diff_quote(d, kind, attr->bytes));
    else if (attr->kind == HALLEY_ATTR_BOOL)
        strbuf_printf(&b, "%s", attr->bits ? "true" : "false");
    else if (attr->kind == HALLEY_ATTR_BYTES || halley_attr_is_list(attr->kind))
        strbuf_printf(&b, "%zu bytes", attr->bytes.n);
    else if (attr->kind > HALLEY_ATTR_FLOAT_LIST && halley_attr_to_i64(attr, &integer))
        strbuf_printf(&b, "%" PRId64, integer);
    else if (attr->kind > HALLEY_ATTR_FLOAT_LIST)
        strbuf_printf(&b, "%" PRIu64, attr->bits);
    else if (halley_attr_to_double(attr, &number))
        strbuf_double(&b, number);
    strbuf_printf(&b, " (%s)", halley_attr_kind_name(attr->kind));
    const char *words = b.failed ? NULL : arena_copy(&d->memory, strbuf_str(&b));
    strbuf_fini(&b);
    d->failed |= words == NULL;
    return words == NULL ? "" : words;
}

/* Find the k-th attribute of that name. False: there is none. */
static bool find_kth(const diff_attrs *list, halley_bytes name, uint32_t k,
                     halley_attr *out)
{
    for (uint32_t i = 0; i < list->n; i++) {
        *out = get_attr(list, i);
        if (diff_same_bytes(out->name, name) && k-- == 0)
            return true;
    }
    return false;
}

/* The number of attributes among the first i with that name. */
static uint32_t count_before(const diff_attrs *list, uint32_t i, halley_bytes name)
{
    uint32_t k = 0;
    while (i-- > 0)
        k += diff_same_bytes(get_attr(list, i).name, name);
    return k;
}

static void compare_by_name(diff *d, const diff_attrs *a, const diff_attrs *b,
                            halley_diff_kind kind, diff_pair at)
{
    bool differ = false;
    halley_attr x, y;
    for (uint32_t i = 0; i < a->n; i++) {
        x = get_attr(a, i);
        if (!find_kth(b, x.name, count_before(a, i, x.name), &y)) {
            differ = true;
            diff_add(d, kind, at, "attribute %s, %s, is gone",
                     diff_quote(d, kind, x.name), show_value(d, kind, &x));
        } else if (!same_value(&x, &y)) {
            differ = true;
            diff_add(d, kind, at, "attribute %s: %s is now %s",
                     diff_quote(d, kind, x.name), show_value(d, kind, &x),
                     show_value(d, kind, &y));
        }
    }
    for (uint32_t i = 0; i < b->n; i++) {
        y = get_attr(b, i);
        if (find_kth(a, y.name, count_before(b, i, y.name), &x))
            continue;
        differ = true;
        diff_add(d, kind, at, "attribute %s, %s, is new", diff_quote(d, kind, y.name),
                 show_value(d, kind, &y));
    }
    if (!differ && diff_wants(d, HALLEY_DIFF_ORDER))
        diff_add(d, HALLEY_DIFF_ORDER, at, "attributes are in another order");
}

void diff_compare_attrs(diff *d, const diff_attrs *a, const diff_attrs *b,
                        halley_diff_kind kind, diff_pair at)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++) {
        const halley_attr x = get_attr(a, i), y = get_attr(b, i);
        same = diff_same_bytes(x.name, y.name) && same_value(&x, &y);
    }
    if (!same && diff_wants(d, kind))
        compare_by_name(d, a, b, kind, at);
}

typedef struct deps {
    const halley_trace *trace;
    uint32_t node, n;
    bool data;
} deps;

static deps deps_of(const halley_trace *trace, uint32_t node, bool data)
{
    return (deps){trace, node,
                  data ? halley_node_data_count(trace, node)
                       : halley_node_ctrl_count(trace, node),
                  data};
}

static uint64_t dep_id(const deps *l, uint32_t i)
{
    return l->data ? halley_node_data(l->trace, l->node, i).id
                   : halley_node_ctrl(l->trace, l->node, i).id;
}

/* Sorted ids. NULL: no memory. */
static uint64_t *make_sorted(const deps *l)
{
    uint64_t *ids = mem_array(l->n, sizeof *ids);
    for (uint32_t i = 0; ids != NULL && i < l->n; i++)
        ids[i] = dep_id(l, i);
    if (ids != NULL)
        mem_sort_u64(ids, l->n);
    return ids;
}

static void compare_sorted(diff *d, const uint64_t *x, uint32_t n_x, const uint64_t *y,
                           uint32_t n_y, const char *word, diff_pair at)
{
    bool differ = false;
    for (uint32_t i = 0, j = 0; i < n_x || j < n_y;) {
        if (i < n_x && j < n_y && x[i] == y[j]) {
            i++;
            j++;
            continue;
        }
        const bool gone = j == n_y || (i < n_x && x[i] < y[j]);
        if (diff_wants(d, HALLEY_DIFF_DEPS))
            diff_add(d, HALLEY_DIFF_DEPS, at, "%s dependency on %" PRIu64 " is %s", word,
                     gone ? x[i] : y[j], gone ? "gone" : "new");
        *(gone ? &i : &j) += 1;
        differ = true;
    }
    if (!differ && diff_wants(d, HALLEY_DIFF_ORDER))
        diff_add(d, HALLEY_DIFF_ORDER, at, "%s dependencies are in another order", word);
}

static void compare_deps(diff *d, diff_pair at, bool data)
{
    const deps a = deps_of(d->a, at.a, data), b = deps_of(d->b, at.b, data);
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++)
        same = dep_id(&a, i) == dep_id(&b, i);
    if (same)
        return;
    uint64_t *x = make_sorted(&a), *y = make_sorted(&b);
    if (x == NULL || y == NULL)
        d->failed = true;
    else
        compare_sorted(d, x, a.n, y, b.n, data ? "data" : "control", at);
    free(x);
    free(y);
}

static void compare_io(diff *d, diff_pair at, const halley_io *a, const halley_io *b,
                       const char *word)
{
    const struct {
        const char *part;
        halley_bytes a, b;
    } parts[] = {{"values", a->values, b->values},
                 {"shapes", a->shapes, b->shapes},
                 {"types", a->types, b->types},
                 {"unknown fields", a->unknown, b->unknown}};
    if (!diff_wants(d, HALLEY_DIFF_IO))
        return;
    if (a->present != b->present) {
        diff_add(d, HALLEY_DIFF_IO, at, "%s are %s", word, a->present ? "gone" : "new");
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!diff_same_bytes(parts[i].a, parts[i].b))
            diff_add(d, HALLEY_DIFF_IO, at, "%s of %s: %s is now %s", parts[i].part, word,
                     diff_quote(d, HALLEY_DIFF_IO, parts[i].a),
                     diff_quote(d, HALLEY_DIFF_IO, parts[i].b));
}

static void compare_times(diff *d, diff_pair at)
{
    const uint64_t start_a = halley_node_start_us(d->a, at.a);
    const uint64_t start_b = halley_node_start_us(d->b, at.b);
    if (start_a != start_b)
        diff_add(d, HALLEY_DIFF_TIME, at, "start %" PRIu64 " us is now %" PRIu64 " us",
                 start_a, start_b);
    const uint64_t duration_a = halley_node_duration_us(d->a, at.a);
    const uint64_t duration_b = halley_node_duration_us(d->b, at.b);
    if (duration_a != duration_b)
        diff_add(d, HALLEY_DIFF_TIME, at, "duration %" PRIu64 " us is now %" PRIu64 " us",
                 duration_a, duration_b);
}

static void compare_heads(diff *d, diff_pair at)
{
    const uint32_t type_a = halley_node_type_of(d->a, at.a);
    const uint32_t type_b = halley_node_type_of(d->b, at.b);
    if (type_a != type_b && diff_wants(d, HALLEY_DIFF_TYPE))
        diff_add(d, HALLEY_DIFF_TYPE, at, "type %" PRIu32 " (%s) is now %" PRIu32 " (%s)",
                 type_a, halley_node_type_name(type_a), type_b,
                 halley_node_type_name(type_b));
    const halley_bytes name_a = halley_node_name(d->a, at.a);
    const halley_bytes name_b = halley_node_name(d->b, at.b);
    if (!diff_same_bytes(name_a, name_b) && diff_wants(d, HALLEY_DIFF_NAME))
        diff_add(d, HALLEY_DIFF_NAME, at, "name %s is now %s",
                 diff_quote(d, HALLEY_DIFF_NAME, name_a),
                 diff_quote(d, HALLEY_DIFF_NAME, name_b));
}

void diff_compare_nodes(diff *d, diff_pair at)
{
    compare_heads(d, at);
    if (diff_wants(d, HALLEY_DIFF_TIME))
        compare_times(d, at);
    compare_deps(d, at, true);
    compare_deps(d, at, false);
    const diff_attrs a = {d->a, at.a, halley_node_attr_count(d->a, at.a)};
    const diff_attrs b = {d->b, at.b, halley_node_attr_count(d->b, at.b)};
    diff_compare_attrs(d, &a, &b, HALLEY_DIFF_ATTRS, at);
    const halley_io in_a = halley_node_inputs(d->a, at.a);
    const halley_io in_b = halley_node_inputs(d->b, at.b);
    compare_io(d, at, &in_a, &in_b, "inputs");
    const halley_io out_a = halley_node_outputs(d->a, at.a);
    const halley_io out_b = halley_node_outputs(d->b, at.b);
    compare_io(d, at, &out_a, &out_b, "outputs");
    if (!diff_same_bytes(halley_node_unknown(d->a, at.a),
                         halley_node_unknown(d->b, at.b)) &&
        diff_wants(d, HALLEY_DIFF_UNKNOWN))
        diff_add(d, HALLEY_DIFF_UNKNOWN, at, "unknown fields differ");
}
