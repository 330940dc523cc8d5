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
/* Large blocks are worth large pages, of which there are 512 times fewer: fewer page
 * faults, and fewer misses where it is read at random. A hint, before the first use. */
void mem_prefer_large_pages(void *at, size_t bytes);
/*
 * How many allocations have failed in the process so far. What was computed meanwhile may
 * lack something, even where a caller went on without it: a call whose count differs at
 * its end has run out of memory (request_call_run), and no file that was written
 * meanwhile takes its name (base/file/file.h).
 */
uint64_t mem_failure_count(void);
/* The count when the call of this thread began (mem_call_begin), else as it is now. */
uint64_t mem_failure_start(void);
/* A call of a verb on this thread; calls may nest. */
void mem_call_begin(void);
void mem_call_end(void);
/* One more, for code that calls malloc itself; error_nomem counts, too. */
void mem_failure_note(void);
/* Whether the machine can give `more` bytes more to a block of then `total` bytes. Linux
 * promises more than it has, so that malloc alone would not refuse before the process is
 * killed. */
bool mem_is_available(size_t total, size_t more);
/* Bytes that the machine, or the control group of the process, has. */
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

/* Room for `more` further elements: true, or false when memory ran out (array unchanged).
 */
#define array_reserve(a, more)                                                           \
    (((a)->cap - (a)->n >= (size_t)(more)) ||                                            \
     array_grow_((void **)(void *)&(a)->at, &(a)->cap, (a)->n, (size_t)(more),           \
                 sizeof *(a)->at))
/* Append one value: true, or false when memory ran out. */
#define array_push(a, ...)                                                               \
    (array_reserve(a, 1) && ((a)->at[(a)->n++] = (__VA_ARGS__), true))
/* Give back what is not used. Never fails. */
#define array_trim(a)                                                                    \
    array_trim_((void **)(void *)&(a)->at, &(a)->cap, (a)->n, sizeof *(a)->at)
#define array_fini(a) (free((a)->at), (a)->at = NULL, (a)->n = (a)->cap = 0)

bool array_grow_(void **at, size_t *cap, size_t n, size_t more, size_t size);
void array_trim_(void **at, size_t *cap, size_t n, size_t size);

#endif
