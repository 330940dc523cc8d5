/*
 * sim/interfere.h - kernels that run beside communication of the same NPU take longer, by
 * a stated factor for each class of kernel.
 */
#ifndef SIM_INTERFERE_H
#define SIM_INTERFERE_H

#include "sim/engine.h"

/* NULL in s->interfere when the cluster states no factors. */
halley_status sim_interfere_init(sim *s);
void sim_interfere_fini(sim *s);
/* A kernel begins that would take so many ticks by itself. */
void sim_interfere_begin(sim *s, uint32_t rank, uint32_t node, uint64_t ticks);
/* It has ended: the time that it took. */
uint64_t sim_interfere_end(sim *s, uint32_t rank, uint32_t node);
/* Communication of the rank has begun, or all of it has ended. */
void sim_interfere_change(sim *s, uint32_t rank, bool communicates);

#endif
