/* The native replay of a recording: the machine it was recorded on, and every duration as
 * it was recorded. */
#include "base/error.h"
#include "halley/sim.h"

halley_status halley_sim_replay(halley_result **out, const halley_trace_set *traces,
                                bool record, halley_error *err)
{
    halley_cluster *cluster;
    const halley_sim_opts opts = {
        .times_only = true, .record = record, .network = HALLEY_NETWORK_AS_CLUSTER};
    TRY(halley_cluster_recorded(&cluster, halley_trace_set_count(traces), err));
    const halley_status status = halley_sim_run(out, traces, cluster, &opts, err);
    halley_cluster_free(cluster);
    return status;
}

double halley_result_wall_s(const halley_result *result)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint64_t wall = halley_result_rank(result, i).wall;
        last = wall > last ? wall : last;
    }
    return (double)last / halley_result_ticks_per_s(result);
}
