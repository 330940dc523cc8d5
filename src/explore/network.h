/*
 * explore/network.h - the networks of a study. A design that changes keys of its
 * cluster's network (or has another number of NPUs on a network that is a graph) gets the
 * levels, price and power of that network. Each is made once and kept; threads share
 * them.
 */
#ifndef EXPLORE_NETWORK_H
#define EXPLORE_NETWORK_H

#include "explore/study/param.h"

typedef struct explore_networks explore_networks;

/* NULL: no memory. */
explore_networks *explore_networks_new(void);
void explore_networks_free(explore_networks *n); /* NULL is allowed */
/* Does the design's network follow from its edits or its number of NPUs? */
bool explore_network_follows(const explore_design *d, uint32_t n_npus);
/* Give the design its network for that many NPUs. The error is the same for the same
 * design; HALLEY_ENOMEM may come at any time. */
halley_status explore_network_set(explore_design *d, explore_networks *n, uint32_t n_npus,
                                  halley_error *err);

#endif
