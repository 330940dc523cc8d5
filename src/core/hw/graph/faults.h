/*
 * hw/graph/faults.h - links that are slower than nominal, and links, switches, NICs and
 * NPUs that have failed.
 *
 *     links:
 *       - {between: leaf0 - spine1, bandwidth: x0.5}     # or 200 Gb/s; latency: 2 us
 *       - {between: [leaf*, spine3], failed: yes}
 *     failed: [spine2, leaf0 - spine1]
 *
 * Both directions of a cable change. Routes avoid failed links and devices. A graph in
 * which some NPUs can no longer reach each other is refused, and the message names them.
 */
#ifndef HW_GRAPH_FAULTS_H
#define HW_GRAPH_FAULTS_H

#include "base/array.h"
#include "base/conf/conf.h"
#include "hw/graph/graph.h"

/* One entry. Names are device names; a name that ends in * is a prefix. */
typedef struct hw_fault {
    str a, b; /* ends of links; b empty: all links of device a */
    str text; /* as written, while the two ends are not yet split */
    bool failed;
    bool is_device;   /* `text` is a device: all its links */
    double factor;    /* on the bandwidth; 1 = unchanged */
    double bw_Bps;    /* 0 = not given */
    double latency_s; /* negative = not given */
} hw_fault;

/* Read the lists `links` and `failed` (each may be NULL). The result refers to the file
 * and `memory`. */
halley_status hw_faults_read(const hw_fault **out, uint32_t *n, arena *memory,
                             const conf_file *file, const conf_node *links,
                             const conf_node *failed, halley_error *err);
/* Append the links of an entry; it is an error if there are none. */
typedef ARRAY(uint32_t) hw_link_array;
halley_status hw_fault_find_links(hw_link_array *out, const hw_graph *g,
                                  const hw_fault *f, halley_error *err);
/* Make an entry from texts in a file: `between` and `bandwidth` as in `links`. */
halley_status hw_fault_read_ends(hw_fault *f, const conf_file *file,
                                 const conf_node *node, halley_error *err);
halley_status hw_fault_read_bandwidth(hw_fault *f, const conf_file *file,
                                      const conf_node *at, str text, halley_error *err);
/* The rate of a link under an entry. */
double hw_fault_rate_Bps(const hw_fault *f, double bw_Bps);
/* Change the links of a graph. An entry that matches no link is an error. */
halley_status hw_faults_apply(hw_graph *g, const hw_fault *faults, uint32_t n,
                              halley_error *err);

#endif
