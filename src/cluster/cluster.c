/* cluster/cluster.c - making, asking and freeing a cluster. */
#include "cluster/cluster.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const cluster_topology_names[CLUSTER_N_TOPOLOGIES + 1] = {
    [CLUSTER_RING] = "Ring",
    [CLUSTER_FULLY_CONNECTED] = "FullyConnected",
    [CLUSTER_SWITCH] = "Switch",
};

halley_cluster *cluster_new(void)
{
    return calloc(1, sizeof(halley_cluster));
}

void halley_cluster_free(halley_cluster *cluster)
{
    if (cluster == NULL)
        return;
    array_fini(&cluster->warnings);
    arena_fini(&cluster->memory);
    free(cluster);
}

void cluster_warn(halley_cluster *c, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = arena_copy(&c->memory, str_from(text));
    if (kept != NULL)
        (void)array_push(&c->warnings, kept);
}

uint32_t cluster_find_group(const halley_cluster *c, int64_t id)
{
    uint32_t lo = 0, hi = c->n_groups;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (c->groups[middle].id < id)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < c->n_groups && c->groups[lo].id == id ? lo : UINT32_MAX;
}

uint32_t halley_cluster_npus(const halley_cluster *cluster)
{
    return cluster->n_npus;
}

uint32_t halley_cluster_dims(const halley_cluster *cluster)
{
    return cluster->n_dims;
}

uint32_t halley_cluster_warning_count(const halley_cluster *cluster)
{
    return (uint32_t)cluster->warnings.n;
}

const char *halley_cluster_warning(const halley_cluster *cluster, uint32_t i)
{
    return cluster->warnings.at[i];
}
