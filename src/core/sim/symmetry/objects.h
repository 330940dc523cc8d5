/*
 * sim/symmetry/objects.h - the steps that find the objects of a run; for objects.c and
 * the files that it calls.
 *
 *     possible.c  whether the run can be folded
 *     calls.c     the network calls of programs
 *     objects.c   groups, channels and memories, and their members
 *     colours.c   own properties of ranks, carriers and links
 *     shapes.c    the links that carriers use
 */
#ifndef SIM_SYMMETRY_OBJECTS_H
#define SIM_SYMMETRY_OBJECTS_H

#include "sim/rules.h"
#include "sim/symmetry/symmetry.h"

#include <string.h>

static inline uint64_t symmetry_mix(uint64_t h, uint64_t x)
{
    return hash_u64(h ^ x) + UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint64_t symmetry_mix_double(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return symmetry_mix(h, bits);
}

static inline bool sim_symmetry_is_simulated(const sim_node *n)
{
    return !(n->flags & (SIM_NODE_TIMED | SIM_NODE_SKIP));
}

static inline bool sim_symmetry_is_memory(const sim_node *n)
{
    return n->type == HALLEY_NODE_MEM_LOAD || n->type == HALLEY_NODE_MEM_STORE;
}

static inline const sim_program *sim_symmetry_program(const sim *s, uint32_t rank)
{
    assert(rank < s->instance.n);
    return s->instance.programs.at[s->instance.program_of[rank]];
}

static inline uint32_t sim_symmetry_group_size(const sim *s, const sim_symmetry *y,
                                               uint32_t carrier)
{
    assert(carrier < y->n_groups);
    const uint32_t group = y->groups.at[carrier];
    return group == 0 ? s->n_npus : s->instance.groups[group - 1].n;
}

/* calls.c: find the distinct calls of every program. */
halley_status sim_symmetry_read_calls(sim_symmetry *y, const sim *s);
/* colours.c: set the initial colours. The members must be set. */
halley_status sim_symmetry_colour_ranks(sim_symmetry *y, const sim *s);
halley_status sim_symmetry_colour_carriers(sim_symmetry *y, const sim *s);
/* shapes.c: find the links that carriers use, and their colours. Carriers' colours also
 * get the times of all their calls. */
halley_status sim_symmetry_add_shapes(sim_symmetry *y, sim *s);

#endif
