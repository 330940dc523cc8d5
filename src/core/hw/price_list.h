/*
 * hw/price_list.h - prices and powers of parts that every cluster has and few files
 * state: links, switches, cables, network cards and memories. Each has a low, a typical
 * and a high value (about the 10th, 50th and 90th percentile that a buyer may meet), a
 * year and a source. None is a quote.
 */
#ifndef HW_PRICE_LIST_H
#define HW_PRICE_LIST_H

#include "halley/npu.h"

typedef enum hw_price_id {
    HW_PRICE_SWITCH,    /* USD per Gb/s of a port */
    HW_PRICE_OPTICS,    /* USD per Gb/s of a module */
    HW_PRICE_FIBRE,     /* USD per Gb/s of a cable */
    HW_PRICE_COPPER,    /* USD per Gb/s of a cable */
    HW_PRICE_NIC,       /* USD per Gb/s */
    HW_PRICE_UP,        /* USD per GB/s and direction of an NPU, switches */
    HW_PRICE_UP_OPTICS, /* USD per GB/s and direction of an NPU, both ends */
    HW_PRICE_HBM,       /* USD per GB, as sold */
    HW_PRICE_CXL,       /* USD per GB */
    HW_PRICE_CXL_RATE,  /* USD per GB/s */
    HW_PRICE_DDR,       /* USD per GB */
    HW_PRICE_FLASH,     /* USD per GB */
    HW_POWER_SWITCH,    /* W per Gb/s of a port */
    HW_POWER_OPTICS,    /* W per Gb/s of a module */
    HW_POWER_NIC,       /* W per Gb/s */
    HW_POWER_UP,        /* W per GB/s and direction of an NPU, switches */
    HW_POWER_CXL,       /* W per GB */
    HW_POWER_DDR,       /* W per GB */
    HW_N_PRICES
} hw_price_id;

typedef struct hw_price {
    const char *what, *unit;
    double low, typical, high;
    int year;
    const char *source;
} hw_price;

const hw_price *hw_price_get(hw_price_id id);

/* What the list says of a memory: its price per GB and GB/s, and its power per GB. */
typedef struct hw_memory_price {
    double usd_per_byte, usd_per_Bps, w_per_byte;
    bool known;
} hw_memory_price;

/* By the memory's name; the first memory of an NPU is stacked on it. */
hw_memory_price hw_memory_price_find(const halley_tier *tier, bool first);
/* True if the price of hosts contains a memory of this name. */
bool hw_memory_is_of_host(const halley_tier *tier);

#endif
