/* sim/symmetry/explain.c - why a class of ranks differs from another. */
#include "sim/symmetry/symmetry.h"

static const sim_program *get_program(const sim *s, uint32_t rank)
{
    return s->instance.programs.at[s->instance.program_of[rank]];
}

/* For ranks whose initial colours differ: the property in which they differ. */
static const char *explain_colour(arena *memory, const sim *s, uint32_t a, uint32_t b)
{
    const double *slow = s->system->slow;
    if (s->instance.program_of[a] != s->instance.program_of[b])
        return arena_printf(memory, "does not do what rank %u does", a);
    const double *late_s = s->system->late_s;
    if (slow != NULL && slow[a] != slow[b])
        return arena_printf(memory, "is slower or faster than rank %u", a);
    if (late_s != NULL && late_s[a] != late_s[b])
        return arena_printf(memory, "starts later or earlier than rank %u", a);
    if (s->memory.npus_per_server > 0 &&
        a % s->memory.npus_per_server != b % s->memory.npus_per_server)
        return arena_printf(memory,
                            "has another place than rank %u at the memory it shares", a);
    return arena_printf(memory, "is a root where rank %u is none, or the other way", a);
}

static const char *name_carrier(arena *memory, const sim *s, const sim_symmetry *y,
                                uint32_t carrier)
{
    if (sim_symmetry_is_server(y, carrier))
        return arena_printf(memory, "memory %u", y->server_of[carrier - y->first_server]);
    if (carrier >= y->n_groups) {
        const sim_pair *c = &y->channels.at[carrier - y->n_groups];
        return arena_printf(memory, "messages from rank %u to %u", c->from, c->to);
    }
    const uint32_t group = y->groups.at[carrier];
    if (group == 0)
        return "collectives of all ranks";
    return arena_printf(memory, "group %lld",
                        (long long)s->instance.groups[group - 1].id);
}

/* The first of a rank's groups and channels that belongs to another class. */
static const char *explain_carrier(arena *memory, const sim *s, const sim_symmetry *y,
                                   uint32_t a, uint32_t b)
{
    const symmetry_graph *g = &y->graph;
    for (uint32_t k = 0; k < get_program(s, b)->n_names + 2; k++) {
        const uint32_t x = g->slots[g->slots_at[a] + k];
        const uint32_t z = g->slots[g->slots_at[b] + k];
        if (x == SYMMETRY_NONE || z == SYMMETRY_NONE ||
            y->partition.carriers.of[x] == y->partition.carriers.of[z])
            continue;
        const char *mine = name_carrier(memory, s, y, z);
        const char *theirs = name_carrier(memory, s, y, x);
        if (mine == NULL || theirs == NULL)
            return NULL;
        return arena_printf(memory,
                            g->carrier_colours[x] != g->carrier_colours[z]
                                ? "names %s, which takes another time than %s of rank %u"
                                : "names %s, which meets other ranks or links than %s "
                                  "of rank %u",
                            mine, theirs, a);
    }
    return NULL;
}

const char *sim_symmetry_explain(arena *memory, const sim *s, uint32_t class_id)
{
    const sim_symmetry *y = s->symmetry;
    const symmetry_classes *c = &y->partition.ranks;
    const uint32_t a = c->apart_from[class_id], b = c->first[class_id];
    assert(class_id < c->n);
    if (a == SYMMETRY_NONE)
        return NULL;
    if (y->graph.rank_colours[a] != y->graph.rank_colours[b])
        return explain_colour(memory, s, a, b);
    return explain_carrier(memory, s, y, a, b);
}
