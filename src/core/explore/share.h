/* explore/share.h - one run by several processes; see share.c. */
#ifndef EXPLORE_SHARE_H
#define EXPLORE_SHARE_H

#include "explore/run.h"

/* Rank 0: evaluate the blocks of this wave together with the others. */
halley_status explore_share_wave(explore_run *r, uint32_t n_blocks, halley_error *err);
/* Other ranks: evaluate blocks until rank 0 says stop. */
halley_status explore_share_work(explore_run *r, halley_error *err);
/* Rank 0: release the other ranks. Does nothing if there are none. `r` may be NULL if
 * nothing was evaluated. */
void explore_share_stop(explore_run *r, const halley_explore_opts *o);
/* What a run knows about the other ranks; NULL is allowed. */
struct explore_share;
void explore_share_free(struct explore_share *share);

#endif
