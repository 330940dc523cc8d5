/*
 * hw/direct.c - grids of NPUs, and the boxes of groups in them.
 *
 * Positions of a group along an axis are digits again: runs of equally spaced positions,
 * which repeat at equal distances. Then translations of the group tile the axis, and all
 * of them together use every link of it. Each has one part in `stride` of the links,
 * where stride is the number of positions per member.
 */
#include "hw/direct.h"

#include "base/number/whole.h"
#include "hw/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- the grid ---- */

void hw_direct_sizes(uint32_t *sizes, uint32_t n_dims, uint32_t n)
{
    for (uint32_t d = 0; d < n_dims; d++) {
        const uint32_t left = n_dims - d;
        uint32_t size = whole_u32(pow(n, 1.0 / left) + 1e-9);
        while (size > 1 && n % size != 0)
            size--;
        sizes[d] = left == 1 || size < 1 ? n : size;
        n = sizes[d] > 0 ? n / sizes[d] : 0;
    }
}

static void set_axes(hw_direct *out, uint32_t n_dims, const uint32_t *sizes, bool wraps)
{
    out->n_axes = n_dims;
    for (uint32_t i = 0; i < n_dims; i++)
        out->axes[i] = (hw_direct_axis){sizes[i], wraps && sizes[i] > 2};
}

/* The grid of a node's shape. A slice of a torus is itself a torus. */
static void set_shape(hw_direct *out, const halley_cluster *c)
{
    uint32_t sizes[HW_MAX_DIMS];
    const bool is_3d = c->nodes.shape == HW_SHAPE_TORUS_3D;
    const uint32_t n_dims = is_3d ? 3 : 2, node = c->nodes.npus;
    if (c->nodes.shape < HW_SHAPE_TORUS_2D || !c->nodes.up.torus)
        return;
    hw_direct_sizes(sizes, n_dims, c->n_npus > 0 && c->n_npus < node ? c->n_npus : node);
    set_axes(out, n_dims, sizes, c->nodes.shape != HW_SHAPE_MESH_2D);
}

void hw_direct_make(hw_direct *out, const halley_cluster *c)
{
    out->n_axes = 0;
    out->numbering.n = 0;
    if (c->network != HW_NETWORK_GRAPH || c->graph_joins_nodes)
        set_shape(out, c);
    else
        set_axes(out, c->n_grid_dims, c->grid_dims, c->grid_wraps);
    if (out->n_axes == 0)
        return;
    if (c->mesh.n > 0)
        out->numbering = c->mesh;
    out->link_Bps = c->nodes.up.bandwidth_Bps / 2; /* it counts both directions */
    out->hop_s = c->nodes.up.simple.hop_s;
}

uint32_t hw_direct_count(const hw_direct *d)
{
    uint32_t n = d->n_axes > 0;
    for (uint32_t i = 0; i < d->n_axes; i++)
        n *= d->axes[i].n;
    return n;
}

bool hw_direct_of_graph(hw_direct *out, const hw_graph *g)
{
    out->numbering.n = out->n_axes = 0;
    if (g->n_switches > 0 || g->n_nics > 0 || g->n_dims == 0 || g->n_links == 0)
        return false;
    for (uint32_t i = 0; i < g->n_dims; i++) {
        if (g->dims[i] > 1 && g->axes[i] != HW_AXIS_RING && g->axes[i] != HW_AXIS_LINE)
            return false;
        out->axes[i] =
            (hw_direct_axis){g->dims[i], g->axes[i] == HW_AXIS_RING && g->dims[i] > 2};
    }
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_Bps[i] != g->link_Bps[0] || !(g->link_Bps[i] > 0) ||
            g->link_latency_s[i] != g->link_latency_s[0])
            return false;
    out->n_axes = g->n_dims;
    out->link_Bps = g->link_Bps[0];
    out->hop_s = g->link_latency_s[0];
    return true;
}

void hw_direct_locate(uint32_t at[HW_MAX_DIMS], const hw_direct *d, uint32_t npu)
{
    for (uint32_t i = 0; i < d->n_axes; i++)
        at[i] = 0;
    if (d->numbering.n == 0)
        for (uint32_t i = 0; i < d->n_axes; npu /= d->axes[i++].n)
            at[i] = npu % d->axes[i].n;
    for (uint32_t i = 0; i < d->numbering.n; npu /= d->numbering.digits[i++].radix) {
        const hw_direct_digit *digit = &d->numbering.digits[i];
        assert(digit->axis < d->n_axes);
        at[digit->axis] += npu % digit->radix * digit->stride;
    }
    assert(npu == 0);
}

uint32_t hw_direct_device(const hw_direct *d, uint32_t npu)
{
    uint32_t at[HW_MAX_DIMS], device = 0;
    if (d->numbering.n == 0)
        return npu;
    hw_direct_locate(at, d, npu);
    for (uint32_t i = d->n_axes; i-- > 0;)
        device = device * d->axes[i].n + at[i];
    return device;
}

/* ---- positions along an axis ---- */

/* Rotate the positions of a ring so that the widest gap is after the last one. */
static void rotate_positions(uint32_t *at, uint32_t m, uint32_t n)
{
    uint32_t widest = at[0] + n - at[m - 1], first = 0;
    for (uint32_t i = 1; i < m; i++)
        if (at[i] - at[i - 1] > widest) {
            widest = at[i] - at[i - 1];
            first = i;
        }
    const uint32_t from = at[first];
    for (uint32_t i = 0; i < m; i++)
        at[i] = at[i] >= from ? at[i] - from : at[i] + n - from;
    for (uint32_t i = 1; i < m; i++) /* they are two ascending runs */
        for (uint32_t k = i; k > 0 && at[k] < at[k - 1]; k--) {
            const uint32_t swap = at[k];
            at[k] = at[k - 1];
            at[k - 1] = swap;
        }
}

/* Positions at[0], at[every], ...: count how many are equally spaced. */
static uint32_t count_run(const uint32_t *at, uint32_t m, uint32_t every)
{
    uint32_t run = 2;
    const uint32_t gap = at[every] - at[0];
    for (uint32_t i = 2 * every; i < m && at[i] - at[i - every] == gap; i += every)
        run++;
    return run;
}

/* Find the digits of ascending positions. *period: the distance after which the last
 * digit ends. False: the positions are not digits. */
static bool find_period(uint32_t *period, const uint32_t *at, uint32_t m)
{
    uint32_t every = 1;
    while (every < m) {
        const uint32_t run = count_run(at, m, every), gap = at[every] - at[0];
        const uint32_t block = run * every;
        if (m % block != 0)
            return false;
        for (uint32_t i = block; i < m; i++) { /* later blocks repeat the first */
            const uint32_t start = i - i % block;
            if (at[i] - at[start] != at[i % block] - at[0])
                return false;
        }
        *period = run * gap;
        every = block;
    }
    return true;
}

/* Add an axis along which the members have these ascending positions. */
static bool add_axis(hw_box *out, const hw_direct *d, uint32_t axis, uint32_t *at,
                     uint32_t m)
{
    uint32_t period = 0;
    const hw_direct_axis *a = &d->axes[axis];
    if (m < 2)
        return true;
    if (a->wraps)
        rotate_positions(at, m, a->n);
    if (!find_period(&period, at, m))
        return false;
    hw_box_axis *to = &out->axes[out->n_axes++];
    *to = (hw_box_axis){.axis = axis,
                        .members = m,
                        .stride = (double)period / m,
                        .wraps = a->wraps && period == a->n,
                        .reach = at[m - 1] - at[0]};
    if (to->wraps && to->reach > m / 2 * period / m)
        to->reach = m / 2 * period / m;
    out->n *= m;
    return true;
}

static void begin_box(hw_box *out, const hw_direct *d)
{
    *out = (hw_box){.n = 1, .link_Bps = d->link_Bps, .hop_s = d->hop_s};
}

/* Where the flags of each axis begin; returns their number. */
static uint32_t lay_out_axes(uint32_t first[HW_MAX_DIMS], const hw_direct *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_axes; n += d->axes[i++].n)
        first[i] = n;
    return n;
}

/* Make the box from the flags of used positions. */
static bool make_box(hw_box *out, const hw_direct *d, const bool *used, uint32_t *at)
{
    begin_box(out, d);
    for (uint32_t i = 0; i < d->n_axes; used += d->axes[i++].n) {
        uint32_t m = 0;
        for (uint32_t k = 0; k < d->axes[i].n; k++)
            if (used[k])
                at[m++] = k;
        if (!add_axis(out, d, i, at, m))
            return false;
    }
    return true;
}

bool hw_box_find(hw_box *out, const hw_direct *d, const uint32_t *npus, uint32_t n)
{
    uint32_t first[HW_MAX_DIMS], where[HW_MAX_DIMS];
    const uint32_t n_flags = lay_out_axes(first, d), all = hw_direct_count(d);
    assert(n > 0);
    bool *used = mem_array_zero(n_flags, sizeof *used);
    uint32_t *at = mem_array(n_flags, sizeof *at);
    bool found = used != NULL && at != NULL && d->n_axes > 0 && n <= all;
    for (uint32_t i = 0; found && i < n; i++) {
        hw_direct_locate(where, d, (npus == NULL ? i : npus[i]) % all);
        for (uint32_t k = 0; k < d->n_axes; k++)
            used[first[k] + where[k]] = true;
    }
    /* The members differ. So they are the whole Cartesian product if it has as many. */
    found = found && make_box(out, d, used, at) && out->n == n;
    free(used);
    free(at);
    return found;
}

/* The digits of the grid's own numbering. */
static uint32_t list_digits(hw_direct_digit to[HW_DIRECT_MAX_DIGITS], const hw_direct *d)
{
    for (uint32_t i = 0; i < d->n_axes && d->numbering.n == 0; i++)
        to[i] = (hw_direct_digit){i, d->axes[i].n, 1};
    for (uint32_t i = 0; i < d->numbering.n; i++)
        to[i] = d->numbering.digits[i];
    return d->numbering.n > 0 ? d->numbering.n : d->n_axes;
}

enum { MOST_POSITIONS = 4096 };

/* The positions that the group's digits make along an axis. */
typedef struct axis_positions {
    uint32_t n, at[MOST_POSITIONS];
} axis_positions;

static bool multiply_positions(axis_positions *p, uint32_t radix, uint32_t stride)
{
    if ((uint64_t)p->n * radix > MOST_POSITIONS)
        return false;
    for (uint32_t k = radix; k-- > 0;)
        for (uint32_t i = 0; i < p->n; i++)
            p->at[k * p->n + i] = p->at[i] + k * stride;
    p->n *= radix;
    return true;
}

/* Multiply the positions along `axis` by the parts of a digit of the group that are in
 * digits of the numbering. */
static bool cut_digit(axis_positions *p, const hw_box_digit *g,
                      const hw_direct_digit *digits, uint32_t n, uint32_t axis)
{
    uint64_t unit = 1, from = g->stride, left = g->radix;
    for (uint32_t i = 0; i < n && left > 1; unit *= digits[i++].radix) {
        const uint64_t end = unit * digits[i].radix;
        if (from >= end || digits[i].radix == 1)
            continue;
        assert(unit > 0 && from > 0);
        if (from % unit != 0 || end % from != 0)
            return false;
        const uint64_t room = end / from, part = left < room ? left : room;
        if (left % part != 0 || room % part != 0)
            return false;
        if (digits[i].axis == axis &&
            !multiply_positions(p, (uint32_t)part,
                                (uint32_t)(from / unit) * digits[i].stride))
            return false;
        left /= part;
        from = end;
    }
    return left == 1;
}

static int compare_positions(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool hw_box_of_digits(hw_box *out, const hw_direct *d, const hw_box_digit *digits,
                      uint32_t n)
{
    hw_direct_digit own[HW_DIRECT_MAX_DIGITS];
    const uint32_t n_own = list_digits(own, d);
    axis_positions p;
    begin_box(out, d);
    for (uint32_t axis = 0; axis < d->n_axes; axis++) {
        p.n = 1;
        p.at[0] = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!cut_digit(&p, &digits[i], own, n_own, axis))
                return false;
        qsort(p.at, p.n, sizeof *p.at, compare_positions);
        if (!add_axis(out, d, axis, p.at, p.n))
            return false;
    }
    return true;
}

void hw_box_of_pair(hw_box *out, const hw_direct *d, uint32_t from, uint32_t to)
{
    uint32_t a[HW_MAX_DIMS], b[HW_MAX_DIMS];
    hw_direct_locate(a, d, from);
    hw_direct_locate(b, d, to);
    begin_box(out, d);
    out->n = 2;
    for (uint32_t i = 0; i < d->n_axes; i++) {
        const hw_direct_axis *axis = &d->axes[i];
        uint32_t hops = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
        if (axis->wraps && 2 * hops > axis->n)
            hops = axis->n - hops;
        if (hops > 0)
            out->axes[out->n_axes++] = (hw_box_axis){i, 2, hops, false, hops};
    }
}

bool hw_box_equal(const hw_box *a, const hw_box *b)
{
    bool same = a->n_axes == b->n_axes && a->n == b->n && a->link_Bps == b->link_Bps;
    for (uint32_t i = 0; same && i < a->n_axes; i++) {
        const hw_box_axis *x = &a->axes[i], *y = &b->axes[i];
        same = x->members == y->members && x->stride == y->stride &&
               x->wraps == y->wraps && x->reach == y->reach;
    }
    return same;
}

/* ---- what a box can carry ---- */

static double get_axis_rate(const hw_box *b, const hw_box_axis *a)
{
    return (a->wraps ? 2 : 1) * b->link_Bps / a->stride;
}

double hw_box_rate(const hw_box *b)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->n_axes; i++)
        sum += get_axis_rate(b, &b->axes[i]);
    return sum;
}

/* Members take 1, 2, 4 or 8 pieces of each other's data, whichever fills the steps best.
 */
double hw_box_rounding(const hw_box *b)
{
    double slowest = HUGE_VAL, least = HUGE_VAL;
    for (uint32_t i = 0; i < b->n_axes; i++)
        slowest = fmin(slowest, b->link_Bps / b->axes[i].stride);
    const double ports = hw_box_rate(b) / slowest;
    for (int pieces = 1; pieces <= 8; pieces *= 2) {
        const double steps = pieces * (b->n - 1.0) / ports;
        least = fmin(least, ceil(steps - 1e-9) / steps);
    }
    return b->n > 1 ? least : 1;
}

double hw_box_latency(const hw_box *b)
{
    double hops = 0;
    for (uint32_t i = 0; i < b->n_axes; i++)
        hops += b->axes[i].reach;
    return hops * b->hop_s;
}

double hw_box_pair_bytes(const hw_box_axis *a, uint32_t i)
{
    const double m = a->members;
    assert(i < a->members);
    return a->wraps ? floor(m * m / 4) / (2 * m) : (i + 1) * (m - 1 - i) / m;
}

double hw_box_pair_time(const hw_box *b)
{
    double most = 0;
    for (uint32_t i = 0; i < b->n_axes; i++) {
        const hw_box_axis *a = &b->axes[i];
        most = fmax(most, a->stride * hw_box_pair_bytes(a, (a->members - 1) / 2));
    }
    return most / b->link_Bps;
}
