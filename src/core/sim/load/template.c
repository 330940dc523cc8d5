/*
 * sim/load/template.c - runs of sets that are stored as roles: the groups of the rules
 * become groups of the cluster.
 */
#include "trace/core/template.h"

#include "halley/sim.h"
#include "hw/cluster.h"
#include "hw/groups.h"
#include "sim/run.h"

static halley_status add_rule(halley_cluster *c, const trace_template *t, uint32_t rule,
                              uint32_t *members, halley_error *err)
{
    const trace_template_group *g = &t->groups.at[rule];
    assert(rule < t->groups.n);
    for (uint32_t key = 0; key < g->n_keys; key++) {
        const uint32_t n = trace_template_group_size(t, rule, key);
        assert(n <= t->n_ranks); /* `members` has room */
        for (uint32_t i = 0; i < n; i++)
            members[i] = trace_template_member(t, rule, key, i);
        if (n > 0)
            TRY(hw_groups_add(c, (int64_t)g->first_id + key, members, n, err));
    }
    return HALLEY_OK;
}

static halley_status add_groups(halley_cluster *c, const trace_template *t,
                                halley_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < t->groups.n; i++)
        n += t->groups.at[i].n_keys;
    c->n_groups = 0; /* groups from a file are not those that the rules number */
    uint32_t *members = mem_array(t->n_ranks, sizeof *members);
    halley_status status =
        members != NULL ? hw_groups_begin(c, n, err) : error_nomem(err);
    for (uint32_t i = 0; i < t->groups.n && status == HALLEY_OK; i++)
        status = add_rule(c, t, i, members, err);
    free(members);
    return status == HALLEY_OK ? hw_groups_end(c, err) : status;
}

halley_status halley_sim_run_template(halley_result **out, const halley_template *roles,
                                      const halley_cluster *cluster,
                                      const halley_sim_opts *opts, halley_error *err)
{
    halley_cluster *c = hw_cluster_copy(cluster);
    halley_status status = c != NULL ? add_groups(c, roles, err) : error_nomem(err);
    if (status == HALLEY_OK) {
        c->system.slow = cluster->system.slow; /* lent; the copy omits them */
        c->system.late_s = cluster->system.late_s;
        status = sim_run_roles(out, roles, c, opts, err);
        c->system.slow = c->system.late_s = NULL;
    }
    halley_cluster_free(c);
    return status;
}
