/* ingest/comm.h - which nodes communicate, and what they say about it. */
#ifndef INGEST_COMM_H
#define INGEST_COMM_H

#include "ingest/link.h"

/* Bytes of one element of PyTorch's type names, as in "Float" or "float"; 0 = unknown. */
uint64_t comm_element_size(str dtype);

/* Is this the name of a kernel of NCCL, RCCL or MSCCL? */
bool comm_is_kernel(str name);
/* Is this an annotation of a backend: "nccl:…", "gloo:…"? */
bool comm_is_backend(str name);

/* A kernel of a communication library; INVALID when its type cannot be told. */
comm_info comm_of_kernel(const link_graph *g, uint32_t node);
/* What a host node says about the communication it or what is around it starts. */
comm_info comm_of_call(const link_graph *g, uint32_t node);
/*
 * A host node that communicates itself: what gloo, MPI and UCC do, and NCCL in a trace
 * without its kernels (`no_kernels`).
 */
comm_info comm_of_host(const link_graph *g, uint32_t node, bool no_kernels);

#endif
