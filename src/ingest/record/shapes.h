/* ingest/record/shapes.h - how much an operator of a recording computes and moves. */
#ifndef INGEST_RECORD_SHAPES_H
#define INGEST_RECORD_SHAPES_H

#include "ingest/record/record.h"
#include "ingest/work.h"

/* Bytes of all tensors among the inputs; false: no types or sizes that are known. */
bool rec_input_bytes(uint64_t *out, const record *r, const rec_detail *d);
/* The work of a host event by its name and the shapes of its inputs. Outputs are not
 * recorded: they are inferred for matmuls and taken as large as the largest input else.
 * False: not known, as for forward convolutions. */
bool rec_host_work(work *out, const record *r, const rec_host *event);

/* What a matmul operator multiplies: m, n, k and how many. False: it is none, or its
 * shapes are not known. */
bool rec_matmul_shape(uint64_t shape[4], const record *r, const rec_host *event);

#endif
