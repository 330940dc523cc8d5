/*
 * Ratios of kernel times between devices.
 *
 * The measured row was fitted to two models that were recorded on both devices
 * (Qwen1.5-0.5B and TimeSformer, github AMD-AGI/TraceLens tests/traces). On three other
 * models its error is 5 to 10 %. It is known to be wrong for kernels of another software
 * generation.
 */
#include "cost/retime.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *from, *to; /* words in the devices' names */
    double fixed_from_s, fixed_to_s;
    double ratio[COST_N_KERNELS];
} measured_pairs[] = {
    {"H100",
     "MI300X",
     1e-6,
     2e-6,
     {[COST_MATMUL] = 1.38,
      [COST_MATMUL_UNALIGNED] = 0.56,
      [COST_MATMUL_THIN] = 9.6,
      [COST_ATTENTION] = 1.47,
      [COST_SOFTMAX] = 0.61,
      [COST_ELEMENTWISE] = 0.70,
      [COST_NORM] = 1.03,
      [COST_CONV] = 0.28,
      [COST_COPY_H2D] = 0.31,
      [COST_COPY_D2H] = 0.70,
      [COST_MEMORY] = 0.61}},
};

/* The duration of the shortest kernels on any GPU. */
static const double SHORTEST_S = 1e-6;

static bool find_measured(cost_retime *out, const halley_npu *from, const halley_npu *to)
{
    for (size_t i = 0; i < sizeof measured_pairs / sizeof *measured_pairs; i++) {
        const bool forward = strstr(from->name, measured_pairs[i].from) != NULL &&
                             strstr(to->name, measured_pairs[i].to) != NULL;
        const bool backward = strstr(from->name, measured_pairs[i].to) != NULL &&
                              strstr(to->name, measured_pairs[i].from) != NULL;
        if (!forward && !backward)
            continue;
        const double a = measured_pairs[i].fixed_from_s, b = measured_pairs[i].fixed_to_s;
        out->fixed_from_s = forward ? a : b;
        out->fixed_to_s = forward ? b : a;
        for (size_t k = 0; k < COST_N_KERNELS; k++)
            out->ratio[k] =
                forward ? measured_pairs[i].ratio[k] : 1 / measured_pairs[i].ratio[k];
        out->is_measured = true;
        return true;
    }
    return false;
}

/* The rates that 16-bit matmuls, attention and streaming kernels reach. */
static double rate_matmul(const halley_npu *n)
{
    const double share = n->gemm.sustained > 0 ? n->gemm.sustained : n->gemm.efficiency;
    return n->peak_flops[HALLEY_BF16] * (share > 0 ? share : 1);
}

static double rate_attention(const halley_npu *n)
{
    const double share = n->attention_share[1];
    return n->peak_flops[HALLEY_BF16] * (share > 0 ? share : 1);
}

static double rate_memory(const halley_npu *n)
{
    const double share = n->memory_share;
    return n->n_tiers == 0 ? 0 : n->tiers[0].bandwidth_Bps * (share > 0 ? share : 1);
}

bool cost_retime_make(cost_retime *out, const halley_npu *from, const halley_npu *to)
{
    *out = (cost_retime){.fixed_from_s = SHORTEST_S, .fixed_to_s = SHORTEST_S};
    if (find_measured(out, from, to))
        return true;
    if (!(rate_matmul(from) > 0) || !(rate_matmul(to) > 0) || !(rate_memory(from) > 0) ||
        !(rate_memory(to) > 0))
        return false;
    const double matmul = rate_matmul(from) / rate_matmul(to);
    const double memory = rate_memory(from) / rate_memory(to);
    for (size_t k = 0; k < COST_N_KERNELS; k++)
        out->ratio[k] = memory;
    out->ratio[COST_MATMUL] = out->ratio[COST_MATMUL_UNALIGNED] =
        out->ratio[COST_MATMUL_THIN] = out->ratio[COST_CONV] = matmul;
    out->ratio[COST_ATTENTION] = rate_attention(from) / rate_attention(to);
    /* Copies to and from the host use a link that no preset describes. */
    out->ratio[COST_COPY_H2D] = out->ratio[COST_COPY_D2H] = 1;
    return true;
}

double cost_retime_apply(const cost_retime *r, cost_kernel kernel, double seconds)
{
    assert(kernel < COST_N_KERNELS && r->ratio[kernel] > 0);
    const double above = seconds - r->fixed_from_s;
    return r->fixed_to_s + (above > 0 ? r->ratio[kernel] * above : 0);
}
