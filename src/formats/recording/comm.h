/* recording/comm.h - which nodes communicate, and what they send or receive. */
#ifndef RECORDING_COMM_H
#define RECORDING_COMM_H

#include "recording/link.h"

/* Bytes per element of a PyTorch type such as "Float" or "float"; 0 = unknown. */
uint64_t comm_element_size(str dtype);

/* Is this the name of an NCCL, RCCL or MSCCL kernel? */
bool comm_is_kernel(str name);
/* Is this an annotation of a backend: "nccl:…", "gloo:…"? */
bool comm_is_backend(str name);

/* The communication of a kernel; INVALID if its type is unknown. */
comm_info comm_of_kernel(const link_graph *g, uint32_t node);
/* The communication that a host node, or a node around it, starts. */
comm_info comm_of_call(const link_graph *g, uint32_t node);
/*
 * The communication that a host node does itself: with gloo, MPI and UCC, and with NCCL
 * in a trace without kernels (`no_kernels`).
 */
comm_info comm_of_host(const link_graph *g, uint32_t node, bool no_kernels);

#endif
