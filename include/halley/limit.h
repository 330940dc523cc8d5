/*
 * halley/limit.h - how much memory inputs may take.
 *
 * Each file that the library reads as a whole, and what a compressed one unpacks to, is
 * at most as large as the limit; configuration files have at most 16 MiB. Without a call
 * of this function the limit is HALLEY_MAX_MEMORY of the environment ("8 GB"), else half
 * of the memory of the machine.
 */
#ifndef HALLEY_LIMIT_H
#define HALLEY_LIMIT_H

#include "halley/error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The limit of the process in bytes, for all threads; 0 = the default again. At least
 * 16 MiB, else HALLEY_EINVAL. */
halley_status halley_memory_limit_set(uint64_t bytes, halley_error *err);

#ifdef __cplusplus
}
#endif

#endif
