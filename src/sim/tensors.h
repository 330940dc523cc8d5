/*
 * sim/tensors.h - what a trace says of the NPU's own memory: which node makes which
 * tensor and which nodes read it. Ranks with the same trace share it.
 *
 * A tensor is there from the begin of the first node that writes it (from the start of
 * the run when none does) to the end of the last node that reads it; one that nobody
 * reads stays. Where the names come from is told in tensors.c.
 */
#ifndef SIM_TENSORS_H
#define SIM_TENSORS_H

#include "base/error.h"
#include "trace/core/slots.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sim_use_kind {
    SIM_USE_WRITE,   /* at the node's begin it is there */
    SIM_USE_READ,    /* at the node's end one reader less */
    SIM_USE_RELEASE, /* at the node's end so many bytes less, whosever they were */
} sim_use_kind;

typedef struct sim_use {
    uint32_t tensor : 30, kind : 2;
} sim_use;

typedef struct sim_tensors {
    uint32_t n;
    uint64_t *bytes;     /* by tensor */
    uint32_t *n_reads;   /* by tensor */
    bool *written;       /* by tensor: a node makes it */
    uint32_t *first_use; /* by node and one more; NULL = the trace names no tensor */
    sim_use *uses;
    bool has_bad_sizes; /* some tensors have no readable size and are left out */
} sim_tensors;

typedef struct sim_program sim_program;
/* Read the tensors of a program whose nodes and children are known; `slots` of sim_attr.
 */
halley_status sim_tensors_init(sim_tensors *out, const sim_program *p,
                               const trace_slots *slots, halley_error *err);
void sim_tensors_fini(sim_tensors *t);

#endif
