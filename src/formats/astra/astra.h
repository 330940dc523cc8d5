/* astra/astra.h - the parts of the reader of ASTRA-sim's files; for this folder. */
#ifndef ASTRA_ASTRA_H
#define ASTRA_ASTRA_H

#include "base/conf/conf.h"
#include "hw/cluster.h"
#include "hw/groups.h"

halley_status astra_read_network(halley_cluster *c, const char *path, halley_error *err);
halley_status astra_read_system(halley_cluster *c, const halley_astra_files *files,
                                halley_error *err);
halley_status astra_read_memory(halley_cluster *c, const char *path, halley_error *err);

/* The same from files that were already read. */
halley_status astra_network_from(halley_cluster *c, const conf_file *file,
                                 halley_error *err);
halley_status astra_system_from(halley_cluster *c, const conf_file *file,
                                const halley_astra_files *files, halley_error *err);
halley_status astra_memory_from(halley_cluster *c, const conf_file *file,
                                halley_error *err);
/* Parts of the network readers. */
halley_status astra_read_topology(cluster_dim *dim, const conf_file *file,
                                  const conf_node *node, halley_error *err);
halley_status astra_count_npus(halley_cluster *c, const conf_file *file,
                               halley_error *err);
/* ASTRA-sim 1.0's network JSON (first.c). */
halley_status astra_network_from_first(halley_cluster *c, const conf_file *file,
                                       halley_error *err);
/* "ring_direct" in a version 1.0 system file as a list; NULL: no memory. */
const conf_node *astra_split_list(arena *memory, const conf_node *scalar);
/* Read the files of ns-3 and HTSim (packets.c); the caller owns *out. */
halley_status astra_load_packets(halley_cluster **out, const halley_astra_files *files,
                                 halley_error *err);
/* Check that the root of a file is a map. */
halley_status astra_map(const conf_file *file, halley_error *err);

#endif
