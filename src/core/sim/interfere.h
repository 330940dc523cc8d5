/*
 * sim/interfere.h - kernels take longer while their NPU communicates, by a stated factor
 * for each class of kernel. Collectives run below their undisturbed rate while a kernel
 * runs on one of their members.
 */
#ifndef SIM_INTERFERE_H
#define SIM_INTERFERE_H

#include "sim/engine.h"

/* Leaves s->interfere NULL if the cluster states no factors. */
halley_status sim_interfere_init(sim *s);
void sim_interfere_fini(sim *s);
/* A kernel begins that would take `ticks` undisturbed. */
void sim_interfere_begin(sim *s, uint32_t rank, uint32_t node, uint64_t ticks);
/* A kernel has ended. Returns the ticks that it took. */
uint64_t sim_interfere_end(sim *s, uint32_t rank, uint32_t node);
/* Communication of the rank has begun, or all of it has ended. */
void sim_interfere_change(sim *s, uint32_t rank, bool communicates);
/* The network starts to carry a collective, or a part of it. */
void sim_interfere_add_call(sim *s, uint32_t op, net_id id, uint64_t event);
/* All parts of the collective have ended. */
void sim_interfere_end_calls(sim *s, uint32_t op);

#endif
