/*
 * hw/read/read_graph.c - network: {topology: NAME, ...} with any generator (hw/graph),
 * and the levels for closed forms, made from its parameters.
 *
 * The cluster keeps the text of the part, so that it is saved as it was read. Parameters
 * are read from this text again when the number of NPUs is known or the graph is built.
 * Sizes that follow from the number of NPUs may therefore be omitted.
 *
 * Levels: with a link inside nodes (nodes.up), the generator connects the NPUs of all
 * nodes. A level is a block of NPUs that the generator connects: leaf and spine, group
 * and world. Its bandwidth is that of an NPU's own cables divided by the oversubscription
 * of what leaves the block. Without a link inside nodes, rings, tori, meshes and single
 * switches are one node each, and in trees every NPU is a node.
 */
#include "hw/read/read_graph.h"

#include "base/number/number.h"
#include "base/number/whole.h"
#include "hw/graph/generate.h"
#include "hw/graph/topology.h"
#include "hw/levels.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/schema.h"
#include "hw/vary.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

const char *const hw_routings[] = {
    "spray", "ecmp",    "shortest", "up-down", "dimension-order",
    "table", "minimal", "valiant",  NULL};

/* Keys of the part that are not the generator's. */
typedef struct wiring_text {
    str fabric, ties;
    uint32_t routing;
    uint64_t seed;
    bool pxn, weighted, polarised;
} wiring_text;
static const conf_field wiring_fields[] = {
    {.key = "fabric",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(wiring_text, fabric),
     .doc = "fabric preset with the library's constants (step times, share)",
     .by_default = "none: steps take the latencies, 90 % of the bandwidth is reached",
     .example = "roce"},
    {.key = "routing",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(wiring_text, routing),
     .names = hw_routings,
     .doc = "how paths are chosen; closed forms assume that all links share the load",
     .by_default = "spray; dimension-order on tori and meshes"},
    {.key = "seed",
     .type = CONF_TYPE_U64,
     .offset = offsetof(wiring_text, seed),
     .doc = "of the hash of routing: ecmp",
     .by_default = "0"},
    {.key = "polarised",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(wiring_text, polarised),
     .doc = "routing ecmp: all switches hash alike",
     .by_default = "no"},
    {.key = "weighted",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(wiring_text, weighted),
     .doc = "routing spray: links get shares by their bandwidth",
     .by_default = "no"},
    {.key = "pxn",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(wiring_text, pxn),
     .doc = "rails: messages to another rail cross the sender's node first",
     .by_default = "yes"},
    {.key = "ties",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(wiring_text, ties),
     .doc = "tori: up, or split for half each way where both ways are as short",
     .by_default = "up",
     .example = "split"},
};
enum { N_WIRING = sizeof wiring_fields / sizeof *wiring_fields };
const hw_part hw_part_wiring = {"wiring", "network", HW_FIELDS(wiring_fields)};

static bool is_wiring_key(str key)
{
    for (size_t i = 0; i < N_WIRING; i++)
        if (str_eq(key, str_from(wiring_fields[i].key)))
            return true;
    return false;
}

/* The entries of the map that are about wiring, or those that are not. */
static halley_status split_map(conf_node *out, arena *memory, const conf_node *map,
                               bool wiring, halley_error *err)
{
    *out = *map;
    out->n = 0;
    out->keys = arena_array(memory, map->n + 1, sizeof *out->keys);
    out->items = arena_array(memory, map->n + 1, sizeof(conf_node *));
    if (out->keys == NULL || out->items == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < map->n; i++)
        if (is_wiring_key(map->keys[i]) == wiring) {
            out->keys[out->n] = map->keys[i];
            out->items[out->n++] = map->items[i];
        }
    return HALLEY_OK;
}

static void print_scalar(strbuf *to, str text)
{
    strbuf_add_char(to, '"');
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            strbuf_add_char(to, '\\');
        if (c < ' ') /* an escape that both JSON and YAML accept */
            strbuf_printf(to, "\\u%04x", c);
        else
            strbuf_add_char(to, text.at[i]);
    }
    strbuf_add_char(to, '"');
}

static bool is_plain(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.at[i];
        const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
                          c == '_' || c == '/' || (c == ' ' && i > 0 && i + 1 < text.n);
        if (!safe || (c == '-' && i == 0 && text.n == 1))
            return false;
    }
    return text.n > 0;
}

void hw_node_print(strbuf *to, const conf_node *node)
{
    const bool map = node->kind == CONF_MAP;
    if (node->kind == CONF_NULL) {
        strbuf_add(to, STR("null"));
        return;
    }
    if (node->kind == CONF_SCALAR) {
        if (node->quoted || !is_plain(node->text))
            print_scalar(to, node->text);
        else
            strbuf_add(to, node->text);
        return;
    }
    strbuf_add_char(to, map ? '{' : '[');
    for (uint32_t i = 0; i < node->n; i++) {
        strbuf_add(to, i == 0 ? STR("") : STR(", "));
        if (map) {
            strbuf_add(to, node->keys[i]);
            strbuf_add(to, STR(": "));
        }
        hw_node_print(to, node->items[i]);
    }
    strbuf_add_char(to, map ? '}' : ']');
}

/* Sizes that follow from the number of NPUs. */
static void fill_sizes(hw_generator_params *p, const halley_cluster *c, uint32_t n)
{
    static const char *const sized[] = {"ring", "fully-connected", "switch", "nvl"};
    const bool rails = str_starts(p->topology, STR("rail-"));
    const uint32_t g = c->nodes.npus > 0 ? c->nodes.npus : 1;
    const uint32_t whole = n == 0 ? 0 : (n - 1) / g * g + g;
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
        if (str_eq(p->topology, str_from(sized[i])) && p->n == 0)
            p->n = whole;
    if (str_eq(p->topology, STR("nvl")) && p->s == 0)
        p->s = 1;
    if (rails && p->npus == 0)
        p->npus = c->nodes.npus;
    if (rails && p->nodes == 0 && p->npus > 0)
        p->nodes = n == 0 ? 0 : (n - 1) / p->npus + 1;
    if (rails && p->nics == 0 && c->nodes.nics > 0)
        p->nics = c->nodes.nics;
    if (p->n_tiers > 0 && p->n == 0)
        p->n = whole;
}

halley_status hw_graph_params_get(hw_generator_params *out, conf_file *file,
                                  arena *memory, const halley_cluster *c, uint32_t n,
                                  halley_error *err)
{
    conf_node own;
    TRY(conf_parse(file, str_from(c->graph_text), "network", err));
    halley_status status = split_map(&own, memory, file->root, false, err);
    if (status == HALLEY_OK)
        status = hw_generator_read(out, memory, file, &own, err);
    if (status != HALLEY_OK) {
        conf_fini(file);
        return status;
    }
    fill_sizes(out, c, n);
    return HALLEY_OK;
}

/* ---- levels ---- */

static void add_level(halley_cluster *c, const char *name, double npus, double port_Bps,
                      double oversubscription, double step_s)
{
    const halley_fabric base = c->graph_fabric;
    if (c->n_outer >= HW_MAX_OUTER)
        return;
    hw_outer *o = &c->outer[c->n_outer++];
    *o = (hw_outer){.name = name,
                    .npus = npus > 0 && npus < (double)c->n_npus ? whole_u32(npus) : 0,
                    .oversubscription = fmax(1, oversubscription),
                    .fabric = base};
    o->fabric.bandwidth_Bps = port_Bps / o->oversubscription;
    for (int i = 0; i < 3 && base.name[0] == '\0'; i++)
        o->fabric.hop_s[i] = step_s;
}

static double hop_of(const hw_generator_params *p)
{
    return p->latency_s + p->switch_latency_s;
}

/* The levels of a fat tree: one per tier of blocks. */
static void add_tree_levels(halley_cluster *c, const hw_generator_params *p)
{
    double npus = 1, over = 1, step_s = 0;
    const double planes =
        p->planes > 1 && p->plane_wiring == HW_PLANES_EVERY ? p->planes : 1;
    const double port = p->n_tiers > 0 ? p->tiers[0].link_Bps * planes : p->link_Bps;
    for (uint32_t i = 0; i < p->n_m; i++) {
        const hw_tier_params *t = &p->tiers[i];
        const double latency =
            p->n_tiers > 0 && t->latency_s >= 0 ? t->latency_s : p->latency_s;
        const double parallel = i < p->n_p && p->p[i] > 0 ? p->p[i] : 1;
        if (i > 0) {
            const double below = p->n_tiers > 0 ? p->tiers[i - 1].link_Bps : 1;
            const double above = p->n_tiers > 0 ? t->link_Bps : 1;
            const double before = i - 1 < p->n_p && p->p[i - 1] > 0 ? p->p[i - 1] : 1;
            over *= p->m[i - 1] * before * below / (p->w[i] * parallel * above);
        }
        npus *= p->m[i];
        step_s += 2 * (latency + p->switch_latency_s);
        const char *name = "";
        if (p->n_tiers > 0 && t->name.n > 0)
            name = arena_copy(&c->memory, t->name);
        add_level(c, name == NULL ? "" : name, npus, port, over, step_s);
    }
}

static void add_rail_levels(halley_cluster *c, const hw_generator_params *p)
{
    const double per_leaf = p->nodes_per_leaf > 0 ? p->nodes_per_leaf : p->nodes;
    const double nics = p->nics > 0 ? p->nics : p->npus;
    const double port = p->link_Bps * nics / p->npus;
    add_level(c, "leaf", per_leaf * p->npus, port, 1, 2 * hop_of(p));
    if (p->spines > 0 && per_leaf < p->nodes)
        add_level(c, "spine", 0, port,
                  per_leaf / ((double)p->spines * (p->cables > 0 ? p->cables : 1)),
                  4 * hop_of(p));
}

static void add_dragonfly_levels(halley_cluster *c, const hw_generator_params *p)
{
    const bool plus = p->l > 0;
    const double hosts = p->hosts_per_switch, h = p->h;
    const double group = plus ? hosts * p->l : hosts * p->a;
    const double global = plus ? (double)p->s * h : p->a * h;
    add_level(c, "group", group, p->link_Bps, 1, 3 * hop_of(p));
    add_level(c, "global", 0, p->link_Bps, group / global, 5 * hop_of(p));
}

/* The number of NPUs in one node if the file states no link inside nodes; 0 = all. */
static uint32_t find_own_node(const hw_generator_params *p)
{
    static const char *const one[] = {"ring",          "torus",     "mesh",
                                      "twisted-torus", "ocs-torus", "dgx-1",
                                      "nvl",           "switch",    "fully-connected"};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (str_eq(p->topology, str_from(one[i])))
            return 0;
    return str_starts(p->topology, STR("rail-")) && !p->no_node_switch ? p->npus : 1;
}

/* The link inside such a node: plain, without library constants. */
static void make_own_link(halley_cluster *c, const hw_generator_params *p, uint32_t n)
{
    halley_link *up = &c->nodes.up;
    const bool torus = p->n_dims > 0 || str_eq(p->topology, STR("ring"));
    const bool rails = str_starts(p->topology, STR("rail-"));
    const bool hub =
        rails || str_eq(p->topology, STR("nvl")) || str_eq(p->topology, STR("switch"));
    double Bps = rails ? p->node_link_Bps : p->link_Bps;
    if (torus)
        Bps *= 2; /* both directions of an axis */
    if (str_eq(p->topology, STR("nvl")))
        Bps *= p->s;
    if (str_eq(p->topology, STR("fully-connected")) && n > 1)
        Bps *= n - 1;
    if (str_eq(p->topology, STR("dgx-1")))
        Bps *= 6;
    *up = (halley_link){
        .name = "plain",
        .bandwidth_Bps = Bps,
        .simple = {.hop_s = (hub ? 2 : 1) * (rails ? p->node_latency_s : hop_of(p)),
                   .share = 1},
        .all_to_all = torus                                         ? HALLEY_A2A_ROUND
                      : str_eq(p->topology, STR("fully-connected")) ? HALLEY_A2A_AT_ONCE
                                                                    : HALLEY_A2A_IN_TURN,
        .torus = true};
    c->plain = true;
}

static void add_outer_levels(halley_cluster *c, const hw_generator_params *p)
{
    c->n_outer = 0;
    if (str_starts(p->topology, STR("rail-")))
        add_rail_levels(c, p);
    else if (str_starts(p->topology, STR("dragonfly")))
        add_dragonfly_levels(c, p);
    else if (p->n_m > 0)
        add_tree_levels(c, p);
    else if (p->T > 0) /* HyperX: one half of a line's switches to the other half */
        add_level(c, "", 0, p->link_Bps,
                  2.0 * p->T / ((double)(p->K > 0 ? p->K : 1) * p->dims[0]),
                  (p->n_dims + 2) * hop_of(p));
    else if (p->n_dims > 0 || str_eq(p->topology, STR("ring")))
        add_level(c, "", 0, 2 * p->link_Bps, 1, hop_of(p));
    else
        add_level(c, "", 0, p->link_Bps, 1, 2 * hop_of(p));
}

/* The number of NPUs in the block of a switch, if all its cables go to this block; else
 * 0. */
static uint32_t count_block(const hw_graph *g, uint32_t hub, uint32_t npu)
{
    const uint32_t n = g->dev_first[hub + 1] - g->dev_first[hub];
    uint32_t first = npu;
    for (uint32_t k = g->dev_first[hub]; k < g->dev_first[hub + 1]; k++)
        first = g->link_to[g->adj_link[k]] < first ? g->link_to[g->adj_link[k]] : first;
    for (uint32_t k = g->dev_first[hub]; k < g->dev_first[hub + 1]; k++)
        if (g->link_to[g->adj_link[k]] - first >= n)
            return 0;
    return first % n == 0 ? n : 0;
}

/* The bandwidth of an NPU to a switch of its own block, which has `*block` NPUs, and to
 * everything else. */
static void split_ports(const hw_graph *g, uint32_t npu, uint32_t *block, double *in_Bps,
                        double *out_Bps, double *in_s)
{
    *block = 0;
    *in_Bps = *out_Bps = *in_s = 0;
    for (uint32_t k = g->dev_first[npu]; k < g->dev_first[npu + 1]; k++) {
        const uint32_t link = g->adj_link[k], to = g->link_to[link];
        const uint32_t n =
            g->dev_kind[to] == HW_DEVICE_SWITCH ? count_block(g, to, npu) : 0;
        const bool inside = n > 1 && n < g->n_npus && (*block == 0 || *block == n);
        *(inside ? in_Bps : out_Bps) += fmax(0, g->link_Bps[link]);
        if (inside) {
            *block = n;
            *in_s = fmax(*in_s, g->link_latency_s[link]);
        }
    }
}

/*
 * Find the nodes of a network with explicit cables. A node is a block of consecutive NPUs
 * with switches that connect only this block. All blocks have the same size. Their NPUs
 * have more bandwidth inside than to the rest. The closed forms then use these nodes;
 * otherwise every NPU is a node.
 */
static void find_nodes(halley_cluster *c, const hw_graph *g)
{
    uint32_t block = 0;
    double least_Bps = HUGE_VAL, most_s = 0;
    for (uint32_t i = 0; i < g->n_npus; i++) {
        uint32_t n;
        double in_Bps, out_Bps, in_s;
        split_ports(g, i, &n, &in_Bps, &out_Bps, &in_s);
        if (n == 0 || (i > 0 && n != block) || !(in_Bps > out_Bps) || !(out_Bps > 0))
            return;
        block = n;
        least_Bps = fmin(least_Bps, in_Bps);
        most_s = fmax(most_s, in_s);
    }
    assert(block > 1 && g->n_npus % block == 0);
    c->nodes.npus = block;
    c->nodes.up.bandwidth_Bps = least_Bps;
    c->nodes.up.simple.hop_s = 2 * most_s;
    c->nodes.up.all_to_all = HALLEY_A2A_IN_TURN;
}

/* The bandwidth of an NPU to NPUs outside its node. */
static double sum_ports(const hw_graph *g, uint32_t npu, bool has_nodes)
{
    uint32_t block;
    double in_Bps, out_Bps, in_s;
    split_ports(g, npu, &block, &in_Bps, &out_Bps, &in_s);
    return has_nodes ? out_Bps : in_Bps + out_Bps;
}

/* Levels of a network with explicit cables: an NPU's own cables, and the bandwidth
 * between halves. */
static halley_status measure_levels(halley_cluster *c, const hw_graph *g,
                                    halley_error *err)
{
    double port = HUGE_VAL, step_s = 0, out_Bps = 0;
    const bool has_nodes = !c->graph_joins_nodes && c->nodes.npus > 1;
    for (uint32_t i = 0; i < g->n_npus; i++)
        port = fmin(port, sum_ports(g, i, has_nodes));
    for (uint32_t i = 0; i < g->n_links; i++)
        step_s = fmax(step_s, 2 * fmax(0, g->link_latency_s[i]));
    hw_endpoints ends;
    halley_status status = hw_graph_endpoints(&ends, g, err);
    if (status == HALLEY_OK && ends.n > 1)
        status = hw_graph_half_cut(&out_Bps, g, &ends, err);
    if (status == HALLEY_OK) {
        const uint32_t half = ends.n / 2;
        const double over = out_Bps > 0 ? half * port / out_Bps : 1;
        c->n_outer = 0;
        add_level(c, "", 0, port, over, step_s);
        if (over > 2)
            hw_note(c,
                    "closed forms see the network as one level, on which all NPUs cross "
                    "its middle at once (1:%s); groups on one side of it are faster: "
                    "use halley sim, which shares links one by one",
                    number_digits(over, 3).at);
        free(ends.at);
    }
    return status;
}

static halley_status measure_edges(halley_cluster *c, const hw_generator_params *p,
                                   halley_error *err)
{
    hw_graph *g;
    TRY(hw_graph_generate(&g, p, err));
    if (!c->graph_joins_nodes)
        find_nodes(c, g);
    const halley_status status = measure_levels(c, g, err);
    hw_graph_free(g);
    return status;
}

/* A generator supplied by a program: one node with all NPUs, or nodes that it
 * connects. */
static halley_status set_own_levels(halley_cluster *c, uint32_t n, halley_error *err)
{
    hw_graph *g;
    const uint32_t node = c->graph_joins_nodes ? c->nodes.npus : 1;
    n = n == 0 ? c->n_npus : n;
    TRY(hw_own_generate(&g, c->generator, (n - 1) / node * node + node, err));
    c->n_npus = n;
    halley_status status = hw_graph_check_known(g, err);
    if (status == HALLEY_OK)
        status = measure_levels(c, g, err);
    if (status == HALLEY_OK && !c->graph_joins_nodes) {
        c->nodes.npus = 1;
        c->nodes.up = (halley_link){.name = "plain",
                                    .bandwidth_Bps = c->outer[0].fabric.bandwidth_Bps,
                                    .simple = {.share = 1},
                                    .torus = true};
        c->plain = true;
    }
    hw_graph_free(g);
    return status;
}

/* Rings, tori and meshes are grids of NPUs. In a twisted torus, boxes share links in
 * other ways. */
static void set_grid(halley_cluster *c, const hw_generator_params *p)
{
    const bool is_mesh = str_eq(p->topology, STR("mesh"));
    c->n_grid_dims = 0;
    c->grid_wraps = !is_mesh;
    if (!is_mesh && !str_eq(p->topology, STR("ring")) &&
        !str_eq(p->topology, STR("torus")) && !str_eq(p->topology, STR("ocs-torus")))
        return;
    for (uint32_t i = 0; i < p->n_dims && p->n_shifts == 0; i++)
        c->grid_dims[c->n_grid_dims++] = p->dims[i];
}

static halley_status make_levels(halley_cluster *c, hw_generator_params *p,
                                 halley_error *err)
{
    set_grid(c, p);
    const bool own = !c->graph_joins_nodes;
    if (own) {
        const uint32_t node = find_own_node(p);
        c->nodes.npus = node == 0 ? c->n_npus : node;
        make_own_link(c, p, c->nodes.npus);
    }
    if (p->n_edges > 0 || str_eq(p->topology, STR("file")))
        return measure_edges(c, p, err);
    if (own && c->nodes.npus == c->n_npus)
        c->n_outer = 0;
    else
        add_outer_levels(c, p);
    return HALLEY_OK;
}

static halley_status refuse_count(const hw_counts *counts, uint32_t n, halley_error *err)
{
    return error_set(
        err, HALLEY_EINVAL,
        "the network has %llu NPUs, and %u are asked for: its sizes are fixed; "
        "leave out those that follow from the number of NPUs, or state others",
        (unsigned long long)counts->npus, n);
}

bool hw_graph_needs_count(const halley_cluster *c)
{
    hw_generator_params p[2];
    for (uint32_t n = 0; n < 2; n++) {
        arena memory = {0};
        conf_file file;
        const halley_status status =
            hw_graph_params_get(&p[n], &file, &memory, c, n, NULL);
        if (status == HALLEY_OK)
            conf_fini(&file);
        arena_fini(&memory);
        if (status != HALLEY_OK)
            return false;
    }
    return p[0].n != p[1].n || p[0].nodes != p[1].nodes;
}

halley_status hw_graph_count_set(halley_cluster *c, uint32_t n, halley_error *err)
{
    arena memory = {0};
    conf_file file;
    hw_generator_params p;
    hw_counts counts = {0};
    if (c->generator != NULL)
        return set_own_levels(c, n, err);
    TRY(hw_graph_params_get(&p, &file, &memory, c, n, err));
    const hw_generator *row = hw_generator_find(p.topology);
    halley_status status = hw_graph_complete(&counts, &p, err);
    const uint32_t g = c->graph_joins_nodes ? c->nodes.npus : 1;
    if (status == HALLEY_OK && row->build == NULL && row->make == NULL)
        status = error_set(err, HALLEY_EINVAL,
                           "%s can be counted, but its cables are not known", row->name);
    if (status == HALLEY_OK && counts.npus > HW_MOST_NPUS)
        status = error_set(err, HALLEY_ELIMIT,
                           "the network has %llu NPUs, and at most %d are handled",
                           (unsigned long long)counts.npus, HW_MOST_NPUS);
    if (status == HALLEY_OK && counts.npus == 0)
        status = error_set(err, HALLEY_EFORMAT,
                           "the network has no NPUs, only switches and hosts: name a "
                           "topology with NPUs, or describe the nodes in a cluster "
                           "file");
    if (status == HALLEY_OK && n == 0)
        n = (uint32_t)counts.npus;
    if (status == HALLEY_OK && (n > counts.npus || counts.npus - n >= g))
        status = refuse_count(&counts, n, err);
    if (status == HALLEY_OK) {
        c->n_npus = n;
        status = make_levels(c, &p, err);
    }
    conf_fini(&file);
    arena_fini(&memory);
    return status;
}

/* ---- reading ---- */

static halley_status read_wiring(const hw_reader *r, const conf_node *map)
{
    halley_cluster *c = r->c;
    wiring_text t = {.pxn = true};
    arena memory = {0};
    conf_node own;
    char name[HALLEY_NAME];
    halley_status status = split_map(&own, &memory, map, true, r->err);
    if (status == HALLEY_OK)
        status =
            conf_read(&t, r->file, &own, HW_FIELDS(wiring_fields), true, NULL, r->err);
    arena_fini(&memory);
    TRY(status);
    if (t.ties.n > 0 && !str_eq(t.ties, STR("up")) && !str_eq(t.ties, STR("split")))
        return conf_error(r->file, conf_find(map, "ties"), r->err, HALLEY_EINVAL,
                          "ties must be up or split, is \"%.*s\"", STR_ARG(t.ties));
    c->routing = t.routing;
    c->wiring = (hw_wiring){.routing_given = conf_find(map, "routing") != NULL,
                            .no_pxn = !t.pxn,
                            .split_ties = str_eq(t.ties, STR("split")),
                            .weighted = t.weighted,
                            .polarised = t.polarised,
                            .seed = t.seed};
    c->graph_fabric = (halley_fabric){.share = HW_FABRIC_SHARE};
    if (t.fabric.n == 0)
        return HALLEY_OK;
    TRY(cluster_name_copy(name, t.fabric, r->err));
    return cluster_fabric_load(&c->graph_fabric, name, r->err);
}

halley_status hw_read_graph(const hw_reader *r, const conf_node *map)
{
    halley_cluster *c = r->c;
    strbuf text = {0};
    TRY(read_wiring(r, map));
    hw_node_print(&text, map);
    c->graph_text = text.failed ? NULL : arena_copy(&c->memory, strbuf_str(&text));
    strbuf_fini(&text);
    if (c->graph_text == NULL)
        return error_nomem(r->err);
    c->network = HW_NETWORK_GRAPH;
    c->outer[0] = (hw_outer){.name = "", .oversubscription = 1, .fabric = {.share = 1}};
    c->graph_joins_nodes = c->nodes.up.bandwidth_Bps > 0 && c->nodes.npus > 0;
    /* Errors are reported at their place in the file. */
    arena memory = {0};
    conf_node own;
    hw_generator_params p = {0};
    halley_status status = split_map(&own, &memory, map, false, r->err);
    if (status == HALLEY_OK)
        status = hw_generator_read(&p, &memory, r->file, &own, r->err);
    c->has_events = status == HALLEY_OK && p.n_events > 0;
    arena_fini(&memory);
    return status;
}
