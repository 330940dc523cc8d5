/*
 * halley/limit.h - how much memory inputs may take.
 *
 * The limit applies to each file that the library reads as a whole, and to its
 * uncompressed size. Configuration files may have at most 16 MiB. By default the limit is
 * the environment variable HALLEY_MAX_MEMORY ("8 GB"), else half of the machine's memory.
 */
#ifndef HALLEY_LIMIT_H
#define HALLEY_LIMIT_H

#include "halley/error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set the limit of the process in bytes, for all threads; 0 restores the default.
 * HALLEY_EINVAL: less than 16 MiB. */
halley_status halley_memory_limit_set(uint64_t bytes, halley_error *err);

#ifdef __cplusplus
}
#endif

#endif
