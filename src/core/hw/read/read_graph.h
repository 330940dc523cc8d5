/* hw/read/read_graph.h - networks made by generators: parameters, levels. */
#ifndef HW_READ_GRAPH_H
#define HW_READ_GRAPH_H

#include "base/conf/conf.h"
#include "hw/cluster.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "hw/schema.h"

/* network: {topology: NAME, ...}. */
halley_status hw_read_graph(const hw_reader *r, const conf_node *map);
/* The generator's parameters for n NPUs (0: as in the file). They refer to `file` and
 * `memory`, which the caller frees on success. */
halley_status hw_graph_params_get(hw_generator_params *out, conf_file *file,
                                  arena *memory, const halley_cluster *c, uint32_t n,
                                  halley_error *err);
/* True if its sizes follow from a number of NPUs that must be given. */
bool hw_graph_needs_count(const halley_cluster *c);
/* Set levels and number of NPUs; 0 = as the generator's sizes imply. */
halley_status hw_graph_count_set(halley_cluster *c, uint32_t n, halley_error *err);

#endif
