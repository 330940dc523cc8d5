/* hw/graph/topology.h - the public handle of a graph, and generators supplied by
 * programs. */
#ifndef HW_GRAPH_TOPOLOGY_H
#define HW_GRAPH_TOPOLOGY_H

#include "halley/topology.h"
#include "hw/graph/graph.h"

struct halley_topology {
    hw_graph *graph;
};

/* Make the graph of a program's generator: connected, with n_npus NPUs. */
halley_status hw_own_generate(hw_graph **out, const halley_topology_ops *generator,
                              uint32_t n_npus, halley_error *err);
/* Check that it has everything that a generator needs. */
halley_status hw_own_check(const halley_topology_ops *generator, halley_error *err);

#endif
