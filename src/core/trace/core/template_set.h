/* trace/core/template_set.h - a trace set rewritten as roles; for template_set*.c. */
#ifndef TRACE_CORE_TEMPLATE_SET_H
#define TRACE_CORE_TEMPLATE_SET_H

#include "base/hash.h"
#include "trace/core/groups.h"
#include "trace/core/template.h"

typedef ARRAY(uint32_t) slot_list;

/* What the ranks of one role have in common, and where its slots start among those of all
 * roles. */
typedef struct set_role {
    uint32_t rank; /* the first rank of the role */
    uint32_t n_groups, n_peers;
    uint32_t first_group, first_peer; /* number of its slot 0 over all roles */
    strbuf text;                      /* its trace in canonical form */
} set_role;

/* A set, divided into roles and slots. */
typedef struct set_roles {
    const halley_trace_set *set;
    uint32_t n_ranks;
    trace_groups groups;
    map64 group_of_name; /* hash of the name → index into groups.list */
    ARRAY(set_role) roles;
    uint32_t *role_of;  /* by rank */
    slot_list bindings; /* by rank: its groups (indexes), then its peers (ranks) */
    uint32_t *bound_at; /* by rank, n_ranks + 1 */
    uint32_t n_group_slots, n_peer_slots; /* over all roles */
    uint32_t *class_of; /* by group slot: slots that share a group are one rule */
    uint32_t n_classes;
} set_roles;

/* Find the roles and slots of a set. `groups` may be NULL: use what the traces
 * declare. */
halley_status set_roles_init(set_roles *s, const halley_trace_set *set,
                             const char *groups, halley_error *err);
void set_roles_fini(set_roles *s);

static inline const uint32_t *set_roles_groups(const set_roles *s, uint32_t rank)
{
    return s->bindings.at + s->bound_at[rank];
}
static inline const uint32_t *set_roles_peers(const set_roles *s, uint32_t rank)
{
    return set_roles_groups(s, rank) + s->roles.at[s->role_of[rank]].n_groups;
}

#endif
