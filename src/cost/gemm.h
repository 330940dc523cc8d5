/* cost/gemm.h - how long a matrix product takes on an NPU. */
#ifndef COST_GEMM_H
#define COST_GEMM_H

#include "halley/npu.h"

enum { COST_N_TILES = 4 };

/* A profile ready for use: everything that does not depend on the shape. */
typedef struct cost_gemm {
    double step_s[COST_N_TILES]; /* one unit of k for one tile on one core */
    double n_cores;
    double flop_s;       /* of one operation at the peak of all cores */
    double in_bytes;     /* of one input element */
    double memory_s;     /* of one byte */
    double split_byte_s; /* of one element of a partial result, all cores loading */
    /* Elements streamed per multiplication at least, with the on-chip memory that is
     * there and with that of the device the rates were measured on. */
    double streamed, streamed_fitted;
    double round_to;
    halley_gemm_rates rates;
} cost_gemm;

/* in_bytes: 2 for 16-bit, 1 for 8-bit inputs. peak in FLOP/s of that type. */
cost_gemm cost_gemm_make(const halley_npu *npu, const halley_gemm_rates *rates,
                         double peak_flops, double in_bytes);

/*
 * Seconds for `groups` products C[m,n] = A[m,k] B[k,n] in one launch. `sustained`: the
 * device is busy all the time, as in training, so that the whole throttle shows.
 */
double cost_gemm_time(const cost_gemm *g, double m, double n, double k, double groups,
                      bool sustained);

/*
 * The plain roofline instead (COMET): flops over peak against traffic over bandwidth,
 * where the traffic is compulsory when a panel of an operand fits in `on_chip_bytes`,
 * else the cheaper order of streaming one operand again.
 */
double cost_gemm_traffic(double m, double n, double k, double bytes,
                         double on_chip_bytes);
double cost_roofline(double flops, double bytes, double peak_flops, double bw_Bps);

#endif
