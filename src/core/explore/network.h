/*
 * explore/network.h - the networks of a study. Some designs change keys of their
 * cluster's network, or have another number of NPUs on a network that is a graph. They
 * get the levels, price and power of the resulting network. Each network is built once
 * and cached; threads share the cache.
 */
#ifndef EXPLORE_NETWORK_H
#define EXPLORE_NETWORK_H

#include "explore/study/param.h"

typedef struct explore_networks explore_networks;

/* NULL: no memory. */
explore_networks *explore_networks_new(void);
void explore_networks_free(explore_networks *n); /* NULL is allowed */
/* True if the design's network depends on its edits or its number of NPUs. */
bool explore_network_follows(const explore_design *d, uint32_t n_npus);
/* Give the design its network for that many NPUs. The same design always gives the same
 * error, except that HALLEY_ENOMEM may occur at any time. */
halley_status explore_network_set(explore_design *d, explore_networks *n, uint32_t n_npus,
                                  halley_error *err);

#endif
