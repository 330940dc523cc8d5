/*
 * base/pool.h - run independent tasks on several threads. Results do not depend on the
 * number of threads.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Task i of n; it must write only data that belong to i. `worker` < number of threads
 * selects scratch space. */
typedef halley_status pool_task(void *context, size_t i, uint32_t worker,
                                halley_error *err);

/*
 * Run task(context, 0 … n-1) on up to n_threads threads (0 = one per core; the caller's
 * thread is one of them). Tasks start in ascending order. The status and error are those
 * of the lowest failing i, whatever the thread count. Tasks above it may or may not have
 * run.
 */
halley_status pool_run(uint32_t n_threads, size_t n, pool_task *task, void *context,
                       halley_error *err);
uint32_t pool_cores(void); /* cores this process may use, at least 1 */

#endif
