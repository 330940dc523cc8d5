/* sim/symmetry/possible.c - whether options, rules and programs allow the run to be
 * folded. */
#include "sim/symmetry/objects.h"

#include <stdio.h>

static bool has_form(const sim *s, const sim_node *n)
{
    cluster_coll coll;
    coll_rooted rooted;
    sim_coll_describe(&coll, &rooted, n->coll);
    return sim_coll_has_form(s, s->rules->has_roots ? rooted : COLL_ROOTED_NONE,
                             n->a == SIM_NO_NAME ? n->b : UINT32_MAX);
}

/* The property of a program that prevents folding; NULL: none. */
static const char *find_obstacle(const sim *s, const sim_program *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const sim_node *n = &p->nodes[i];
        if (!sim_symmetry_is_simulated(n))
            continue;
        if (n->flags & SIM_NODE_UNEVEN)
            return "all-to-alls with unequal sizes run step by step";
        if (n->type == HALLEY_NODE_COLL && !has_form(s, n))
            return "trees, and collectives over some of the dimensions, run step by "
                   "step";
        if (sim_symmetry_is_memory(n) && s->memory.kind == CLUSTER_MEMORY_HIERARCHICAL)
            return "the stages of a hierarchical pool serve all ranks one after the "
                   "other";
    }
    return NULL;
}

static bool has_custom(const cluster_system *system)
{
    bool any = system->n_node_impls > 0;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++)
        any = any || system->colls[i].custom != NULL;
    return any;
}

static const char *find_option(const sim *s, const halley_sim_opts *opts)
{
    const cluster_system *system = s->system;
    if (opts->no_fold)
        return "--no-fold asks for it";
    if (!s->rules->can_fold)
        return "under ASTRA-sim's rules the order of events matters";
    if (s->net->model->fold == NULL || !net_can(s->net, NET_CAN_BUNDLES) || system->steps)
        return "collectives run step by step";
    if (opts->journal != HALLEY_JOURNAL_NONE)
        return "the order of events is recorded rank by rank";
    if (s->cluster->has_events)
        return "links change during the run";
    if (opts->heat)
        return "the use of links over time is recorded per NPU";
    if (system->bus.on || system->rendezvous)
        return "the bus and the rendezvous protocol are simulated per NPU";
    if (has_custom(system))
        return "collectives have algorithms of their own";
    for (int i = 0; i < CLUSTER_N_KERNELS; i++)
        if (system->interference[i] != 0 || system->network_interference[i] != 0)
            return "kernels and communication that slow each other down are followed "
                   "rank by rank";
    if (system->jitter > 0)
        return "jitter changes the times of every rank";
    return NULL;
}

bool sim_symmetry_is_possible(const sim *s, const halley_sim_opts *opts, char *reason,
                              size_t n)
{
    const char *why = s->n_npus < 2 ? "there is one rank" : find_option(s, opts);
    for (size_t i = 0; why == NULL && i < s->instance.programs.n; i++)
        why = find_obstacle(s, s->instance.programs.at[i]);
    snprintf(reason, n, "%s", why == NULL ? "" : why);
    return why == NULL;
}
