/*
 * hw/bill.c - money and power as sums over counted things.
 *
 *   hosts     ceil(N / h): h NPUs per host, whatever a domain holds
 *   scale-up  N x bandwidth x f(n): f = 0.5 on a board (n <= 16), 1 for one tier of
 *             switches, 2t - 1 for t tiers; 0 for direct networks. Beyond the reach of
 *             copper, cables have optics at both ends.
 *   network   one tree of switches for each network card of a host, over all hosts, with
 *             as many tiers as are needed. A stated topology gives its own counts.
 *   memory    what exceeds the capacity and bandwidth that NPUs and hosts contain
 *   racks     ceil(power of NPUs and hosts / power of a rack)
 *
 * Prices per Gb/s make a link of twice the rate twice as expensive. A link above 400 Gb/s
 * is built from several at that rate, which is what such switches and modules contain.
 */
#include "halley/bill.h"

#include "base/str.h"
#include "hw/cluster.h"
#include "hw/cost.h"
#include "hw/count.h"
#include "hw/price_list.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { RADIX = 64, HALF_RADIX = RADIX / 2, ON_BOARD = 16 };
static const double hours_per_year = 365.25 * 24, hours_per_month = 365.25 * 2;

static double typical(hw_price_id id)
{
    return hw_price_get(id)->typical;
}

/* A price of the file, or the list's at this rate. */
static double price_at(double stated, hw_price_id id, double gbps)
{
    return stated >= 0 ? stated : typical(id) * gbps;
}

/* Tiers of scale-up switches above n NPUs; 0 = they are linked directly. */
static double count_up_tiers(const halley_cluster *c, double n)
{
    const double half = c->cost.up_radix / 2;
    double tiers = 1;
    if (c->nodes.shape != HW_SHAPE_SWITCH || n <= 1 ||
        c->nodes.up.all_to_all == HALLEY_A2A_ROUND)
        return 0;
    for (double reach = c->cost.up_radix; reach < n && half > 1; reach *= half)
        tiers++;
    return tiers;
}

/* Bandwidth of scale-up switches per bandwidth of an NPU. */
static double count_up_rate(const halley_cluster *c, double tiers)
{
    return tiers == 0 ? 0 : c->nodes.npus <= ON_BOARD ? 0.5 : 2 * tiers - 1;
}

static void add_scale_up(halley_bill *b, const halley_cluster *c)
{
    const double tiers = count_up_tiers(c, c->nodes.npus);
    const double rate_Bps = b->n_npus * c->nodes.up.bandwidth_Bps;
    const double switches_Bps = rate_Bps * count_up_rate(c, tiers);
    const bool far = tiers > 0 && c->nodes.npus > c->cost.up_copper_reach;
    const double optical_Bps = far ? rate_Bps * fmax(tiers - 1, 1) : 0;
    b->usd[HALLEY_BILL_SCALE_UP] =
        switches_Bps * c->cost.up_usd_per_Bps + optical_Bps * c->cost.up_link_usd_per_Bps;
    b->watts[HALLEY_BILL_SCALE_UP] = switches_Bps * c->cost.up_w_per_Bps;
}

/* Switches of a tree over `ends` links that is not oversubscribed. */
static double count_tree(double ends, double *tiers)
{
    double leaves = ends <= RADIX ? 0 : ceil(ends / HALF_RADIX);
    double reach = RADIX;
    *tiers = 1;
    while (reach < ends) {
        reach *= HALF_RADIX;
        ++*tiers;
    }
    return (*tiers - 1) * leaves + ceil(ends / RADIX);
}

/* A network that is stated as one bandwidth between nodes: a tree for each rail. */
static hw_network_count count_rails(const halley_cluster *c, double hosts)
{
    const double nics = hw_count_nics(c) * hw_count_host(c);
    const double rails = fmax(floor(nics), 1), ends = ceil(hosts * nics / rails);
    double tiers = 1;
    hw_network_count n = {.nics = hosts * nics,
                          .link_Bps = hw_outer_fabric(c)->bandwidth_Bps};
    n.link_Bps /= hw_count_nics(c);
    /* Rails of few hosts share a switch. */
    n.switches = ends > RADIX ? rails * count_tree(ends, &tiers)
                              : ceil(rails / floor(RADIX / ends));
    n.optical = rails * ends * tiers;
    return n;
}

static void add_group(hw_network_count *n, const cluster_dim *d, double groups)
{
    double tiers = 1;
    const double scale = d->bw_Bps / n->link_Bps;
    if (d->topology == CLUSTER_SWITCH) {
        n->switches += groups * count_tree(d->n, &tiers) * scale;
        n->nics += groups * d->n * scale;
        n->optical += groups * d->n * tiers * scale;
    } else {
        const double cables = d->topology == CLUSTER_RING ? d->n : d->n * (d->n - 1.) / 2;
        n->optical += groups * cables * scale;
    }
}

/* A list of dimensions: the first is inside the node. Links of other rates count as links
 * of the first rate. */
static hw_network_count count_dims(const halley_cluster *c, double npus)
{
    hw_network_count n = {.link_Bps = c->n_dims > 1 ? c->dims[1].bw_Bps : 1};
    for (uint32_t d = 1; d < c->n_dims && n.link_Bps > 0; d++)
        add_group(&n, &c->dims[d], npus / c->dims[d].n);
    return n;
}

static hw_network_count count_network(const halley_cluster *c, const halley_bill *b)
{
    if (c->network == HW_NETWORK_FABRIC)
        return count_rails(c, b->n_hosts);
    if (c->network == HW_NETWORK_DIMS)
        return count_dims(c, b->n_npus);
    hw_network_count n = c->counted;
    const double share = c->n_npus > 0 ? b->n_npus / hw_count_paid(c, c->n_npus) : 1;
    n.nics *= share;
    n.switches *= share;
    n.copper *= share;
    n.optical *= share;
    n.own_usd *= share;
    n.own_w *= share;
    return n;
}

static void add_network(halley_bill *b, const halley_cluster *c)
{
    const halley_cost *k = &c->cost;
    const hw_network_count n = count_network(c, b);
    const double gbps = n.link_Bps * 8e-9;
    const double optical = 2 * typical(HW_PRICE_OPTICS) + typical(HW_PRICE_FIBRE);
    b->n_nics = n.nics;
    b->n_switches = n.switches;
    b->n_cables = n.copper + n.optical;
    double usd = n.switches * price_at(k->switch_usd, HW_PRICE_SWITCH, RADIX * gbps) +
                 n.nics * price_at(k->nic_usd, HW_PRICE_NIC, gbps) +
                 n.copper * price_at(k->copper_usd, HW_PRICE_COPPER, gbps) +
                 n.optical * (k->optical_usd >= 0 ? k->optical_usd : optical * gbps);
    if (n.priced)
        usd = n.own_usd;
    else if (k->network_usd_per_gbps >= 0)
        usd = k->network_usd_per_gbps * 8e-9 * hw_outer_fabric(c)->bandwidth_Bps *
              b->n_npus;
    const double w = n.switches * price_at(k->switch_w, HW_POWER_SWITCH, RADIX * gbps) +
                     n.nics * price_at(k->nic_w, HW_POWER_NIC, gbps) +
                     n.optical * 2 * price_at(k->optics_w, HW_POWER_OPTICS, gbps);
    b->usd[HALLEY_BILL_NETWORK] = usd;
    b->watts[HALLEY_BILL_NETWORK] = n.powered ? n.own_w : w;
}

/* The devices of a memory tier. */
static double count_devices(const halley_cluster *c, const halley_tier *t, double npus)
{
    return t->kind == HALLEY_TIER_PER_NPU    ? npus
           : t->kind == HALLEY_TIER_PER_NODE ? ceil(npus / c->nodes.npus)
                                             : 1;
}

static void add_tier(halley_bill *b, const halley_cluster *c, uint32_t i)
{
    const halley_tier *t = &c->npu.tiers[i];
    const hw_memory_price list = hw_memory_price_find(t, i == 0);
    const double devices = count_devices(c, t, b->n_npus);
    const double groups = t->kind == HALLEY_TIER_HIERARCHICAL && c->remote.n_groups > 0
                              ? c->remote.n_groups
                              : 1;
    const double more = fmax(t->capacity_bytes - t->included_bytes, 0) * devices;
    const double faster = fmax(t->bandwidth_Bps - t->included_Bps, 0) * devices * groups;
    if (!t->price_given && !list.known && (more > 0 || faster > 0))
        b->missing |= 4u << i;
    const double per_byte = t->price_given ? t->price_usd_per_byte : list.usd_per_byte;
    const double per_Bps = t->rate_price_given ? t->price_usd_per_Bps : list.usd_per_Bps;
    b->usd[HALLEY_BILL_MEMORY] += more * per_byte + faster * per_Bps;
    b->watts[HALLEY_BILL_MEMORY] +=
        more * (t->power_given ? t->power_w_per_byte : list.w_per_byte);
}

/* NPUs of each kind; a cluster of one kind has no runs. */
static void add_npus(halley_bill *b, const halley_cluster *c)
{
    double usd = b->n_npus * c->npu.price_usd, watts = b->n_npus * c->npu.power_w;
    bool known = c->npu.price_usd > 0, imputed = c->npu.not_sold;
    if (c->n_kinds > 1)
        usd = watts = 0;
    for (uint32_t i = 0; c->n_kinds > 1 && i < c->n_kind_runs; i++) {
        const hw_kind_run *run = &c->kind_runs[i];
        const halley_npu *npu = halley_cluster_npu(c, run->kind);
        const double first = (double)run->first * c->nodes.npus;
        const double last = fmin((run->last + 1.) * c->nodes.npus, b->n_npus);
        if (!(last > first))
            continue;
        usd += (last - first) * npu->price_usd;
        watts += (last - first) * npu->power_w;
        known = known && npu->price_usd > 0;
        imputed = imputed || npu->not_sold;
    }
    b->usd[HALLEY_BILL_NPUS] = usd;
    b->watts[HALLEY_BILL_NPUS] = watts;
    b->missing |= known ? 0 : 1;
    b->state = imputed ? HALLEY_PRICE_IMPUTED : HALLEY_PRICE_KNOWN;
}

/* A host of unknown power draws its usual share of what its NPUs draw. */
static void add_hosts(halley_bill *b, const halley_cluster *c)
{
    const halley_cost *k = &c->cost;
    b->n_hosts = b->n_npus / hw_count_host(c);
    b->missing |= k->host_usd >= 0 ? 0 : 2;
    b->usd[HALLEY_BILL_HOSTS] = k->host_usd >= 0 ? b->n_hosts * k->host_usd : 0;
    b->watts[HALLEY_BILL_HOSTS] = k->host_w >= 0
                                      ? b->n_hosts * k->host_w
                                      : (k->node_factor - 1) * b->watts[HALLEY_BILL_NPUS];
}

static void add_racks(halley_bill *b, const halley_cluster *c)
{
    const double w = b->watts[HALLEY_BILL_NPUS] + b->watts[HALLEY_BILL_HOSTS];
    b->n_racks = ceil(w / c->cost.rack_w - 1e-9);
    b->usd[HALLEY_BILL_RACKS] = b->n_racks * c->cost.rack_usd;
}

void halley_bill_make(halley_bill *out, const halley_cluster *c, double n_npus)
{
    halley_bill b = {.n_npus = hw_count_paid(c, n_npus)};
    assert(n_npus > 0 && c->cost.rack_w > 0);
    add_npus(&b, c);
    add_hosts(&b, c);
    add_scale_up(&b, c);
    add_network(&b, c);
    for (uint32_t i = 0; i < c->npu.n_tiers; i++)
        add_tier(&b, c, i);
    add_racks(&b, c);
    double w = 0;
    for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++)
        w += b.watts[i];
    b.nameplate_w = w * c->cost.pue;
    b.usd[HALLEY_BILL_BUILDING] = b.nameplate_w * c->cost.building_usd_per_w;
    if (c->cost.rent_usd_per_s > 0) {
        for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++)
            b.usd[i] = 0;
        b.missing = 0;
        b.state = HALLEY_PRICE_KNOWN;
    }
    for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++)
        b.capital_usd += b.usd[i];
    if (b.missing != 0)
        b.state = HALLEY_PRICE_LOWER_BOUND;
    *out = b;
}

const char *halley_bill_key(halley_bill_item item)
{
    static const char *const keys[HALLEY_N_BILL_ITEMS] = {
        [HALLEY_BILL_NPUS] = "npus",         [HALLEY_BILL_HOSTS] = "hosts",
        [HALLEY_BILL_SCALE_UP] = "scale_up", [HALLEY_BILL_NETWORK] = "network",
        [HALLEY_BILL_MEMORY] = "memory",     [HALLEY_BILL_RACKS] = "racks",
        [HALLEY_BILL_BUILDING] = "building"};
    assert(item < HALLEY_N_BILL_ITEMS);
    return keys[item];
}

const char *halley_bill_missing(char *to, size_t size, const halley_cluster *c,
                                uint32_t missing)
{
    static const char *const words[] = {"npu price", "cost.host"};
    size_t n = 0;
    assert(size > 0);
    to[0] = '\0';
    for (uint32_t i = 0; i < 2 + HALLEY_MAX_TIERS && n < size; i++) {
        if ((missing >> i & 1) == 0)
            continue;
        n += (size_t)snprintf(to + n, size - n, "%s%s%s", n > 0 ? ", " : "",
                              i < 2 ? words[i] : c->npu.tiers[i - 2].name,
                              i < 2 ? "" : " price-per-gb");
    }
    return to;
}

const char *halley_price_state_name(halley_price_state state)
{
    static const char *const names[] = {"known", "imputed", "lower-bound"};
    return names[state];
}

void hw_cost_set_node(halley_cluster *c, double node_usd)
{
    const uint32_t domain = c->origin->nodes.npus;
    c->cost.host_usd = node_usd * hw_count_host(c) / (domain > 0 ? domain : 1);
}

void hw_power_set_host(halley_cluster *c, double host_w)
{
    const double host = hw_count_host(c);
    halley_bill bill;
    halley_bill_make(&bill, c, host);
    const double others_w =
        bill.watts[HALLEY_BILL_NPUS] + bill.watts[HALLEY_BILL_SCALE_UP];
    c->cost.host_w = fmax(host_w - others_w * host / bill.n_npus, 0);
}

double hw_cost_usd_per_s(const halley_bill *bill, const halley_cluster *c)
{
    const halley_cost *k = &c->cost;
    const double r = k->capital_rate;
    const double yearly = r > 0 ? r / (1 - pow(1 + r, -k->years)) : 1 / k->years;
    const double left = bill->capital_usd * (1 - k->residual);
    return (left * yearly + bill->capital_usd * k->support) / (hours_per_year * 3600);
}

double hw_energy_usd_per_s(const halley_bill *bill, const halley_cluster *c,
                           double average_w)
{
    const halley_cost *k = &c->cost;
    return k->colocation_usd > 0
               ? k->colocation_usd * bill->nameplate_w * 1e-3 / (hours_per_month * 3600)
               : average_w * k->energy_usd_per_J;
}

double halley_bill_own_usd_h(const halley_bill *bill, const halley_cluster *cluster)
{
    const double full_w = hw_power_average(bill, cluster, bill->n_npus, 1);
    return 3600 / bill->n_npus *
           (hw_cost_usd_per_s(bill, cluster) +
            hw_energy_usd_per_s(bill, cluster, full_w));
}

/* The share of the scale-up switches' power that a board of 8 would need, too. */
static double find_board_share(const halley_cluster *c)
{
    const double rate = count_up_rate(c, count_up_tiers(c, c->nodes.npus));
    return rate > 0 ? 0.5 / rate : 0;
}

/* Hosts draw their usual share of what NPUs draw, which was measured on nodes with their
 * scale-up switches, but no more than their nameplate. Switches and optics do not idle.
 */
double hw_power_average(const halley_bill *bill, const halley_cluster *c, double n_npus,
                        double busy)
{
    const halley_cost *cost = &c->cost;
    const double share = busy < 0 ? 0 : busy < 1 ? busy : 1;
    const double load = cost->power_idle + share * (1 - cost->power_idle);
    const double used = n_npus / bill->n_npus;
    assert(used < 1 + 1e-9);
    const double npus_w =
        bill->watts[HALLEY_BILL_NPUS] * (used * load + (1 - used) * cost->power_idle);
    const double board_w = find_board_share(c) * bill->watts[HALLEY_BILL_SCALE_UP];
    const double usual_w = fmax(npus_w * (cost->node_factor - 1) - board_w, 0);
    const double hosts_w = fmin(usual_w, bill->watts[HALLEY_BILL_HOSTS]);
    return (npus_w + hosts_w + bill->watts[HALLEY_BILL_SCALE_UP] +
            bill->watts[HALLEY_BILL_NETWORK] + bill->watts[HALLEY_BILL_MEMORY]) *
           cost->pue;
}

double hw_carbon_kg(const halley_bill *bill, const halley_cluster *c, double energy_J,
                    double seconds)
{
    const double life_s = c->cost.years * hours_per_year * 3600;
    return energy_J / 3.6e6 * c->cost.carbon_g_per_kWh * 1e-3 +
           bill->n_hosts * c->cost.embodied_kg * seconds / life_s;
}
