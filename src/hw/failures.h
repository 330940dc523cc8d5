/* hw/failures.h - how often things break, and what that takes. */
#ifndef HW_FAILURES_H
#define HW_FAILURES_H

#include "base/conf.h"
#include "halley/platform.h"

/* The part `failures` of a cluster or platform file; `map` NULL = the defaults. */
halley_status cluster_failures_read(halley_platform *out, const conf_file *file,
                                    const conf_node *map, halley_error *err);

#endif
