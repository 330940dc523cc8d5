/* workload/adapter.h - layers whose weights are frozen beside small trained adapters. */
#ifndef WORKLOAD_ADAPTER_H
#define WORKLOAD_ADAPTER_H

#include "workload/ops.h"

/* Freeze the products of a layer and add LoRA adapters of plan->lora to its attention. */
void workload_layer_adapt(workload_layer *layer, const halley_plan *plan);
/* Freeze a layer that has no adapters: the embedding, the head. */
void workload_layer_freeze(workload_layer *layer);

#endif
