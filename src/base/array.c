/*
 * Arrays grow by half. A long array wastes at most a third, and realloc of large blocks
 * moves pages rather than bytes.
 */
#include "base/array.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two large pages; smaller blocks may not contain a whole one. */
enum { LARGE_BLOCK = 1 << 22 };

/* The exception to "no mutable globals": memory belongs to the process. */
static _Atomic uint64_t n_failures;

uint64_t mem_failure_count(void)
{
    return atomic_load_explicit(&n_failures, memory_order_relaxed);
}

void mem_failure_note(void)
{
    atomic_fetch_add(&n_failures, 1);
}

static void *note_failure(void *allocated)
{
    if (allocated == NULL)
        mem_failure_note();
    return allocated;
}

void *mem_array(size_t n, size_t size)
{
    assert(size > 0);
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return note_failure(NULL);
    return note_failure(malloc(bytes > 0 ? bytes : 1));
}

void *mem_array_zero(size_t n, size_t size)
{
    assert(size > 0);
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return note_failure(NULL);
    return note_failure(calloc(bytes > 0 ? bytes : 1, 1));
}

void mem_prefer_large_pages(void *at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = ((uintptr_t)at + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)at + bytes) / page * page;
    assert(at != NULL || bytes == 0);
    if (bytes >= LARGE_BLOCK && end > start)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/* The caller's pointer has another type than void *. It is only copied bytewise here,
 * because reading it as a void * would break the aliasing rules. */
static void *load_element(void **at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

bool array_grow_(void **at, size_t *cap, size_t n, size_t more, size_t size)
{
    assert(n <= *cap && size > 0);
    size_t needed, bytes;
    if (__builtin_add_overflow(n, more, &needed))
        return false;
    size_t wanted = *cap + *cap / 2;
    if (wanted < 8)
        wanted = 8;
    if (wanted < needed)
        wanted = needed;
    if (__builtin_mul_overflow(wanted, size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    void *grown = note_failure(realloc(load_element(at), bytes));
    if (grown == NULL)
        return false;
    memcpy(at, &grown, sizeof grown);
    *cap = wanted;
    return true;
}

void array_trim_(void **at, size_t *cap, size_t n, size_t size)
{
    assert(n <= *cap && size > 0);
    if (n == *cap)
        return;
    void *trimmed = NULL;
    if (n == 0) {
        free(load_element(at));
    } else {
        trimmed = realloc(load_element(at), n * size);
        if (trimmed == NULL)
            return;
    }
    memcpy(at, &trimmed, sizeof trimmed);
    *cap = n;
}

/* A NaN compares as equal to every number, so its place is not defined. */
#define SORT(name, type)                                                                 \
    static int compare_##name(const void *a, const void *b)                              \
    {                                                                                    \
        const type x = *(const type *)a, y = *(const type *)b;                           \
        return (x > y) - (x < y);                                                        \
    }                                                                                    \
                                                                                         \
    void mem_sort_##name(type *at, size_t n)                                             \
    {                                                                                    \
        if (n > 1)                                                                       \
            qsort(at, n, sizeof *at, compare_##name);                                    \
    }

SORT(doubles, double)
SORT(u32, uint32_t)
SORT(u64, uint64_t)
SORT(i64, int64_t)

/* The number after `key` in a file of /proc or /sys, or `otherwise`. */
static uint64_t read_system_number(const char *path, const char *key, uint64_t otherwise)
{
    assert(path != NULL && key != NULL);
    char text[4096];
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return otherwise;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *found = strstr(text, key);
    char *end;
    const unsigned long long number =
        found != NULL ? strtoull(found + strlen(key), &end, 10) : 0;
    return found != NULL && end != found + strlen(key) ? number : otherwise;
}

uint64_t mem_machine_size(void)
{
    const uint64_t machine =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t group = read_system_number("/sys/fs/cgroup/memory.max", "", machine);
    return group < machine ? group : machine;
}

/* True if the machine can provide `more` further bytes. Linux overcommits memory, so
 * malloc alone would not fail before the process is killed. */
bool mem_is_available(size_t total, size_t more)
{
    const uint64_t free_KiB =
        read_system_number("/proc/meminfo", "MemAvailable:", UINT64_MAX / 1024);
    const uint64_t limit =
        read_system_number("/sys/fs/cgroup/memory.max", "", UINT64_MAX);
    return more / 1024 < free_KiB && total < limit;
}
