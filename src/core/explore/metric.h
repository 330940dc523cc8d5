/* explore/metric.h - the metrics of an evaluated design, as a row of numbers. */
#ifndef EXPLORE_METRIC_H
#define EXPLORE_METRIC_H

#include "base/number/units.h"
#include "explore/study/dims.h"
#include "explore/study/param.h"

/* `run_tokens` is the number of tokens of the whole training run. */
void explore_metrics(double out[HALLEY_N_METRICS], const explore_design *design,
                     const halley_estimate *estimate, double run_tokens);
/* Find a metric by its word in files or its key in JSON. HALLEY_N_METRICS if there is
 * none; *nearest is then the nearest name or NULL. */
uint32_t explore_metric_find(str key, const char **nearest);
units_kind explore_metric_unit(uint32_t metric);
/* The same in base units; for tokens/s it is 1/s. */
explore_dims explore_metric_dims(uint32_t metric);

/* "compute 62 %, tensor-parallel messages between nodes 31 %, memory full": the largest
 * share first. */
void explore_limit(char *to, size_t size, const explore_design *design,
                   const halley_estimate *estimate);

#endif
