/*
 * hw/graph/generators/gen_torus.c - grids of NPUs that forward traffic: ring, torus,
 * mesh, twisted torus and the optically switched torus of TPU pods.
 *
 * NPU id = sum of c_d * stride_d, dimension 0 fastest. In a torus, NPU c has a cable to c
 * + 1 in every dimension, with wrap-around if the dimension has more than two NPUs. A
 * twist (i, j, t) shifts coordinate j by t on the wrap-around cables of dimension i. Pods
 * of TPU v4 and later (Jouppi et al. 2023) consist of cubes of 4 x 4 x 4. Cables inside a
 * cube are copper, 144 per cube. Cables between cubes and around are optical circuits, 48
 * per cube.
 */
#include "hw/graph/generate.h"

#include <assert.h>

enum { CUBE = 4 };

static uint64_t multiply_dims(const hw_generator_params *p)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < p->n_dims; i++)
        n = hw_count_times(n, p->dims[i]);
    return n;
}

static halley_status check_dims(const hw_generator_params *p, const char *name,
                                halley_error *err)
{
    if (p->n_dims == 0)
        return error_set(err, HALLEY_EINVAL,
                         "%s needs dims, a list of sizes such as [4, 4, 8]", name);
    for (uint32_t i = 0; i < p->n_dims; i++)
        if (p->dims[i] == 0)
            return error_set(err, HALLEY_EINVAL, "%s: dims[%u] must be at least 1", name,
                             i);
    return HALLEY_OK;
}

static halley_status count_torus(hw_counts *out, hw_generator_params *p,
                                 halley_error *err)
{
    TRY(check_dims(p, "torus", err));
    out->npus = multiply_dims(p);
    for (uint32_t i = 0; i < p->n_dims; i++) {
        const uint64_t n = p->dims[i] > 2 ? out->npus : out->npus / 2;
        out->cables = hw_count_plus(out->cables, p->dims[i] == 1 ? 0 : n);
    }
    return HALLEY_OK;
}

static halley_status count_ring(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    TRY(hw_require_count(p->n, "ring", "n", err));
    p->n_dims = 1;
    p->dims[0] = p->n;
    return count_torus(out, p, err);
}

static halley_status count_mesh(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    TRY(check_dims(p, "mesh", err));
    out->npus = multiply_dims(p);
    for (uint32_t i = 0; i < p->n_dims; i++) {
        const uint64_t per_line = p->dims[i] - 1;
        const uint64_t lines = out->npus / p->dims[i];
        out->cables = hw_count_plus(out->cables, hw_count_times(lines, per_line));
    }
    return HALLEY_OK;
}

/* The usual twist: the wrap-around of every short dimension (n) shifts every long one
 * (2n) by n. */
static halley_status add_usual_twist(hw_generator_params *p, halley_error *err)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_dims; i++)
        least = p->dims[i] < least ? p->dims[i] : least;
    uint32_t n_long = 0;
    for (uint32_t i = 0; i < p->n_dims; i++) {
        if (p->dims[i] != least && p->dims[i] / 2 != least)
            return error_set(err, HALLEY_EINVAL,
                             "twist needs dimensions of two sizes, n and 2n; dims[%u] is "
                             "%u and the least is %u; give the shifts themselves",
                             i, p->dims[i], least);
        n_long += p->dims[i] == 2 * least;
    }
    if (n_long == 0 || n_long == p->n_dims ||
        (p->n_dims - n_long) * n_long > HW_MAX_SHIFTS)
        return error_set(err, HALLEY_EINVAL,
                         "twist needs both short and long dimensions, such as 4x4x8");
    for (uint32_t i = 0; i < p->n_dims; i++)
        for (uint32_t j = 0; p->dims[i] == least && j < p->n_dims; j++)
            if (p->dims[j] == 2 * least) {
                uint32_t *shift = p->shifts[p->n_shifts++];
                shift[0] = i;
                shift[1] = j;
                shift[2] = least;
            }
    return HALLEY_OK;
}

static halley_status check_shift(const hw_generator_params *p, const uint32_t *shift,
                                 halley_error *err)
{
    if (shift[0] >= p->n_dims || shift[1] >= p->n_dims || shift[0] == shift[1])
        return error_set(err, HALLEY_EINVAL,
                         "shift [%u, %u, %u] must name two different dimensions below %u",
                         shift[0], shift[1], shift[2], p->n_dims);
    if (p->dims[shift[0]] <= 2)
        return error_set(err, HALLEY_EINVAL,
                         "shift [%u, %u, %u]: dimension %u has no wrap-around cable to "
                         "twist, because its size is %u",
                         shift[0], shift[1], shift[2], shift[0], p->dims[shift[0]]);
    if (shift[2] >= p->dims[shift[1]])
        return error_set(err, HALLEY_EINVAL,
                         "shift [%u, %u, %u] must be below the size of dimension %u, %u",
                         shift[0], shift[1], shift[2], shift[1], p->dims[shift[1]]);
    return HALLEY_OK;
}

static halley_status count_twisted(hw_counts *out, hw_generator_params *p,
                                   halley_error *err)
{
    TRY(count_torus(out, p, err));
    if (p->twist && p->n_shifts == 0)
        TRY(add_usual_twist(p, err));
    for (uint32_t i = 0; i < p->n_shifts; i++)
        TRY(check_shift(p, p->shifts[i], err));
    return HALLEY_OK;
}

static halley_status require_shifts(hw_counts *out, hw_generator_params *p,
                                    halley_error *err)
{
    if (p->n_shifts == 0 && !p->twist)
        return error_set(err, HALLEY_EINVAL,
                         "twisted-torus needs shifts, a list of [wrap dimension, shifted "
                         "dimension, amount], or twist: yes");
    return count_twisted(out, p, err);
}

static halley_status count_ocs(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    if (p->n_dims != 3)
        return error_set(err, HALLEY_EINVAL,
                         "ocs-torus needs three dims, multiples of %d", CUBE);
    for (uint32_t i = 0; i < 3; i++)
        if (p->dims[i] == 0 || p->dims[i] % CUBE != 0)
            return error_set(err, HALLEY_EINVAL,
                             "ocs-torus: dims[%u] is %u, and must be a multiple of %d, "
                             "because pods consist of cubes of 4 x 4 x 4",
                             i, p->dims[i], CUBE);
    return count_twisted(out, p, err);
}

/* The next NPU after `id` in a dimension; twists apply to the wrap-around. */
static uint32_t step_up(const hw_generator_params *p, uint32_t id, uint32_t dim)
{
    uint32_t c[HW_MAX_DIMS] = {0}, rest = id;
    for (uint32_t i = 0; i < p->n_dims; i++) {
        c[i] = rest % p->dims[i];
        rest /= p->dims[i];
    }
    const bool wraps = ++c[dim] == p->dims[dim];
    if (wraps)
        c[dim] = 0;
    for (uint32_t i = 0; wraps && i < p->n_shifts; i++) {
        const uint32_t *shift = p->shifts[i];
        if (shift[0] == dim)
            c[shift[1]] = (c[shift[1]] + shift[2]) % p->dims[shift[1]];
    }
    uint32_t to = 0;
    for (uint32_t i = p->n_dims; i-- > 0;)
        to = to * p->dims[i] + c[i];
    return to;
}

/* Add the cables of one dimension, in the order of the lower NPU. If `between` is 0, all
 * are of kind `inside`. Otherwise cables that leave a cube are of kind `between`. */
static void add_dimension(hw_builder *b, const hw_generator_params *p, uint32_t dim,
                          bool wraps, const uint16_t kinds[2])
{
    const uint32_t n = (uint32_t)multiply_dims(p), size = p->dims[dim];
    uint32_t stride = 1;
    for (uint32_t i = 0; i < dim; i++)
        stride *= p->dims[i];
    for (uint32_t id = 0; id < n; id++) {
        const uint32_t c = id / stride % size;
        if (c + 1 == size && (!wraps || size <= 2))
            continue;
        hw_builder_add_cable(b, id, step_up(p, id, dim), kinds[(c + 1) % CUBE == 0]);
    }
}

/* In a twisted torus, dimension order is not minimal. */
static void set_dims(hw_builder *b, const hw_generator_params *p, bool wraps)
{
    b->graph->n_dims = p->n_dims;
    for (uint32_t i = 0; i < p->n_dims; i++) {
        b->graph->dims[i] = p->dims[i];
        if (p->n_shifts == 0)
            b->graph->axes[i] = wraps ? HW_AXIS_RING : HW_AXIS_LINE;
    }
}

/* The formula for a torus or mesh with an even longest dimension. */
static void set_bisection(hw_builder *b, const hw_generator_params *p, bool wraps)
{
    uint32_t longest = 1;
    for (uint32_t i = 0; i < p->n_dims; i++)
        longest = p->dims[i] > longest ? p->dims[i] : longest;
    const double n = (double)multiply_dims(p);
    if (longest % 2 == 0 && p->n_shifts == 0)
        b->graph->bisection_Bps =
            (wraps && longest > 2 ? 2 : 1) * p->link_Bps * n / longest;
}

static void add_grid(hw_builder *b, const hw_generator_params *p, bool wraps,
                     const uint16_t kinds[2])
{
    for (uint32_t i = 0; i < p->n_dims; i++)
        add_dimension(b, p, i, wraps, kinds);
    set_dims(b, p, wraps);
    set_bisection(b, p, wraps);
}

static void build_grid(hw_builder *b, const hw_generator_params *p, bool wraps)
{
    hw_add_npus(b, p, (uint32_t)multiply_dims(p), 0, true);
    const uint16_t kind =
        hw_add_kind(b, p, "npu-npu", HW_MEDIUM_COPPER, 0, p->link_Bps, p->latency_s);
    add_grid(b, p, wraps, (const uint16_t[2]){kind, kind});
}

static void build_torus(hw_builder *b, const hw_generator_params *p)
{
    build_grid(b, p, true);
}

static void build_mesh(hw_builder *b, const hw_generator_params *p)
{
    build_grid(b, p, false);
}

static void build_ocs(hw_builder *b, const hw_generator_params *p)
{
    hw_add_npus(b, p, (uint32_t)multiply_dims(p), 0, true);
    const uint16_t inside =
        hw_add_kind(b, p, "in-cube", HW_MEDIUM_COPPER, 0, p->link_Bps, p->latency_s);
    const uint16_t between =
        hw_add_kind(b, p, "circuit", HW_MEDIUM_CIRCUIT, 0, p->link_Bps, p->latency_s);
    add_grid(b, p, true, (const uint16_t[2]){inside, between});
}

const hw_generator hw_gen_ring = {
    "ring",
    "n",
    count_ring,
    build_torus,
    "NPUs in a circle, each with a cable to the next",
    NULL,
    "{topology: ring, n: 16, link: 50 GB/s, latency: 1 us}"};
const hw_generator hw_gen_torus = {
    "torus",
    "dims",
    count_torus,
    build_torus,
    "a grid with wrap-around in every dimension",
    NULL,
    "{topology: torus, dims: [8, 8], link: 100 GB/s, latency: 1 us}"};
const hw_generator hw_gen_mesh = {
    "mesh",
    "dims",
    count_mesh,
    build_mesh,
    "a grid without wrap-around, as on a wafer",
    NULL,
    "{topology: mesh, dims: [8, 8], link: 100 GB/s, latency: 100 ns}"};
const hw_generator hw_gen_twisted_torus = {
    "twisted-torus",
    "dims shifts twist",
    require_shifts,
    build_torus,
    "a torus whose wrap-around cables also shift other dimensions",
    NULL,
    "{topology: twisted-torus, dims: [4, 4, 8], twist: yes, link: 50 GB/s, latency: 1 "
    "us}"};
const hw_generator hw_gen_ocs_torus = {
    "ocs-torus",
    "dims shifts twist",
    count_ocs,
    build_ocs,
    "a torus of 4x4x4 cubes that optical circuit switches join, as in TPU pods",
    NULL,
    "{topology: ocs-torus, dims: [8, 8, 8], link: 50 GB/s, latency: 1 us}"};
