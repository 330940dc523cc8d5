/*
 * Any two traces, cut in the middle of the input, as the two ranks of a replay: they are
 * planned and checked, or refused with a sentence. The first byte chooses options.
 */
#include "fuzz_two.h"
#include "replay/plan.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void plan_set(halley_trace_set *set, uint8_t choice)
{
    const halley_replay_opts opts = {.shrink = true,
                                     .one_trace = choice & 1,
                                     .only_comm = choice & 2,
                                     .only_compute = choice & 4,
                                     .size_scale = choice & 8 ? 1e-3 : 0};
    replay_plan plan;
    halley_error err = {0};
    halley_status status = replay_plan_init(&plan, set, choice & 16 ? 1 : 2, &opts, &err);
    if (status == HALLEY_OK)
        status = replay_plan_check(&plan, &err);
    if (status != HALLEY_OK && err.text[0] == '\0')
        abort();
    for (uint32_t r = 0; status == HALLEY_OK && r < plan.n_ranks; r++)
        for (uint32_t i = 0; i < plan.programs[r].n; i++)
            if (plan.programs[r].ops[i].kind == REPLAY_COLLECTIVE)
                (void)replay_op_sizes(&plan, &plan.programs[r].ops[i]);
    replay_plan_fini(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    fuzz_two_traces(at, n, plan_set);
    return 0;
}
