/* Extensions of a cluster travel with its link, which every collective is timed on. */
#include "hw/extend.h"

#include "hw/cluster.h"

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
