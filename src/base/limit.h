/*
 * base/limit.h - how much memory inputs may take, in one place.
 *
 * The limit is, in this order: what halley_memory_limit_set (option --max-memory) says,
 * HALLEY_MAX_MEMORY in the environment ("8 GB"), half of the memory of the machine or of
 * its control group. It bounds each file that is read as a whole, also what a compressed
 * one unpacks to; the program bounds all its memory by it (limit_process_apply).
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
    /* A pipe that is read piece by piece ends after this many times the limit. */
    LIMIT_STREAM_FACTOR = 16,
    /* Compressed data that unpack to more than so many times their size are no traces;
     * looked at from LIMIT_RATIO_FROM bytes on. */
    LIMIT_RATIO = 1000,
    LIMIT_RATIO_FROM = 1 << 26,
};

/* Bytes; HALLEY_EINVAL when the environment variable is not a size. */
halley_status limit_memory(uint64_t *out, halley_error *err);
/* A file of `n` bytes in memory is within `most` (0 = the limit of memory). */
halley_status limit_check_size(uint64_t n, uint64_t most, halley_error *err);
/* `n_in` compressed bytes may have become `n_out`. */
halley_status limit_check_ratio(uint64_t n_in, uint64_t n_out, halley_error *err);
/* The same, and `most` bytes are allowed (0 = the limit of memory). */
halley_status limit_check_unpacked(uint64_t n_in, uint64_t n_out, uint64_t most,
                                   halley_error *err);
/* All memory of the process: allocations beyond the limit fail from now on. Not under
 * sanitizers, which reserve more than any limit. For programs, not for the library. */
halley_status limit_process_apply(halley_error *err);

#endif
