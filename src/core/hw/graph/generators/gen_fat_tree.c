/*
 * hw/graph/generators/gen_fat_tree.c - fat trees of any height in one form,
 * parallel-ports generalised fat trees (PGFT; Zahavi, "D-Mod-K routing providing
 * non-blocking traffic for shift permutations on real life fat trees", 2010).
 *
 * Tiers i = 1 ... h: a tier-i switch has m_i children, a tier-(i-1) device has w_i
 * parents, and p_i parallel cables connect such a pair. A device of tier i has digits a_j
 * < m_j for j > i and b_j < w_j for j <= i. Its number inside the tier has b_1 fastest,
 * then ... b_i, a_(i+1), ... a_h. The device (a_h ... a_i; b_(i-1) ... b_1) of tier i - 1
 * is connected to the switches (a_(i+1) ...; b_i ... b_1), b_i = 0 ... w_i - 1.
 *
 * Planes are copies of the switches. If wired to every plane, an NPU has one cable of
 * link/planes to each. If wired to one plane, NPU i of a node is in plane i, and the
 * switch inside the node connects the planes.
 */
#include "base/number/number.h"
#include "hw/graph/generate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static halley_status check_pgft(hw_generator_params *p, halley_error *err)
{
    if (p->n_m == 0 || p->n_w != p->n_m || (p->n_p != 0 && p->n_p != p->n_m))
        return error_set(err, HALLEY_EINVAL,
                         "fat-tree needs m and w (and p, if given) of the same length, "
                         "one number per tier from below, or tiers");
    for (uint32_t i = 0; i < p->n_m; i++) {
        if (p->n_p == 0)
            p->p[i] = 1;
        if (p->m[i] == 0 || p->w[i] == 0 || p->p[i] == 0)
            return error_set(err, HALLEY_EINVAL,
                             "fat-tree: m, w and p of tier %u must be at least 1", i + 1);
        if (p->tiers[i].link_Bps == 0)
            p->tiers[i].link_Bps = p->plane_wiring == HW_PLANES_EVERY
                                       ? p->link_Bps / p->planes
                                       : p->link_Bps;
        if (p->n_tiers == 0 || p->tiers[i].latency_s < 0)
            p->tiers[i].latency_s = p->latency_s;
    }
    return HALLEY_OK;
}

static const char *name_tier(const hw_generator_params *p, uint32_t i, char *to,
                             size_t size)
{
    static const char *const names[HW_MAX_TIERS + 1][HW_MAX_TIERS] = {
        {""},
        {"leaf"},
        {"leaf", "spine"},
        {"leaf", "spine", "core"},
    };
    const uint32_t h = p->n_m > 0 ? p->n_m : p->n_tiers;
    if (i < p->n_tiers && p->tiers[i].name.n > 0)
        snprintf(to, size, "%.*s", STR_ARG(p->tiers[i].name));
    else if (h <= 3)
        snprintf(to, size, "%s", names[h][i]);
    else
        snprintf(to, size, "tier%u-", i + 1);
    return to;
}

/* The number of down ports of a switch with `radix` ports and this oversubscription. */
static halley_status split_radix(uint32_t *down, const hw_generator_params *p, uint32_t i,
                                 halley_error *err)
{
    const hw_tier_params *t = &p->tiers[i];
    const double exact = t->radix * t->oversubscription / (1 + t->oversubscription);
    const double low = floor(exact);
    char name[64];
    if (exact == low && low >= 1 && low < t->radix) {
        *down = (uint32_t)low;
        return HALLEY_OK;
    }
    const double d = low < 1 ? 1 : low, e = d + 1 < t->radix ? d + 1 : d;
    return error_set(
        err, HALLEY_EINVAL,
        "tier %s: %u ports cannot be split %s:1 into whole ports; the nearest "
        "are %s down and %s up (oversubscription %s) or %s and %s (%s)",
        name_tier(p, i, name, sizeof name), t->radix,
        number_digits(t->oversubscription, 6).at, number_digits(d, 6).at,
        number_digits(t->radix - d, 6).at, number_digits(d / (t->radix - d), 6).at,
        number_digits(e, 6).at, number_digits(t->radix - e, 6).at,
        number_digits(e / (t->radix - e), 6).at);
}

/* Children of a switch of tier i, from the number of NPUs below it, its radix, or the
 * total. */
static halley_status size_tier(hw_generator_params *p, uint32_t i, uint64_t below,
                               halley_error *err)
{
    const hw_tier_params *t = &p->tiers[i];
    const bool top = i + 1 == p->n_tiers;
    const uint32_t npus = t->npus > 0 ? t->npus : top ? p->n : 0;
    char name[64];
    name_tier(p, i, name, sizeof name);
    if (npus > 0) {
        if (npus % below != 0 || npus < below)
            return error_set(err, HALLEY_EINVAL,
                             "tier %s: %u NPUs are not a multiple of the %llu NPUs under "
                             "each block of the tier below",
                             name, npus, (unsigned long long)below);
        p->m[i] = (uint32_t)(npus / below);
    } else if (t->radix > 0) {
        p->m[i] = t->radix;
        if (!top)
            TRY(split_radix(&p->m[i], p, i, err));
    } else {
        return error_set(err, HALLEY_EINVAL,
                         "tier %s needs radix, or npus (the NPUs under one block)%s",
                         name, top ? ", or the network needs n (all NPUs)" : "");
    }
    if (t->radix > 0 && p->m[i] > t->radix)
        return error_set(err, HALLEY_EINVAL,
                         "tier %s: a switch with %u ports cannot have %u children", name,
                         t->radix, p->m[i]);
    return HALLEY_OK;
}

/* Set the uplinks of tier i to the number that gives the oversubscription. If this is a
 * fraction, it is rounded up, and each uplink gets less capacity. */
static halley_status connect_tier(hw_generator_params *p, uint32_t i, halley_error *err)
{
    const hw_tier_params *t = &p->tiers[i];
    hw_tier_params *above = &p->tiers[i + 1];
    if (above->link_Bps == 0)
        above->link_Bps = t->link_Bps;
    const double exact = p->m[i] * t->link_Bps / (t->oversubscription * above->link_Bps);
    const double up = ceil(exact - 1e-9);
    char name[64];
    name_tier(p, i, name, sizeof name);
    if (!(up >= 1) || up > 65536 || (t->radix > 0 && p->m[i] + up > t->radix))
        return error_set(
            err, HALLEY_EINVAL,
            "tier %s: %u cables down with oversubscription %s need %s cables "
            "up, and a switch has %u ports",
            name, p->m[i], number_digits(t->oversubscription, 6).at,
            number_digits(up, 6).at, t->radix);
    p->w[i + 1] = (uint32_t)up;
    if (fabs(up - exact) > 1e-9)
        above->link_Bps *= exact / up;
    return HALLEY_OK;
}

static halley_status check_tier_ports(const hw_generator_params *p, uint32_t i,
                                      halley_error *err)
{
    const hw_tier_params *t = &p->tiers[i];
    char name[64];
    name_tier(p, i, name, sizeof name);
    if (!isfinite(t->oversubscription) || t->oversubscription < 0)
        return error_set(err, HALLEY_EINVAL,
                         "tier %s: oversubscription must be positive, is %s", name,
                         number_digits(t->oversubscription, 6).at);
    if (i + 1 == p->n_tiers && t->oversubscription > 0 && t->oversubscription != 1)
        return error_set(err, HALLEY_EINVAL,
                         "tier %s is the top tier and has no uplinks: state the "
                         "oversubscription at the tier below",
                         name);
    if (t->link_Bps < 0)
        return error_set(err, HALLEY_EINVAL, "tier %s: link must be positive, is %s B/s",
                         name, number_digits(t->link_Bps, 6).at);
    return HALLEY_OK;
}

static halley_status convert_tiers(hw_generator_params *p, halley_error *err)
{
    if (p->n_m > 0 || p->n_w > 0 || p->n_p > 0)
        return error_set(err, HALLEY_EINVAL,
                         "fat-tree takes either tiers, or m, w and p, not both");
    uint64_t below = 1;
    if (p->tiers[0].link_Bps == 0)
        p->tiers[0].link_Bps =
            p->plane_wiring == HW_PLANES_EVERY ? p->link_Bps / p->planes : p->link_Bps;
    p->w[0] = 1;
    for (uint32_t i = 0; i < p->n_tiers; i++) {
        TRY(check_tier_ports(p, i, err));
        if (p->tiers[i].oversubscription == 0)
            p->tiers[i].oversubscription = 1;
        TRY(size_tier(p, i, below, err));
        below = hw_count_times(below, p->m[i]);
        if (i + 1 < p->n_tiers)
            TRY(connect_tier(p, i, err));
    }
    p->n_m = p->n_w = p->n_tiers;
    if (p->n > 0 && below != p->n)
        return error_set(err, HALLEY_EINVAL,
                         "the tiers hold %llu NPUs, and n is %u: the sizes do not "
                         "multiply",
                         (unsigned long long)below, p->n);
    return HALLEY_OK;
}

static uint64_t count_tier(const hw_generator_params *p, uint32_t i)
{
    uint64_t n = 1;
    for (uint32_t j = 0; j < p->n_m; j++)
        n = hw_count_times(n, j < i ? p->w[j] : p->m[j]);
    return n;
}

static halley_status count_fat_tree(hw_counts *out, hw_generator_params *p,
                                    halley_error *err)
{
    if (p->planes == 0)
        p->planes = 1;
    if (p->n_tiers > 0)
        TRY(convert_tiers(p, err));
    TRY(check_pgft(p, err));
    const bool one = p->plane_wiring == HW_PLANES_ONE && p->planes > 1;
    const uint64_t under = count_tier(p, 0); /* NPUs of one plane */
    out->npus = hw_count_times(under, one ? p->planes : 1);
    out->node_switches = one ? under : 0;
    out->switches = out->node_switches;
    for (uint32_t i = 1; i <= p->n_m; i++) {
        const uint64_t n = hw_count_times(count_tier(p, i), p->planes);
        const uint64_t cables =
            hw_count_times(n, hw_count_times(p->m[i - 1], p->p[i - 1]));
        out->switches = hw_count_plus(out->switches, n);
        out->cables = hw_count_plus(out->cables, cables);
        if (i > 1)
            out->switch_cables = hw_count_plus(out->switch_cables, cables);
    }
    out->cables = hw_count_plus(out->cables, one ? out->npus : 0);
    return HALLEY_OK;
}

static halley_status count_leaf_spine(hw_counts *out, hw_generator_params *p,
                                      halley_error *err)
{
    TRY(hw_require_count(p->npus, "leaf-spine", "npus (of one leaf)", err));
    TRY(hw_require_count(p->leaves, "leaf-spine", "leaves", err));
    TRY(hw_require_count(p->spines, "leaf-spine", "spines", err));
    p->n_m = p->n_w = p->n_p = 2;
    p->m[0] = p->npus;
    p->m[1] = p->leaves;
    p->w[0] = p->p[0] = 1;
    p->w[1] = p->spines;
    p->p[1] = p->cables > 0 ? p->cables : 1;
    return count_fat_tree(out, p, err);
}

/* The tree of one plane during building. */
typedef struct plane_wiring {
    const hw_generator_params *p;
    uint32_t plane;
    uint32_t first[HW_MAX_TIERS + 1]; /* device ids by tier; [0] unused */
    uint16_t kinds[HW_MAX_TIERS];     /* of the cables below tier i + 1 */
} plane_wiring;

static uint32_t number_npu(const plane_wiring *w, uint32_t index)
{
    return w->p->plane_wiring == HW_PLANES_ONE ? index * w->p->planes + w->plane : index;
}

static void connect_device(hw_builder *b, const plane_wiring *w, uint32_t i,
                           uint32_t index)
{
    const hw_generator_params *p = w->p;
    uint32_t wide = 1; /* all w below tier i, multiplied */
    for (uint32_t j = 0; j + 1 < i; j++)
        wide *= p->w[j];
    const uint32_t digits = index % wide, above = index / wide / p->m[i - 1];
    const uint32_t from = i == 1 ? number_npu(w, index) : w->first[i - 1] + index;
    for (uint32_t c = 0; c < p->w[i - 1]; c++) {
        const uint32_t parent = digits + wide * (c + p->w[i - 1] * above);
        for (uint32_t k = 0; k < p->p[i - 1]; k++)
            hw_builder_add_cable(b, from, w->first[i] + parent, w->kinds[i - 1]);
    }
}

static void add_plane_switches(hw_builder *b, plane_wiring *w)
{
    const hw_generator_params *p = w->p;
    for (uint32_t i = 1; i <= p->n_m; i++) {
        char tier[64], name[96];
        name_tier(p, i - 1, tier, sizeof tier);
        if (p->planes > 1)
            snprintf(name, sizeof name, "p%u-%s", w->plane, tier);
        else
            snprintf(name, sizeof name, "%s", tier);
        w->first[i] = hw_add_switches(b, p, name, (uint32_t)count_tier(p, i), i);
    }
}

static void add_plane_kinds(hw_builder *b, plane_wiring *w)
{
    const hw_generator_params *p = w->p;
    char below[64] = "npu", above[64], name[160];
    for (uint32_t i = 0; i < p->n_m; i++) {
        name_tier(p, i, above, sizeof above);
        snprintf(name, sizeof name, "%s-%s", below, above);
        w->kinds[i] =
            hw_add_kind(b, p, name, i == 0 ? HW_MEDIUM_COPPER : HW_MEDIUM_OPTICAL, i + 1,
                        p->tiers[i].link_Bps, p->tiers[i].latency_s);
        snprintf(below, sizeof below, "%s", above);
    }
}

static void note_tiers(hw_builder *b, const hw_generator_params *p)
{
    for (uint32_t i = 1; i < p->n_tiers; i++) {
        const hw_tier_params *t = &p->tiers[i - 1];
        const double exact = p->m[i - 1] / t->oversubscription;
        char name[64];
        if (fabs(exact - round(exact)) > 1e-9)
            hw_builder_note(b,
                            "tier %s: %u down at %s:1 is %s cables up; %u cables of "
                            "%s GB/s are used",
                            name_tier(p, i - 1, name, sizeof name), p->m[i - 1],
                            number_digits(t->oversubscription, 6).at,
                            number_digits(exact, 6).at, p->w[i],
                            number_digits(p->tiers[i].link_Bps / 1e9, 6).at);
    }
}

static void set_tree_bisection(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t h = p->n_m;
    if (p->m[h - 1] % 2 != 0 || p->plane_wiring == HW_PLANES_ONE)
        return;
    double least =
        p->tiers[0].link_Bps * (double)count_tier(p, 0) / 2 * p->w[0] * p->p[0];
    for (uint32_t t = 1; t < h; t++) {
        const double cables = (double)count_tier(p, t + 1) * p->m[t] * p->p[t];
        least = fmin(least, p->tiers[t].link_Bps * cables / 2);
    }
    b->graph->bisection_Bps = least * p->planes;
}

static void set_tree_dims(hw_builder *b, const hw_generator_params *p, bool one)
{
    uint32_t n = 0;
    if (one)
        b->graph->dims[n++] = p->planes;
    b->graph->has_rails = one;
    for (uint32_t i = 0; i < p->n_m; i++)
        b->graph->dims[n++] = p->m[i];
    assert(n <= HW_MAX_DIMS);
    b->graph->n_dims = n;
}

static void add_nodes(hw_builder *b, const hw_generator_params *p, uint32_t n_npus)
{
    const uint32_t first = hw_add_node_switches(b, p, n_npus / p->planes, 1);
    const uint16_t kind = hw_add_kind(b, p, "npu-nvswitch", HW_MEDIUM_BOARD, 1,
                                      p->node_link_Bps, p->node_latency_s);
    for (uint32_t i = 0; i < n_npus; i++)
        hw_builder_add_cable(b, i, first + i / p->planes, kind);
}

static void build_fat_tree(hw_builder *b, const hw_generator_params *p)
{
    const bool one = p->plane_wiring == HW_PLANES_ONE && p->planes > 1;
    const uint32_t n_npus = (uint32_t)count_tier(p, 0) * (one ? p->planes : 1);
    hw_add_npus(b, p, n_npus, one ? p->planes : 0, false);
    if (one)
        add_nodes(b, p, n_npus);
    for (uint32_t plane = 0; plane < p->planes; plane++) {
        plane_wiring w = {.p = p, .plane = plane};
        add_plane_switches(b, &w);
        add_plane_kinds(b, &w);
        for (uint32_t i = 1; i <= p->n_m; i++)
            for (uint32_t x = 0; x < count_tier(p, i - 1); x++)
                connect_device(b, &w, i, x);
    }
    set_tree_dims(b, p, one);
    set_tree_bisection(b, p);
    note_tiers(b, p);
}

const hw_generator hw_gen_fat_tree = {
    "fat-tree",
    "m w p tiers n planes plane-wiring",
    count_fat_tree,
    build_fat_tree,
    "a tree of switches whose links multiply towards the top, of any height",
    NULL,
    "{topology: fat-tree, n: 1024, tiers: [{name: leaf, npus: 16}, {name: spine, npus: "
    "256, oversubscription: 2}, {name: core}], link: 400 Gb/s, latency: 500 ns}"};
const hw_generator hw_gen_leaf_spine = {
    "leaf-spine",
    "npus leaves spines cables planes plane-wiring",
    count_leaf_spine,
    build_fat_tree,
    "a fat tree of two tiers: every leaf is joined to every spine",
    NULL,
    "{topology: leaf-spine, npus: 32, leaves: 16, spines: 8, cables: 4, link: 400 Gb/s, "
    "latency: 500 ns}"};
