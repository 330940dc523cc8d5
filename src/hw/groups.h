/* hw/groups.h - communicator groups of a cluster, made by code. */
#ifndef HW_GROUPS_H
#define HW_GROUPS_H

#include "hw/cluster.h"

/* Make room for n groups; the cluster has none yet. */
halley_status hw_groups_begin(halley_cluster *c, size_t n, halley_error *err);
/* Add a group; its ranks are copied. Each must be a rank of the cluster and occur only
 * once. */
halley_status hw_groups_add(halley_cluster *c, int64_t id, const uint32_t *ranks,
                            uint32_t n, halley_error *err);
/* Sort the groups; two groups with the same id are an error. */
halley_status hw_groups_end(halley_cluster *c, halley_error *err);

#endif
