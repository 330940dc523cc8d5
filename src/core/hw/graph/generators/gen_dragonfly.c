/*
 * hw/graph/generators/gen_dragonfly.c - groups of switches connected by global cables:
 * dragonfly (Kim et al. 2008) and dragonfly+ (Shpiner et al. 2017). Slim Fly is only
 * counted.
 *
 * A group has `ports` global ports. Port q = round * (G - 1) + (o - 1) of group i goes to
 * group (i + o) mod G, o = 1 ... G - 1. Its partner there is port round * (G - 1) + (G -
 * o - 1). Some ports are left over after all full rounds. The first k of them take the
 * offsets 1 ... k, the next k the offsets G - k ... G - 1. If their number is odd, the
 * last one is unused.
 */
#include "hw/graph/generate.h"

#include <assert.h>
#include <math.h>

/* The number of global ports of one group that are in use. */
static uint64_t count_used_ports(uint64_t ports, uint64_t groups)
{
    if (groups < 2)
        return 0;
    const uint64_t left = ports % (groups - 1);
    return ports - left + left / 2 * 2;
}

static halley_status check_group(const hw_generator_params *p, const char *name,
                                 halley_error *err)
{
    TRY(hw_require_count(p->hosts_per_switch, name, "p (NPUs of a switch)", err));
    TRY(hw_require_count(p->h, name, "h (global ports of a switch)", err));
    TRY(hw_require_count(p->G, name, "G (groups)", err));
    const uint64_t ports = (uint64_t)(p->s > 0 ? p->s : p->a) * p->h;
    if (p->G > 2 && ports < p->G - 1 && ports < 2)
        return error_set(err, HALLEY_EINVAL,
                         "%s: %u groups cannot be joined with %llu global ports each",
                         name, p->G, (unsigned long long)ports);
    return HALLEY_OK;
}

static halley_status count_dragonfly(hw_counts *out, hw_generator_params *p,
                                     halley_error *err)
{
    TRY(hw_require_count(p->a, "dragonfly", "a (switches of a group)", err));
    p->s = 0;
    TRY(check_group(p, "dragonfly", err));
    const uint64_t inside = (uint64_t)p->a * (p->a - 1) / 2;
    const uint64_t used = count_used_ports((uint64_t)p->a * p->h, p->G);
    out->switches = hw_count_times(p->a, p->G);
    out->npus = hw_count_times(out->switches, p->hosts_per_switch);
    out->switch_cables =
        hw_count_plus(hw_count_times(p->G, inside), hw_count_times(p->G, used) / 2);
    out->cables = hw_count_plus(out->npus, out->switch_cables);
    return HALLEY_OK;
}

static halley_status count_dragonfly_plus(hw_counts *out, hw_generator_params *p,
                                          halley_error *err)
{
    TRY(hw_require_count(p->l, "dragonfly+", "l (leaves of a group)", err));
    TRY(hw_require_count(p->s, "dragonfly+", "s (spines of a group)", err));
    TRY(check_group(p, "dragonfly+", err));
    const uint64_t used = count_used_ports((uint64_t)p->s * p->h, p->G);
    out->switches = hw_count_times(p->G, (uint64_t)p->l + p->s);
    out->npus = hw_count_times(p->G, hw_count_times(p->l, p->hosts_per_switch));
    out->switch_cables = hw_count_plus(hw_count_times(p->G, (uint64_t)p->l * p->s),
                                       hw_count_times(p->G, used) / 2);
    out->cables = hw_count_plus(out->npus, out->switch_cables);
    return HALLEY_OK;
}

/* Which switch has a global port. */
typedef struct global_ports {
    uint32_t n;         /* of a group */
    uint32_t h;         /* of a switch */
    uint32_t first;     /* the switch that owns port 0 of group 0 */
    uint32_t per_group; /* switches from one group to the next */
} global_ports;

static uint32_t find_owner(const global_ports *g, uint32_t group, uint32_t port)
{
    assert(port < g->n);
    return g->first + group * g->per_group + port / g->h;
}

/* Connect all groups at one offset. The end with the lower offset adds the cable. */
static void add_offset(hw_builder *b, const hw_generator_params *p, const global_ports *g,
                       const uint32_t ports[2], uint32_t offset, uint16_t kind)
{
    const uint32_t G = p->G;
    for (uint32_t i = 0; i < G; i++) {
        const uint32_t other = (i + offset) % G;
        if (2 * offset == G && i > other)
            continue;
        hw_builder_add_cable(b, find_owner(g, i, ports[0]),
                             find_owner(g, other, ports[1]), kind);
    }
}

static void add_global_cables(hw_builder *b, const hw_generator_params *p,
                              const global_ports *g, uint16_t kind)
{
    if (p->G < 2)
        return;
    const uint32_t others = p->G - 1, rounds = g->n / others;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t o = 1; 2 * o <= p->G; o++)
            add_offset(b, p, g,
                       (const uint32_t[2]){round * others + o - 1,
                                           round * others + p->G - o - 1},
                       o, kind);
    const uint32_t k = (g->n - rounds * others) / 2;
    for (uint32_t o = 1; o <= k; o++)
        add_offset(
            b, p, g,
            (const uint32_t[2]){rounds * others + o - 1, rounds * others + 2 * k - o}, o,
            kind);
}

/* The formula holds if the groups can be split into equal halves. */
static void set_group_bisection(hw_builder *b, const hw_generator_params *p,
                                uint64_t n_npus, uint32_t ports)
{
    if (p->G < 2 || p->G % 2 != 0)
        return;
    b->graph->bisection_Bps =
        p->link_Bps * fmin((double)n_npus / 2, (double)ports * p->G / 4);
    b->graph->bisection_is_bound = ports % (p->G - 1) != 0;
}

static void set_group_dims(hw_builder *b, uint32_t hosts, uint32_t switches, uint32_t G)
{
    b->graph->n_dims = 3;
    b->graph->dims[0] = hosts;
    b->graph->dims[1] = switches;
    b->graph->dims[2] = G;
}

static void build_dragonfly(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t n_switches = p->a * p->G, n = n_switches * p->hosts_per_switch;
    hw_add_npus(b, p, n, 0, false);
    const uint32_t first = hw_add_switches(b, p, "router", n_switches, 1);
    const uint16_t host =
        hw_add_kind(b, p, "npu-router", HW_MEDIUM_COPPER, 1, p->link_Bps, p->latency_s);
    const uint16_t local =
        hw_add_kind(b, p, "local", HW_MEDIUM_OPTICAL, 1, p->link_Bps, p->latency_s);
    const uint16_t global =
        hw_add_kind(b, p, "global", HW_MEDIUM_OPTICAL, 2, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < n; i++)
        hw_builder_add_cable(b, i, first + i / p->hosts_per_switch, host);
    for (uint32_t g = 0; g < p->G; g++)
        for (uint32_t i = 0; i < p->a; i++)
            for (uint32_t j = i + 1; j < p->a; j++)
                hw_builder_add_cable(b, first + g * p->a + i, first + g * p->a + j,
                                     local);
    const global_ports ports = {p->a * p->h, p->h, first, p->a};
    add_global_cables(b, p, &ports, global);
    set_group_dims(b, p->hosts_per_switch, p->a, p->G);
    set_group_bisection(b, p, n, ports.n);
}

/* Groups are numbered consecutively: leaves, then spines of each. */
static void build_dragonfly_plus(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t per_group = p->l + p->s, n = p->hosts_per_switch * p->l * p->G;
    hw_add_npus(b, p, n, 0, false);
    const uint32_t first = hw_add_switches(b, p, "switch", per_group * p->G, 1);
    const uint16_t host =
        hw_add_kind(b, p, "npu-leaf", HW_MEDIUM_COPPER, 1, p->link_Bps, p->latency_s);
    const uint16_t local =
        hw_add_kind(b, p, "leaf-spine", HW_MEDIUM_OPTICAL, 1, p->link_Bps, p->latency_s);
    const uint16_t global =
        hw_add_kind(b, p, "global", HW_MEDIUM_OPTICAL, 2, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t leaf = i / p->hosts_per_switch;
        hw_builder_add_cable(b, i, first + leaf / p->l * per_group + leaf % p->l, host);
    }
    for (uint32_t g = 0; g < p->G; g++)
        for (uint32_t i = 0; i < p->l; i++)
            for (uint32_t j = 0; j < p->s; j++)
                hw_builder_add_cable(b, first + g * per_group + i,
                                     first + g * per_group + p->l + j, local);
    const global_ports ports = {p->s * p->h, p->h, first + p->l, per_group};
    add_global_cables(b, p, &ports, global);
    set_group_dims(b, p->hosts_per_switch, p->l, p->G);
    set_group_bisection(b, p, n, ports.n);
}

/*
 * Slim Fly (Besta and Hoefler 2014) with parameter q has 2 q^2 switches of degree (3 q -
 * d)/2. Here q = 4 w + d with d = -1, 0 or 1. A switch has half its degree of endpoints,
 * rounded up. DeepSeek counts one with q = 28. This is no prime power, so no such graph
 * exists.
 */
static halley_status count_slim_fly(hw_counts *out, hw_generator_params *p,
                                    halley_error *err)
{
    TRY(hw_require_count(p->q, "slim-fly", "q", err));
    if (p->q % 4 == 2 || p->q > 100000)
        return error_set(err, HALLEY_EINVAL,
                         "slim-fly: q must be 4w - 1, 4w or 4w + 1, is %u", p->q);
    const uint64_t q = p->q, degree = (3 * q - (q % 4 == 1 ? 1 : 0) + (q % 4 == 3)) / 2;
    out->switches = 2 * q * q;
    out->npus = out->switches * ((degree + 1) / 2);
    out->switch_cables = out->switches * degree / 2;
    out->cables = out->npus + out->switch_cables;
    return HALLEY_OK;
}

const hw_generator hw_gen_dragonfly = {
    "dragonfly",
    "p a h G",
    count_dragonfly,
    build_dragonfly,
    "groups of fully connected switches, and cables between all groups",
    NULL,
    "{topology: dragonfly, p: 4, a: 8, h: 4, G: 9, link: 200 Gb/s, latency: 500 ns}"};
const hw_generator hw_gen_dragonfly_plus = {
    "dragonfly+",
    "p l s h G",
    count_dragonfly_plus,
    build_dragonfly_plus,
    "groups of leaves and spines, and cables between the spines of all groups",
    NULL,
    "{topology: dragonfly+, p: 8, l: 4, s: 4, h: 4, G: 9, link: 200 Gb/s, latency: 500 "
    "ns}"};
const hw_generator hw_gen_slim_fly = {"slim-fly",
                                      "q",
                                      count_slim_fly,
                                      NULL,
                                      "counted only: 2 q^2 switches of diameter two",
                                      NULL,
                                      "{topology: slim-fly, q: 28}"};
