/*
 * Any two traces, cut in the middle of the input, as the two ranks of a replay: they are
 * planned and checked, or refused with a sentence. The first byte chooses options.
 */
#include "replay/plan.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void plan_set(const halley_trace_set *set, uint8_t choice)
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
    halley_trace *traces[2] = {NULL, NULL};
    halley_trace_set *set = NULL;
    if (n < 3)
        return 0;
    const size_t half = (n - 1) / 2;
    if (halley_trace_parse(&traces[0], at + 1, half, "a.et", NULL, NULL) == HALLEY_OK &&
        halley_trace_parse(&traces[1], at + 1 + half, n - 1 - half, "b.et", NULL, NULL) ==
            HALLEY_OK &&
        halley_trace_set_new(&set, traces, 2, NULL) == HALLEY_OK) {
        traces[0] = traces[1] = NULL; /* the set's */
        plan_set(set, at[0]);
        halley_trace_set_free(set);
    }
    halley_trace_free(traces[0]);
    halley_trace_free(traces[1]);
    return 0;
}
