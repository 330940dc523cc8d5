/*
 * net/heat.h - how busy links are over time. Time is cut into NET_HEAT_BINS bins whose
 * length doubles, neighbours being joined, whenever the run outgrows them; so memory is
 * fixed and the end need not be known.
 */
#ifndef NET_HEAT_H
#define NET_HEAT_H

#include <stdbool.h>
#include <stdint.h>

enum { NET_HEAT_BINS = 256 };

typedef struct net_heat {
    uint64_t bin_ticks;
    uint32_t n_rows;
    float *busy; /* by row, bin: ticks in which a link was sending; NULL = none is kept */
} net_heat;

bool net_heat_init(net_heat *h, uint32_t n_rows,
                   uint64_t bin_ticks); /* false: no memory */
void net_heat_fini(net_heat *h);
/* A link of the row sends from `begin` on for that many ticks. */
void net_heat_add(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks);
/* The same with `busy` ticks of sending spread evenly over those ticks. */
void net_heat_spread(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks,
                     double busy);
/* Bins that a run of this length fills; 0 when no heat is kept. */
uint32_t net_heat_count(const net_heat *h, uint64_t end);
/* Share of a bin's time in which links of the row were sending. */
double net_heat_get(const net_heat *h, uint32_t row, uint32_t bin);

#endif
