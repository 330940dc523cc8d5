/* Built without MPI: every process is alone. */
#include "base/error.h"
#include "explore/share.h"

halley_status halley_explore_join(halley_explore_opts *o, halley_error *err)
{
    (void)err;
    o->rank = 0;
    o->n_ranks = 1;
    return HALLEY_OK;
}

void halley_explore_leave(halley_explore_opts *o)
{
    (void)o;
}

halley_status explore_share_wave(explore_run *r, uint32_t n_blocks, halley_error *err)
{
    (void)r;
    (void)n_blocks;
    return error_set(err, HALLEY_EINVAL, "this halley was built without MPI");
}

halley_status explore_share_work(explore_run *r, halley_error *err)
{
    return explore_share_wave(r, 0, err);
}

void explore_share_stop(explore_run *r, uint32_t n_ranks)
{
    (void)r;
    (void)n_ranks;
}

void explore_share_free(struct explore_share *share)
{
    (void)share;
}
