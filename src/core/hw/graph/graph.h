/*
 * hw/graph/graph.h - a network as a graph: devices and directed links.
 *
 * A graph is built once and does not change afterwards. Everything is an array over
 * 32-bit ids, so threads may share it. NPUs are devices 0 ... n_npus - 1. NICs follow,
 * then switches, tier by tier from the bottom. Cable j consists of links 2j (a to b) and
 * 2j + 1 (b to a). One-way links follow after all cables.
 *
 * If a generator made the graph, names are not stored: a device is a number within a
 * group of devices ("leaf" + 12). Imported graphs keep the names of their file.
 */
#ifndef HW_GRAPH_GRAPH_H
#define HW_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum hw_device_kind {
    HW_DEVICE_NPU,
    HW_DEVICE_NIC,
    HW_DEVICE_SWITCH,
    HW_DEVICE_CPU,
    HW_DEVICE_HOST,
    HW_DEVICE_MEMORY,
    HW_DEVICE_OTHER,
    HW_DEVICE_N_KINDS
} hw_device_kind;
const char *hw_device_kind_name(hw_device_kind kind); /* "npu"; static */

enum {
    HW_MAX_DIMS = 8,
    HW_MAX_DEVICES = 16 << 20,
    HW_MAX_LINKS = 64 << 20, /* directed */
};
#define HW_NONE UINT32_MAX
/* A rate or latency that the file did not state. It is never 0 or infinite. */
#define HW_UNKNOWN (-1.0)

/* A group of consecutive devices with equal properties. */
typedef struct hw_device_group {
    const char *name; /* "leaf": devices are leaf0, leaf1, ...; copied */
    hw_device_kind kind;
    uint32_t first, n; /* first is set when the group is added */
    uint32_t tier;     /* 0 = NPUs and NICs, 1 = lowest switches, ... */
    uint32_t plane;
    uint32_t per_node; /* device i of the group is in node i / per_node; 0 = in none */
    bool forwards;     /* traffic may pass through */
    double latency_s;  /* latency of passing through one device */
    double cost_usd, power_w; /* of one */
} hw_device_group;

typedef enum hw_medium {
    HW_MEDIUM_BOARD, /* inside a node: included in the node's price */
    HW_MEDIUM_COPPER,
    HW_MEDIUM_OPTICAL,
    HW_MEDIUM_CIRCUIT, /* optical, through an optical circuit switch */
    HW_MEDIUM_N
} hw_medium;

/* Cables with equal properties. */
typedef struct hw_link_kind {
    const char *name; /* "npu-leaf"; copied */
    hw_medium medium;
    uint32_t tier; /* of its upper end */
    double bw_Bps; /* payload rate of one direction without faults */
    double latency_s;
    double cost_usd, power_w; /* of one cable with both ends */
} hw_link_kind;

/* How the NPUs along one dimension are connected, for dimension-order routing. */
typedef enum hw_axis {
    HW_AXIS_NONE, /* no dedicated cables along this dimension */
    HW_AXIS_RING,
    HW_AXIS_LINE, /* without wrap-around */
    HW_AXIS_FULL,
    HW_AXIS_SWITCH, /* of tier d + 1, for dimension d */
} hw_axis;

typedef struct hw_graph {
    arena memory;          /* names, groups, kinds, notes */
    const char *generator; /* "fat-tree", or the format it was imported from */
    uint32_t n_devices, n_npus, n_nics, n_switches;
    uint32_t n_links; /* directed */
    uint32_t n_cables;
    uint32_t n_groups, n_kinds;
    hw_device_group *groups; /* in ascending order of the first device */
    hw_link_kind *kinds;
    uint8_t *dev_kind;   /* hw_device_kind */
    uint32_t *dev_node;  /* the node (server) a device is in; HW_NONE = in no node */
    uint32_t *dev_first; /* n_devices + 1: its outgoing links in adj_link */
    uint32_t *adj_link;  /* n_links, ascending for each device */
    uint32_t *link_from, *link_to;
    uint16_t *link_kind;
    double *link_Bps;         /* 0 = failed, HW_UNKNOWN = not stated */
    double *link_latency_s;   /* HW_UNKNOWN = not stated */
    const char *const *names; /* by device; NULL = derived from the group */
    /* Coordinates of NPU i: the digits of i, dimension 0 fastest. All dims multiplied
     * give n_npus. */
    uint32_t n_dims, dims[HW_MAX_DIMS];
    uint8_t axes[HW_MAX_DIMS]; /* hw_axis: links between NPUs that differ in a digit */
    bool has_rails;            /* NPU r of every node is on rail r; nodes have a switch */
    /* Bisection by the generator's formula, one direction; 0 = no formula. */
    double bisection_Bps;
    bool bisection_is_bound; /* it is only an upper bound */
    const char *note;        /* what was rounded or assumed; NULL = nothing */
    bool is_imported;        /* from a file of another tool: rates are integers in Mb/s */
    const uint32_t *lines;   /* by device: line of the imported file, 0 = unknown; NULL */
    const char *const *warnings; /* about the imported file */
    uint32_t n_warnings;
} hw_graph;

/* Lent arrays, or the graph as a whole: NULL is allowed. */
void hw_graph_free(hw_graph *graph);

const hw_device_group *hw_graph_group(const hw_graph *graph, uint32_t device);
/* Writes "leaf12" and returns `to`. */
const char *hw_graph_name(const hw_graph *graph, uint32_t device, char *to, size_t size);
/* Writes "leaf12-spine3", or "leaf12-spine3#2" for the third of parallel links. */
const char *hw_graph_link_name(const hw_graph *graph, uint32_t link, char *to,
                               size_t size);
/* The device with this name; HW_NONE if there is none. Linear time for imported
 * graphs. */
uint32_t hw_graph_find(const hw_graph *graph, str name);
/* Bytes of the arrays. */
size_t hw_graph_size_bytes(const hw_graph *graph);
/* The opposite direction of a cable; HW_NONE for a one-way link. */
static inline uint32_t hw_graph_reverse(const hw_graph *graph, uint32_t link)
{
    return link < 2 * graph->n_cables ? link ^ 1 : HW_NONE;
}

/*
 * Building. Every call records a failure (no memory, too many), so that only the result
 * of hw_builder_finish must be checked. Groups must be added in the order of device ids.
 */
typedef struct hw_raw_link {
    uint32_t from, to;
    double bw_Bps, latency_s;
    uint16_t kind;
    bool one_way;
} hw_raw_link;
typedef struct hw_builder {
    hw_graph *graph; /* NULL after a failed start */
    ARRAY(hw_device_group) groups;
    ARRAY(hw_link_kind) kinds;
    ARRAY(hw_raw_link) links;  /* cables and one-way links in the order they were added */
    ARRAY(const char *) names; /* empty, or one per device */
    uint32_t n_devices, n_one_way;
    halley_status failed;
} hw_builder;

void hw_builder_init(hw_builder *b, const char *generator);
/* Returns the id of the first device of the group. */
uint32_t hw_builder_add_group(hw_builder *b, const hw_device_group *group);
/* Add one device with its own name. Either all devices of a graph have names, or none. */
uint32_t hw_builder_add_device(hw_builder *b, hw_device_kind kind, str name);
/* Returns the number of the kind, a new one or an equal one. */
uint16_t hw_builder_add_kind(hw_builder *b, const hw_link_kind *kind);
void hw_builder_add_cable(hw_builder *b, uint32_t from, uint32_t to, uint16_t kind);
void hw_builder_add_link(hw_builder *b, const hw_raw_link *link);
void hw_builder_note(hw_builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Finish the graph. The builder is empty afterwards, whatever the result. */
halley_status hw_builder_finish(hw_graph **out, hw_builder *b, halley_error *err);
void hw_builder_fini(hw_builder *b);

#endif
