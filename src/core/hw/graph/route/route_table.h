/* hw/graph/route/route_table.h - next links towards one destination class; shared by the
 * files of the router. */
#ifndef HW_GRAPH_ROUTE_ROUTE_TABLE_H
#define HW_GRAPH_ROUTE_ROUTE_TABLE_H

#include "base/hash.h"
#include "hw/graph/route.h"

/* Towards one device (or one group of a dragonfly): for every device its distance, and
 * the links that lead one step closer, in the order of their ids. */
typedef struct next_links {
    uint32_t *hops;  /* by device; HW_NONE = no way */
    uint32_t *first; /* n_devices + 1 */
    uint32_t *links;
} next_links;

typedef struct hop_array {
    hw_hop *at;
    size_t n, cap;
} hop_array;

struct hw_router {
    const hw_graph *graph;
    hw_route_options options;
    uint8_t *forwards;               /* by device */
    double *passing_s;               /* by device: its latency */
    uint32_t last_class, last_table; /* of the last search in `classes` */
    uint32_t *in_first, *in_link;    /* incoming links of a device */
    uint32_t *port;                  /* by NPU: its only incoming link, or HW_NONE */
    map64 classes;                   /* class key to index in `tables` */
    ARRAY(next_links) tables;
    size_t table_bytes;
    hop_array hops; /* of the last route */
    /* Work space of spraying, by device and link. */
    uint64_t *share; /* arriving at a device; 0 = not on the route */
    double *far_s;   /* the longest path to a device */
    uint32_t *front, *next_front;
    uint64_t *link_share; /* sums over several paths; zero between calls */
    uint32_t *queue;
};

/* The next links towards a device, made on first use; NULL: no memory. */
const next_links *hw_next_links(hw_router *r, uint32_t device);
/* Towards any switch of a group of a dragonfly. */
const next_links *hw_next_links_group(hw_router *r, uint32_t group);
/* The class of an NPU: its leaf, or itself. *last is the link from there, or HW_NONE. */
uint32_t hw_class_of(const hw_router *r, uint32_t npu, uint32_t *last);

/* The state of the hash while a message is walked. */
typedef struct route_hash {
    uint64_t value;
    bool polarised;
} route_hash;
route_hash hw_hash_start(const hw_router *r, uint32_t src, uint32_t dst, uint64_t label);
uint32_t hw_hash_choose(route_hash *hash, uint32_t n);

bool hw_add_hop(hw_router *r, uint32_t link, uint64_t share);

/* The walk of one pair by a rule. Appends hops and adds to the latency. */
typedef struct route_walk {
    uint32_t src, dst;
    uint64_t label;
    double latency_s;
    bool is_path;
} route_walk;
halley_status hw_walk_path(hw_router *r, route_walk *w, bool hashed, halley_error *err);
halley_status hw_walk_spray(hw_router *r, route_walk *w, halley_error *err);
halley_status hw_walk_up_down(hw_router *r, route_walk *w, halley_error *err);
halley_status hw_walk_dims(hw_router *r, route_walk *w, halley_error *err);
halley_status hw_walk_table(hw_router *r, route_walk *w, halley_error *err);
halley_status hw_walk_valiant(hw_router *r, route_walk *w, halley_error *err);
halley_status hw_refuse_route(const hw_router *r, uint32_t src, uint32_t dst,
                              halley_error *err);
/* Latency of a link and of the device it leaves, unless the message starts there. */
double hw_hop_latency(const hw_router *r, uint32_t link, uint32_t src);
/* Spray `share` from a device to the class of `to` by next links; adds to hops. */
halley_status hw_spray_from(hw_router *r, const next_links *next, uint32_t from,
                            uint64_t share, double *latency_s, uint32_t src);
/* Check that all pairs of NPUs follow the table without loop or dead end. */
halley_status hw_check_table(hw_router *r, halley_error *err);

#endif
