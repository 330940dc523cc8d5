/* hw/groups.h - communicator groups of a cluster, made by code or read from files. */
#ifndef HW_GROUPS_H
#define HW_GROUPS_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* Make room for n groups; the cluster has none yet. */
halley_status hw_groups_begin(halley_cluster *c, size_t n, halley_error *err);
/* Add a group; its ranks are copied. Each must be a rank of the cluster and occur only
 * once. */
halley_status hw_groups_add(halley_cluster *c, int64_t id, const uint32_t *ranks,
                            uint32_t n, halley_error *err);
/* Sort the groups; two groups with the same id are an error. */
halley_status hw_groups_end(halley_cluster *c, halley_error *err);

/* Read a map from group to ranks. */
halley_status cluster_read_groups(halley_cluster *c, const conf_file *file,
                                  const conf_node *map, halley_error *err);
/* The same from a file; NULL: no groups. */
halley_status cluster_load_groups(halley_cluster *c, const char *path, halley_error *err);
/* Read a file as ASTRA-sim does. Syntax that only ASTRA-sim accepts gets a warning. */
halley_status cluster_load_lax(conf_file *out, halley_cluster *c, const char *path,
                               halley_error *err);
/* Read a map from node id to trace prefix. */
halley_status cluster_read_node_map(halley_cluster *c, const conf_file *file,
                                    const conf_node *map, halley_error *err);

#endif
