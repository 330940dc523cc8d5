/* Converts operators into the calls that extensions of a cluster see. */
#include "estimate/extend.h"

#include "hw/extend.h"

#include <assert.h>

double estimate_extended(const halley_cluster *cluster, const workload_op *op,
                         bool backward, double standard_s)
{
    static const halley_compute_kind kinds[] = {
        [WORKLOAD_GEMM] = HALLEY_COMPUTE_MATMUL,
        [WORKLOAD_BATCHED] = HALLEY_COMPUTE_BATCHED_MATMUL,
        [WORKLOAD_FLASH] = HALLEY_COMPUTE_ATTENTION,
        [WORKLOAD_STREAM] = HALLEY_COMPUTE_MEMORY_BOUND,
    };
    if (cluster->nodes.up.extensions == NULL)
        return standard_s;
    assert(op->kind != WORKLOAD_COLL);
    const halley_compute_call call = {.name = op->name,
                                      .kind = kinds[op->kind],
                                      .backward = backward,
                                      .m = op->m,
                                      .n = op->n,
                                      .k = op->k,
                                      .groups = op->groups > 1 ? op->groups : 1,
                                      .repeat = op->repeat > 0 ? op->repeat : 1,
                                      .flops = op->flops,
                                      .bytes = op->bytes_f};
    return hw_extend_compute(cluster, &call, standard_s);
}
