/* sim/symmetry/colours.c - the initial colours of ranks and carriers: their own
 * properties, without those of their neighbours. */
#include "sim/symmetry/objects.h"

/* A rank's colour: its program, speed and start, and which of its names (roots, owners of
 * messages, peers) refer to itself. */
static uint64_t colour_rank(const sim *s, uint32_t rank)
{
    const sim_instance *in = &s->instance;
    const sim_program *p = sim_symmetry_program(s, rank);
    uint64_t h = symmetry_mix(1, in->program_of[rank]);
    if (s->system->slow != NULL)
        h = symmetry_mix_double(h, s->system->slow[rank]);
    if (s->system->late_s != NULL)
        h = symmetry_mix_double(h, s->system->late_s[rank]);
    for (uint32_t k = 0; k < p->n_names; k++) {
        const uint32_t value = in->values[rank][k];
        if (p->names[k].kind == SIM_NAME_ROOT || p->names[k].kind == SIM_NAME_SELF)
            h = symmetry_mix(h, (uint64_t)k << 1 | (value == rank));
        if (p->names[k].kind == SIM_NAME_OUT || p->names[k].kind == SIM_NAME_IN)
            h = value == rank ? symmetry_mix(h, k) : h; /* an error, of this rank alone */
    }
    return h;
}

static bool is_rooted_call(const sim_call_kind *c)
{
    return c->coll == HALLEY_COLL_REDUCE || c->coll == HALLEY_COLL_GATHER ||
           c->coll == HALLEY_COLL_SCATTER || c->coll == HALLEY_COLL_BROADCAST;
}

/* If a call names no root, the root is the first member of the group. Then it matters
 * whether the rank is that member. */
static uint64_t colour_first_members(uint64_t h, const sim_symmetry *y, const sim *s,
                                     uint32_t rank)
{
    const symmetry_graph *g = &y->graph;
    const sim_program_calls *p = &y->programs[s->instance.program_of[rank]];
    for (size_t i = 0; i < p->calls.n; i++) {
        const sim_call_kind *c = &p->calls.at[i];
        assert(g->slots_at[rank] + c->name < g->slots_at[rank + 1]);
        const uint32_t carrier = g->slots[g->slots_at[rank] + c->name];
        if (is_rooted_call(c) && c->root == SIM_NO_NAME && carrier != SYMMETRY_NONE)
            h = symmetry_mix(h, (uint64_t)c->name << 1 |
                                    (g->members[g->members_at[carrier]].rank == rank));
    }
    return h;
}

halley_status sim_symmetry_colour_ranks(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    g->rank_colours = mem_array(g->n_ranks, sizeof *g->rank_colours);
    if (g->rank_colours == NULL)
        return error_nomem(s->err);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        uint64_t h = colour_first_members(colour_rank(s, r), y, s, r);
        if (g->slots[g->slots_at[r + 1] - 1] != SYMMETRY_NONE) /* ties go by place */
            h = symmetry_mix(h, r % s->memory.npus_per_server);
        g->rank_colours[r] = h;
    }
    return HALLEY_OK;
}

/* Tags of a channel: for each tag of the sender, its place at the receiver. */
typedef struct tag_maps {
    map64 seen; /* both ends' names -> index */
    ARRAY(uint64_t) hashes;
} tag_maps;

uint32_t sim_symmetry_find_tag(const sim *s, uint32_t rank, uint32_t name, uint32_t tag)
{
    const sim_program *p = sim_symmetry_program(s, rank);
    const uint32_t *tags = s->instance.tags[rank];
    for (uint32_t i = 0; i < p->n_tags; i++)
        if (p->tag_names[i] == name && tags[i] == tag)
            return i;
    return SIM_NONE;
}

static uint64_t hash_tags(const sim *s, const symmetry_member *from,
                          const symmetry_member *to)
{
    const sim_program *p = sim_symmetry_program(s, from->rank);
    const uint32_t *tags = s->instance.tags[from->rank];
    uint64_t h = 7;
    for (uint32_t i = 0; i < p->n_tags; i++)
        if (p->tag_names[i] == from->label)
            h = symmetry_mix(
                h, sim_symmetry_find_tag(s, to->rank, to->label & INT32_MAX, tags[i]));
    return h;
}

/* The hash of a channel's tags, computed once per pair of programs and lists of tags. */
static bool colour_tags(uint64_t *out, tag_maps *maps, const sim *s,
                        const symmetry_member *from, const symmetry_member *to)
{
    uint64_t key = symmetry_mix(from->label, to->label);
    key = symmetry_mix(key, (uint64_t)s->instance.program_of[from->rank] << 32 |
                                s->instance.program_of[to->rank]);
    key = symmetry_mix(key, (uint64_t)(uintptr_t)s->instance.tags[from->rank]);
    key = symmetry_mix(key, (uint64_t)(uintptr_t)s->instance.tags[to->rank]);
    uint32_t id = (uint32_t)maps->hashes.n;
    bool fresh;
    if (!map64_put(&maps->seen, key, &id, &fresh))
        return false;
    if (fresh && !array_push(&maps->hashes, hash_tags(s, from, to)))
        return false;
    assert(id < maps->hashes.n);
    *out = maps->hashes.at[id];
    return true;
}

halley_status sim_symmetry_colour_carriers(sim_symmetry *y, const sim *s)
{
    symmetry_graph *g = &y->graph;
    tag_maps maps = {0};
    g->carrier_colours = mem_array(g->n_carriers, sizeof *g->carrier_colours);
    bool room = g->carrier_colours != NULL;
    if (!room)
        return error_nomem(s->err);
    for (uint32_t c = 0; c < y->n_groups; c++)
        g->carrier_colours[c] =
            symmetry_mix(2 + (y->groups.at[c] == 0), sim_symmetry_group_size(s, y, c));
    for (uint32_t c = y->first_server; c < g->n_carriers; c++)
        g->carrier_colours[c] = symmetry_mix(9, 0); /* all have the same rate */
    for (uint32_t c = y->n_groups; room && c < y->first_server; c++) {
        const symmetry_member *m = &g->members[g->members_at[c]];
        const bool both = g->members_at[c + 1] - g->members_at[c] == 2;
        uint64_t tags = 0;
        room = !both || colour_tags(&tags, &maps, s, m, m + 1);
        g->carrier_colours[c] = symmetry_mix(5 + both, tags);
    }
    map64_fini(&maps.seen);
    array_fini(&maps.hashes);
    return room ? HALLEY_OK : error_nomem(s->err);
}
