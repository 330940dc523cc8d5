/* sim/load/bind.c - binds the names of all ranks when every rank is simulated. */
#include "sim/engine.h"

static halley_status bind_groups(sim *s)
{
    s->n_groups = s->instance.n_groups;
    s->groups = arena_array(&s->memory_of_run, s->n_groups, sizeof *s->groups);
    if (s->groups == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const cluster_group *g = &s->instance.groups[i];
        s->groups[i] = (sim_group){.id = g->id,
                                   .n = g->n,
                                   .ranks = g->ranks,
                                   .npus = g->ranks,
                                   .n_members = g->n,
                                   .members = g->ranks,
                                   .n_groups = 1};
    }
    return HALLEY_OK;
}

static sim_bind bind_name(const sim_instance *in, const sim_program *p, uint32_t rank,
                          uint32_t name)
{
    const uint32_t *values = in->values[rank], value = values[name];
    assert(name < p->n_names);
    switch (p->names[name].kind) {
    case SIM_NAME_GROUP:
        assert(value < in->n_groups);
        return (sim_bind){value + 1, sim_instance_name_place(in, rank, name)};
    case SIM_NAME_ROOT: {
        const uint32_t of = p->names[name].of;
        assert(of == SIM_NO_NAME || p->names[of].kind == SIM_NAME_GROUP);
        return (sim_bind){
            of == SIM_NO_NAME ? value : sim_instance_place(in, values[of], value), 0};
    }
    case SIM_NAME_SELF:
        return (sim_bind){value == rank, 0};
    default:
        assert(value < in->n);
        return (sim_bind){value, rank};
    }
}

static halley_status bind_rank(sim *s, uint32_t rank)
{
    const sim_instance *in = &s->instance;
    const sim_program *p = in->programs.at[in->program_of[rank]];
    sim_bind *binds = arena_array(&s->memory_of_run, p->n_names, sizeof *binds);
    if (binds == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < p->n_names; i++)
        binds[i] = bind_name(in, p, rank, i);
    s->ranks[rank] = (sim_rank){.program = p,
                                .path = sim_instance_path(in, rank),
                                .binds = binds,
                                .tags = in->tags[rank],
                                .npu = rank,
                                .n_alike = 1,
                                .server = mem_server_of(&s->memory, rank)};
    return HALLEY_OK;
}

halley_status sim_bind_ranks(sim *s)
{
    assert(s->n_ranks == s->instance.n);
    s->ranks = mem_array_zero(s->n_ranks, sizeof *s->ranks);
    s->finishers = mem_array(s->n_npus, sizeof *s->finishers);
    if (s->ranks == NULL || s->finishers == NULL)
        return error_nomem(s->err);
    TRY(bind_groups(s));
    for (uint32_t i = 0; i < s->n_ranks; i++)
        TRY(bind_rank(s, i));
    return HALLEY_OK;
}
