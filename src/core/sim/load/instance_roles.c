/*
 * sim/load/instance_roles.c - programs and names of the ranks of a set that is stored as
 * roles (trace/core/template.h). There is one program per role and kind of NPU. Each rank
 * gets the groups and peers that the rules assign to it. Only the trace of the first rank
 * of each role is expanded, and those of the exceptions below.
 *
 * The program of a role is that of its first rank. Rules that give this rank the same
 * peer share a name. If the rules give another rank different peers there, or the
 * reverse, that rank has another program and is compiled on its own.
 */
#include "sim/load/instance.h"
#include "sim/rules.h"
#include "trace/core/template.h"

#include <string.h>

/* A rule that a role uses. */
typedef struct role_rule {
    sim_name_kind kind; /* group, out or in */
    uint32_t rule;
    uint32_t name; /* of the program */
} role_rule;

/* A role for one kind of NPU. */
typedef struct role_program {
    uint32_t role, kind, program;
    uint32_t first_rank;
    ARRAY(role_rule) rules;
} role_program;

typedef struct role_maker {
    sim_instance *to;
    const trace_template *t;
    const sim_instance_opts *o;
    ARRAY(role_program) roles;
    map64 by_role;         /* role and kind -> place in roles */
    uint32_t *first_group; /* by group rule: index of its first group, when in order */
    halley_error *err;
} role_maker;

static bool add_rule(role_program *r, sim_name_kind kind, uint32_t rule)
{
    for (size_t i = 0; i < r->rules.n; i++)
        if (r->rules.at[i].kind == kind && r->rules.at[i].rule == rule)
            return true;
    return array_push(&r->rules, (role_rule){kind, rule, SIM_NO_NAME});
}

static str get_text(const halley_attr *a)
{
    return (str){a->bytes.at, a->bytes.n};
}

/* List the rules that a role's trace names. */
static bool find_rules(role_program *r, const trace_template *t)
{
    static const char *const names[] = {HALLEY_ATTR_NAME_PG_NAME,
                                        HALLEY_ATTR_NAME_COMM_PEER};
    const halley_trace *trace = t->roles.at[r->role].trace;
    assert(r->role < t->roles.n);
    trace_slots slots;
    bool room = trace_slots_init(&slots, trace, names, 2);
    for (uint32_t i = 0; room && i < halley_trace_count(trace); i++) {
        halley_attr a;
        uint32_t rule;
        if (trace_slots_find(&a, &slots, i, 0) && a.kind == HALLEY_ATTR_STRING &&
            (rule = trace_template_find_group(t, get_text(&a))) != TRACE_TEMPLATE_NONE)
            room = add_rule(r, SIM_NAME_GROUP, rule);
        if (room && trace_slots_find(&a, &slots, i, 1) && a.kind == HALLEY_ATTR_STRING &&
            (rule = trace_template_find_peer(t, get_text(&a))) != TRACE_TEMPLATE_NONE)
            room =
                add_rule(r,
                         halley_node_type_of(trace, i) == HALLEY_NODE_SEND ? SIM_NAME_OUT
                                                                           : SIM_NAME_IN,
                         rule);
    }
    trace_slots_fini(&slots);
    return room;
}

/* The group or peer that a rule assigns to a rank; UINT32_MAX: none. */
static uint32_t follow_rule(const role_maker *m, const role_rule *r, uint32_t rank)
{
    if (r->kind != SIM_NAME_GROUP)
        return trace_template_peer_of(m->t, r->rule, rank);
    assert(r->rule < m->t->groups.n);
    const uint32_t key = trace_template_group_of(m->t, r->rule, rank);
    if (key == TRACE_TEMPLATE_NONE)
        return UINT32_MAX;
    const int64_t id = (int64_t)m->t->groups.at[r->rule].first_id + key;
    const uint32_t guess = m->first_group[r->rule] + key;
    if (guess < m->to->n_groups && m->to->groups[guess].id == id)
        return guess;
    return cluster_find_group(m->o->cluster, id);
}

static uint32_t find_name(const sim_program *p, sim_name_kind kind, uint32_t value)
{
    for (uint32_t i = 0; i < p->n_names; i++)
        if (p->names[i].kind == kind && p->own.values[i] == value)
            return i;
    return SIM_NO_NAME;
}

/* Expand the trace of a rank, keep it, and compile it. */
static halley_status compile_trace(role_maker *m, uint32_t rank, uint32_t kind,
                                   uint32_t *program)
{
    halley_trace *trace = NULL;
    TRY(trace_template_expand(&trace, m->t, rank, m->err));
    if (!array_push(&m->to->made, trace)) {
        halley_trace_free(trace);
        return error_nomem(m->err);
    }
    m->to->traces[rank] = trace;
    TRY(sim_instance_compile(m->to, rank, kind, m->o, m->err));
    *program = m->to->program_of[rank];
    return HALLEY_OK;
}

static halley_status new_role(role_maker *m, uint32_t role, uint32_t kind, uint32_t rank)
{
    role_program r = {.role = role, .kind = kind, .first_rank = rank};
    halley_status status = compile_trace(m, rank, kind, &r.program);
    assert(status != HALLEY_OK || r.program < m->to->programs.n);
    if (status == HALLEY_OK && !find_rules(&r, m->t))
        status = error_nomem(m->err);
    const sim_program *p = status == HALLEY_OK ? m->to->programs.at[r.program] : NULL;
    for (size_t i = 0; status == HALLEY_OK && i < r.rules.n; i++)
        r.rules.at[i].name =
            find_name(p, r.rules.at[i].kind, follow_rule(m, &r.rules.at[i], rank));
    if (status == HALLEY_OK && !array_push(&m->roles, r))
        status = error_nomem(m->err);
    if (status != HALLEY_OK)
        array_fini(&r.rules);
    return status;
}

/* Set the names of a rank by the rules; false: the rank has another program. */
static bool fill_values(uint32_t *values, const role_maker *m, const role_program *r,
                        uint32_t rank)
{
    const sim_program *p = m->to->programs.at[r->program];
    for (uint32_t i = 0; i < p->n_names; i++) {
        const bool is_self =
            p->names[i].kind == SIM_NAME_SELF && p->own.values[i] == r->first_rank;
        values[i] = p->names[i].kind == SIM_NAME_ROOT ? p->own.values[i]
                    : is_self                         ? rank
                                                      : UINT32_MAX;
    }
    for (size_t i = 0; i < r->rules.n; i++) {
        const role_rule *rule = &r->rules.at[i];
        const uint32_t value = follow_rule(m, rule, rank);
        if (rule->name == SIM_NO_NAME || value == UINT32_MAX ||
            (values[rule->name] != UINT32_MAX && values[rule->name] != value))
            return false;
        assert(rule->name < p->n_names && p->names[rule->name].kind == rule->kind);
        values[rule->name] = value;
    }
    for (uint32_t i = 0; i < p->n_names; i++)
        for (uint32_t k = 0; k <= i; k++)
            if (values[i] == UINT32_MAX ||
                (k < i && p->names[k].kind == p->names[i].kind &&
                 p->names[i].kind != SIM_NAME_ROOT && values[k] == values[i]))
                return false;
    return true;
}

static halley_status bind_role_rank(role_maker *m, uint32_t rank)
{
    const halley_cluster *c = m->o->cluster;
    const uint32_t kind = c->n_kinds > 1 ? halley_cluster_kind_of(c, rank) : 0;
    const uint32_t role = trace_template_role_of(m->t, rank);
    uint32_t id = (uint32_t)m->roles.n, program;
    bool fresh;
    if (!map64_put(&m->by_role, (uint64_t)kind << 32 | role, &id, &fresh))
        return error_nomem(m->err);
    if (fresh)
        return new_role(m, role, kind, rank);
    const role_program *r = &m->roles.at[id];
    assert(id < m->roles.n && r->role == role && r->first_rank < rank);
    const sim_program *p = m->to->programs.at[r->program];
    uint32_t *values = arena_array(&m->to->memory, p->n_names, sizeof *values);
    if (values == NULL)
        return error_nomem(m->err);
    if (!fill_values(values, m, r, rank))
        return compile_trace(m, rank, kind, &program);
    m->to->program_of[rank] = r->program;
    m->to->traces[rank] = m->to->traces[r->first_rank];
    m->to->values[rank] = values;
    m->to->tags[rank] = p->own.tags;
    return HALLEY_OK;
}

/* The groups of a rule mostly have consecutive indexes. */
static halley_status find_first_groups(role_maker *m)
{
    m->first_group = mem_array(m->t->groups.n, sizeof *m->first_group);
    if (m->first_group == NULL)
        return error_nomem(m->err);
    for (size_t i = 0; i < m->t->groups.n; i++) {
        const trace_template_group *g = &m->t->groups.at[i];
        m->first_group[i] = 0;
        for (uint32_t key = 0; key < g->n_keys; key++) {
            const uint32_t at =
                cluster_find_group(m->o->cluster, (int64_t)g->first_id + key);
            if (at == UINT32_MAX)
                continue;
            m->first_group[i] = at - key;
            break;
        }
    }
    return HALLEY_OK;
}

/* By rank and name: the rank's place in the group. */
static halley_status find_name_places(sim_instance *to, halley_error *err)
{
    to->places_of = mem_array(to->n, sizeof *to->places_of);
    if (to->places_of == NULL)
        return error_nomem(err);
    for (uint32_t r = 0; r < to->n; r++) {
        const uint32_t n = to->programs.at[to->program_of[r]]->n_names;
        to->places_of[r] = arena_array(&to->memory, n, sizeof **to->places_of);
        if (to->places_of[r] == NULL)
            return error_nomem(err);
        memset(to->places_of[r], 0xff, n * sizeof **to->places_of);
    }
    for (uint32_t g = 0; g < to->n_groups; g++)
        for (uint32_t i = 0; i < to->groups[g].n; i++) {
            const uint32_t r = to->groups[g].ranks[i];
            assert(r < to->n);
            const sim_program *p = to->programs.at[to->program_of[r]];
            for (uint32_t k = 0; k < p->n_names; k++)
                if (p->names[k].kind == SIM_NAME_GROUP && to->values[r][k] == g)
                    to->places_of[r][k] = i;
        }
    return HALLEY_OK;
}

halley_status sim_instance_init_roles(sim_instance *out, const trace_template *t,
                                      const sim_instance_opts *o, halley_error *err)
{
    role_maker m = {.to = out, .t = t, .o = o, .err = err};
    halley_status status = sim_instance_begin(out, o, err);
    if (status == HALLEY_OK)
        status = find_first_groups(&m);
    for (uint32_t i = 0; status == HALLEY_OK && i < out->n; i++)
        status = bind_role_rank(&m, i);
    if (status == HALLEY_OK)
        status = find_name_places(out, err);
    for (size_t i = 0; i < m.roles.n; i++)
        array_fini(&m.roles.at[i].rules);
    array_fini(&m.roles);
    map64_fini(&m.by_role);
    free(m.first_group);
    if (status != HALLEY_OK)
        sim_instance_fini(out);
    return status;
}
