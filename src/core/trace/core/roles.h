/* trace/core/roles.h - the attributes that have a meaning in Chakra, found in one
 * pass. */
#ifndef TRACE_CORE_ROLES_H
#define TRACE_CORE_ROLES_H

#include "base/str.h"
#include "halley/trace.h"

typedef enum trace_role {
    TRACE_ROLE_NONE,
    TRACE_ROLE_IS_CPU_OP,
    TRACE_ROLE_NUM_OPS,     /* floating point operations */
    TRACE_ROLE_TENSOR_SIZE, /* bytes of memory traffic */
    TRACE_ROLE_COMM_TYPE,
    TRACE_ROLE_COMM_SIZE, /* bytes */
    TRACE_ROLE_COMM_SRC,
    TRACE_ROLE_COMM_DST,
    TRACE_ROLE_COMM_TAG,
    TRACE_ROLE_COMM_PRIORITY,
    TRACE_ROLE_PG_NAME,
    TRACE_N_ROLES
} trace_role;

/* The first attribute of each role. */
typedef struct trace_roles {
    uint32_t seen;  /* bit 1 << role */
    uint32_t twice; /* the same, for roles that occur more than once */
    halley_attr at[TRACE_N_ROLES];
} trace_roles;

trace_role trace_role_of(halley_bytes name);
const char *trace_role_name(trace_role role);

void trace_roles_read(trace_roles *out, const halley_trace *trace, uint32_t node);
static inline bool trace_roles_has(const trace_roles *r, trace_role role)
{
    return (r->seen >> role & 1) != 0;
}
/* False if absent, not an integer, or negative. */
bool trace_roles_u64(const trace_roles *r, trace_role role, uint64_t *out);
bool trace_roles_i64(const trace_roles *r, trace_role role, int64_t *out);
/* is_cpu_op as ASTRA-sim reads it: false if absent or not an integer. */
bool trace_roles_is_cpu(const trace_roles *r);
/* The group of a communication: pg_name, or "" for all ranks if that is absent, not a
 * text or "0". */
halley_bytes trace_roles_group(const trace_roles *r);

/* INT32 … SFIXED64, not a list: kinds that a reader may convert to another integer
 * kind. */
bool trace_kind_is_integer(halley_attr_kind kind);

/* Turn "LAYER 12 FORWARD" into "LAYER # FORWARD". Numbers in a node's name identify it,
 * but do not describe what it does. */
enum { TRACE_PLAIN_NAME = 256 };
str trace_plain_name(char to[TRACE_PLAIN_NAME], halley_bytes name);

#endif
