/*
 * alloc_fail.h - what happens when memory runs out. Every unit test is linked so that
 * malloc, calloc and realloc of our code and the test's pass through here (those inside
 * shared libraries do not).
 */
#ifndef ALLOC_FAIL_H
#define ALLOC_FAIL_H

#include "halley/error.h"

/* What is tried; leaves nothing allocated, whether it succeeds or fails. */
typedef halley_status alloc_fail_operation(void *context, halley_error *err);

/*
 * Run the operation with its first allocation failing, then its second, and so on until
 * it gets through without meeting a failure; then all that again with every allocation
 * from the k-th on failing. The test fails unless each run returns HALLEY_OK or
 * HALLEY_ENOMEM, the latter with a sentence, and the undisturbed one HALLEY_OK. Leaks are
 * for ASan to see; there, and where HALLEY_TEST_SHARE is below 100 (cases.h), about a
 * hundred allocations spread over the run fail instead of all. Returns how many
 * allocations the operation makes.
 */
unsigned alloc_fail_everywhere(alloc_fail_operation *operation, void *context);

#endif
