/* halley-cluster(5): cluster files, from the tables that read them. */
#include "cli/commands.h"
#include "halley/cluster.h"

static bool get_key(request_entry *out, const char *part, size_t i)
{
    halley_file_key k;
    if (!halley_cluster_key(&k, part, i))
        return false;
    *out = (request_entry){.name = k.key,
                           .doc = k.doc,
                           .by_default = k.by_default != NULL || !k.required
                                             ? k.by_default
                                             : REQUEST_REQUIRED,
                           .example = k.example,
                           .values = k.names};
    return true;
}

#define KEYS(function, part)                                                             \
    static bool function(request_entry *out, size_t i)                                   \
    {                                                                                    \
        return get_key(out, part, i);                                                    \
    }
KEYS(get_file_key, "")
KEYS(get_kind_key, "kinds")
KEYS(get_nodes_key, "nodes")
KEYS(get_fabric_key, "fabric")
KEYS(get_topology_key, "topology")
KEYS(get_tier_key, "tier")
KEYS(get_dimension_key, "dimension")
KEYS(get_npu_key, "npu")
KEYS(get_memory_key, "memory")
KEYS(get_system_key, "system")
KEYS(get_bus_key, "bus")
KEYS(get_cost_key, "cost")
KEYS(get_failures_key, "failures")
KEYS(get_measured_key, "measured")

static const request_list lists[] = {
    {"keys", get_file_key},
    {"keys of an entry of kinds", get_kind_key},
    {"keys of nodes", get_nodes_key},
    {"keys of network, one level", get_fabric_key},
    {"keys of network, a topology", get_topology_key},
    {"keys of a tier", get_tier_key},
    {"keys of a dimension of network", get_dimension_key},
    {"keys of npu", get_npu_key},
    {"keys of a memory, and of remote-memory", get_memory_key},
    {"keys of system", get_system_key},
    {"keys of bus", get_bus_key},
    {"keys of cost", get_cost_key},
    {"keys of failures", get_failures_key},
    {"keys of an entry of measured", get_measured_key},
    {0},
};

const cli_format format_cluster = {
    .name = "cluster",
    .summary = "devices, nodes, network and cost of a cluster",
    .description =

        "A cluster file is YAML or JSON. The same file is used by estimate, plan, "
        "explore, sim and trace gen:\n\n"
        "  name: pods\n"
        "  npus: 1024\n"
        "  npu: h100-sxm-80gb\n"
        "  nodes: {npus: 8, up: nvlink4-h100, power: 10.2 kW}\n"
        "  network: {fabric: ib-ndr, bandwidth: 50 GB/s}\n"
        "  system: {network-model: queue, chunks: 4}\n"
        "  cost: {node: 60000 USD, energy: 0.1 USD/kWh, years: 4}\n"
        "  failures: {npu-mtbf: 50000 h, checkpoint: 60 s, restart: 10 min}\n\n"
        "Values carry their unit: GB is 1e9 bytes, GiB 2^30. Unknown keys are errors."
        " FILE:N has N NPUs. They fill nodes of the stated size from the first on, "
        "and the cost counts whole nodes.\n\n"
        "The network may also be a list of dimensions for the simulator, innermost "
        "first, whose sizes multiply to the number of NPUs:\n\n"
        "  network:\n"
        "    - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}\n"
        "    - {topology: switch, size: 128, bandwidth: 25 GB/s, latency: 1500 ns}\n\n"
        "It may be a fat tree, described by its tiers from the bottom up; estimates "
        "use its levels:\n\n"
        "  network:\n"
        "    topology: fat-tree\n"
        "    tiers:\n"
        "      - {name: leaf, npus: 16, link: 400 Gb/s, latency: 700 ns}\n"
        "      - {name: spine, npus: 3072, oversubscription: 7}\n"
        "      - {name: core}\n\n"
        "The first memory of npu is its own; a second one, or remote-memory, is "
        "outside.\n\n"
        "Older files are still read: per-node, up, out, system.model and "
        "cost.per-node are now nodes.npus, nodes.up, network, system.network-model "
        "and cost.node.\n\n"
        "'halley sim' with ASTRA-sim's options and --write-cluster FILE writes such a"
        " file.",
    .lists = lists,
    .commands = "estimate",
};
