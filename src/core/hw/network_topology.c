/* hw/network_topology.c - the network of a cluster as a separate graph. */
#include "hw/graph/topology.h"
#include "hw/network.h"

#include <assert.h>
#include <stdlib.h>

halley_status halley_topology_from_cluster(halley_topology **out,
                                           const halley_cluster *cluster,
                                           halley_error *err)
{
    assert(cluster != NULL);
    hw_network *network = NULL;
    if (cluster->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "the cluster has no number of NPUs, so its network has no size; "
                         "write NAME:N");
    TRY(hw_network_new(&network, cluster, err));
    halley_topology *t = mem_array_zero(1, sizeof *t);
    if (t != NULL) {
        t->graph = network->graph;
        network->graph = NULL;
        *out = t;
    }
    hw_network_free(network);
    return t == NULL ? error_nomem(err) : HALLEY_OK;
}
