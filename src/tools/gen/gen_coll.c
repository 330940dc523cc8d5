/*
 * Microbenchmarks of one collective: repeated, by all ranks or by groups, chained or
 * independent, with an optional compute node before each.
 *
 * A rank in several groups runs them in the order of their numbers in every repetition.
 * That order is the same for all ranks, so there is no deadlock. A rank in no group gets
 * a compute node of one microsecond, because simulators need every NPU to have a node.
 */
#include "base/call.h"
#include "base/error.h"
#include "gen/gen.h"

halley_status gen_coll_check(halley_gen *gen, halley_error *err)
{
    const uint64_t n_groups = gen->groups.n ? gen->groups.n : 1;
    return gen_limit(2 * n_groups * gen->value[GEN_REPEAT], err);
}

/* Add one collective, after a compute node if requested. Returns its id. */
static uint64_t add_coll_step(gen_out *o, const halley_gen *gen, uint64_t prev,
                              uint32_t group)
{
    const uint32_t type = gen->pattern->detail;
    if (gen->value[GEN_COMPUTE] || gen->value[GEN_FLOPS] || gen->value[GEN_TENSOR]) {
        const uint64_t comp = gen_comp(o, "COMP", gen->value[GEN_COMPUTE],
                                       gen->value[GEN_FLOPS], gen->value[GEN_TENSOR]);
        gen_after(o, prev);
        prev = comp;
    }
    const uint64_t size = type == HALLEY_COLL_BARRIER ? 0 : gen->value[GEN_SIZE];
    const uint64_t coll = gen_coll(o, halley_coll_type_name(type), type, size, group);
    gen_after(o, prev);
    return coll;
}

void gen_coll_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    const bool chained = gen->value[GEN_ORDER] == GEN_CHAINED;
    uint64_t prev = GEN_NO_ID;
    for (uint64_t k = 0; k < gen->value[GEN_REPEAT] && call_goes_on(); k++) {
        bool member = gen->groups.n == 0;
        if (member)
            prev = add_coll_step(o, gen, chained ? prev : GEN_NO_ID, 0);
        for (uint32_t g = 0; g < gen->groups.n; g++) {
            if (!gen_group_has(&gen->groups.at[g], rank))
                continue;
            member = true;
            prev = add_coll_step(o, gen, chained ? prev : GEN_NO_ID, g + 1);
        }
        if (!member) {
            (void)gen_comp(o, "IDLE", 1, 0, 0);
            return;
        }
    }
}

/* Ranks have the same trace if they are in the same groups. Start with one class, 0. Each
 * group splits every class into its members, which become a new class, and the rest. */
static void split_classes(const halley_gen *gen, uint32_t *class_of, uint32_t *split,
                          uint32_t *by)
{
    uint32_t n_classes = 1;
    for (uint32_t g = 0; g < gen->groups.n; g++) {
        const gen_group *group = &gen->groups.at[g];
        for (uint32_t i = 0; i < group->n; i++) {
            const uint32_t r = group->ranks[i], old = class_of[r];
            if (by[old] != g + 1) {
                by[old] = g + 1;
                split[old] = n_classes++;
            }
            class_of[r] = split[old];
        }
    }
}

bool gen_coll_same(const halley_gen *gen, uint32_t *same)
{
    size_t n_classes = 1; /* upper bound: one more for every member */
    for (uint32_t g = 0; g < gen->groups.n; g++)
        n_classes += gen->groups.at[g].n;
    uint32_t *split = mem_array(n_classes, sizeof *split); /* old class to new … */
    uint32_t *by = mem_array_zero(n_classes, sizeof *by); /* … by which group, from 1 */
    const bool ok = split && by;
    for (uint32_t r = 0; r < gen->n_npus; r++)
        same[r] = 0;
    if (ok) {
        split_classes(gen, same, split, by);
        for (size_t c = 0; c < n_classes; c++)
            split[c] = HALLEY_NO_NODE;
        for (uint32_t r = 0; r < gen->n_npus; r++) { /* name a class by its lowest rank */
            if (split[same[r]] == HALLEY_NO_NODE)
                split[same[r]] = r;
            same[r] = split[same[r]];
        }
    }
    free(split);
    free(by);
    return ok;
}
