/*
 * sim/interfere.h - kernels that run beside communication of the same NPU take longer, by
 * a stated factor for each class of kernel, and collectives beside kernels of a member
 * have less of the rate that they have alone.
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
/* The network carries a collective, or a part of it, from now on. */
void sim_interfere_add_call(sim *s, uint32_t op, net_id id, uint64_t event);
/* All of it is over. */
void sim_interfere_end_calls(sim *s, uint32_t op);

#endif
