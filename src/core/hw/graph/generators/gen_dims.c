/*
 * hw/graph/generators/gen_dims.c - ASTRA-sim's networks of dimensions as a graph.
 *
 * NPU id = sum of c_d * stride_d, dimension 0 fastest. In every dimension, the NPUs that
 * differ only in that coordinate form a line. Each line gets its own ring, full mesh or
 * switch. Every NPU has its own ports in every dimension. Lines are numbered by their
 * lowest NPU.
 */
#include "hw/graph/generate.h"

#include <assert.h>
#include <stdio.h>

static uint64_t count_line_cables(uint32_t kind, uint64_t size)
{
    if (kind == HW_DIM_SWITCH)
        return size;
    if (kind == HW_DIM_FULL)
        return size * (size - 1) / 2;
    return size > 2 ? size : size - 1;
}

static halley_status count_dims(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    if (p->n_dims == 0)
        return error_set(err, HALLEY_EINVAL,
                         "dims needs dims, a list of [kind, size] with kind ring, "
                         "fully-connected or switch");
    out->npus = 1;
    for (uint32_t d = 0; d < p->n_dims; d++) {
        TRY(hw_require_count(p->dims[d], "dims", "the size of every dimension", err));
        out->npus = hw_count_times(out->npus, p->dims[d]);
    }
    for (uint32_t d = 0; d < p->n_dims; d++) {
        const uint64_t lines =
            out->npus == UINT64_MAX ? out->npus : out->npus / p->dims[d];
        const uint64_t cables = count_line_cables(p->dim_kinds[d], p->dims[d]);
        out->cables = hw_count_plus(out->cables, hw_count_times(lines, cables));
        if (p->dim_kinds[d] == HW_DIM_SWITCH)
            out->switches = hw_count_plus(out->switches, lines);
    }
    return HALLEY_OK;
}

/* One dimension while its lines are wired. */
typedef struct dim_wiring {
    uint32_t kind, size, stride;
    uint32_t n_npus;
    uint32_t next_switch; /* of the next line */
    uint16_t cable;
} dim_wiring;

static void add_dim_line(hw_builder *b, dim_wiring *w, uint32_t first)
{
    const uint32_t size = w->size;
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t npu = first + i * w->stride;
        if (w->kind == HW_DIM_SWITCH)
            hw_builder_add_cable(b, npu, w->next_switch, w->cable);
        else if (w->kind == HW_DIM_RING && (size > 2 ? true : i + 1 < size))
            hw_builder_add_cable(b, npu, first + (i + 1) % size * w->stride, w->cable);
        else if (w->kind == HW_DIM_FULL)
            for (uint32_t j = i + 1; j < size; j++)
                hw_builder_add_cable(b, npu, first + j * w->stride, w->cable);
    }
    w->next_switch += w->kind == HW_DIM_SWITCH;
}

static void add_dim_lines(hw_builder *b, dim_wiring *w)
{
    for (uint32_t id = 0; id < w->n_npus; id++)
        if (id / w->stride % w->size == 0)
            add_dim_line(b, w, id);
}

static uint32_t add_dim_switches(hw_builder *b, const hw_generator_params *p, uint32_t d,
                                 uint32_t n)
{
    char name[32];
    snprintf(name, sizeof name, "dim%u-switch", d);
    return p->dim_kinds[d] == HW_DIM_SWITCH ? hw_add_switches(b, p, name, n, d + 1) : 0;
}

static uint16_t add_dim_kind(hw_builder *b, const hw_generator_params *p, uint32_t d)
{
    char name[32];
    snprintf(name, sizeof name, "dim%u", d);
    return hw_add_kind(b, p, name, HW_MEDIUM_COPPER, d + 1,
                       p->dim_Bps[d] > 0 ? p->dim_Bps[d] : p->link_Bps,
                       p->dim_latency_s[d] > 0 ? p->dim_latency_s[d] : p->latency_s);
}

static void build_dims(hw_builder *b, const hw_generator_params *p)
{
    static const uint8_t axes[] = {[HW_DIM_RING] = HW_AXIS_RING,
                                   [HW_DIM_FULL] = HW_AXIS_FULL,
                                   [HW_DIM_SWITCH] = HW_AXIS_SWITCH};
    uint32_t n = 1, stride = 1, first[HW_MAX_DIMS];
    for (uint32_t d = 0; d < p->n_dims; d++)
        n *= p->dims[d];
    hw_add_npus(b, p, n, 0, true);
    for (uint32_t d = 0; d < p->n_dims; d++)
        first[d] = add_dim_switches(b, p, d, n / p->dims[d]);
    for (uint32_t d = 0; d < p->n_dims; d++) {
        dim_wiring w = {.kind = p->dim_kinds[d],
                        .size = p->dims[d],
                        .stride = stride,
                        .n_npus = n,
                        .next_switch = first[d],
                        .cable = add_dim_kind(b, p, d)};
        add_dim_lines(b, &w);
        stride *= p->dims[d];
        b->graph->dims[d] = p->dims[d];
        b->graph->axes[d] = axes[p->dim_kinds[d]];
    }
    assert(stride == n);
    b->graph->n_dims = p->n_dims;
}

const hw_generator hw_gen_dims = {
    "dims",
    "dims",
    count_dims,
    build_dims,
    "ASTRA-sim's dimensions: a ring, full mesh or switch along each of several axes",
    NULL,
    "{topology: dims, dims: [[ring, 4], [switch, 8]], link: 50 GB/s, latency: 1 us}"};
