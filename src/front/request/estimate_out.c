#include "request/estimate_out.h"

#include "estimate/estimate_facts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *key; /* of a part */
    report_loss_kind kind;
    const char *sentence;
} kinds[] = {
    {"matmul", REPORT_LOSS_NONE, "matmuls"},
    {"attention", REPORT_LOSS_NONE, "attention"},
    {"memory_bound", REPORT_WORK_MEMORY, "memory-bound operators"},
    {"recompute", REPORT_LOSS_RECOMPUTE, "recomputation"},
    {"tensor_parallel", REPORT_LOSS_COMMUNICATION,
     "exposed tensor-parallel communication"},
    {"context_parallel", REPORT_LOSS_COMMUNICATION,
     "exposed context-parallel communication"},
    {"expert_parallel", REPORT_LOSS_COMMUNICATION,
     "exposed expert-parallel communication"},
    {"pipeline_transfers", REPORT_LOSS_COMMUNICATION,
     "exposed transfers between pipeline stages"},
    {"data_parallel", REPORT_LOSS_COMMUNICATION, "exposed data-parallel communication"},
    {"bubble", REPORT_LOSS_BUBBLE, "pipeline bubble"},
    {"host", REPORT_LOSS_HOST, "waiting for the host"},
    {"accumulate", REPORT_LOSS_NONE, "gradient accumulation"},
    {"optimizer", REPORT_LOSS_NONE, "the optimizer"},
    {"offload", REPORT_LOSS_MEMORY, "exposed transfers to and from outer memory"},
    {"meeting", REPORT_LOSS_OTHER, "waiting for the slowest rank"},
    {"other", REPORT_LOSS_OTHER, "fixed costs of the step"},
};
/* The same parts of recommendation models. */
static const struct {
    const char *key, *sentence;
} of_recommenders[] = {{"attention", "feature interaction"},
                       {"memory_bound", "embedding and memory traffic"},
                       {"expert_parallel", "exposed embedding exchange"}};
enum { N_OF_RECOMMENDERS = sizeof of_recommenders / sizeof *of_recommenders };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

void request_estimate_losses(char to[REPORT_LOSSES_TEXT], const halley_estimate *e,
                             const halley_model *model)
{
    report_loss losses[N_KINDS];
    const void *at;
    for (size_t i = 0; i < N_KINDS; i++) {
        const fact *part =
            fact_find_number(&at, &estimate_parts_facts, e, str_from(kinds[i].key));
        assert(part != NULL);
        losses[i] =
            (report_loss){kinds[i].kind, fact_number(part, at), kinds[i].sentence};
        for (int k = 0; k < N_OF_RECOMMENDERS && model->kind == HALLEY_DLRM; k++)
            if (strcmp(of_recommenders[k].key, kinds[i].key) == 0)
                losses[i].name = of_recommenders[k].sentence;
    }
    report_losses_describe(to, losses, N_KINDS, "the step");
}

double request_spilled_bytes(const halley_plan *plan, double device_bytes,
                             double capacity_bytes, double headroom)
{
    const double spilled = device_bytes - (1 - headroom) * capacity_bytes;
    return plan->spread && spilled > 0 ? spilled : NAN;
}
