/*
 * trace/core/template.h - a trace set written as roles: one trace per role, and rules
 * that say which rank plays which role, who is in its groups, and who its peers are.
 *
 * A rank is a number of digits, one per axis, the innermost first: digit = rank / stride
 * mod size. A role's trace names groups (pg_name) and peers (comm_peer) by rule; a rule
 * and a rank give the group or the peer. 2^20 ranks of 16 roles need 16 traces.
 *
 * A group rule extends along some axes. Ranks that agree in all other digits count their
 * index along these axes (innermost first); those in the same block of `block` indexes
 * and with the same index modulo `every` are one group. DESIGN.md's expert cut over
 * stage = {tp, cp, dp} is etp: {block: etp}, ep: {block: etp*ep, every: etp}, replicas:
 * {every: etp*ep}.
 *
 * Where no rule is known, a rule may hold a table with one number per rank instead.
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

/* A condition on one digit: it is in one of the ranges. */
typedef struct trace_when {
    uint32_t axis;
    uint32_t n_ranges;
    const trace_range *ranges;
} trace_when;

typedef struct trace_template_role {
    halley_trace *trace; /* owned */
    str file;            /* as the index names it; "" = none */
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
    /* Made by trace_template_end. */
    uint32_t n_along;  /* indexes along the axes */
    uint32_t n_keys;   /* groups of this rule */
    uint32_t first_id; /* expanded traces call the group of key k first_id + k */
    const uint32_t *starts, *members; /* of a table: by key */
} trace_template_group;

typedef struct trace_template_peer {
    str name;
    uint32_t axis;
    int32_t distance;      /* along the axis */
    bool wrap;             /* from the last digit to the first; else there is nobody */
    const uint32_t *table; /* by rank: the peer or TRACE_TEMPLATE_NONE; NULL = by rule */
} trace_template_peer;

/* {0} is empty. Fill it with the functions below, then call trace_template_end. */
typedef struct trace_template {
    arena memory;
    uint32_t n_ranks;
    uint32_t n_axes;
    trace_axis axes[TRACE_TEMPLATE_MAX_AXES];
    ARRAY(trace_template_role) roles; /* ascending ranks of exceptions at the end */
    ARRAY(trace_template_group) groups;
    ARRAY(trace_template_peer) peers;
    const uint32_t *role_table; /* by rank; NULL = by `when` */
    uint32_t n_exceptions;      /* the last of the roles */
} trace_template;

void trace_template_fini(trace_template *t);

/* Each copies its texts and lists. The innermost axis comes first. */
halley_status trace_template_add_axis(trace_template *t, str name, uint32_t size,
                                      halley_error *err);
/* Takes over `trace`, also on failure. Exceptions come after all other roles. */
halley_status trace_template_add_role(trace_template *t, const trace_template_role *role,
                                      halley_error *err);
halley_status trace_template_add_group(trace_template *t,
                                       const trace_template_group *group,
                                       halley_error *err);
halley_status trace_template_add_peer(trace_template *t, const trace_template_peer *peer,
                                      halley_error *err);
/* All is there: n_ranks, the axes and their product, every rank in one role, sizes of
 * groups. Errors name the rule or the rank. */
halley_status trace_template_end(trace_template *t, halley_error *err);

/* The role of a rank, as index into t->roles. rank < t->n_ranks here and below. */
uint32_t trace_template_role_of(const trace_template *t, uint32_t rank);
/* Whether all conditions of a role hold for a rank. */
bool trace_template_fits(const trace_template *t, uint32_t role, uint32_t rank);
uint32_t trace_template_digit(const trace_template *t, uint32_t axis, uint32_t rank);

/* The rule of that name, or TRACE_TEMPLATE_NONE. */
uint32_t trace_template_find_group(const trace_template *t, str name);
uint32_t trace_template_find_peer(const trace_template *t, str name);
uint32_t trace_template_find_axis(const trace_template *t, str name);

/* The other end of a message, or TRACE_TEMPLATE_NONE. */
uint32_t trace_template_peer_of(const trace_template *t, uint32_t peer, uint32_t rank);

/* Which group of a rule a rank is in: 0 ... n_keys - 1; TRACE_TEMPLATE_NONE when it is in
 * none (values, tables). */
uint32_t trace_template_group_of(const trace_template *t, uint32_t group, uint32_t rank);
/* Members of such a group, and the i-th of them, by ascending rank. Costs O(axes). */
uint32_t trace_template_group_size(const trace_template *t, uint32_t group, uint32_t key);
uint32_t trace_template_member(const trace_template *t, uint32_t group, uint32_t key,
                               uint32_t i);

/*
 * What holds between traces and rules (trace_template_end holds the rules alone): every
 * pg_name and comm_peer has a rule, and a rank it leads to; every send has its receive,
 * channel by channel; members of a group call it in the same order.
 */
halley_status trace_template_check(const trace_template *t, halley_error *err);

/*
 * The trace of one rank as `trace gen` writes it: pg_name is the number of the group,
 * comm_src and comm_dst stand in place of comm_peer. On success *out is the caller's.
 */
halley_status trace_template_expand(halley_trace **out, const trace_template *t,
                                    uint32_t rank, halley_error *err);
/* All of a node but its attributes, as the builder's next node. */
void trace_template_copy_head(halley_builder *b, const halley_trace *t, uint32_t node);
/* All ranks, each with values of its own; the rest is shared by the ranks of a role. */
halley_status trace_template_expand_all(halley_trace_set **out, const trace_template *t,
                                        halley_error *err);

#endif
