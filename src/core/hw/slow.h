/* hw/slow.h - stragglers: NPUs that compute more slowly than others, or start later. */
#ifndef HW_SLOW_H
#define HW_SLOW_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* Maps of a cluster file: {3: 1.5, node2: 1.2} and {3: 5 ms}. */
halley_status hw_read_slow(halley_cluster *c, const conf_file *file, const conf_node *map,
                           halley_error *err);
halley_status hw_read_late(halley_cluster *c, const conf_file *file, const conf_node *map,
                           halley_error *err);

#endif
