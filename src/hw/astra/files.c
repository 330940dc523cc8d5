/*
 * hw/astra/files.c - reads ASTRA-sim's configuration into a cluster: network.yml,
 * system.json, remote_memory.json, comm_group.json.
 */
#include "base/number/number.h"
#include "hw/astra/astra.h"
#include "hw/groups.h"
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

halley_status astra_load_file(conf_file *out, halley_cluster *c, const char *path,
                              halley_error *err)
{
    halley_error own = {0};
    const halley_status status = conf_load(out, path, &own);
    if (status == HALLEY_EFORMAT && conf_load_lax(out, path, NULL) == HALLEY_OK) {
        cluster_warn(c,
                     "%s: %s; read as ASTRA-sim reads it: the last of equal keys counts, "
                     "and text after the end does not",
                     path, own.text);
        return HALLEY_OK;
    }
    if (status != HALLEY_OK && err != NULL)
        *err = own;
    return status;
}

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
    TRY(astra_load_file(&file, c, path, err));
    const halley_status status = astra_memory_from(c, &file, err);
    conf_fini(&file);
    return status;
}

static halley_status read_ranks(cluster_group *g, halley_cluster *c,
                                const conf_file *file, const conf_node *list,
                                uint8_t *seen, halley_error *err)
{
    if (list->kind != CONF_LIST || list->n == 0)
        return conf_error(file, list, err, HALLEY_EINVAL,
                          "group %lld must be a list of ranks", (long long)g->id);
    g->n = list->n;
    g->ranks = arena_array(&c->memory, g->n, sizeof *g->ranks);
    if (g->ranks == NULL)
        return error_nomem(err);
    memset(seen, 0, c->n_npus);
    for (uint32_t i = 0; i < g->n; i++) {
        int64_t rank;
        TRY(conf_to_i64(&rank, file, list->items[i], "rank", err));
        if (rank < 0 || rank >= c->n_npus)
            return conf_error(file, list->items[i], err, HALLEY_EINVAL,
                              "group %lld: rank %lld is not one of the %u NPUs",
                              (long long)g->id, (long long)rank, c->n_npus);
        if (seen[rank])
            return conf_error(file, list->items[i], err, HALLEY_EINVAL,
                              "group %lld: rank %lld is listed twice", (long long)g->id,
                              (long long)rank);
        seen[rank] = 1;
        g->ranks[i] = (uint32_t)rank;
    }
    if (g->n == 1 && c->astra)
        cluster_warn(c, "%s: group %lld has one member; a collective in it cannot end",
                     file->path, (long long)g->id);
    return HALLEY_OK;
}

static halley_status read_groups(halley_cluster *c, const conf_file *file,
                                 const conf_node *map, uint8_t *seen, halley_error *err)
{
    if (map->kind != CONF_MAP)
        return conf_error(file, map, err, HALLEY_EFORMAT, "a map of groups is wanted");
    c->groups = arena_array(&c->memory, map->n, sizeof *c->groups);
    if (c->groups == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < map->n; i++) {
        cluster_group *g = &c->groups[i];
        if (!str_to_i64(map->keys[i], &g->id) || g->id <= 0 || g->id > INT32_MAX)
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "a group's name must be a positive number, is \"%.*s\"",
                              STR_ARG(map->keys[i]));
        TRY(read_ranks(g, c, file, map->items[i], seen, err));
    }
    c->n_groups = map->n;
    const halley_status status = hw_groups_end(c, err);
    error_at_file(err, status == HALLEY_OK ? "" : file->path);
    return status;
}

halley_status cluster_read_groups(halley_cluster *c, const conf_file *file,
                                  const conf_node *map, halley_error *err)
{
    uint8_t *seen = mem_array(c->n_npus, 1);
    const halley_status status =
        seen == NULL ? error_nomem(err) : read_groups(c, file, map, seen, err);
    free(seen);
    return status;
}

halley_status astra_read_groups(halley_cluster *c, const char *path, halley_error *err)
{
    conf_file file;
    if (path == NULL)
        return HALLEY_OK;
    TRY(astra_load_file(&file, c, path, err));
    const halley_status status = cluster_read_groups(c, &file, file.root, err);
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
    return astra_read_groups(c, files->comm_group, err);
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

halley_status halley_cluster_parse_groups(halley_cluster *cluster, const char *text,
                                          size_t length, const char *name,
                                          halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, (str){text, length}, name, err));
    const halley_status status = cluster_read_groups(cluster, &file, file.root, err);
    conf_fini(&file);
    return status;
}

void halley_cluster_read_ns(halley_cluster *cluster)
{
    cluster->system.reads_ns = true;
}
