/*
 * hw/save.c - writes a cluster in halley's format, with present names only. Numbers are
 * written so that reading them gives the same bits. Devices, links and fabrics that equal
 * their preset are written by name, others in full. Defaults are omitted. The exception
 * is `system`, which is written in full so that a converted file shows what it does.
 */
#include "hw/save.h"

#include "base/file/file.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "hw/cluster.h"
#include "hw/cost.h"
#include "hw/count.h"
#include "hw/levels.h"
#include "hw/measured.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static void save_number(strbuf *b, const char *before, double value, const char *unit)
{
    strbuf_add(b, str_from(before));
    strbuf_double(b, value);
    strbuf_add(b, str_from(unit));
}

static void save_quantity(strbuf *b, const char *before, double value, units_kind unit)
{
    strbuf_add(b, str_from(before));
    units_write(b, value, unit);
}

static void add_in_network(strbuf *b, const cluster_dim *dim)
{
    if (dim->in_network == 0)
        return;
    strbuf_add(b, STR(", in-network: ["));
    for (uint32_t k = 0, n = 0; k <= CLUSTER_N_COLLS; k++)
        if (dim->in_network >> k & 1)
            strbuf_printf(b, "%s%s", n++ == 0 ? "" : ", ",
                          k == CLUSTER_N_COLLS ? "broadcast" : cluster_coll_names[k]);
    strbuf_add_char(b, ']');
    save_number(b, ", in-network-delay: ", dim->in_network_ns, " ns");
    if (dim->in_network_Bps > 0)
        save_number(b, ", in-network-throughput: ", dim->in_network_Bps, " B/s");
}

static void save_name(strbuf *b, const char *name)
{
    if (name[0] == '\0')
        return;
    strbuf_add(b, STR("name: "));
    strbuf_json(b, str_from(name));
    strbuf_add(b, STR(", "));
}

void hw_dims_print(strbuf *b, const halley_cluster *c)
{
    static const char *const names[] = {"ring", "fully-connected", "switch"};
    strbuf_add(b, STR("network:\n"));
    for (uint32_t d = 0; d < c->n_dims; d++) {
        const cluster_dim *dim = &c->dims[d];
        strbuf_add(b, STR("  - {"));
        save_name(b, dim->name);
        strbuf_printf(b, "topology: %s, size: %u", names[dim->topology], dim->n);
        save_number(b, ", bandwidth: ", dim->bw_Bps, " B/s");
        save_number(b, ", latency: ", dim->latency_ns, " ns");
        add_in_network(b, dim);
        strbuf_add(b, STR("}\n"));
    }
}

static void save_tiers(strbuf *b, const halley_cluster *c)
{
    strbuf_add(b, STR("network:\n  topology: fat-tree\n"));
    if (c->routing != 0)
        strbuf_printf(b, "  routing: %s\n", hw_routings[c->routing]);
    if (c->outer[0].fabric.name[0] != '\0')
        strbuf_printf(b, "  fabric: %s\n", c->outer[0].fabric.name);
    strbuf_add(b, STR("  tiers:\n"));
    for (uint32_t i = 0; i < c->n_outer; i++) {
        const hw_outer *o = &c->outer[i];
        strbuf_add(b, STR("    - {"));
        save_name(b, o->name);
        if (o->npus != 0)
            strbuf_printf(b, "npus: %u, ", o->npus);
        if (i + 1 < c->n_outer)
            save_number(b, "oversubscription: ", o->tier.oversubscription, ", ");
        save_quantity(b, "link: ", o->tier.link_Bps, UNITS_BANDWIDTH);
        save_quantity(b, ", latency: ", o->tier.latency_s, UNITS_TIME);
        strbuf_add(b, STR("}\n"));
    }
}

static void add_network(strbuf *b, const halley_cluster *c)
{
    if (c->network == HW_NETWORK_DIMS) {
        hw_dims_print(b, c);
    } else if (c->network == HW_NETWORK_TIERS) {
        save_tiers(b, c);
    } else if (c->network == HW_NETWORK_GRAPH) {
        strbuf_printf(b, "network: %s\n", c->graph_text);
    } else {
        strbuf_add(b, STR("network: "));
        hw_fabric_print(b, &c->outer[0].fabric);
        strbuf_add_char(b, '\n');
    }
}

static void save_nodes(strbuf *b, const halley_cluster *c)
{
    const hw_nodes *n = &c->nodes;
    const bool dims = c->network == HW_NETWORK_DIMS ||
                      (c->network == HW_NETWORK_GRAPH && !c->graph_joins_nodes);
    if (dims && n->host == 0 && n->nics == 0 && n->rack == 0)
        return;
    strbuf_printf(b, "nodes: {npus: %u", n->npus);
    if (!dims) {
        strbuf_add(b, STR(", up: "));
        hw_link_print(b, &n->up);
    }
    if (n->shape != HW_SHAPE_SWITCH)
        strbuf_printf(b, ", shape: %s", hw_shapes[n->shape]);
    if (n->host != 0 || hw_count_host(c) != n->npus)
        strbuf_printf(b, ", host: %u", hw_count_host(c));
    if (n->nics != 0)
        strbuf_printf(b, ", nics: %u", n->nics);
    if (n->rack != 0)
        strbuf_printf(b, ", rack: %u %s", n->rack, n->rack == 1 ? "node" : "nodes");
    if (n->by_domain)
        strbuf_add(b, STR(", sold-by: domain"));
    strbuf_add(b, STR("}\n"));
}

static void add_kinds(strbuf *b, const halley_cluster *c)
{
    strbuf_add(b, STR("kinds:\n"));
    for (uint32_t k = 0; k < c->n_kinds; k++) {
        strbuf_add(b, STR("  - {nodes: ["));
        for (uint32_t i = 0, n = 0; i < c->n_kind_runs; i++)
            if (c->kind_runs[i].kind == k)
                strbuf_printf(b, "%s%u-%u", n++ > 0 ? ", " : "", c->kind_runs[i].first,
                              c->kind_runs[i].last);
        strbuf_add(b, STR("], npu: "));
        hw_npu_print(b, halley_cluster_npu(c, k), true);
        strbuf_add(b, STR("}\n"));
    }
}

static void add_devices(strbuf *b, const halley_cluster *c)
{
    const halley_npu *npu = &c->npu;
    if (c->n_kinds > 0) {
        add_kinds(b, c);
        return;
    }
    if (!hw_npu_is_described(npu))
        return;
    strbuf_add(b, STR("npu: "));
    hw_npu_print(b, npu, false);
    strbuf_add_char(b, '\n');
}

/* A rate in B/s that is stored in bytes per ns: the fewest digits that restore the same
 * value. */
static void add_rate(strbuf *b, const char *before, double bytes_per_ns)
{
    double back = 0;
    number_text text = {""};
    for (int digits = 15; digits <= 17 && back / 1e9 != bytes_per_ns; digits++) {
        text = number_digits(bytes_per_ns * 1e9, digits);
        (void)number_read(str_from(text.at), &back);
    }
    strbuf_printf(b, "%s%s B/s", before, text.at);
}

static void add_remote(strbuf *b, const halley_cluster *c)
{
    static const char *const kinds[] = {"", "per-npu", "per-node", "pool",
                                        "hierarchical"};
    if (c->remote.kind == CLUSTER_MEMORY_NONE || !c->remote_given)
        return;
    strbuf_printf(b, "remote-memory: {kind: %s, latency: %llu ns", kinds[c->remote.kind],
                  (unsigned long long)c->remote.latency_ns);
    if (c->remote.kind == CLUSTER_MEMORY_PER_NODE ||
        c->remote.kind == CLUSTER_MEMORY_HIERARCHICAL)
        strbuf_printf(b, ", npus-per-node: %u", c->remote.npus_per_node);
    if (c->remote.kind == CLUSTER_MEMORY_HIERARCHICAL) {
        strbuf_printf(b, ", groups: %u, piece: %llu B, in-switch: %s", c->remote.n_groups,
                      (unsigned long long)c->remote.piece_bytes,
                      c->remote.in_switch ? "true" : "false");
        add_rate(b, ", node-bandwidth: ", c->remote.node_bytes_per_ns);
        add_rate(b, ", npu-bandwidth: ", c->remote.npu_bytes_per_ns);
    }
    add_rate(b, ", bandwidth: ", c->remote.bytes_per_ns);
    strbuf_add(b, STR("}\n"));
}

static void add_algorithms(strbuf *b, const cluster_system *s)
{
    bool custom = false;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        custom = custom || s->colls[i].custom != NULL;
        if (s->colls[i].n == 0 || s->colls[i].is_default)
            continue;
        strbuf_printf(b, "  %s: [", cluster_coll_names[i]);
        for (uint32_t d = 0; d < s->colls[i].n_listed; d++) {
            strbuf_add(b, d == 0 ? STR("") : STR(", "));
            cluster_impl_print(b, &s->colls[i].dims[d]);
        }
        strbuf_add(b, STR("]\n"));
    }
    if (custom)
        strbuf_add(b, STR("  custom:\n"));
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        if (s->colls[i].custom == NULL)
            continue;
        strbuf_printf(b, "    %s: ", cluster_coll_names[i]);
        strbuf_json(b, str_from(s->colls[i].custom));
        strbuf_add_char(b, '\n');
    }
    if (s->n_node_impls > 0)
        strbuf_add(b, STR("  custom-nodes:\n"));
    for (uint32_t i = 0; i < s->n_node_impls; i++) {
        strbuf_printf(b, "    %llu: ", (unsigned long long)s->node_impls[i].node);
        strbuf_json(b, str_from(s->node_impls[i].custom));
        strbuf_add_char(b, '\n');
    }
}

static const char *word_of_model(const halley_cluster *c)
{
    static const char *const native[] = {"free", "queue", "flow"};
    static const char *const astra[] = {"unaware", "aware", "aware"};
    return c->astra ? astra[c->model] : native[c->model];
}

static void add_bus(strbuf *b, const cluster_bus *bus)
{
    strbuf_printf(b, "  bus: {latency: %llu ns, overhead: %llu ns, gap: %llu ns",
                  (unsigned long long)bus->L_ns, (unsigned long long)bus->o_ns,
                  (unsigned long long)bus->g_ns);
    save_number(b, ", gap-per-byte-ns: ", bus->G_ns, "");
    strbuf_printf(b, ", reduction-ns-per-100-bytes: %lld}\n",
                  (long long)bus->reduction_delay);
}

static bool has_factors(const double f[CLUSTER_N_KERNELS])
{
    return f[CLUSTER_KERNEL_MATMUL] > 0 || f[CLUSTER_KERNEL_ATTENTION] > 0 ||
           f[CLUSTER_KERNEL_MEMORY] > 0;
}

static void add_factors(strbuf *b, const char *before, const double f[CLUSTER_N_KERNELS],
                        const char *after)
{
    strbuf_printf(b, "%s", before);
    save_number(b, "matmul: ", f[CLUSTER_KERNEL_MATMUL], "");
    save_number(b, ", attention: ", f[CLUSTER_KERNEL_ATTENTION], "");
    save_number(b, ", memory-bound: ", f[CLUSTER_KERNEL_MEMORY], after);
}

static void add_stragglers(strbuf *b, const halley_cluster *c)
{
    const cluster_system *s = &c->system;
    if (s->jitter > 0) {
        save_number(b, "  jitter: ", s->jitter, "\n");
        strbuf_printf(b, "  seed: %llu\n", (unsigned long long)s->seed);
    }
    for (uint32_t i = 0, n = 0; s->slow != NULL && i < c->n_npus; i++) {
        if (s->slow[i] == 1)
            continue;
        strbuf_printf(b, "%s    %u: ", n++ == 0 ? "  slow:\n" : "", i);
        save_number(b, "", s->slow[i], "\n");
    }
    for (uint32_t i = 0, n = 0; s->late_s != NULL && i < c->n_npus; i++) {
        if (s->late_s[i] == 0)
            continue;
        strbuf_printf(b, "%s    %u: ", n++ == 0 ? "  late:\n" : "", i);
        save_quantity(b, "", s->late_s[i], UNITS_TIME);
        strbuf_add_char(b, '\n');
    }
    const double *f = s->interference, *h = s->network_interference;
    if (!has_factors(f) && !has_factors(h))
        return;
    add_factors(b, "  interference: {", f, has_factors(h) ? "" : "}\n");
    if (has_factors(h))
        add_factors(b, ", network: {", h, "}}\n");
}

static void add_system(strbuf *b, const halley_cluster *c)
{
    const cluster_system *s = &c->system;
    strbuf_printf(b, "system:\n  rules: %s\n  network-model: %s\n",
                  c->astra ? "astra-sim" : "native", word_of_model(c));
    strbuf_printf(b, "  chunks: %llu\n  active-chunks: %llu\n  queues: %u\n",
                  (unsigned long long)(s->splits == 0 ? 1 : s->splits),
                  (unsigned long long)s->active_chunks, s->queues);
    strbuf_printf(b, "  endpoint-delay: %llu ns\n  group-endpoint-delay: %llu ns\n",
                  (unsigned long long)s->endpoint_ns,
                  (unsigned long long)s->group_endpoint_ns);
    strbuf_printf(b, "  all-reduce-plan: %s\n",
                  s->hierarchical ? "hierarchical" : "every-dimension");
    strbuf_printf(b, "  compute: %s\n",
                  s->roofline   ? "roofline"
                  : s->modelled ? "cost"
                                : "duration");
    add_stragglers(b, c);
    if (s->themis)
        strbuf_add(b, STR("  scheduling: themis\n"));
    if (s->streams > 1)
        strbuf_printf(b, "  streams: %u\n", s->streams);
    if (s->one_channel)
        strbuf_add(b, STR("  channels: one\n"));
    if (s->rendezvous)
        strbuf_add(b, STR("  rendezvous: true\n"));
    if (s->steps)
        strbuf_add(b, STR("  collectives: steps\n"));
    if (s->replay_only)
        strbuf_add(b, STR("  replay-only: true\n"));
    add_algorithms(b, s);
    if (s->bus.on)
        add_bus(b, &s->bus);
}

static void add_groups(strbuf *b, const halley_cluster *c)
{
    if (c->n_groups > 0)
        strbuf_add(b, STR("groups:\n"));
    for (uint32_t i = 0; i < c->n_groups; i++) {
        strbuf_printf(b, "  %lld: [", (long long)c->groups[i].id);
        for (uint32_t k = 0; k < c->groups[i].n; k++)
            strbuf_printf(b, k == 0 ? "%u" : ", %u", c->groups[i].ranks[k]);
        strbuf_add(b, STR("]\n"));
    }
}

/* Write a row of cost or failures, unless it is the default. */
static void add_unless(strbuf *b, uint32_t *n, const char *key, double value,
                       double usual, units_kind unit)
{
    if (number_is_same(value, usual))
        return;
    strbuf_printf(b, "%s%s: ", (*n)++ > 0 ? ", " : "", key);
    units_write(b, value, unit);
}

/* Prices per GB/s; the struct has them per B/s. */
static void add_per_GBps(strbuf *b, uint32_t *n, const char *key, double per_Bps,
                         double usual, units_kind unit)
{
    if (fabs(per_Bps - usual) > 1e-9 * usual)
        add_unless(b, n, key, per_Bps * 1e9, -1, unit);
}

static void add_scale_up(strbuf *row, uint32_t *n, const halley_cost *k)
{
    const halley_cost *d = &hw_cost_default;
    add_per_GBps(row, n, "up-per-gbps", k->up_usd_per_Bps, d->up_usd_per_Bps,
                 UNITS_MONEY);
    add_per_GBps(row, n, "up-w-per-gbps", k->up_w_per_Bps, d->up_w_per_Bps, UNITS_POWER);
    add_per_GBps(row, n, "up-link", k->up_link_usd_per_Bps, d->up_link_usd_per_Bps,
                 UNITS_MONEY);
}

static void add_cables(strbuf *row, uint32_t *n, const halley_cost *k)
{
    strbuf link = {0};
    uint32_t n_link = 0;
    add_unless(&link, &n_link, "copper", k->copper_usd, -1, UNITS_MONEY);
    add_unless(&link, &n_link, "optical", k->optical_usd, -1, UNITS_MONEY);
    if (n_link > 0)
        strbuf_printf(row, "%slink: {%.*s}", (*n)++ > 0 ? ", " : "",
                      STR_ARG(strbuf_str(&link)));
    row->failed = row->failed || link.failed;
    strbuf_fini(&link);
}

static void add_cost(strbuf *b, const halley_cluster *c)
{
    static const struct {
        const char *key;
        size_t offset;
        units_kind unit;
    } rows[] = {
#define ROW(key_, member, unit_) {key_, offsetof(halley_cost, member), unit_}
        ROW("host", host_usd, UNITS_MONEY),
        ROW("host-power", host_w, UNITS_POWER),
        ROW("up-radix", up_radix, UNITS_COUNT),
        ROW("up-copper-reach", up_copper_reach, UNITS_COUNT),
        ROW("rack", rack_usd, UNITS_MONEY),
        ROW("rack-power", rack_w, UNITS_POWER),
        ROW("network-per-gbps", network_usd_per_gbps, UNITS_MONEY),
        ROW("switch", switch_usd, UNITS_MONEY),
        ROW("nic", nic_usd, UNITS_MONEY),
        ROW("switch-power", switch_w, UNITS_POWER),
        ROW("optics-power", optics_w, UNITS_POWER),
        ROW("nic-power", nic_w, UNITS_POWER),
        ROW("building-per-w", building_usd_per_w, UNITS_MONEY),
        ROW("node-factor", node_factor, UNITS_COUNT),
        ROW("power-idle", power_idle, UNITS_SHARE),
        ROW("pue", pue, UNITS_COUNT),
        ROW("energy", energy_usd_per_J, UNITS_PRICE),
        ROW("colocation", colocation_usd, UNITS_MONEY),
        ROW("years", years, UNITS_COUNT),
        ROW("capital-rate", capital_rate, UNITS_SHARE),
        ROW("residual", residual, UNITS_SHARE),
        ROW("support", support, UNITS_SHARE),
        ROW("rent", rent_usd_per_s, UNITS_RENT),
        ROW("carbon", carbon_g_per_kWh, UNITS_COUNT),
        ROW("embodied", embodied_kg, UNITS_COUNT),
#undef ROW
    };
    strbuf row = {0};
    uint32_t n = 0;
    if (c->n_kinds == 0)
        hw_npu_print_cost(&row, &n, &c->npu);
    add_scale_up(&row, &n, &c->cost);
    add_cables(&row, &n, &c->cost);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double own, usual;
        memcpy(&own, (const char *)&c->cost + rows[i].offset, sizeof own);
        memcpy(&usual, (const char *)&hw_cost_default + rows[i].offset, sizeof usual);
        add_unless(&row, &n, rows[i].key, own, usual, rows[i].unit);
    }
    if (n > 0)
        strbuf_printf(b, "cost: {%.*s}\n", STR_ARG(strbuf_str(&row)));
    b->failed = b->failed || row.failed;
    strbuf_fini(&row);
}

static void add_failures(strbuf *b, const halley_cluster *c)
{
    const halley_failures *f = &c->failures, *d = &hw_failures_default;
    strbuf row = {0};
    uint32_t n = 0;
    add_unless(&row, &n, "npu-mtbf", f->npu_mtbf_s, d->npu_mtbf_s, UNITS_TIME);
    add_unless(&row, &n, "checkpoint", f->checkpoint_s, d->checkpoint_s, UNITS_TIME);
    add_unless(&row, &n, "restart", f->restart_s, d->restart_s, UNITS_TIME);
    if (n > 0)
        strbuf_printf(b, "failures: {%.*s}\n", STR_ARG(strbuf_str(&row)));
    b->failed = b->failed || row.failed;
    strbuf_fini(&row);
}

static void print_cluster(strbuf *b, const halley_cluster *c)
{
    if (c->name[0] != '\0') {
        strbuf_add(b, STR("name: "));
        strbuf_json(b, str_from(c->name));
        strbuf_add_char(b, '\n');
    }
    if (c->n_npus > 0)
        strbuf_printf(b, "npus: %u\n", c->n_npus);
    add_devices(b, c);
    save_nodes(b, c);
    add_remote(b, c);
    add_network(b, c);
    if (c->plain && c->network != HW_NETWORK_DIMS &&
        (c->network != HW_NETWORK_GRAPH || c->graph_joins_nodes))
        strbuf_add(b, STR("library: plain\n"));
    if (c->host_factor != 1)
        save_number(b, "host-factor: ", c->host_factor, "\n");
    add_system(b, c);
    add_cost(b, c);
    add_failures(b, c);
    add_groups(b, c);
    hw_measured_print(b, c->measured);
}

static halley_status check_printable(const halley_cluster *c, halley_error *err)
{
    if (c->generator == NULL)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "cluster \"%s\": its network is made by a program (topology %s) and "
                     "cannot be written to a file; convert the topology instead",
                     halley_cluster_name(c), c->generator->name);
}

halley_status halley_cluster_print(char **out, const halley_cluster *cluster,
                                   halley_error *err)
{
    strbuf b = {0};
    TRY(check_printable(cluster, err));
    print_cluster(&b, cluster);
    if (b.failed) {
        strbuf_fini(&b);
        return error_nomem(err);
    }
    *out = b.at;
    return HALLEY_OK;
}

halley_status halley_cluster_save(const halley_cluster *cluster, const char *path,
                                  halley_error *err)
{
    strbuf b = {0};
    TRY(check_printable(cluster, err));
    print_cluster(&b, cluster);
    return file_save(path, &b, err);
}
