/* cost/gemm.h - the time of a matmul on an NPU. */
#ifndef COST_GEMM_H
#define COST_GEMM_H

#include "halley/npu.h"

enum { COST_N_TILES = 4 };

/* A prepared profile: everything that does not depend on the shape. */
typedef struct cost_gemm {
    double step_s[COST_N_TILES]; /* one unit of k for one tile on one core */
    double n_cores;
    double flop_s;       /* of one operation at the peak of all cores */
    double in_bytes;     /* of one input element */
    double memory_s;     /* of one byte */
    double split_byte_s; /* of one element of a partial result, with all cores loading */
    /* Least number of elements streamed per multiplication, with the NPU's on-chip
     * memory, and with that of the device on which the rates were measured. */
    double streamed, streamed_fitted;
    double round_to;
    halley_gemm_rates rates;
} cost_gemm;

/* in_bytes: 2 for 16-bit, 1 for 8-bit inputs. peak_flops is the peak of that type. */
cost_gemm cost_gemm_make(const halley_npu *npu, const halley_gemm_rates *rates,
                         double peak_flops, double in_bytes);

/* Seconds for `groups` matmuls C[m,n] = A[m,k] B[k,n] in one launch. `sustained`: the
 * device is busy all the time, as in training, so that throttling is at its full
 * extent. */
double cost_gemm_time(const cost_gemm *g, double m, double n, double k, double groups,
                      bool sustained);

/*
 * Memory traffic for the plain roofline (COMET), which takes the longer of FLOPs over
 * peak and traffic over bandwidth. The traffic is compulsory if a panel of an operand
 * fits in `on_chip_bytes`. Otherwise one operand is streamed several times, whichever is
 * cheaper.
 */
double cost_gemm_traffic(double m, double n, double k, double bytes,
                         double on_chip_bytes);
double cost_roofline(double flops, double bytes, double peak_flops, double bw_Bps);

#endif
