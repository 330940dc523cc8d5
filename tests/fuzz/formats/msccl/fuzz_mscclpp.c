/* Any bytes as a plan of MSCCL++, and the traces of those that are one. */
#include "base/error.h"
#include "msccl/mscclpp/plan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    mpp_plan plan = {0};
    halley_trace_set *set = NULL;
    if (mpp_parse(&plan, (str){(const char *)at, n}, "plan.json", 4096, NULL) ==
            HALLEY_OK &&
        plan.n_gpus < 64 && plan.nodes.n < 10000 &&
        mpp_make_traces(&set, &plan, NULL) == HALLEY_OK) {
        if (halley_trace_set_count(set) != plan.n_gpus)
            abort();
        halley_trace_set_free(set);
    }
    mpp_fini(&plan);
    return 0;
}
