/*
 * hw/graph/generators/gen_hyperx.c - HyperX (Ahn et al. 2009). Switches form a grid, with
 * T NPUs each. Along every line of every dimension, they are fully connected by K cables.
 * Switch numbers have dimension 0 fastest.
 */
#include "hw/graph/generate.h"

#include <math.h>

static uint64_t count_hyperx_switches(const hw_generator_params *p)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < p->n_dims; i++)
        n = hw_count_times(n, p->dims[i]);
    return n;
}

static halley_status count_hyperx(hw_counts *out, hw_generator_params *p,
                                  halley_error *err)
{
    if (p->n_dims == 0)
        return error_set(err, HALLEY_EINVAL, "hyperx needs S, a list of sizes");
    if (p->n_dims == HW_MAX_DIMS)
        return error_set(err, HALLEY_ELIMIT, "hyperx: S may have at most %d dimensions",
                         HW_MAX_DIMS - 1);
    for (uint32_t i = 0; i < p->n_dims; i++)
        TRY(hw_require_count(p->dims[i], "hyperx", "every size of S", err));
    TRY(hw_require_count(p->T, "hyperx", "T (NPUs of a switch)", err));
    if (p->K == 0)
        p->K = 1;
    out->switches = count_hyperx_switches(p);
    out->npus = hw_count_times(out->switches, p->T);
    uint64_t ports = 0;
    for (uint32_t i = 0; i < p->n_dims; i++)
        ports += p->dims[i] - 1;
    const uint64_t ends = hw_count_times(out->switches, hw_count_times(p->K, ports));
    out->switch_cables = ends == UINT64_MAX ? ends : ends / 2;
    out->cables = hw_count_plus(out->npus, out->switch_cables);
    return HALLEY_OK;
}

static void connect_switch(hw_builder *b, const hw_generator_params *p, uint32_t first,
                           uint32_t x, uint16_t kind)
{
    uint32_t stride = 1;
    for (uint32_t d = 0; d < p->n_dims; d++) {
        const uint32_t c = x / stride % p->dims[d];
        for (uint32_t up = c + 1; up < p->dims[d]; up++)
            for (uint32_t k = 0; k < p->K; k++)
                hw_builder_add_cable(b, first + x, first + x + (up - c) * stride, kind);
        stride *= p->dims[d];
    }
}

static void set_hyperx_bisection(hw_builder *b, const hw_generator_params *p, uint32_t n)
{
    double least = (double)n * p->T / 2;
    bool even = false;
    for (uint32_t i = 0; i < p->n_dims; i++)
        if (p->dims[i] % 2 == 0) {
            least = fmin(least, (double)p->K * n * p->dims[i] / 4);
            even = true;
        }
    if (even)
        b->graph->bisection_Bps = p->link_Bps * least;
}

static void build_hyperx(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t n = (uint32_t)count_hyperx_switches(p);
    hw_add_npus(b, p, n * p->T, 0, false);
    const uint32_t first = hw_add_switches(b, p, "switch", n, 1);
    const uint16_t host =
        hw_add_kind(b, p, "npu-switch", HW_MEDIUM_COPPER, 1, p->link_Bps, p->latency_s);
    const uint16_t kind = hw_add_kind(b, p, "switch-switch", HW_MEDIUM_OPTICAL, 1,
                                      p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < n * p->T; i++)
        hw_builder_add_cable(b, i, first + i / p->T, host);
    for (uint32_t x = 0; x < n; x++)
        connect_switch(b, p, first, x, kind);
    b->graph->n_dims = p->n_dims + 1;
    b->graph->dims[0] = p->T;
    for (uint32_t i = 0; i < p->n_dims; i++)
        b->graph->dims[i + 1] = p->dims[i];
    set_hyperx_bisection(b, p, n);
}

const hw_generator hw_gen_hyperx = {
    "hyperx",
    "S K T",
    count_hyperx,
    build_hyperx,
    "switches on a grid, fully connected along every line",
    NULL,
    "{topology: hyperx, S: [4, 4], K: 1, T: 8, link: 200 Gb/s, latency: 500 ns}"};
