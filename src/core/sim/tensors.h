/*
 * sim/tensors.h - what a trace contains about the NPU's own memory: which node writes
 * which tensor, and which nodes read it. Ranks with the same trace share it.
 *
 * A tensor is present from the begin of the first node that writes it to the end of the
 * last node that reads it. If no node writes it, it is present from the start of the run.
 * If no node reads it, it stays. tensors.c explains where the tensors come from.
 */
#ifndef SIM_TENSORS_H
#define SIM_TENSORS_H

#include "base/error.h"
#include "trace/core/slots.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sim_use_kind {
    SIM_USE_WRITE,   /* the tensor is present from the node's begin */
    SIM_USE_READ,    /* the tensor has one reader less after the node's end */
    SIM_USE_RELEASE, /* its bytes are released at the node's end, whichever tensor held
                        them */
} sim_use_kind;

typedef struct sim_use {
    uint32_t tensor : 30, kind : 2;
} sim_use;

typedef struct sim_tensors {
    uint32_t n;
    uint64_t *bytes;     /* by tensor */
    uint32_t *n_reads;   /* by tensor */
    bool *written;       /* by tensor: a node writes it */
    uint32_t *first_use; /* by node and one more; NULL = the trace names no tensor */
    sim_use *uses;
    bool has_bad_sizes; /* some tensors have no readable size and are left out */
} sim_tensors;

typedef struct sim_program sim_program;
/* Read the tensors of a program whose nodes and children are set; `slots` are indexed by
 * sim_attr. */
halley_status sim_tensors_init(sim_tensors *out, const sim_program *p,
                               const trace_slots *slots, halley_error *err);
void sim_tensors_fini(sim_tensors *t);

#endif
