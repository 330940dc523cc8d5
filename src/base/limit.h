/*
 * base/limit.h - how much memory inputs may take.
 *
 * The first of these that is set applies: halley_memory_limit_set (option --max-memory),
 * HALLEY_MAX_MEMORY in the environment ("8 GB"). The default is half of the memory of the
 * machine or of its control group. The limit bounds each file that is read as a whole,
 * and its uncompressed size. The program also bounds all its memory by it
 * (limit_process_apply).
 */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Models, plans, clusters, stacks, studies, launch files. */
    LIMIT_CONFIGURATION = 16 << 20,
    /* A pipe that is read in pieces may have this many times the limit. */
    LIMIT_STREAM_FACTOR = 16,
    /* Data that decompress to more than this many times their size cannot be traces. This
     * is checked from LIMIT_RATIO_FROM bytes on. */
    LIMIT_RATIO = 1000,
    LIMIT_RATIO_FROM = 1 << 26,
};

/* Bytes; HALLEY_EINVAL when the environment variable is not a size. */
halley_status limit_memory(uint64_t *out, halley_error *err);
/* Check that a file of `n` bytes is within `most` (0 = the memory limit). */
halley_status limit_check_size(uint64_t n, uint64_t most, halley_error *err);
/* Check that `n_in` compressed bytes may become `n_out` bytes. */
halley_status limit_check_ratio(uint64_t n_in, uint64_t n_out, halley_error *err);
/* Limit all memory of the process: allocations beyond the limit fail from now on. It has
 * no effect under sanitizers, which reserve more than any limit. For programs, not for
 * the library. */
halley_status limit_process_apply(halley_error *err);

#endif
