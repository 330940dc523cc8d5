/*
 * Any two traces, cut in the middle of the input, as the two ranks of a job: the run
 * ends, with times or with a sentence. The first byte chooses the network model.
 */
#include "fuzz_two.h"
#include "halley/sim.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void simulate_set(halley_trace_set *set, uint8_t choice)
{
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_error err = {0};
    const halley_sim_opts opts = {.network = (halley_network_model)(choice % 4),
                                  .stop_s = 10};
    if (halley_cluster_load(&cluster, "dgx-h100:2", NULL) != HALLEY_OK)
        abort();
    if (halley_sim_run(&result, set, cluster, &opts, &err) == HALLEY_OK)
        halley_result_free(result);
    else if (err.text[0] == '\0')
        abort();
    halley_cluster_free(cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    fuzz_two_traces(at, n, simulate_set);
    return 0;
}
