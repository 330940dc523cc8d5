/* explore/metric.h - what is known of an evaluated design, as a row of numbers. */
#ifndef EXPLORE_METRIC_H
#define EXPLORE_METRIC_H

#include "base/number/units.h"
#include "explore/study/dims.h"
#include "explore/study/param.h"

/* `run_tokens`: of the whole training run. */
void explore_metrics(double out[HALLEY_N_METRICS], const explore_design *design,
                     const halley_estimate *estimate, double run_tokens);
/* By its word in files or its key in JSON. HALLEY_N_METRICS when there is none; then
 * *nearest is one or NULL. */
uint32_t explore_metric_find(str key, const char **nearest);
units_kind explore_metric_unit(uint32_t metric);
/* The same in base units; that of tokens/s is 1/s. */
explore_dims explore_metric_dims(uint32_t metric);

/* "compute 62 %, tensor-parallel messages between nodes 31 %, memory full": what takes
 * the most first. */
void explore_limit(char *to, size_t size, const explore_design *design,
                   const halley_estimate *estimate);

#endif
