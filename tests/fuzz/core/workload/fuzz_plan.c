/* Any text as a plan file; what passes the check must be estimated and, when small, be
 * written as a trace. */
#include "halley/plan_keys.h"
#include "halley/plan_trace.h"
#include "workload/plan_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { MOST_PASSES = 64 };

static void use(halley_plan *plan)
{
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_estimate e;
    halley_trace *trace = NULL;
    halley_stack_default(&stack);
    if (halley_model_load(&model, "mixtral-8x7b", NULL) != HALLEY_OK)
        return;
    if (halley_cluster_load(&cluster, "gb200-nvl72", NULL) == HALLEY_OK &&
        halley_plan_check(plan, &model, 0, NULL) == HALLEY_OK) {
        halley_estimate_run(&e, &model, plan, cluster, &stack);
        if ((uint64_t)halley_plan_micro_batches(plan) * plan->virtual_stages <=
                MOST_PASSES &&
            halley_plan_trace(&trace, &model, plan, cluster, &stack, 0, NULL) ==
                HALLEY_OK)
            halley_trace_free(trace);
    }
    halley_cluster_free(cluster);
    halley_model_fini(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    halley_plan plan;
    const str text = {(const char *)at, n};
    if (conf_parse(&file, text, "plan.yaml", NULL) != HALLEY_OK)
        return 0;
    halley_plan_default(&plan);
    if (workload_plan_read(&plan, &file, NULL) == HALLEY_OK)
        use(&plan);
    conf_fini(&file);
    return 0;
}
