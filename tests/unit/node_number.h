/* node_number.h - the number in an attribute that a node must have. */
#ifndef NODE_NUMBER_H
#define NODE_NUMBER_H

#include "halley/trace.h"
#include "unit.h"

static inline uint64_t number(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr attr;
    uint64_t value = 0;
    assert_true(halley_node_find_attr(&attr, t, node, name));
    assert_true(halley_attr_to_u64(&attr, &value));
    return value;
}

#endif
