/*
 * bench/net/bundle.c - an all-to-all of 16,384 NPUs as one bundle: the load of every link
 * by even spraying, then one flow over all links. Prints CPU seconds and the time that
 * the all-to-all takes.
 */
#include "bench/measure.h"
#include "hw/graph/generate.h"
#include "hw/graph/route.h"
#include "net/flow/flow.h"

#include <stdio.h>
#include <stdlib.h>

static void die(const char *text)
{
    fprintf(stderr, "bundle: %s\n", text);
    exit(1);
}

static void run_tree(uint32_t cores)
{
    const hw_generator_params p = {.topology = STR("fat-tree"),
                                   .n_m = 3,
                                   .m = {16, 32, 32},
                                   .n_w = 3,
                                   .w = {1, 16, cores},
                                   .link_Bps = 50e9};
    halley_error err;
    hw_graph *g;
    hw_router *router;
    net_flow *solver;
    if (hw_graph_generate(&g, &p, &err) != HALLEY_OK)
        die(err.text);
    double *load = calloc(g->n_links, sizeof *load), most = 0;
    net_flow_hop *hops = calloc(g->n_links, sizeof *hops);
    if (load == NULL || hops == NULL)
        die("out of memory");
    const double start = measure_cpu_s();
    if (hw_router_new(&router, g, &(hw_route_options){.routing = HW_ROUTING_SPRAY},
                      &err) != HALLEY_OK ||
        hw_router_load_all_to_all(load, router, &err) != HALLEY_OK ||
        net_flow_new(&solver, g->link_Bps, g->n_links, &(net_flow_options){0}, &err) !=
            HALLEY_OK)
        die(err.text);
    for (uint32_t i = 0; i < g->n_links; i++)
        most = load[i] > most ? load[i] : most;
    for (uint32_t i = 0; i < g->n_links; i++)
        hops[i] = (net_flow_hop){i, (uint64_t)(load[i] / most * (double)NET_FLOW_ONE)};
    const uint32_t id = net_flow_class(solver, hops, g->n_links, 0);
    if (id == NET_FLOW_NONE ||
        net_flow_start(solver, id, most * 1e3, 0) == NET_FLOW_NONE ||
        !net_flow_settle(solver))
        die("out of memory");
    const uint64_t end = net_flow_next(solver);
    printf("%u NPUs, %u cables, core 1:%u: %.3f CPU s; 1 kB a pair takes %.6f s\n",
           g->n_npus, g->n_cables, 32 / cores, measure_cpu_s() - start,
           (double)end / 1e12);
    net_flow_free(solver);
    hw_router_free(router);
    free(hops);
    free(load);
    hw_graph_free(g);
}

int main(void)
{
    run_tree(32);
    run_tree(4);
    return 0;
}
