/* explore/pulse_mpi.h - is rank 0 alive? See pulse_mpi.c. */
#ifndef EXPLORE_PULSE_MPI_H
#define EXPLORE_PULSE_MPI_H

#include "halley/explore.h"

#include <stdbool.h>

/* Of rank 0: begins to beat. `threads`: several threads may call MPI; without, nothing
 * beats and nothing is ever lost. */
halley_status pulse_begin(struct halley_pulse **out, uint32_t rank, uint32_t n_ranks,
                          bool threads, halley_error *err);
/* Of the others: was there no beat for too long? */
bool pulse_lost(struct halley_pulse *pulse);
void pulse_end(struct halley_pulse *pulse);

#endif
