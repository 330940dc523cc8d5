/* Simulating execution traces that were linked without times. */
#include "request/sim/sim_untimed.h"

#include "base/error.h"
#include "request/trace/traces.h"

halley_status sim_time_untimed(request_call *call, halley_cluster *cluster,
                               const halley_trace_set *set, halley_error *err)
{
    bool has_work;
    if (!traces_are_untimed(set, &has_work))
        return HALLEY_OK;
    if (cluster == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "the execution trace has no times to replay; link it together "
                         "with the Kineto trace of the same run, or name a cluster (-c) "
                         "on which its operators on devices can be timed");
    if (request_given(call, "compute") && !has_work)
        return error_set(
            err, HALLEY_EINVAL,
            "the execution trace has no times, and none of its operators ran "
            "on a device, so no model of an NPU can time its compute; link it "
            "together with the Kineto trace of the same run");
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
