/* hw/groups.h - communicator groups of a cluster, made by code. */
#ifndef HW_GROUPS_H
#define HW_GROUPS_H

#include "hw/cluster.h"

/* Room for n groups; the cluster has none yet. */
halley_status hw_groups_begin(halley_cluster *c, size_t n, halley_error *err);
/* One more; its ranks are copied. Each must be one of the cluster's, and stand there
 * once. */
halley_status hw_groups_add(halley_cluster *c, int64_t id, const uint32_t *ranks,
                            uint32_t n, halley_error *err);
/* Put them in order; two with one id are an error. */
halley_status hw_groups_end(halley_cluster *c, halley_error *err);

#endif
