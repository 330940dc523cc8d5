/*
 * topology/export/node_link.c - node-link JSON of networkx, one line per node and edge.
 * In a directed graph, both edges of a cable have its number, "cable". They become one
 * cable when the file is read again.
 */
#include "base/hash.h"
#include "topology/export/export.h"

static bool has_parallel(const hw_graph *g, bool *failed)
{
    map64 seen = {0};
    bool found = false, fresh = true;
    for (uint32_t i = 0; !found && !*failed && i < g->n_links; i = hw_next_cable(g, i)) {
        const uint32_t a = g->link_from[i], b = g->link_to[i];
        const bool swap = i < 2 * g->n_cables && a > b;
        uint32_t value = 0;
        *failed = !map64_put(&seen, swap ? (uint64_t)b << 32 | a : (uint64_t)a << 32 | b,
                             &value, &fresh);
        found = !fresh;
    }
    map64_fini(&seen);
    return found;
}

static void write_edge(strbuf *to, const hw_graph *g, uint32_t link, bool directed,
                       bool *is_first)
{
    char name[200];
    strbuf_add(to, *is_first ? STR("\n") : STR(",\n"));
    *is_first = false;
    strbuf_add(to, STR("{\"source\": "));
    strbuf_json(to, str_from(hw_graph_name(g, g->link_from[link], name, sizeof name)));
    strbuf_add(to, STR(", \"target\": "));
    strbuf_json(to, str_from(hw_graph_name(g, g->link_to[link], name, sizeof name)));
    if (g->link_Bps[link] != HW_UNKNOWN) {
        strbuf_add(to, STR(", \"bandwidth_gbps\": "));
        hw_add_gbps(to, g->link_Bps[link]);
    }
    if (g->link_latency_s[link] != HW_UNKNOWN) {
        strbuf_add(to, STR(", \"latency_ns\": "));
        hw_add_ns(to, g->link_latency_s[link]);
    }
    if (directed && link < 2 * g->n_cables)
        strbuf_printf(to, ", \"cable\": %u", link / 2);
    strbuf_add_char(to, '}');
}

static halley_status write_node_link(strbuf *to, const void *from, const void *options,
                                     halley_error *err)
{
    const hw_graph *const g = from;
    (void)options;
    const bool directed = g->n_links > 2 * g->n_cables;
    bool is_first = true, failed = false;
    const bool multigraph = has_parallel(g, &failed);
    if (failed)
        return error_nomem(err);
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_Bps[i] == 0)
            return hw_refuse_export(err,
                                    "node-link JSON cannot hold links that have failed");
    strbuf_printf(to,
                  "{\"directed\": %s, \"multigraph\": %s, \"graph\": {}, \"nodes\": [",
                  directed ? "true" : "false", multigraph ? "true" : "false");
    for (uint32_t i = 0; i < g->n_devices; i++) {
        char name[200];
        strbuf_add(to, i == 0 ? STR("\n{\"id\": ") : STR(",\n{\"id\": "));
        strbuf_json(to, str_from(hw_graph_name(g, i, name, sizeof name)));
        strbuf_printf(to, ", \"kind\": \"%s\"}",
                      hw_device_kind_name((hw_device_kind)g->dev_kind[i]));
    }
    strbuf_add(to, STR("\n], \"edges\": ["));
    for (uint32_t i = 0; i < g->n_links; i += directed ? 1 : 2)
        write_edge(to, g, i, directed, &is_first);
    strbuf_add(to, STR("\n]}\n"));
    return HALLEY_OK;
}

const format_row topology_export_node_link = {
    .name = "node-link", .doc = "node-link JSON of networkx", .write = write_node_link};
