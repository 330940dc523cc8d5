/*
 * topology/export/export.h - exports graphs as files of other tools.
 *
 * To add a format: add a file here, a row in the table of import/import.c, a round trip
 * in tests/unit/formats/topology/test_export.c, and a row in doc/reference/topology.md.
 */
#ifndef TOPOLOGY_EXPORT_EXPORT_H
#define TOPOLOGY_EXPORT_EXPORT_H

#include "base/format.h"
#include "hw/graph/foreign.h"

extern const format_row topology_export_ns3, topology_export_htsim,
    topology_export_infragraph, topology_export_node_link, topology_export_simgrid,
    topology_export_dot;

/* For the writers of formats. */
halley_status hw_refuse_export(halley_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fail unless every rate and latency is known. */
halley_status hw_require_known(const hw_graph *g, const char *format, halley_error *err);
/* The next cable or one-way link after `link`; start with 0. */
static inline uint32_t hw_next_cable(const hw_graph *g, uint32_t link)
{
    return link + (link < 2 * g->n_cables ? 2 : 1);
}
/* "400" Gb/s, "500" ns: without rounding noise of binary fractions. */
void hw_add_gbps(strbuf *to, double bw_Bps);
void hw_add_ns(strbuf *to, double latency_s);

#endif
