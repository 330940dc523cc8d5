/*
 * bench/net/flows.c - the flow solver on the inputs of a bench file: routes by ECMP, all
 * flows to their end. Prints CPU seconds without reading the file; checks the makespan
 * and the mean completion time against the file.
 *
 *   flows FILE.json [NAME...]
 *   flows --simgrid FILE.json NAME PREFIX   write PREFIX.xml and PREFIX.txt for
 * simgrid.cc
 */
#include "base/conf/conf.h"
#include "base/number/number.h"
#include "bench/measure.h"
#include "hw/graph/graph.h"
#include "hw/graph/route.h"
#include "net/flow/flow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_flow {
    uint32_t src, dst;
    double bytes;
    uint64_t start_tick;
    uint32_t class_id;
    double latency_s;
} bench_flow;

static void die(const char *text)
{
    fprintf(stderr, "flows: %s\n", text);
    exit(1);
}

static double number_of(const conf_node *node)
{
    double value;
    if (node == NULL || !number_read(node->text, &value))
        die("a number is missing");
    return value;
}

static hw_graph *make_graph(const conf_node *c)
{
    hw_builder b;
    halley_error err;
    hw_graph *graph;
    const uint32_t n_npus = (uint32_t)number_of(conf_find(c, "npus"));
    const uint32_t n = (uint32_t)number_of(conf_find(c, "devices"));
    const conf_node *cables = conf_find(c, "cables");
    hw_builder_init(&b, "bench");
    hw_builder_add_group(&b, &(hw_device_group){.name = "npu", .n = n_npus});
    hw_builder_add_group(&b, &(hw_device_group){.name = "switch",
                                                .kind = HW_DEVICE_SWITCH,
                                                .n = n - n_npus,
                                                .tier = 1,
                                                .forwards = true});
    for (uint32_t i = 0; i < cables->n; i++) {
        conf_node *const *x = cables->items[i]->items;
        const hw_link_kind kind = {
            .name = "cable", .bw_Bps = number_of(x[2]), .latency_s = number_of(x[3])};
        hw_builder_add_cable(&b, (uint32_t)number_of(x[0]), (uint32_t)number_of(x[1]),
                             hw_builder_add_kind(&b, &kind));
    }
    if (hw_builder_finish(&graph, &b, &err) != HALLEY_OK)
        die(err.text);
    return graph;
}

static bench_flow *make_flows(uint32_t *n_out, const conf_node *c, uint32_t n_npus)
{
    const conf_node *list = conf_find(c, "flows");
    const uint32_t n = list != NULL ? list->n : n_npus * (n_npus - 1);
    bench_flow *flows = calloc(n, sizeof *flows);
    if (flows == NULL)
        die("out of memory");
    uint32_t at = 0;
    for (uint32_t i = 0; list != NULL && i < n; i++) {
        conf_node *const *x = list->items[i]->items;
        flows[at++] = (bench_flow){
            .src = (uint32_t)number_of(x[0]),
            .dst = (uint32_t)number_of(x[1]),
            .bytes = number_of(x[2]),
            .start_tick =
                list->items[i]->n > 3 ? (uint64_t)llround(number_of(x[3]) * 1e12) : 0};
    }
    for (uint32_t s = 0; list == NULL && s < n_npus; s++)
        for (uint32_t k = 1; k < n_npus; k++)
            flows[at++] = (bench_flow){.src = s,
                                       .dst = (s + k) % n_npus,
                                       .bytes = number_of(conf_find(c, "all_to_all"))};
    *n_out = n;
    return flows;
}

static int compare_starts(const void *a, const void *b)
{
    const bench_flow *x = a, *y = b;
    if (x->start_tick != y->start_tick)
        return x->start_tick < y->start_tick ? -1 : 1;
    return 0;
}

static void make_routes(net_flow *solver, const hw_graph *g, bench_flow *flows,
                        uint32_t n)
{
    hw_router *router;
    halley_error err;
    const hw_route_options o = {.routing = HW_ROUTING_ECMP};
    if (hw_router_new(&router, g, &o, &err) != HALLEY_OK)
        die(err.text);
    if (!net_flow_reserve(solver, n, 4 * n))
        die("out of memory");
    for (uint32_t i = 0; i < n; i++) {
        hw_route route;
        net_flow_hop hops[64];
        if (hw_router_find(&route, router, flows[i].src, flows[i].dst, 0, &err) !=
            HALLEY_OK)
            die(err.text);
        for (uint32_t k = 0; k < route.n; k++)
            hops[k] = (net_flow_hop){route.hops[k].link, route.hops[k].share};
        flows[i].class_id = net_flow_class(solver, hops, route.n, 0);
        flows[i].latency_s = route.latency_s;
    }
    hw_router_free(router);
}

static void run_flows(net_flow *solver, const bench_flow *flows, uint32_t n,
                      double *last_s, double *mean_s)
{
    uint32_t started = 0;
    double sum = 0, last = 0;
    for (;;) {
        uint64_t now = net_flow_next(solver);
        if (started < n && flows[started].start_tick < now)
            now = flows[started].start_tick;
        if (now == NET_FLOW_NEVER)
            break;
        const net_flow_end *ends;
        const uint32_t n_ends = net_flow_advance(solver, now, &ends);
        for (uint32_t i = 0; i < n_ends; i++) {
            const double end = (double)now / 1e12 + flows[ends[i].context].latency_s;
            sum += end;
            last = end > last ? end : last;
        }
        for (; started < n && flows[started].start_tick == now; started++)
            net_flow_start(solver, flows[started].class_id, flows[started].bytes,
                           started);
        if (!net_flow_settle(solver))
            die("out of memory");
    }
    *last_s = last;
    *mean_s = sum / n;
}

static void run_case(const conf_node *c)
{
    const conf_node *expect = conf_find(c, "expect");
    hw_graph *g = make_graph(c);
    uint32_t n;
    bench_flow *flows = make_flows(&n, c, g->n_npus);
    net_flow *solver;
    double last, mean;
    qsort(flows, n, sizeof *flows, compare_starts);
    const double start = measure_cpu_s();
    if (net_flow_new(&solver, g->link_Bps, g->n_links, &(net_flow_options){0}, NULL) !=
        HALLEY_OK)
        die("bad capacities");
    make_routes(solver, g, flows, n);
    const double routed = measure_cpu_s();
    run_flows(solver, flows, n, &last, &mean);
    const double end = measure_cpu_s();
    const bool same =
        fabs(last - number_of(conf_find(expect, "makespan_s"))) < 1.1e-9 &&
        fabs(mean - number_of(conf_find(expect, "mean_completion_s"))) < 1.1e-9;
    const conf_node *simgrid = conf_find(expect, "simgrid_cpu_s");
    printf("%-12s %9u %9.4f %9.4f %9.4f %9llu %12s  %s\n", conf_find(c, "name")->text.at,
           n, routed - start, end - routed, end - start,
           (unsigned long long)net_flow_settles(solver),
           simgrid != NULL ? simgrid->text.at : "-", same ? "same" : "DIFFERS");
    net_flow_free(solver);
    free(flows);
    hw_graph_free(g);
    if (!same) {
        printf("makespan %.9f, mean %.9f\n", last, mean);
        exit(1);
    }
}

/* ---- the same case for SimGrid ---- */

static FILE *open_file(const char *prefix, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", prefix, ending);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        die("cannot write for SimGrid");
    return file;
}

static void write_platform(FILE *to, const hw_graph *g, const bench_flow *flows,
                           uint32_t n)
{
    hw_router *router;
    halley_error err;
    if (hw_router_new(&router, g, &(hw_route_options){.routing = HW_ROUTING_ECMP},
                      &err) != HALLEY_OK)
        die(err.text);
    fprintf(to, "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n<zone "
                "id=\"z\" routing=\"Full\">\n");
    for (uint32_t i = 0; i < g->n_npus; i++)
        fprintf(to, "<host id=\"h%u\" speed=\"1Gf\"/>\n", i);
    for (uint32_t i = 0; i < g->n_links; i++)
        fprintf(to, "<link id=\"l%u\" bandwidth=\"%.0fBps\" latency=\"0s\"/>\n", i,
                g->link_Bps[i]);
    bool *seen = calloc((size_t)g->n_npus * g->n_npus, sizeof *seen);
    if (seen == NULL)
        die("out of memory");
    for (uint32_t i = 0; i < n; i++) {
        hw_route route;
        bool *pair = &seen[(size_t)flows[i].src * g->n_npus + flows[i].dst];
        if (*pair)
            continue;
        *pair = true;
        if (hw_router_find(&route, router, flows[i].src, flows[i].dst, 0, &err) !=
            HALLEY_OK)
            die(err.text);
        fprintf(to, "<route src=\"h%u\" dst=\"h%u\" symmetrical=\"NO\">", flows[i].src,
                flows[i].dst);
        for (uint32_t k = 0; k < route.n; k++)
            fprintf(to, "<link_ctn id=\"l%u\"/>", route.hops[k].link);
        fprintf(to, "</route>\n");
    }
    fprintf(to, "</zone>\n</platform>\n");
    free(seen);
    hw_router_free(router);
}

static void write_case(const conf_node *c, const char *prefix)
{
    hw_graph *g = make_graph(c);
    uint32_t n;
    bench_flow *flows = make_flows(&n, c, g->n_npus);
    qsort(flows, n, sizeof *flows, compare_starts);
    FILE *platform = open_file(prefix, ".xml"), *list = open_file(prefix, ".txt");
    write_platform(platform, g, flows, n);
    for (uint32_t i = 0; i < n; i++)
        fprintf(list, "h%u h%u %.0f %.12f\n", flows[i].src, flows[i].dst, flows[i].bytes,
                (double)flows[i].start_tick / 1e12);
    if (fclose(platform) != 0 || fclose(list) != 0)
        die("cannot write for SimGrid");
    free(flows);
    hw_graph_free(g);
}

static bool is_wanted(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    conf_file file;
    halley_error err;
    const bool simgrid = argc == 5 && strcmp(argv[1], "--simgrid") == 0;
    if (argc < 2)
        die("usage: flows FILE.json [NAME...]");
    if (conf_load(&file, argv[simgrid ? 2 : 1], &err) != HALLEY_OK)
        die(err.text);
    const conf_node *cases = conf_find(file.root, "cases");
    for (uint32_t i = 0; simgrid && i < cases->n; i++)
        if (strcmp(conf_find(cases->items[i], "name")->text.at, argv[3]) == 0)
            write_case(cases->items[i], argv[4]);
    if (simgrid) {
        conf_fini(&file);
        return 0;
    }
    printf("%-12s %9s %9s %9s %9s %9s %12s\n", "case", "flows", "routes s", "solve s",
           "all s", "settles", "SimGrid s*");
    for (uint32_t i = 0; i < cases->n; i++)
        if (is_wanted(conf_find(cases->items[i], "name")->text.at, argv + 2, argc - 2))
            run_case(cases->items[i]);
    conf_fini(&file);
    return 0;
}
