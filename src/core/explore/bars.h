/* explore/bars.h - error bars of many designs; each class is looked up once. */
#ifndef EXPLORE_BARS_H
#define EXPLORE_BARS_H

#include "explore/worker.h"

enum { EXPLORE_MAX_BARS = 32 };

/* Zero is empty. */
typedef struct explore_bars {
    uint32_t n;
    struct {
        uint64_t key;
        halley_error_bar bar;
    } at[EXPLORE_MAX_BARS];
} explore_bars;

/* The error bar of the design that the worker tried last. */
halley_status explore_bars_find(halley_error_bar *out, explore_bars *bars,
                                const explore_worker *w, halley_error *err);

#endif
