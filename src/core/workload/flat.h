/* workload/flat.h - recommendation models and explicit operator lists. */
#ifndef WORKLOAD_FLAT_H
#define WORKLOAD_FLAT_H

#include "workload/ops.h"

/* All operators of a model that is not a transformer, for one micro-batch on one rank. */
void workload_flat_make(workload_layer *out, const halley_model *model,
                        const halley_plan *plan);

#endif
