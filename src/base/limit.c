/*
 * The memory limit and the checks against it. A file that is too large is refused before
 * it is read. A pipe or compressed file is refused as soon as it is longer than allowed.
 */
#include "base/limit.h"

#include "base/array.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "halley/limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMIT_IS_SANITIZED 1
#endif
#endif
#ifndef LIMIT_IS_SANITIZED
#define LIMIT_IS_SANITIZED 0
#endif

/* With less memory the program cannot even load its presets. */
static const uint64_t smallest_limit = 16u << 20;

/* The exception to "no mutable globals": memory belongs to the process. 0 = not set. */
static _Atomic uint64_t limit_set;

halley_status halley_memory_limit_set(uint64_t bytes, halley_error *err)
{
    if (bytes != 0 && bytes < smallest_limit)
        return error_set(err, HALLEY_EINVAL,
                         "the limit of memory must be at least 16 MiB, is %s MB",
                         number_fixed((double)bytes / 1e6, 1).at);
    atomic_store(&limit_set, bytes);
    return HALLEY_OK;
}

static halley_status parse_limit(uint64_t *out, const char *text, halley_error *err)
{
    double bytes;
    const halley_status status = units_parse(&bytes, str_from(text), UNITS_BYTES, err);
    if (status != HALLEY_OK) {
        error_prefix(err, "HALLEY_MAX_MEMORY");
        return status;
    }
    if (!(bytes >= (double)smallest_limit))
        return error_set(err, HALLEY_EINVAL,
                         "HALLEY_MAX_MEMORY must be at least 16 MiB, is \"%s\"", text);
    *out = bytes < 9e18 ? (uint64_t)bytes : UINT64_MAX;
    return HALLEY_OK;
}

halley_status limit_memory(uint64_t *out, halley_error *err)
{
    const uint64_t set = atomic_load(&limit_set);
    const char *const text = getenv("HALLEY_MAX_MEMORY");
    if (set == 0 && text != NULL && text[0] != '\0')
        return parse_limit(out, text, err);
    const uint64_t half = mem_machine_size() / 2;
    *out = set > 0 ? set : half > smallest_limit ? half : smallest_limit;
    return HALLEY_OK;
}

static halley_status refuse_size(uint64_t n, uint64_t most, bool is_fixed,
                                 halley_error *err)
{
    char is[32], may[32];
    units_format(is, sizeof is, (double)n, UNITS_BYTES);
    units_format(may, sizeof may, (double)most, UNITS_BYTES);
    return error_set(err, HALLEY_ELIMIT,
                     is_fixed ? "has %s or more; files of this kind have at most %s"
                              : "needs %s or more of memory and the limit is %s; "
                                "--max-memory or HALLEY_MAX_MEMORY raises it",
                     is, may);
}

halley_status limit_check_size(uint64_t n, uint64_t most, halley_error *err)
{
    uint64_t limit = 0;
    if (n <= smallest_limit && (most == 0 || n <= most))
        return HALLEY_OK; /* allowed with any limit; skips the lookup, as there may be
                             thousands of small files */
    TRY(limit_memory(&limit, err));
    if (most != 0 && most < limit)
        return n > most ? refuse_size(n, most, true, err) : HALLEY_OK;
    return n > limit ? refuse_size(n, limit, false, err) : HALLEY_OK;
}

halley_status limit_check_ratio(uint64_t n_in, uint64_t n_out, halley_error *err)
{
    if (n_out > LIMIT_RATIO_FROM && n_out / LIMIT_RATIO > n_in)
        return error_set(err, HALLEY_ELIMIT,
                         "the compressed data unpack to more than %d times their size; "
                         "unpack the file first if that is right",
                         LIMIT_RATIO);
    return HALLEY_OK;
}

halley_status limit_process_apply(halley_error *err)
{
    uint64_t limit = 0;
    struct rlimit now;
    TRY(limit_memory(&limit, err));
    if (LIMIT_IS_SANITIZED || getrlimit(RLIMIT_DATA, &now) != 0)
        return HALLEY_OK;
    now.rlim_cur = now.rlim_max == RLIM_INFINITY || limit < now.rlim_max ? (rlim_t)limit
                                                                         : now.rlim_max;
    if (setrlimit(RLIMIT_DATA, &now) != 0)
        return error_errno(err, "limit the memory of the process", errno);
    return HALLEY_OK;
}
