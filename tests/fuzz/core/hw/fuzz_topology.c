/* Any text as the parameters of a network; small networks are built, measured and routed.
 */
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "hw/graph/route.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { MOST_CABLES = 2000, MOST_DEVICES = 2000, MOST_PAIRS = 200 };

static void route_some(const hw_graph *g, hw_routing routing)
{
    hw_router *router;
    const hw_route_options o = {.routing = routing};
    if (g->n_npus == 0 || hw_router_new(&router, g, &o, NULL) != HALLEY_OK)
        return;
    for (uint32_t i = 0; i < MOST_PAIRS; i++) {
        hw_route route;
        hw_router_find(&route, router, i % g->n_npus, (i * 7 + 1) % g->n_npus, i, NULL);
    }
    hw_router_free(router);
}

static void use_graph(const hw_graph *g)
{
    hw_distances d;
    hw_endpoints ends;
    double cut;
    if (hw_graph_distances(&d, g, NULL) == HALLEY_OK)
        free(d.by_hops);
    if (hw_graph_endpoints(&ends, g, NULL) == HALLEY_OK) {
        hw_graph_half_cut(&cut, g, &ends, NULL);
        free(ends.at);
    }
    for (hw_routing routing = 0; routing < HW_ROUTING_N; routing++)
        if (routing != HW_ROUTING_TABLE)
            route_some(g, routing);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    arena memory = {0};
    hw_generator_params p;
    hw_counts counts;
    hw_graph *graph;
    const str text = {(const char *)at, n};
    if (conf_parse(&file, text, "network.yaml", NULL) != HALLEY_OK)
        return 0;
    if (hw_generator_read(&p, &memory, &file, file.root, NULL) == HALLEY_OK &&
        hw_graph_count(&counts, &p, NULL) == HALLEY_OK && counts.cables <= MOST_CABLES &&
        counts.npus + counts.switches <= MOST_DEVICES &&
        hw_graph_generate(&graph, &p, NULL) == HALLEY_OK) {
        use_graph(graph);
        hw_graph_free(graph);
    }
    arena_fini(&memory);
    conf_fini(&file);
    return 0;
}
