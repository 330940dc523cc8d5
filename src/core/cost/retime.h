/*
 * cost/retime.h - predict the time of a kernel on one device from a recording on another.
 *
 * t' = f_to + r(class) * max(0, t - f_from). Here f is the duration of the shortest
 * kernels, and r the slow-down of kernels of the class. If two devices were recorded with
 * the same models, r is measured. Otherwise it is the ratio of the cost model's
 * predictions.
 */
#ifndef COST_RETIME_H
#define COST_RETIME_H

#include "halley/npu.h"

#include <stdbool.h>

typedef enum cost_kernel {
    COST_MATMUL,
    COST_MATMUL_UNALIGNED, /* n or k is no multiple of 8 */
    COST_MATMUL_THIN,      /* many of them, with a side of at most 16 */
    COST_ATTENTION,
    COST_SOFTMAX,
    COST_ELEMENTWISE,
    COST_NORM,
    COST_CONV,
    COST_COPY_H2D,
    COST_COPY_D2H,
    COST_MEMORY, /* other classes that are bound by memory */
    COST_N_KERNELS
} cost_kernel;

typedef struct cost_retime {
    double fixed_from_s, fixed_to_s;
    double ratio[COST_N_KERNELS];
    bool is_measured;
} cost_retime;

/* Returns false if one of the two devices is not described. */
bool cost_retime_make(cost_retime *out, const halley_npu *from, const halley_npu *to);
double cost_retime_apply(const cost_retime *r, cost_kernel kernel, double seconds);

#endif
