/*
 * hw/read/read_cost.c - the parts `cost` and `failures`. Their defaults are defined only
 * here.
 *
 * Failures: Llama 3 405B had one interruption per 50,000 hours of an NPU. There were 419
 * unexpected ones in 54 days on 16,384 GPUs ("The Llama 3 Herd of Models", 2024, section
 * 3.3.4). One minute per checkpoint and ten minutes per restart are of the order reported
 * there. They depend on storage and launcher, so users should set their own.
 *
 * Power: a node at load draws 1.47 times the power of its NPUs. The source is 6,848 W
 * (AC) for 8 H100 of 700 W at 83 % (Supermicro, MLPerf Training v4.0 power, 64 nodes,
 * GPT-3).
 *
 * Energy at 0.1 USD/kWh, a PUE of 1.2, four years of life and 30 % of full power when
 * idle are assumptions of the order that operators report.
 */
#include "hw/cost.h"
#include "hw/count.h"
#include "hw/schema.h"

#include <assert.h>
#include <stddef.h>

const halley_cost hw_cost_default = {.node_factor = 1.47,
                                     .power_idle = 0.3,
                                     .pue = 1.2,
                                     .energy_usd_per_J = 0.1 / 3.6e6,
                                     .years = 4};
const halley_failures hw_failures_default = {
    .npu_mtbf_s = 50000.0 * 3600, .checkpoint_s = 60, .restart_s = 600};

typedef struct cost_text {
    double npu, npu_power;
    halley_cost cost;
    const conf_node *link;
} cost_text;
#define COST(key_, unit_, member, doc_)                                                  \
    .key = key_, .type = CONF_TYPE_QUANTITY, .unit = unit_,                              \
    .offset = offsetof(cost_text, member), .doc = doc_
static const conf_field cost_fields[] = {
    {COST("npu", UNITS_MONEY, npu, "price of an NPU"), .max = 1e12,
     .by_default = "price of the NPU's preset", .example = "28000 USD"},
    {COST("node", UNITS_MONEY, cost.node_usd, "price of a node without its NPUs"),
     .max = 1e12, .by_default = "0", .example = "60000 USD", .was = "cost.per-node"},
    {COST("network-per-gbps", UNITS_MONEY, cost.network_usd_per_gbps,
          "price of the network, per Gb/s of each NPU's bandwidth between nodes"),
     .max = 1e12, .by_default = "0", .example = "8 USD"},
    {COST("switch", UNITS_MONEY, cost.switch_usd,
          "price of a switch, if the network is a topology or tiers"),
     .max = 1e12, .example = "25000 USD", .by_default = "0"},
    {.key = "link",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(cost_text, link),
     .doc = "price of a cable by medium; cables between switches are optical",
     .example = "{copper: 100 USD, optical: 900 USD}",
     .by_default = "0"},
    {COST("power-per-npu", UNITS_POWER, npu_power, "power of an NPU at full load"),
     .max = 1e9, .by_default = "power of the NPU's preset", .example = "700 W"},
    {COST("node-factor", UNITS_COUNT, cost.node_factor,
          "power of a node under load relative to the power of its NPUs"),
     .min = 1, .max = 100, .by_default = "1.47", .example = "1.6"},
    {COST("power-idle", UNITS_SHARE, cost.power_idle,
          "power of an idle NPU, as a share of full power"),
     .max = 1, .by_default = "0.3", .example = "30 %"},
    {COST("pue", UNITS_COUNT, cost.pue,
          "power of the building relative to the power of the machines"),
     .min = 1, .max = 100, .by_default = "1.2", .example = "1.1"},
    {COST("energy", UNITS_PRICE, cost.energy_usd_per_J, "price of energy"), .max = 1e6,
     .by_default = "0.1 USD/kWh", .example = "0.1 USD/kWh"},
    {COST("years", UNITS_COUNT, cost.years, "years over which capital is written off"),
     .min = 1e-3, .max = 1000, .by_default = "4", .example = "5"},
    {COST("rent", UNITS_RENT, cost.rent_usd_per_s,
          "rent of an NPU, which replaces capital; energy is counted in addition"),
     .max = 1e6, .by_default = "0: the cluster is bought", .example = "2.5 USD/h"},
};
const hw_part hw_part_cost = {"cost", "cost", HW_FIELDS(cost_fields)};

static const conf_field link_fields[] = {
    CONF_FIELD(halley_cost, "copper", CONF_TYPE_QUANTITY, UNITS_MONEY, copper_usd, false,
               "price of a copper cable"),
    CONF_FIELD(halley_cost, "optical", CONF_TYPE_QUANTITY, UNITS_MONEY, optical_usd,
               false, "price of an optical cable"),
};

static void set_price(halley_cluster *c, const cost_text *t, bool price, bool power)
{
    for (uint32_t k = 0; k < halley_cluster_kind_count(c); k++) {
        halley_npu *npu = k == 0 ? &c->npu : &c->other_kinds[k - 1];
        npu->price_usd = price ? t->npu : npu->price_usd;
        npu->power_w = power ? t->npu_power : npu->power_w;
    }
}

halley_status hw_read_cost(const hw_reader *r, const conf_node *map)
{
    cost_text t = {.cost = hw_cost_default};
    r->c->cost = t.cost;
    if (map == NULL)
        return HALLEY_OK;
    TRY(conf_read(&t, r->file, map, HW_FIELDS(cost_fields), true, NULL, r->err));
    if (t.link != NULL)
        TRY(conf_read(&t.cost, r->file, t.link, HW_FIELDS(link_fields), true, NULL,
                      r->err));
    r->c->cost = t.cost;
    set_price(r->c, &t, conf_find(map, "npu") != NULL,
              conf_find(map, "power-per-npu") != NULL);
    const bool counted =
        r->c->network == HW_NETWORK_TIERS || r->c->network == HW_NETWORK_GRAPH;
    if (!counted &&
        (t.cost.switch_usd > 0 || t.cost.copper_usd > 0 || t.cost.optical_usd > 0))
        hw_note(r->c, "cost.switch and cost.link are not counted: only networks that are "
                      "a topology or tiers know their switches and cables");
    return HALLEY_OK;
}

#define FAILURE(key_, member, doc_, default_)                                            \
    {                                                                                    \
        .key = key_, .type = CONF_TYPE_QUANTITY, .unit = UNITS_TIME,                     \
        .offset = offsetof(halley_failures, member), .min = 0, .max = 1e15, .doc = doc_, \
        .by_default = default_, .example = default_                                      \
    }
static const conf_field failure_fields[] = {
    FAILURE("npu-mtbf", npu_mtbf_s,
            "mean time between interruptions that one NPU causes; 0 = nothing fails",
            "50000 h"),
    FAILURE("checkpoint", checkpoint_s, "time to write a checkpoint", "60 s"),
    FAILURE("restart", restart_s, "time from an interruption until training continues",
            "10 min"),
};
const hw_part hw_part_failures = {"failures", "failures", HW_FIELDS(failure_fields)};

halley_status hw_read_failures(const hw_reader *r, const conf_node *map)
{
    r->c->failures = hw_failures_default;
    if (map == NULL)
        return HALLEY_OK;
    return conf_read(&r->c->failures, r->file, map, HW_FIELDS(failure_fields), true, NULL,
                     r->err);
}

const halley_cost *halley_cluster_cost(const halley_cluster *cluster)
{
    return &cluster->cost;
}

const halley_failures *halley_cluster_failures(const halley_cluster *cluster)
{
    return &cluster->failures;
}

/* The price of an NPU's memories that are bought separately. All NPUs share a pool's
 * price. */
static double tier_price(const halley_cluster *c, double n_paid)
{
    double usd = 0;
    for (uint32_t i = 0; i < c->npu.n_tiers; i++) {
        const halley_tier *t = &c->npu.tiers[i];
        const double users = t->kind == HALLEY_TIER_PER_NPU    ? 1
                             : t->kind == HALLEY_TIER_PER_NODE ? c->nodes.npus
                                                               : n_paid;
        assert(users > 0);
        usd += t->capacity_bytes * t->price_usd_per_byte / users;
    }
    return usd;
}

/* The fraction of the counted network that belongs to n NPUs. */
static double share_network(const halley_cluster *c, double n_npus)
{
    return c->n_npus > 0 ? n_npus / c->n_npus : 1;
}

double hw_cost_capital(const halley_cluster *c, double n_npus)
{
    const halley_cost *cost = &c->cost;
    const double per_Bps = cost->network_usd_per_gbps / (1e9 / 8);
    const double paid = hw_count_paid(c, n_npus);
    assert(c->nodes.npus > 0);
    if (cost->rent_usd_per_s > 0)
        return 0;
    return paid * (c->npu.price_usd + cost->node_usd / c->nodes.npus +
                   per_Bps * hw_outer_fabric(c)->bandwidth_Bps + tier_price(c, paid)) +
           c->network_usd * share_network(c, n_npus);
}

/* Nameplate power (W) of the whole nodes that n NPUs need, without the building. */
static double sum_plates(const halley_cluster *c, double n_npus)
{
    const double each = hw_count_together(c), paid = hw_count_paid(c, n_npus);
    const double unit_w = c->nodes.power_w > 0
                              ? c->nodes.power_w
                              : each * c->npu.power_w * c->cost.node_factor;
    return paid / each * unit_w;
}

double hw_power_nameplate(const halley_cluster *c, double n_npus)
{
    return (sum_plates(c, n_npus) + c->network_w * share_network(c, n_npus)) *
           c->cost.pue;
}

/* The power of nodes whose NPUs draw `npus_w`. The rest of a node (hosts, fans, power
 * supplies) draws its usual share, but no more than the nameplate power leaves for it. */
static double add_rest_of_nodes(const halley_cluster *c, double n_npus, double npus_w)
{
    const double plates_w = sum_plates(c, n_npus);
    const double full_w = hw_count_paid(c, n_npus) * c->npu.power_w;
    const double left_w = plates_w > full_w ? plates_w - full_w : 0;
    const double usual_w = npus_w * (c->cost.node_factor - 1);
    const double all_w = npus_w + (usual_w < left_w ? usual_w : left_w);
    return all_w < plates_w ? all_w : plates_w;
}

double hw_power_average(const halley_cluster *c, double n_npus, double busy)
{
    const halley_cost *cost = &c->cost;
    const double share = busy < 0 ? 0 : busy < 1 ? busy : 1;
    const double load = cost->power_idle + share * (1 - cost->power_idle);
    const double idle = hw_count_paid(c, n_npus) - n_npus; /* the rest of the last node */
    assert(idle > -1e-6);
    const double npus_w = (n_npus * load + idle * cost->power_idle) * c->npu.power_w;
    return (add_rest_of_nodes(c, n_npus, npus_w) +
            c->network_w * share_network(c, n_npus)) *
           cost->pue;
}
