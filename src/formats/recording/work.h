/* recording/work.h - how much an operator computes and moves, from its name and shapes.
 */
#ifndef RECORDING_WORK_H
#define RECORDING_WORK_H

#include "recording/host.h"

typedef struct work {
    uint64_t n_ops;   /* floating point operations: a multiply-add counts 2 */
    uint64_t n_bytes; /* tensors read and written, each once */
} work;

/* False: the operator has no tensors, or its sizes overflow. */
bool work_of(work *out, str name, const host_io *io);
/* Is it a matmul, convolution or attention operator, whatever it calls? */
bool work_is_product(str name);

#endif
