/*
 * hw/graph/export/export.h - exports graphs as files of other tools.
 *
 * To add a format: add a file here, a row in the table of export.c, a round trip in
 * tests/unit/hw/test_export.c, and a row in doc/reference/topology.md.
 */
#ifndef HW_GRAPH_EXPORT_EXPORT_H
#define HW_GRAPH_EXPORT_EXPORT_H

#include "hw/graph/graph.h"

/* Valid when zeroed. */
typedef struct hw_export_options {
    bool flatten; /* ns3: merge NICs into their NPUs, drop processors and other devices */
} hw_export_options;

typedef struct hw_export_format {
    const char *name;
    halley_status (*write)(strbuf *to, const hw_graph *g, const hw_export_options *o,
                           halley_error *err);
    const char *doc; /* one sentence */
} hw_export_format;

/* Append the text. A graph that the format cannot express is refused with an error that
 * ends in "[unsupported]". */
halley_status hw_graph_export(strbuf *to, const hw_graph *g, str format,
                              const hw_export_options *options, halley_error *err);
const hw_export_format *hw_export_get(size_t i); /* NULL past the last */

extern const hw_export_format hw_export_ns3, hw_export_htsim, hw_export_infragraph,
    hw_export_node_link, hw_export_simgrid, hw_export_dot;

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
