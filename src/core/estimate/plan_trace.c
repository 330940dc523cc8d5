/* The trace of one rank, from a plan's template. */
#include "halley/plan_trace.h"

#include "base/error.h"
#include "trace/core/template.h"

halley_status halley_plan_trace(halley_trace **out, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, uint32_t rank,
                                halley_error *err)
{
    halley_template *t = NULL;
    TRY(halley_plan_template_labelled(&t, model, plan, cluster, stack,
                                      HALLEY_PRICES_STACK, err));
    const halley_status status = trace_template_expand(out, t, rank, err);
    halley_template_free(t);
    return status;
}
