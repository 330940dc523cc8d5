/*
 * net/heat.h - how busy links are over time. Time is divided into NET_HEAT_BINS bins.
 * When the run outgrows them, neighbouring bins are joined and their length doubles. So
 * memory is fixed, and the end of the run need not be known.
 */
#ifndef NET_HEAT_H
#define NET_HEAT_H

#include <stdbool.h>
#include <stdint.h>

enum { NET_HEAT_BINS = 256 };

typedef struct net_heat {
    uint64_t bin_ticks;
    uint32_t n_rows;
    float *busy; /* by row and bin: ticks in which a link was sending; NULL = not kept */
} net_heat;

bool net_heat_init(net_heat *h, uint32_t n_rows,
                   uint64_t bin_ticks); /* false: no memory */
void net_heat_fini(net_heat *h);
/* A link of the row sends for `ticks` from `begin` on. */
void net_heat_add(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks);
/* As net_heat_add, with `busy` ticks of sending spread evenly over `ticks`. */
void net_heat_spread(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks,
                     double busy);
/* The bins that a run of this length fills; 0 if no heat is kept. */
uint32_t net_heat_count(const net_heat *h, uint64_t end);
/* Fraction of a bin's time in which links of the row were sending. */
double net_heat_get(const net_heat *h, uint32_t row, uint32_t bin);

#endif
