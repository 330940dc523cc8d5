/*
 * cases.h - how many cases a property test tries. A build with a sanitizer runs the same
 * code five to ten times slower, and it looks for errors of memory, not for wrong
 * numbers, so there a part of the cases is enough. HALLEY_TEST_SHARE=<percent> in the
 * environment overrides both, for long runs as well (300 = three times as many).
 */
#ifndef CASES_H
#define CASES_H

#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CASES_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CASES_SANITIZED 1
#endif

/* Percent of the cases that are to be tried. */
static inline uint32_t cases_share(void)
{
    const char *const text = getenv("HALLEY_TEST_SHARE");
    const long share = text != NULL ? strtol(text, NULL, 10) : 0;
    if (share > 0 && share <= 10000)
        return (uint32_t)share;
#ifdef CASES_SANITIZED
    return 10;
#else
    return 100;
#endif
}

/* How many of `n` cases to try; at least one. */
static inline uint32_t cases_count(uint32_t n)
{
    const uint64_t some = (uint64_t)n * cases_share() / 100;
    return some > 0 ? (uint32_t)some : 1;
}

#endif
