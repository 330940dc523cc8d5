/*
 * The attributes with a meaning. Real traces have a dozen attributes per node, most of
 * them without one. So a name is recognised by its length and first character before it
 * is compared. All roles of a node are found in one pass.
 */
#include "trace/core/roles.h"

#include "trace/core/store.h"

#include <assert.h>
#include <string.h>

static const char *const names[TRACE_N_ROLES] = {
    [TRACE_ROLE_NONE] = "",
    [TRACE_ROLE_IS_CPU_OP] = HALLEY_ATTR_NAME_IS_CPU_OP,
    [TRACE_ROLE_NUM_OPS] = HALLEY_ATTR_NAME_NUM_OPS,
    [TRACE_ROLE_TENSOR_SIZE] = HALLEY_ATTR_NAME_TENSOR_SIZE,
    [TRACE_ROLE_COMM_TYPE] = HALLEY_ATTR_NAME_COMM_TYPE,
    [TRACE_ROLE_COMM_SIZE] = HALLEY_ATTR_NAME_COMM_SIZE,
    [TRACE_ROLE_COMM_SRC] = HALLEY_ATTR_NAME_COMM_SRC,
    [TRACE_ROLE_COMM_DST] = HALLEY_ATTR_NAME_COMM_DST,
    [TRACE_ROLE_COMM_TAG] = HALLEY_ATTR_NAME_COMM_TAG,
    [TRACE_ROLE_COMM_PRIORITY] = HALLEY_ATTR_NAME_COMM_PRIORITY,
    [TRACE_ROLE_PG_NAME] = HALLEY_ATTR_NAME_PG_NAME,
};

const char *trace_role_name(trace_role role)
{
    return names[role];
}

static trace_role is_role(trace_role role, halley_bytes name)
{
    return memcmp(names[role], name.at, name.n) == 0 ? role : TRACE_ROLE_NONE;
}

static trace_role among_comm(halley_bytes name)
{
    switch (name.at[5]) {
    case 't':
        return name.n == 9 ? is_role(TRACE_ROLE_COMM_TYPE, name)
                           : is_role(TRACE_ROLE_COMM_TAG, name);
    case 's':
        return name.n == 9 ? is_role(TRACE_ROLE_COMM_SIZE, name)
                           : is_role(TRACE_ROLE_COMM_SRC, name);
    case 'd':
        return name.n == 8 ? is_role(TRACE_ROLE_COMM_DST, name) : TRACE_ROLE_NONE;
    default:
        return TRACE_ROLE_NONE;
    }
}

trace_role trace_role_of(halley_bytes name)
{
    assert(name.n == 0 || name.at != NULL);
    switch (name.n) {
    case 7:
        return name.at[0] == 'p' ? is_role(TRACE_ROLE_PG_NAME, name)
                                 : is_role(TRACE_ROLE_NUM_OPS, name);
    case 8:
        return among_comm(name);
    case 9:
        return name.at[0] == 'c' ? among_comm(name) : is_role(TRACE_ROLE_IS_CPU_OP, name);
    case 11:
        return is_role(TRACE_ROLE_TENSOR_SIZE, name);
    case 13:
        return is_role(TRACE_ROLE_COMM_PRIORITY, name);
    default:
        return TRACE_ROLE_NONE;
    }
}

void trace_roles_read(trace_roles *out, const halley_trace *trace, uint32_t node)
{
    assert(node < trace->s.n);
    out->seen = out->twice = 0;
    const trace_store *s = &trace->s;
    const attr_shape *shape = trace_shape_of(trace, node);
    if (shape->n == 0)
        return;
    const attr_slot *slots = s->shapes.flat.at + shape->first;
    for (uint32_t i = 0; i < shape->n; i++) {
        const uint8_t role = s->shapes.descs.at[slots[i].desc].role;
        if (role == TRACE_ROLE_NONE)
            continue;
        const uint32_t bit = UINT32_C(1) << role;
        if (out->seen & bit)
            out->twice |= bit;
        else
            out->at[role] =
                trace_attr_view(s, &slots[i], s->values.at + s->value_at.at[node]);
        out->seen |= bit;
    }
}

bool trace_kind_is_integer(halley_attr_kind kind)
{
    return kind >= HALLEY_ATTR_INT32 && kind <= HALLEY_ATTR_SFIXED64 &&
           !halley_attr_is_list(kind);
}

bool trace_roles_u64(const trace_roles *r, trace_role role, uint64_t *out)
{
    return trace_roles_has(r, role) && trace_kind_is_integer(r->at[role].kind) &&
           halley_attr_to_u64(&r->at[role], out);
}

bool trace_roles_i64(const trace_roles *r, trace_role role, int64_t *out)
{
    return trace_roles_has(r, role) && trace_kind_is_integer(r->at[role].kind) &&
           halley_attr_to_i64(&r->at[role], out);
}

bool trace_roles_is_cpu(const trace_roles *r)
{
    if (!trace_roles_has(r, TRACE_ROLE_IS_CPU_OP))
        return false;
    const halley_attr *attr = &r->at[TRACE_ROLE_IS_CPU_OP];
    return (attr->kind == HALLEY_ATTR_BOOL || trace_kind_is_integer(attr->kind)) &&
           attr->bits != 0;
}

halley_bytes trace_roles_group(const trace_roles *r)
{
    const halley_bytes all = {"", 0};
    if (!trace_roles_has(r, TRACE_ROLE_PG_NAME))
        return all;
    const halley_attr *attr = &r->at[TRACE_ROLE_PG_NAME];
    if (attr->kind != HALLEY_ATTR_STRING ||
        (attr->bytes.n == 1 && attr->bytes.at[0] == '0'))
        return all;
    return attr->bytes;
}

str trace_plain_name(char to[TRACE_PLAIN_NAME], halley_bytes name)
{
    assert(to != NULL);
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < TRACE_PLAIN_NAME; i++) {
        const bool digit = name.at[i] >= '0' && name.at[i] <= '9';
        if (!digit)
            to[n++] = name.at[i];
        else if (n == 0 || to[n - 1] != '#')
            to[n++] = '#';
    }
    return (str){to, n};
}
