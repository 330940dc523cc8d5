/*
 * Goodput under failures. Interruptions are a Poisson process whose rate grows with the
 * number of NPUs: M = MTBF of an NPU / NPUs. Consider w seconds of work and a checkpoint
 * of c seconds. Every interruption restarts them after r seconds. On average they take
 *
 *   M exp(r / M) (exp((w + c) / M) - 1)
 *
 * seconds. To about one percent, the best w is (J. T. Daly, "A higher order estimate of
 * the optimum checkpoint interval for restart dumps", 2006, eq. 37)
 *
 *   sqrt(2 c M) (1 + sqrt(c / 2M) / 3 + (c / 2M) / 9) - c   if c < 2M, else M.
 *
 * Known to be wrong where failures come in bursts, where checkpoints are written
 * asynchronously during training, and where spare nodes shorten only some restarts.
 */
#include "halley/estimate.h"

#include <assert.h>
#include <math.h>

static double best_interval(double mtbf_s, double checkpoint_s)
{
    assert(mtbf_s > 0 && checkpoint_s > 0);
    const double x = checkpoint_s / (2 * mtbf_s);
    if (x >= 1)
        return mtbf_s;
    return sqrt(2 * checkpoint_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - checkpoint_s;
}

void halley_goodput_run(halley_goodput *out, const halley_failures *failures,
                        double n_npus)
{
    *out = (halley_goodput){
        .size = sizeof *out, .mtbf_s = INFINITY, .interval_s = INFINITY, .share = 1};
    if (!(failures->npu_mtbf_s > 0) || !(n_npus > 0))
        return;
    const double mtbf = failures->npu_mtbf_s / n_npus;
    const double restart = failures->restart_s, checkpoint = failures->checkpoint_s;
    out->mtbf_s = mtbf;
    /* A checkpoint that costs nothing is written all the time: only restarts lose
     * time. */
    out->interval_s = checkpoint > 0 ? best_interval(mtbf, checkpoint) : 0;
    const double cycle = expm1((out->interval_s + checkpoint) / mtbf);
    out->share = checkpoint > 0 ? out->interval_s / (mtbf * exp(restart / mtbf) * cycle)
                                : exp(-restart / mtbf);
    assert(out->share >= 0 && out->share <= 1);
}
