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
 * Energy at 0.1 USD/kWh, four years of life and 30 % of full power when idle are
 * assumptions of the order that operators report. So is the PUE: 1.2, or 1.4 with air and
 * 1.12 with liquids.
 */
#include "hw/cost.h"
#include "hw/price_list.h"
#include "hw/schema.h"

#include <assert.h>
#include <stddef.h>

/* Scale-up constants are those of hw/price_list.c, per GB/s. */
const halley_cost hw_cost_default = {.host_usd = -1,
                                     .host_w = -1,
                                     .up_usd_per_Bps = 4.2e-9,
                                     .up_w_per_Bps = 0.208e-9,
                                     .up_link_usd_per_Bps = 10e-9,
                                     .up_radix = 72,
                                     .up_copper_reach = 72,
                                     .rack_w = 40e3,
                                     .network_usd_per_gbps = -1,
                                     .switch_usd = -1,
                                     .copper_usd = -1,
                                     .optical_usd = -1,
                                     .nic_usd = -1,
                                     .switch_w = -1,
                                     .optics_w = -1,
                                     .nic_w = -1,
                                     .node_factor = 1.47,
                                     .power_idle = 0.3,
                                     .pue = 1.2,
                                     .energy_usd_per_J = 0.1 / 3.6e6,
                                     .carbon_g_per_kWh = 480,
                                     .years = 4};
const halley_failures hw_failures_default = {
    .npu_mtbf_s = 50000.0 * 3600, .checkpoint_s = 60, .restart_s = 600};

enum { COOLING_NOT_STATED, COOLING_AIR, COOLING_LIQUID };
static const char *const coolings[] = {"not-stated", "air", "liquid", NULL};
static const double pue_by_cooling[] = {1.2, 1.4, 1.12};

typedef struct cost_text {
    double npu, npu_power, node; /* node < 0: not given */
    double up_usd_per_GBps, up_w_per_GBps, up_optics_per_GBps;
    uint32_t cooling;
    halley_cost cost;
    const conf_node *link;
} cost_text;
#define COST(key_, unit_, member, doc_)                                                  \
    .key = key_, .type = CONF_TYPE_QUANTITY, .unit = unit_,                              \
    .offset = offsetof(cost_text, member), .doc = doc_
#define BY_RATE "by the rate of the links (help prices)"
static const conf_field cost_fields[] = {
    {COST("npu", UNITS_MONEY, npu, "price of an NPU"), .max = 1e12,
     .by_default = "price of the NPU's preset", .example = "28000 USD"},
    {COST("host", UNITS_MONEY, cost.host_usd,
          "price of a host without its NPUs and network cards; nodes.host says how many "
          "NPUs it has"),
     .max = 1e12, .by_default = "unknown: money is then a lower bound",
     .example = "45000 USD"},
    {COST("host-power", UNITS_POWER, cost.host_w,
          "nameplate power of a host without its NPUs and scale-up switches"),
     .max = 1e9, .by_default = "by node-factor", .example = "4.2 kW"},
    {COST("node", UNITS_MONEY, node,
          "old: price of a scale-up domain without its NPUs, read as its hosts' price"),
     .max = 1e12, .by_default = "host", .example = "60000 USD", .was = "cost.per-node"},
    {COST(
         "up-per-gbps", UNITS_MONEY, up_usd_per_GBps,
         "price of scale-up switches, per GB/s and direction of each NPU: half on boards "
         "of up to 16, 2t - 1 times with t tiers"),
     .max = 1e9, .by_default = "4.2 USD", .example = "4.2 USD"},
    {COST("up-w-per-gbps", UNITS_POWER, up_w_per_GBps,
          "power of scale-up switches, counted as up-per-gbps"),
     .max = 1e6, .by_default = "0.208 W", .example = "0.208 W"},
    {COST("up-link", UNITS_MONEY, up_optics_per_GBps,
          "price of optical scale-up cables, per GB/s and direction of each NPU"),
     .max = 1e9, .by_default = "10 USD", .example = "10 USD"},
    {COST("up-radix", UNITS_COUNT, cost.up_radix,
          "NPUs that one tier of scale-up switches connects"),
     .min = 4, .max = 1e6, .by_default = "72", .example = "144"},
    {COST("up-copper-reach", UNITS_COUNT, cost.up_copper_reach,
          "NPUs of a domain up to which its cables are copper"),
     .max = 1e9, .by_default = "72", .example = "144"},
    {COST("rack", UNITS_MONEY, cost.rack_usd,
          "price of a rack: busbar, manifold, cables, cooling parts"),
     .max = 1e12, .by_default = "0", .example = "90000 USD"},
    {COST("rack-power", UNITS_POWER, cost.rack_w, "power that a rack can supply"),
     .min = 1, .max = 1e9, .by_default = "40 kW", .example = "132 kW"},
    {COST("network-per-gbps", UNITS_MONEY, cost.network_usd_per_gbps,
          "price of the whole network, per Gb/s of each NPU's bandwidth between nodes, "
          "instead of counting its parts"),
     .max = 1e12, .by_default = "counted", .example = "8 USD"},
    {COST("switch", UNITS_MONEY, cost.switch_usd, "price of a switch between hosts"),
     .max = 1e12, .example = "40000 USD", .by_default = BY_RATE},
    {.key = "link",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(cost_text, link),
     .doc = "price of a cable with both ends by medium; cables between switches are "
            "optical",
     .example = "{copper: 200 USD, optical: 1480 USD}",
     .by_default = BY_RATE},
    {COST("nic", UNITS_MONEY, cost.nic_usd, "price of a network card"), .max = 1e12,
     .example = "1500 USD", .by_default = BY_RATE},
    {COST("switch-power", UNITS_POWER, cost.switch_w, "power of a switch between hosts"),
     .max = 1e9, .example = "1100 W", .by_default = BY_RATE},
    {COST("optics-power", UNITS_POWER, cost.optics_w, "power of an optical module"),
     .max = 1e6, .example = "8.5 W", .by_default = BY_RATE},
    {COST("nic-power", UNITS_POWER, cost.nic_w, "power of a network card"), .max = 1e6,
     .example = "25 W", .by_default = BY_RATE},
    {COST("building-per-w", UNITS_MONEY, cost.building_usd_per_w,
          "price of the building per W of nameplate power"),
     .max = 1e6, .by_default = "0: it is not bought", .example = "12 USD"},
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
     .min = 1, .max = 100, .by_default = "by cooling", .example = "1.1"},
    {.key = "cooling",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(cost_text, cooling),
     .names = coolings,
     .doc = "sets pue: 1.4 with air, 1.12 with liquids, 1.2 where it is not stated",
     .by_default = "not-stated",
     .example = "liquid"},
    {COST("energy", UNITS_PRICE, cost.energy_usd_per_J, "price of energy"), .max = 1e6,
     .by_default = "0.1 USD/kWh", .example = "0.1 USD/kWh"},
    {COST("colocation", UNITS_MONEY, cost.colocation_usd,
          "what a data centre charges per kW of nameplate power and month, with energy"),
     .max = 1e6, .by_default = "0: energy is paid instead", .example = "130 USD"},
    {COST("years", UNITS_COUNT, cost.years, "years over which capital is written off"),
     .min = 1e-3, .max = 1000, .by_default = "4", .example = "5"},
    {COST("capital-rate", UNITS_SHARE, cost.capital_rate, "cost of capital per year"),
     .max = 1, .by_default = "0: a straight line", .example = "10 %"},
    {COST("residual", UNITS_SHARE, cost.residual,
          "share of capital that is left after these years"),
     .max = 1, .by_default = "0", .example = "15 %"},
    {COST("support", UNITS_SHARE, cost.support,
          "support and spare parts per year, as a share of capital"),
     .max = 10, .by_default = "0", .example = "4 %"},
    {COST("rent", UNITS_RENT, cost.rent_usd_per_s,
          "rent of an NPU, which replaces capital; energy is counted in addition"),
     .max = 1e6, .by_default = "0: the cluster is bought", .example = "2.5 USD/h"},
    {COST("carbon", UNITS_COUNT, cost.carbon_g_per_kWh,
          "grams of carbon dioxide per kWh of energy"),
     .max = 1e5, .by_default = "480: the world's mean in 2023", .example = "56"},
    {COST("embodied", UNITS_COUNT, cost.embodied_kg,
          "kilograms of carbon dioxide from making a host with its NPUs"),
     .max = 1e9, .by_default = "0", .example = "2500"},
};
const hw_part hw_part_cost = {"cost", "cost", HW_FIELDS(cost_fields)};

static const conf_field link_fields[] = {
    CONF_FIELD(halley_cost, "copper", CONF_TYPE_QUANTITY, UNITS_MONEY, copper_usd, false,
               "price of a copper cable"),
    CONF_FIELD(halley_cost, "optical", CONF_TYPE_QUANTITY, UNITS_MONEY, optical_usd,
               false, "price of an optical cable with both modules"),
};

static void set_price(halley_cluster *c, const cost_text *t, bool price, bool power)
{
    for (uint32_t k = 0; k < halley_cluster_kind_count(c); k++) {
        halley_npu *npu = k == 0 ? &c->npu : &c->other_kinds[k - 1];
        npu->price_usd = price ? t->npu : npu->price_usd;
        npu->power_w = power ? t->npu_power : npu->power_w;
    }
}

/* What a file states of whole nodes becomes figures of hosts, so that they stay true when
 * a study changes the size of a domain. */
static void set_hosts(halley_cluster *c, const cost_text *t)
{
    if (t->node >= 0 && c->cost.host_usd < 0)
        hw_cost_set_node(c, t->node);
    if (c->nodes.stated_w > 0 && c->cost.host_w < 0)
        hw_power_set_host(c, c->nodes.stated_w);
}

halley_status hw_read_cost(const hw_reader *r, const conf_node *map)
{
    cost_text t = {.node = -1,
                   .cost = hw_cost_default,
                   .up_usd_per_GBps = hw_price_get(HW_PRICE_UP)->typical,
                   .up_w_per_GBps = hw_price_get(HW_POWER_UP)->typical,
                   .up_optics_per_GBps = hw_price_get(HW_PRICE_UP_OPTICS)->typical};
    t.cost.pue = 0;
    if (map != NULL)
        TRY(conf_read(&t, r->file, map, HW_FIELDS(cost_fields), true, NULL, r->err));
    if (t.link != NULL)
        TRY(conf_read(&t.cost, r->file, t.link, HW_FIELDS(link_fields), true, NULL,
                      r->err));
    if (t.cost.pue == 0)
        t.cost.pue = pue_by_cooling[t.cooling];
    t.cost.up_usd_per_Bps = t.up_usd_per_GBps * 1e-9;
    t.cost.up_w_per_Bps = t.up_w_per_GBps * 1e-9;
    t.cost.up_link_usd_per_Bps = t.up_optics_per_GBps * 1e-9;
    r->c->cost = t.cost;
    set_price(r->c, &t, map != NULL && conf_find(map, "npu") != NULL,
              map != NULL && conf_find(map, "power-per-npu") != NULL);
    set_hosts(r->c, &t);
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
