/*
 * hw/groups_file.c - communicator groups from files: {"1": [0, 1, 2, 3]} as ASTRA-sim's
 * comm_group.json and the key `groups` of cluster files write them.
 */
#include "hw/groups.h"

#include <stdlib.h>
#include <string.h>

halley_status cluster_load_lax(conf_file *out, halley_cluster *c, const char *path,
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

halley_status cluster_load_groups(halley_cluster *c, const char *path, halley_error *err)
{
    conf_file file;
    if (path == NULL)
        return HALLEY_OK;
    TRY(cluster_load_lax(&file, c, path, err));
    const halley_status status = cluster_read_groups(c, &file, file.root, err);
    conf_fini(&file);
    return status;
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

halley_status halley_cluster_load_groups(halley_cluster *cluster, const char *path,
                                         halley_error *err)
{
    if (cluster->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": say how many NPUs it has, such as %s:%u",
                         halley_cluster_name(cluster), halley_cluster_name(cluster),
                         cluster->nodes.npus);
    return cluster_load_groups(cluster, path, err);
}
