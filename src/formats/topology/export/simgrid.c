/*
 * topology/export/simgrid.c - SimGrid platforms, XML 4.1.
 *
 * NPUs are hosts, and all other devices are routers. A cable is a split-duplex link with
 * its own route. Up to 1,000 devices, SimGrid finds the other routes itself (Floyd, n^3).
 * Above that, the shortest routes between all NPUs are written (Full), up to 2,048 NPUs.
 */
#include "hw/graph/route.h"
#include "topology/export/export.h"

enum { MOST_FLOYD = 1000, MOST_FULL = 2048 };

static void add_simgrid_file_name(strbuf *to, const hw_graph *g, uint32_t device)
{
    char name[200];
    strbuf_xml(to, str_from(hw_graph_name(g, device, name, sizeof name)));
}

static void write_simgrid_file_devices(strbuf *to, const hw_graph *g)
{
    for (uint32_t i = 0; i < g->n_devices; i++) {
        const bool is_npu = g->dev_kind[i] == HW_DEVICE_NPU;
        strbuf_add(to, is_npu ? STR("    <host id=\"") : STR("    <router id=\""));
        add_simgrid_file_name(to, g, i);
        strbuf_add(to, is_npu ? STR("\" speed=\"1Gf\"/>\n") : STR("\"/>\n"));
    }
}

static void write_cables(strbuf *to, const hw_graph *g)
{
    for (uint32_t i = 0; i < g->n_links; i = hw_next_cable(g, i)) {
        strbuf_printf(to, "    <link id=\"l%u\" bandwidth=\"", i);
        hw_add_gbps(to, g->link_Bps[i]);
        strbuf_add(to, STR("Gbps\" latency=\""));
        hw_add_ns(to, g->link_latency_s[i]);
        strbuf_add(to, i < 2 * g->n_cables
                           ? STR("ns\" sharing_policy=\"SPLITDUPLEX\"/>\n")
                           : STR("ns\" sharing_policy=\"SHARED\"/>\n"));
    }
    for (uint32_t i = 0; i < g->n_links; i = hw_next_cable(g, i)) {
        const bool is_cable = i < 2 * g->n_cables;
        strbuf_add(to, STR("    <route src=\""));
        add_simgrid_file_name(to, g, g->link_from[i]);
        strbuf_add(to, STR("\" dst=\""));
        add_simgrid_file_name(to, g, g->link_to[i]);
        strbuf_printf(to, "\"%s><link_ctn id=\"l%u\"%s/></route>\n",
                      is_cable ? "" : " symmetrical=\"NO\"", i,
                      is_cable ? " direction=\"UP\"" : "");
    }
}

static void write_route(strbuf *to, const hw_graph *g, const hw_route *route,
                        uint32_t src, uint32_t dst)
{
    if (route->n < 2) /* the route of a cable is already written */
        return;
    strbuf_add(to, STR("    <route src=\""));
    add_simgrid_file_name(to, g, src);
    strbuf_add(to, STR("\" dst=\""));
    add_simgrid_file_name(to, g, dst);
    strbuf_add(to, STR("\" symmetrical=\"NO\">"));
    for (uint32_t i = 0; i < route->n; i++) {
        const uint32_t link = route->hops[i].link;
        if (link < 2 * g->n_cables)
            strbuf_printf(to, "<link_ctn id=\"l%u\" direction=\"%s\"/>", link & ~1U,
                          link % 2 == 0 ? "UP" : "DOWN");
        else
            strbuf_printf(to, "<link_ctn id=\"l%u\"/>", link);
    }
    strbuf_add(to, STR("</route>\n"));
}

static halley_status write_all_routes(strbuf *to, const hw_graph *g, halley_error *err)
{
    hw_router *router;
    const hw_route_options shortest = {.routing = HW_ROUTING_SHORTEST};
    TRY(hw_router_new(&router, g, &shortest, err));
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < g->n_npus; i++)
        for (uint32_t k = 0; status == HALLEY_OK && k < g->n_npus; k++) {
            hw_route route;
            if (i == k)
                continue;
            status = hw_router_find(&route, router, i, k, 0, err);
            if (status == HALLEY_OK)
                write_route(to, g, &route, i, k);
        }
    hw_router_free(router);
    return status;
}

static halley_status write_simgrid(strbuf *to, const void *from, const void *options,
                                   halley_error *err)
{
    const hw_graph *const g = from;
    (void)options;
    const bool is_full = g->n_devices > MOST_FLOYD;
    TRY(hw_require_known(g, "SimGrid", err));
    for (uint32_t i = 0; i < g->n_devices; i++)
        if (g->dev_kind[i] != HW_DEVICE_NPU && g->dev_kind[i] != HW_DEVICE_SWITCH)
            return hw_refuse_export(err,
                                    "a SimGrid platform has hosts and routers only; this "
                                    "network has devices of kind %s",
                                    hw_device_kind_name((hw_device_kind)g->dev_kind[i]));
    if (is_full && g->n_npus > MOST_FULL)
        return hw_refuse_export(
            err,
            "SimGrid needs a route for every pair of NPUs, and %u NPUs "
            "have too many; at most %d are written",
            g->n_npus, MOST_FULL);
    strbuf_printf(to,
                  "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                  "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n  "
                  "<zone id=\"world\" routing=\"%s\">\n",
                  is_full ? "Full" : "Floyd");
    write_simgrid_file_devices(to, g);
    write_cables(to, g);
    if (is_full)
        TRY(write_all_routes(to, g, err));
    strbuf_add(to, STR("  </zone>\n</platform>\n"));
    return HALLEY_OK;
}

const format_row topology_export_simgrid = {
    .name = "simgrid", .doc = "SimGrid platform, XML 4.1", .write = write_simgrid};
