/* halley-cluster(5): cluster files, from the tables that read them. */
#include "cli/commands.h"
#include "halley/cluster.h"

static bool key_of(cli_entry *out, const char *part, size_t i)
{
    halley_file_key k;
    if (!halley_cluster_key(&k, part, i))
        return false;
    *out = (cli_entry){k.key, k.doc};
    return true;
}

static bool key(cli_entry *out, size_t i)
{
    return key_of(out, "", i);
}

static bool network_key(cli_entry *out, size_t i)
{
    return key_of(out, "network", i);
}

static bool npu_key(cli_entry *out, size_t i)
{
    return key_of(out, "npu", i);
}

static bool memory_key(cli_entry *out, size_t i)
{
    return key_of(out, "memory", i);
}

static bool system_key(cli_entry *out, size_t i)
{
    return key_of(out, "system", i);
}

static bool bus_key(cli_entry *out, size_t i)
{
    return key_of(out, "bus", i);
}

static const cli_list lists[] = {
    {"keys", key},
    {"keys of a dimension of network", network_key},
    {"keys of npu", npu_key},
    {"keys of a memory, and of remote-memory", memory_key},
    {"keys of system", system_key},
    {"keys of bus", bus_key},
    {0},
};

const cli_format format_cluster = {
    .name = "cluster",
    .summary = "NPUs, memories, network and engine of a cluster",
    .description =
        "A cluster file is YAML, or JSON:\n\n"
        "  npu: a100-sxm4-80gb\n"
        "  network:\n"
        "    - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}\n"
        "    - {topology: switch, size: 128, bandwidth: 25 GB/s, latency: 1500 ns}\n"
        "  system: {model: link-queue, chunks: 4, algorithms: [ring, ring]}\n"
        "  groups: {1: [0, 1, 2, 3], 2: [4, 5, 6, 7]}\n\n"
        "Values carry their unit: GB is 1e9 bytes, GiB 2^30. Unknown keys are errors. "
        "The dimensions of the network stand innermost first, and their sizes multiply "
        "to the number of NPUs. The first memory of npu is its own; a second, or "
        "remote-memory, lies beyond it.\n\n"
        "'halley sim' with ASTRA-sim's options and --write-cluster FILE writes one.",
    .lists = lists,
    .commands = "sim",
};
