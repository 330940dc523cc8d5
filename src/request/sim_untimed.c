/* Simulating execution traces that were linked without times. */
#include "request/sim_untimed.h"

#include "base/error.h"
#include "halley/trace_attr.h"

/* Was the set linked from execution traces without times? */
static bool is_untimed(const halley_trace_set *set, bool *has_work)
{
    bool is_linked = false;
    *has_work = false;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const t = halley_trace_set_get(set, r);
        if (r > 0 && t == halley_trace_set_get(set, r - 1))
            continue;
        for (uint32_t i = 0; i < halley_trace_count(t); i++) {
            halley_attr attr;
            if (halley_node_duration_us(t, i) > 0 ||
                halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_DURATION_NS))
                return false;
            is_linked |= halley_node_find_attr(&attr, t, i, "rf_id");
            *has_work |=
                halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_NUM_OPS) &&
                (!halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_IS_CPU_OP) ||
                 attr.bits == 0);
        }
    }
    return is_linked;
}

halley_status sim_time_untimed(request_call *call, halley_cluster *cluster,
                               const halley_trace_set *set, halley_error *err)
{
    bool has_work;
    if (!is_untimed(set, &has_work))
        return HALLEY_OK;
    if (cluster == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "the execution trace has no times to replay; link it together "
                         "with the Kineto trace of the same run, or name a cluster (-c) "
                         "on which its operators on devices can be timed");
    if (request_given(call, "compute"))
        return HALLEY_OK;
    if (has_work &&
        halley_cluster_set_compute(cluster, HALLEY_COMPUTE_COST, NULL) == HALLEY_OK)
        request_note(call, "the execution trace has no times: operators on devices are "
                           "timed by the model of the NPU (--compute cost), the host by "
                           "none");
    else
        request_note(call,
                     "the execution trace has no times: its compute takes none here, "
                     "only communication does; link it together with the Kineto "
                     "trace of the same run");
    return HALLEY_OK;
}
