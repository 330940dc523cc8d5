/* base/array.h - checked allocation and growable arrays. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* n * size bytes, or NULL when that overflows or memory ran out. n = 0 gives a non-NULL
 * block. */
void *mem_array(size_t n, size_t size);
void *mem_array_zero(size_t n, size_t size);
/* Request large pages for a large block. There are 512 times fewer of them, so page
 * faults and TLB misses of random reads are rarer. This is a hint; call it before the
 * first use. */
void mem_prefer_large_pages(void *at, size_t bytes);
/*
 * The number of allocations that have failed in the process so far. After a failure
 * results may be incomplete, even if a caller continued without the memory. A call that
 * ends with another count than it started with has run out of memory (request_call_run).
 * Files written in between do not get their final names (base/file/file.h).
 */
uint64_t mem_failure_count(void);
/* Count one more failure, for code that calls malloc itself; error_nomem counts, too. */
void mem_failure_note(void);
/* True if the machine can provide `more` further bytes for a block that then has `total`
 * bytes. Linux overcommits memory, so malloc alone would not fail before the process is
 * killed. */
bool mem_is_available(size_t total, size_t more);
/* The memory of the machine, or of the control group of the process, in bytes. */
uint64_t mem_machine_size(void);
/* Sort ascending; NULL with n = 0 is allowed. */
void mem_sort_doubles(double *at, size_t n);
void mem_sort_u32(uint32_t *at, size_t n);
void mem_sort_u64(uint64_t *at, size_t n);
void mem_sort_i64(int64_t *at, size_t n);

/*
 * ARRAY(T) is a struct {T *at; size_t n, cap;}; {0} is empty. It owns `at`; fini frees
 * it. Name the type once with a typedef: typedef ARRAY(uint32_t) u32_array;
 */
#define ARRAY(T)                                                                         \
    struct {                                                                             \
        T *at;                                                                           \
        size_t n, cap;                                                                   \
    }

/* Make room for `more` further elements. Returns false if memory ran out (array
 * unchanged). */
#define array_reserve(a, more)                                                           \
    (((a)->cap - (a)->n >= (size_t)(more)) ||                                            \
     array_grow_((void **)(void *)&(a)->at, &(a)->cap, (a)->n, (size_t)(more),           \
                 sizeof *(a)->at))
/* Append one value. Returns false if memory ran out. */
#define array_push(a, ...)                                                               \
    (array_reserve(a, 1) && ((a)->at[(a)->n++] = (__VA_ARGS__), true))
/* Free unused capacity. Never fails. */
#define array_trim(a)                                                                    \
    array_trim_((void **)(void *)&(a)->at, &(a)->cap, (a)->n, sizeof *(a)->at)
#define array_fini(a) (free((a)->at), (a)->at = NULL, (a)->n = (a)->cap = 0)

bool array_grow_(void **at, size_t *cap, size_t n, size_t more, size_t size);
void array_trim_(void **at, size_t *cap, size_t n, size_t size);

#endif
