/*
 * hw/graph/generators/gen_flat.c - single-step networks: all NPUs are wired to each other
 * or to the same switches. Also the cube mesh of NVIDIA's DGX-1.
 */
#include "hw/graph/generate.h"

static halley_status count_full(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    TRY(hw_require_count(p->n, "fully-connected", "n", err));
    out->npus = p->n;
    out->cables = (uint64_t)p->n * (p->n - 1) / 2;
    return HALLEY_OK;
}

static uint32_t half_count(uint32_t n)
{
    return n / 2;
}

static void set_one_dim(hw_builder *b, uint32_t n)
{
    b->graph->n_dims = 1;
    b->graph->dims[0] = n;
}

static void build_full(hw_builder *b, const hw_generator_params *p)
{
    hw_add_npus(b, p, p->n, 0, true);
    const uint16_t kind =
        hw_add_kind(b, p, "npu-npu", HW_MEDIUM_COPPER, 0, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = i + 1; j < p->n; j++)
            hw_builder_add_cable(b, i, j, kind);
    set_one_dim(b, p->n);
    b->graph->bisection_Bps = p->link_Bps * half_count(p->n) * (p->n - half_count(p->n));
}

static halley_status count_switch(hw_counts *out, hw_generator_params *p,
                                  halley_error *err)
{
    TRY(hw_require_count(p->n, "switch", "n", err));
    out->npus = p->n;
    out->switches = 1;
    out->cables = p->n;
    return HALLEY_OK;
}

static void build_switch(hw_builder *b, const hw_generator_params *p)
{
    hw_add_npus(b, p, p->n, 0, false);
    const uint32_t hub = hw_add_switches(b, p, "switch", 1, 1);
    const uint16_t kind =
        hw_add_kind(b, p, "npu-switch", HW_MEDIUM_COPPER, 1, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < p->n; i++)
        hw_builder_add_cable(b, i, hub, kind);
    set_one_dim(b, p->n);
    b->graph->bisection_Bps = p->link_Bps * half_count(p->n);
}

/* NVLink domains: every NPU has one link to each of s switch chips. With even spraying, s
 * chips behave as one chip with s times the rate, which needs s times fewer links. */
static halley_status count_nvl(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    TRY(hw_require_count(p->n, "nvl", "n", err));
    TRY(hw_require_count(p->s, "nvl", "s", err));
    out->npus = p->n;
    out->switches = p->no_merge ? p->s : 1;
    out->cables = hw_count_times(p->n, out->switches);
    return HALLEY_OK;
}

static void build_nvl(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t n_switches = p->no_merge ? p->s : 1, chips = p->no_merge ? 1 : p->s;
    hw_add_npus(b, p, p->n, p->n, false);
    const uint32_t first = hw_builder_add_group(
        b, &(hw_device_group){.name = "nvswitch",
                              .kind = HW_DEVICE_SWITCH,
                              .n = n_switches,
                              .tier = 1,
                              .per_node = n_switches,
                              .forwards = true,
                              .latency_s = p->switch_latency_s,
                              .cost_usd = chips * p->cost.node_switch,
                              .power_w = chips * p->power.node_switch});
    const uint16_t kind = hw_add_kind(b, p, "npu-nvswitch", HW_MEDIUM_BOARD, 1,
                                      chips * p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < n_switches; j++)
            hw_builder_add_cable(b, i, first + j, kind);
    set_one_dim(b, p->n);
    b->graph->bisection_Bps = p->link_Bps * p->s * half_count(p->n);
}

/* The hybrid cube mesh of NVIDIA's DGX-1 with V100, as in its documentation: {a, b,
 * number of NVLinks}. */
static const uint8_t dgx1_links[][3] = {
    {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
    {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
    {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
};
enum { DGX1_PAIRS = sizeof dgx1_links / sizeof *dgx1_links, DGX1_NPUS = 8 };

static halley_status count_dgx1(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    (void)p;
    (void)err;
    out->npus = DGX1_NPUS;
    for (uint32_t i = 0; i < DGX1_PAIRS; i++)
        out->cables += dgx1_links[i][2];
    return HALLEY_OK;
}

static void build_dgx1(hw_builder *b, const hw_generator_params *p)
{
    hw_add_npus(b, p, DGX1_NPUS, DGX1_NPUS, true);
    const uint16_t kind =
        hw_add_kind(b, p, "nvlink", HW_MEDIUM_BOARD, 0, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < DGX1_PAIRS; i++)
        for (uint32_t k = 0; k < dgx1_links[i][2]; k++)
            hw_builder_add_cable(b, dgx1_links[i][0], dgx1_links[i][1], kind);
    set_one_dim(b, DGX1_NPUS);
    b->graph->bisection_Bps = 6 * p->link_Bps;
}

const hw_generator hw_gen_fully_connected = {
    "fully-connected",
    "n",
    count_full,
    build_full,
    "a cable between every two NPUs",
    NULL,
    "{topology: fully-connected, n: 8, link: 64 GB/s, latency: 500 ns}"};
const hw_generator hw_gen_switch = {
    "switch",
    "n",
    count_switch,
    build_switch,
    "all NPUs on one switch",
    NULL,
    "{topology: switch, n: 8, link: 450 GB/s, latency: 250 ns}"};
const hw_generator hw_gen_nvl = {
    "nvl",
    "n s merge",
    count_nvl,
    build_nvl,
    "an NVLink domain: every NPU has one link to each of s switch chips",
    NULL,
    "{topology: nvl, n: 72, s: 18, link: 50 GB/s, latency: 250 ns}"};
const hw_generator hw_gen_dgx1 = {"dgx-1",
                                  "",
                                  count_dgx1,
                                  build_dgx1,
                                  "the hybrid cube mesh of eight GPUs in NVIDIA's DGX-1",
                                  NULL,
                                  "{topology: dgx-1, link: 25 GB/s, latency: 500 ns}"};
