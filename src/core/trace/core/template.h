/*
 * trace/core/template.h - a trace set as roles: one trace per role, and rules that give
 * each rank its role, the members of its groups, and its peers.
 *
 * A rank consists of digits, one per axis, the innermost first: digit = rank / stride mod
 * size. The trace of a role names groups (pg_name) and peers (comm_peer) by rule. A rule
 * and a rank give the group or the peer. So 2^20 ranks of 16 roles need 16 traces.
 *
 * A group rule extends along some axes. Ranks that agree in all other digits have an
 * index along these axes (innermost first). Two of them are in the same group if two
 * conditions hold. Their indexes are in the same block of `block` indexes, and are equal
 * modulo `every`. Example: experts over the axes {tp, cp, dp}, with etp innermost, then
 * ep, then replicas. The rules are etp: {block: etp}, ep: {block: etp*ep, every: etp},
 * replicas: {every: etp*ep}.
 *
 * If no rule is known, a table with one number per rank takes its place.
 */
#ifndef TRACE_CORE_TEMPLATE_H
#define TRACE_CORE_TEMPLATE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "halley/trace_template.h"

enum { TRACE_TEMPLATE_MAX_AXES = 16 };
#define TRACE_TEMPLATE_MAX_RANKS (UINT32_C(1) << 20)
#define TRACE_TEMPLATE_NONE UINT32_MAX /* no role, group or peer */

typedef struct trace_axis {
    str name;
    uint32_t size, stride;
} trace_axis;

typedef struct trace_range {
    uint32_t first, last; /* both included */
} trace_range;

/* A condition on one digit: it must be in one of the ranges. */
typedef struct trace_when {
    uint32_t axis;
    uint32_t n_ranges;
    const trace_range *ranges;
} trace_when;

typedef struct trace_template_role {
    halley_trace *trace; /* owned */
    str file;            /* its name in the index; "" = none */
    const trace_when *when;
    uint32_t n_when; /* all must hold */
    uint32_t rank;   /* an exception: this rank alone; TRACE_TEMPLATE_NONE = by `when` */
} trace_template_role;

typedef struct trace_template_group {
    str name;
    uint32_t axes;             /* bit mask: along which it extends */
    uint32_t block, every;     /* 0 = all of the axes; 1 = every index */
    const trace_range *values; /* only these indexes along the axes; NULL = all */
    uint32_t n_values;
    const uint32_t *table; /* by rank: key, or TRACE_TEMPLATE_NONE; NULL = by rule */
    /* Set by trace_template_end. */
    uint32_t n_along;  /* indexes along the axes */
    uint32_t n_keys;   /* groups of this rule */
    uint32_t first_id; /* name of group k in expanded traces: first_id + k */
    const uint32_t *starts, *members; /* of a table: by key */
} trace_template_group;

typedef struct trace_template_peer {
    str name;
    uint32_t axis;
    int32_t distance;      /* along the axis */
    bool wrap;             /* continue at the other end; else no peer there */
    const uint32_t *table; /* by rank: the peer or TRACE_TEMPLATE_NONE; NULL = by rule */
} trace_template_peer;

/* {0} is empty. Fill it with the functions below, then call trace_template_end. */
typedef struct trace_template {
    arena memory;
    uint32_t n_ranks;
    uint32_t n_axes;
    trace_axis axes[TRACE_TEMPLATE_MAX_AXES];
    ARRAY(trace_template_role) roles; /* exceptions last, by ascending rank */
    ARRAY(trace_template_group) groups;
    ARRAY(trace_template_peer) peers;
    const uint32_t *role_table; /* by rank; NULL = by `when` */
    uint32_t n_exceptions;      /* they are the last roles */
} trace_template;

void trace_template_fini(trace_template *t);

/* Each copies its texts and lists. The innermost axis comes first. */
halley_status trace_template_add_axis(trace_template *t, str name, uint32_t size,
                                      halley_error *err);
/* Takes `trace`, also on failure. Exceptions come after all other roles. */
halley_status trace_template_add_role(trace_template *t, const trace_template_role *role,
                                      halley_error *err);
halley_status trace_template_add_group(trace_template *t,
                                       const trace_template_group *group,
                                       halley_error *err);
halley_status trace_template_add_peer(trace_template *t, const trace_template_peer *peer,
                                      halley_error *err);
/* Call when everything is added. Checks n_ranks against the sizes of the axes, that every
 * rank has one role, and the sizes of groups. Errors name the rule or the rank. */
halley_status trace_template_end(trace_template *t, halley_error *err);

/* The role of a rank, as index into t->roles. rank < t->n_ranks here and below. */
uint32_t trace_template_role_of(const trace_template *t, uint32_t rank);
/* Do all conditions of a role hold for a rank? */
bool trace_template_fits(const trace_template *t, uint32_t role, uint32_t rank);
uint32_t trace_template_digit(const trace_template *t, uint32_t axis, uint32_t rank);

/* The rule of that name, or TRACE_TEMPLATE_NONE. */
uint32_t trace_template_find_group(const trace_template *t, str name);
uint32_t trace_template_find_peer(const trace_template *t, str name);
uint32_t trace_template_find_axis(const trace_template *t, str name);

/* The other end of a message, or TRACE_TEMPLATE_NONE. */
uint32_t trace_template_peer_of(const trace_template *t, uint32_t peer, uint32_t rank);

/* The group of a rule that a rank is in: 0 ... n_keys - 1. TRACE_TEMPLATE_NONE: in none
 * (values, tables). */
uint32_t trace_template_group_of(const trace_template *t, uint32_t group, uint32_t rank);
/* The number of members of such a group, and its i-th member by ascending rank. Costs
 * O(axes). */
uint32_t trace_template_group_size(const trace_template *t, uint32_t group, uint32_t key);
uint32_t trace_template_member(const trace_template *t, uint32_t group, uint32_t key,
                               uint32_t i);

/*
 * Check that traces and rules fit together (trace_template_end checks the rules alone):
 *
 * - Every pg_name and comm_peer has a rule, which leads to a rank.
 * - Every send has its receive, channel by channel.
 * - Members of a group call it in the same order.
 */
halley_status trace_template_check(const trace_template *t, halley_error *err);

/*
 * Make the trace of one rank as `trace gen` writes it: pg_name is the number of the
 * group, and comm_src and comm_dst replace comm_peer. On success the caller owns *out.
 */
halley_status trace_template_expand(halley_trace **out, const trace_template *t,
                                    uint32_t rank, halley_error *err);
/* Copy all of a node except its attributes, as the builder's next node. */
void trace_template_copy_head(halley_builder *b, const halley_trace *t, uint32_t node);
/* Make the traces of all ranks. Each has its own values; the ranks of a role share the
 * rest. */
halley_status trace_template_expand_all(halley_trace_set **out, const trace_template *t,
                                        halley_error *err);

#endif
