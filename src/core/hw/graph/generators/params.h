/* hw/graph/generators/params.h - shared by params.c and params_edges.c. */
#ifndef HW_GRAPH_GENERATORS_PARAMS_H
#define HW_GRAPH_GENERATORS_PARAMS_H

#include "hw/graph/generate.h"

/* The parameters during reading: lists and maps are still nodes. */
typedef struct hw_raw_params {
    hw_generator_params p;
    const conf_node *dims, *shifts, *m, *w, *parallel, *tiers, *sizes;
    const conf_node *edges, *switches, *devices, *cost, *power;
    const conf_node *links, *failed; /* faults */
    const conf_node *events;
    str file, format;
    bool node_switch, merge;
} hw_raw_params;

typedef struct hw_params_source {
    const conf_file *file;
    arena *memory; /* for data that the parameters refer to */
} hw_params_source;

/* Read the devices and edges of an explicit network. */
halley_status hw_edges_read(hw_raw_params *raw, const hw_params_source *in,
                            halley_error *err);

#endif
