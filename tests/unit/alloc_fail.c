/* See alloc_fail.h. The linker turns calls of malloc into __wrap_malloc, and
 * __real_malloc into malloc (--wrap). */
#include "alloc_fail.h"

#include "cases.h"
#include "unit.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Counts down to the allocation that fails; far below zero when none shall. */
static atomic_long until_failure = LONG_MIN / 2;
static atomic_bool for_ever; /* not only that one but all behind it */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t size);

static bool fails_now(void)
{
    const long before = atomic_fetch_sub(&until_failure, 1);
    return before == 0 || (before < 0 && atomic_load(&for_ever));
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *at, size_t size)
{
    return fails_now() ? NULL : __real_realloc(at, size);
}

/* One run; true when it met the failure. */
static bool run(alloc_fail_operation *operation, void *context, unsigned k, bool all)
{
    halley_error err = {0};
    atomic_store(&for_ever, all);
    atomic_store(&until_failure, (long)k);
    const halley_status status = operation(context, &err);
    const bool met = atomic_load(&until_failure) < 0;
    atomic_store(&for_ever, false);
    atomic_store(&until_failure, LONG_MIN / 2);
    if (status != HALLEY_OK && (status != HALLEY_ENOMEM || !met))
        fail_msg("allocation %u failed: status %d, %s", k, (int)status, err.text);
    if (status == HALLEY_ENOMEM && (err.code != HALLEY_ENOMEM || err.text[0] == '\0'))
        fail_msg("allocation %u failed: no sentence", k);
    return met;
}

/* How many allocations an undisturbed run makes. */
static unsigned count_allocations(alloc_fail_operation *operation, void *context)
{
    atomic_store(&until_failure, LONG_MAX / 2);
    halley_error err = {0};
    const halley_status status = operation(context, &err);
    const long n = LONG_MAX / 2 - atomic_load(&until_failure);
    atomic_store(&until_failure, LONG_MIN / 2);
    if (status != HALLEY_OK)
        fail_msg("no allocation failed: status %d, %s", (int)status, err.text);
    return (unsigned)n;
}

/* Where only a part of the cases is tried: as many runs as make MOST_RUNS for each of the
 * two ways to fail, at steps whose size changes so that loops are met at all places. */
unsigned alloc_fail_everywhere(alloc_fail_operation *operation, void *context)
{
    enum { MOST_RUNS = 100 };
    const unsigned n = count_allocations(operation, context);
    const unsigned step = cases_share() >= 100 ? 0 : n / MOST_RUNS;
    for (int all = 0; all < 2; all++) {
        unsigned turn = 0;
        for (unsigned k = 0; run(operation, context, k, all == 1); turn++)
            k += 1 + (step > 0 ? turn % (2 * step) : 0);
    }
    return n;
}
