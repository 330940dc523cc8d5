/* topology/import/infragraph.h - the parts of an InfraGraph file, shared by its two
 * readers. */
#ifndef TOPOLOGY_IMPORT_INFRAGRAPH_H
#define TOPOLOGY_IMPORT_INFRAGRAPH_H

#include "topology/import/draft.h"

typedef struct infra_link {
    str name;
    double bw_Bps, latency_s;
    uint16_t kind;
} infra_link;
typedef struct infra_links {
    infra_link *at;
    uint32_t n;
} infra_links;

typedef enum infra_choice {
    INFRA_CUSTOM,
    INFRA_DEVICE,
    INFRA_CPU,
    INFRA_XPU,
    INFRA_NIC,
    INFRA_MEMORY,
    INFRA_PORT,
    INFRA_SWITCH,
    INFRA_N_CHOICES
} infra_choice;

typedef struct infra_component {
    str name;
    uint32_t count;
    infra_choice choice;
    uint32_t device; /* of INFRA_DEVICE */
    uint64_t offset; /* of its first node inside the device */
    uint64_t size;   /* nodes of one */
} infra_component;

/* Two nodes of a device, by their offsets, and the link between them. */
typedef struct infra_pair {
    uint64_t a, b;
    const infra_link *link;
} infra_pair;
typedef ARRAY(infra_pair) infra_pairs;

typedef struct infra_device {
    str name;
    const conf_node *node;
    infra_component *components;
    uint32_t n_components;
    infra_links links;
    infra_pairs pairs; /* of its own edges */
    uint64_t size;     /* total number of nodes; 0 also while unknown */
    uint64_t work;     /* steps to expand it */
    int state;         /* state of the loop search: 0 new, 1 open, 2 done */
} infra_device;

typedef struct infra_instance {
    str name;
    uint32_t device, count;
    uint64_t base; /* its first node */
} infra_instance;

typedef struct infra {
    hw_draft *d;
    arena memory;
    const conf_node *root;
    infra_device *devices;
    uint32_t n_devices;
    infra_links links;
    infra_instance *instances;
    uint32_t n_instances;
} infra;

/* The pairs of an edge between two lists of nodes. */
typedef ARRAY(uint64_t) infra_nodes;
/* The indexes of "name[a:b:c]", out of `count`. */
typedef struct infra_slice {
    str name;
    int64_t first, end, step;
} infra_slice;
const infra_link *infra_find_link(const infra_links *links, const conf_node *name);
/* Add everything to the draft as devices and links. */
halley_status infra_build(infra *f);

#endif
