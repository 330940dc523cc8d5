/* same_trace.h - two traces are equal in all that can be asked of them. */
#ifndef SAME_TRACE_H
#define SAME_TRACE_H

#include "halley/trace.h"
#include "unit.h"

#include <string.h>

static inline void same_bytes(halley_bytes a, halley_bytes b)
{
    assert_int_equal(a.n, b.n);
    assert_true(a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static inline void same_attr(halley_attr a, halley_attr b)
{
    same_bytes(a.name, b.name);
    same_bytes(a.doc, b.doc);
    assert_int_equal(a.kind, b.kind);
    assert_true(a.bits == b.bits);
    same_bytes(a.bytes, b.bytes);
    same_bytes(a.unknown, b.unknown);
    if (!halley_attr_is_list(a.kind))
        return;
    size_t at_a = 0, at_b = 0;
    halley_attr_item x, y;
    while (halley_attr_list_next(&a, &at_a, &x)) {
        assert_true(halley_attr_list_next(&b, &at_b, &y));
        assert_true(x.bits == y.bits);
        same_bytes(x.bytes, y.bytes);
    }
    assert_false(halley_attr_list_next(&b, &at_b, &y));
}

static inline void same_io(halley_io a, halley_io b)
{
    assert_int_equal(a.present, b.present);
    same_bytes(a.values, b.values);
    same_bytes(a.shapes, b.shapes);
    same_bytes(a.types, b.types);
    same_bytes(a.unknown, b.unknown);
}

static inline void same_dep(halley_dep a, halley_dep b)
{
    assert_true(a.id == b.id);
    assert_int_equal(a.index, b.index);
}

static inline void same_node(const halley_trace *a, const halley_trace *b, uint32_t i)
{
    assert_true(halley_node_id(a, i) == halley_node_id(b, i));
    assert_int_equal(halley_node_type_of(a, i), halley_node_type_of(b, i));
    same_bytes(halley_node_name(a, i), halley_node_name(b, i));
    assert_true(halley_node_start_us(a, i) == halley_node_start_us(b, i));
    assert_true(halley_node_duration_us(a, i) == halley_node_duration_us(b, i));
    const uint32_t n_data = halley_node_data_count(a, i);
    const uint32_t n_ctrl = halley_node_ctrl_count(a, i);
    const uint32_t n_attrs = halley_node_attr_count(a, i);
    assert_int_equal(n_data, halley_node_data_count(b, i));
    assert_int_equal(n_ctrl, halley_node_ctrl_count(b, i));
    assert_int_equal(n_attrs, halley_node_attr_count(b, i));
    for (uint32_t k = 0; k < n_data; k++)
        same_dep(halley_node_data(a, i, k), halley_node_data(b, i, k));
    for (uint32_t k = 0; k < n_ctrl; k++)
        same_dep(halley_node_ctrl(a, i, k), halley_node_ctrl(b, i, k));
    same_io(halley_node_inputs(a, i), halley_node_inputs(b, i));
    same_io(halley_node_outputs(a, i), halley_node_outputs(b, i));
    for (uint32_t k = 0; k < n_attrs; k++)
        same_attr(halley_node_attr(a, i, k), halley_node_attr(b, i, k));
    same_bytes(halley_node_unknown(a, i), halley_node_unknown(b, i));
    assert_int_equal(halley_trace_find(a, halley_node_id(a, i)),
                     halley_trace_find(b, halley_node_id(a, i)));
}

static inline void same_trace(const halley_trace *a, const halley_trace *b)
{
    assert_int_equal(halley_trace_has_metadata(a), halley_trace_has_metadata(b));
    same_bytes(halley_trace_version(a), halley_trace_version(b));
    same_bytes(halley_trace_metadata_unknown(a), halley_trace_metadata_unknown(b));
    const uint32_t n_meta = halley_trace_metadata_count(a);
    assert_int_equal(n_meta, halley_trace_metadata_count(b));
    for (uint32_t i = 0; i < n_meta; i++)
        same_attr(halley_trace_metadata(a, i), halley_trace_metadata(b, i));
    assert_int_equal(halley_trace_count(a), halley_trace_count(b));
    assert_true(halley_trace_dep_count(a) == halley_trace_dep_count(b));
    assert_true(halley_trace_dangling_count(a) == halley_trace_dangling_count(b));
    for (uint32_t i = 0; i < halley_trace_count(a); i++)
        same_node(a, b, i);
}

#endif
