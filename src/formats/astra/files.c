/*
 * astra/files.c - reads ASTRA-sim's configuration into a cluster: network.yml,
 * system.json, remote_memory.json, comm_group.json.
 */
#include "astra/astra.h"
#include "base/number/number.h"
#include "hw/levels.h"
#include "hw/npu.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    cluster_memory_kind kind;
} memory_kinds[] = {
    {"NO_MEMORY_EXPANSION", CLUSTER_MEMORY_NONE},
    {"PER_NPU_MEMORY_EXPANSION", CLUSTER_MEMORY_PER_NPU},
    {"PER_NODE_MEMORY_EXPANSION", CLUSTER_MEMORY_PER_NODE},
    {"MEMORY_POOL", CLUSTER_MEMORY_POOL},
};
enum { N_MEMORY_KINDS = sizeof memory_kinds / sizeof *memory_kinds };

/* A required number of remote_memory.json. Its fraction is dropped, as in ASTRA-sim. */
static halley_status memory_number(uint64_t *out, const conf_file *file, const char *key,
                                   double min, halley_error *err)
{
    const conf_node *node = conf_find(file->root, key);
    double value;
    if (node == NULL)
        return conf_error(file, file->root, err, HALLEY_EINVAL, "%s is missing", key);
    TRY(conf_to_double(&value, file, node, key, err));
    if (!(value >= min && value < 9e18))
        return conf_error(file, node, err, HALLEY_EINVAL, "%s must be at least %s, is %s",
                          key, number_digits(min, 6).at, number_digits(value, 6).at);
    *out = (uint64_t)value;
    return HALLEY_OK;
}

halley_status astra_memory_from(halley_cluster *c, const conf_file *file,
                                halley_error *err)
{
    uint64_t bw = 0, per_node = 0;
    TRY(astra_map(file, err));
    const conf_node *type = conf_find(file->root, "memory-type");
    if (type == NULL || type->kind != CONF_SCALAR)
        return conf_error(file, file->root, err, HALLEY_EINVAL, "memory-type is missing");
    int i = 0;
    while (i < N_MEMORY_KINDS && !str_eq(type->text, str_from(memory_kinds[i].name)))
        i++;
    if (i == N_MEMORY_KINDS)
        return conf_error(file, type, err, HALLEY_EINVAL,
                          "memory-type must be NO_MEMORY_EXPANSION, "
                          "PER_NPU_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION or "
                          "MEMORY_POOL, is \"%.*s\"",
                          STR_ARG(type->text));
    c->remote.kind = memory_kinds[i].kind;
    if (c->remote.kind == CLUSTER_MEMORY_NONE)
        return HALLEY_OK;
    if (conf_find(file->root, "remote-mem-latency") != NULL)
        TRY(memory_number(&c->remote.latency_ns, file, "remote-mem-latency", 0, err));
    TRY(memory_number(&bw, file, "remote-mem-bw", 1, err));
    c->remote.bytes_per_ns = (double)bw;
    if (c->remote.kind != CLUSTER_MEMORY_PER_NODE)
        return HALLEY_OK;
    TRY(memory_number(&per_node, file, "num-npus-per-node", 1, err));
    c->remote.npus_per_node =
        per_node > CLUSTER_MAX_NPUS ? CLUSTER_MAX_NPUS : (uint32_t)per_node;
    return HALLEY_OK;
}

halley_status astra_read_memory(halley_cluster *c, const char *path, halley_error *err)
{
    conf_file file;
    if (path == NULL)
        return HALLEY_OK;
    TRY(cluster_load_lax(&file, c, path, err));
    const halley_status status = astra_memory_from(c, &file, err);
    conf_fini(&file);
    return status;
}

static halley_status read_files(halley_cluster *c, const halley_astra_files *files,
                                halley_error *err)
{
    c->astra = true;
    TRY(astra_read_network(c, files->network, err));
    TRY(astra_read_system(c, files, err));
    TRY(astra_read_memory(c, files->memory, err));
    hw_npu_make(&c->npu, c->system.peak_flops, c->system.mem_Bps);
    c->remote_given = c->remote.kind != CLUSTER_MEMORY_NONE;
    hw_levels_from_dims(c);
    return cluster_load_groups(c, files->comm_group, err);
}

halley_status halley_cluster_load_astra(halley_cluster **out,
                                        const halley_astra_files *files,
                                        halley_error *err)
{
    if (files->network == NULL || files->system == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "ASTRA-sim's network and system files are both needed");
    if (files->logical_topology != NULL || files->packet_topology != NULL)
        return astra_load_packets(out, files, err);
    halley_cluster *c = cluster_new();
    if (c == NULL)
        return error_nomem(err);
    const halley_status status = read_files(c, files, err);
    if (status != HALLEY_OK) {
        halley_cluster_free(c);
        return status;
    }
    *out = c;
    return HALLEY_OK;
}

void halley_cluster_read_ns(halley_cluster *cluster)
{
    cluster->system.reads_ns = true;
}
