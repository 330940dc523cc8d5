/* recording/record/shapes.h - how much an operator of a recording computes and moves. */
#ifndef RECORDING_RECORD_SHAPES_H
#define RECORDING_RECORD_SHAPES_H

#include "recording/record/record.h"
#include "recording/work.h"

/* Bytes of all input tensors. False: their types or sizes are unknown. */
bool rec_input_bytes(uint64_t *out, const record *r, const rec_detail *d);
/* The work of a host event from its name and input shapes. Outputs are not recorded. For
 * matmuls their size is inferred; otherwise it is taken to be that of the largest input.
 * False: unknown, as for forward convolutions. */
bool rec_host_work(work *out, const record *r, const rec_host *event);

/* The shape of a matmul operator: m, n, k and the number of matmuls. False: it is not a
 * matmul, or its shapes are unknown. */
bool rec_matmul_shape(uint64_t shape[4], const record *r, const rec_host *event);

#endif
