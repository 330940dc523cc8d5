/* workload/adapter.h - layers with frozen weights and small trained adapters. */
#ifndef WORKLOAD_ADAPTER_H
#define WORKLOAD_ADAPTER_H

#include "workload/ops.h"

/* Freeze the matmuls of a layer and add LoRA adapters of rank plan->lora to its
 * attention. */
void workload_layer_adapt(workload_layer *layer, const halley_plan *plan);
/* Freeze a layer that has no adapters: the embedding, the head. */
void workload_layer_freeze(workload_layer *layer);

#endif
