/* base/arena.h - memory that is allocated in pieces and freed all at once. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>

typedef struct arena_block arena_block;

/* {0} is an empty arena. Not for use by two threads at once. */
typedef struct arena {
    arena_block *blocks; /* newest first */
    size_t used, size;   /* of the newest block */
    size_t total_bytes;  /* over all blocks */
} arena;

/* `size` bytes aligned for any type; NULL when memory ran out. Not zeroed. */
void *arena_alloc(arena *a, size_t size);
/* n * size zeroed bytes; NULL on overflow or when memory ran out. */
void *arena_array(arena *a, size_t n, size_t size);
/* A terminated copy; NULL when memory ran out. */
char *arena_copy(arena *a, str text);
char *arena_printf(arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Free everything at once; the arena is empty and usable again. */
void arena_fini(arena *a);

#endif
