/* recording/fit/fit.h - the parts of halley_recording_fit. */
#ifndef RECORDING_FIT_FIT_H
#define RECORDING_FIT_FIT_H

#include "base/array.h"
#include "base/str.h"
#include "halley/fit.h"

/* One kernel of the busiest stream. */
typedef struct fit_kernel {
    int64_t begin_ns, duration_ns;
    uint32_t node;
    uint32_t kind;    /* interned: the name without template arguments */
    uint32_t name;    /* interned */
    uint64_t gemm[4]; /* m, n, k, how many; 0 = no matmul with known shapes */
    bool is_attention, is_comm, is_moe;
} fit_kernel;

/* The section in which each kernel has the same name as the kernel one period later. */
typedef struct fit_period {
    uint32_t period, start, length; /* kernels; length: of the whole section */
} fit_period;

/* The period with the longest section, in which 2 % of the names may differ. Among
 * periods within 5 % of that length, the shortest is taken. period 0: nothing repeats. */
fit_period fit_find_period(const fit_kernel *kernels, uint32_t n);

/* Add up the kernels of the step by class. Idle time is the rest of the step's span. */
void fit_sum_times(halley_recorded_times *out, const halley_trace *trace,
                   const fit_kernel *kernels, size_t n);
/* The type of an operator's inputs, "['c10::BFloat16', …]"; N_DTYPES = unsupported. */
halley_dtype fit_read_dtype(str types);

#endif
