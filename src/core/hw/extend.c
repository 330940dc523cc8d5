/*
 * hw/extend.c - what a program may substitute for halley's own code: costs, and the
 * network's generator. The costs are attached to the cluster's link, because every
 * collective is timed with it.
 */
#include "hw/extend.h"

#include "hw/cluster.h"
#include "hw/count.h"
#include "hw/graph/topology.h"
#include "hw/link.h"

#include <assert.h>
#include <math.h>

void halley_cluster_extend(halley_cluster *cluster, const halley_extensions *extensions)
{
    cluster->nodes.up.extensions = extensions;
}

double hw_extend_compute(const halley_cluster *cluster, const halley_compute_call *call,
                         double standard_s)
{
    const halley_extensions *e = cluster->nodes.up.extensions;
    if (e == NULL || e->compute == NULL)
        return standard_s;
    assert(call->groups >= 1 && call->repeat >= 1);
    const double own_s = e->compute(e->context, call, standard_s);
    return isfinite(own_s) && own_s >= 0 ? own_s : standard_s;
}

halley_status halley_cluster_set_topology(halley_cluster *cluster,
                                          const halley_topology_ops *generator,
                                          halley_error *err)
{
    halley_cluster *c = cluster;
    TRY(hw_own_check(generator, err));
    if (c->astra)
        return error_set(err, HALLEY_EINVAL,
                         "topology %s: ASTRA-sim's rules know dimensions only; use "
                         "rules: native",
                         generator->name);
    if (c->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": say how many NPUs it has, such as %s:%u",
                         halley_cluster_name(c), halley_cluster_name(c), c->nodes.npus);
    const halley_fabric fabric = *hw_outer_fabric(c);
    const bool has_constants = c->network != HW_NETWORK_DIMS && !c->plain;
    c->graph_joins_nodes = c->network != HW_NETWORK_DIMS &&
                           c->nodes.up.bandwidth_Bps > 0 && c->nodes.npus > 0;
    c->graph_fabric = has_constants ? fabric : (halley_fabric){.share = HW_FABRIC_SHARE};
    c->network = HW_NETWORK_GRAPH;
    c->wiring.routing_given = false;
    c->generator = generator;
    c->graph_text = "";
    return hw_count_set(c, c->n_npus, HW_COUNT_AS_NODES, err);
}
