/*
 * astra/memory.h - what ASTRA-sim's track-local-mem records of one rank: which
 * tensors are in the NPU's memory, and when nodes read and write them.
 */
#ifndef ASTRA_MEMORY_H
#define ASTRA_MEMORY_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/trace.h"

/* One use of a tensor by a node. If a tensor is read before it is written, ASTRA-sim adds
 * a write from 0 to 10 ns by a node "UNDEFINED" (node = ASTRA_UNDEFINED). */
#define ASTRA_UNDEFINED UINT32_MAX
typedef struct astra_use {
    uint64_t begin, end;
    uint32_t node, tensor;
} astra_use;

typedef struct astra_tensor {
    uint64_t size, hash;
    astra_use write;
    uint64_t last_read_end;
    uint32_t n_reads;
} astra_tensor;

typedef struct astra_memory {
    const halley_trace *trace; /* lent */
    uint32_t rank;
    uint64_t *begins; /* by node */
    intern names;     /* tensors, in the order in which they are first seen */
    ARRAY(astra_tensor) tensors;
    ARRAY(astra_use) reads;
    ARRAY(uint32_t) read_order; /* tensors by their first read */
} astra_memory;

halley_status astra_memory_init(astra_memory *m, const halley_trace *trace, uint32_t rank,
                                halley_error *err);
void astra_memory_begin(astra_memory *m, uint32_t node, uint64_t at);
halley_status astra_memory_end(astra_memory *m, uint32_t node, uint64_t at,
                               halley_error *err);
void astra_memory_fini(astra_memory *m);

/* Write PREFIX.RANK.json; *peak_bytes is the highest memory use. */
halley_status astra_memory_save(uint64_t *peak_bytes, const astra_memory *m,
                                const char *prefix, halley_error *err);

#endif
