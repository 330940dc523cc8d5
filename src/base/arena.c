/*
 * An arena is a list of blocks; allocations are cut from the newest. Block sizes double
 * up to 1 MiB. A larger allocation gets a separate block after the newest, so that the
 * free space of the newest block stays usable.
 */
#include "base/arena.h"

#include "base/array.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    arena_block *next;
    _Alignas(max_align_t) unsigned char bytes[];
};

static arena_block *new_block(arena *a, size_t size)
{
    assert(size > 0);
    if (size > PTRDIFF_MAX - sizeof(arena_block))
        return NULL;
    arena_block *block = mem_array(1, sizeof *block + size);
    if (block != NULL)
        a->total_bytes += sizeof *block + size;
    return block;
}

static void *alloc_apart(arena *a, size_t size)
{
    assert(size > 0);
    arena_block *block = new_block(a, size);
    if (block == NULL)
        return NULL;
    if (a->blocks == NULL) {
        block->next = NULL;
        a->blocks = block;
        a->used = a->size = size;
        return block->bytes;
    }
    block->next = a->blocks->next;
    a->blocks->next = block;
    return block->bytes;
}

void *arena_alloc(arena *a, size_t size)
{
    assert(a->used <= a->size);
    const size_t align = _Alignof(max_align_t);
    if (size > PTRDIFF_MAX - align)
        return NULL;
    size = size > 0 ? (size + align - 1) / align * align : align;
    if (a->size - a->used < size) {
        size_t wanted = a->size < FIRST_BLOCK / 2 ? FIRST_BLOCK : 2 * a->size;
        if (wanted > LARGEST_BLOCK)
            wanted = LARGEST_BLOCK;
        if (size > wanted / 4)
            return alloc_apart(a, size);
        arena_block *block = new_block(a, wanted);
        if (block == NULL)
            return NULL;
        block->next = a->blocks;
        a->blocks = block;
        a->used = 0;
        a->size = wanted;
    }
    void *piece = a->blocks->bytes + a->used;
    a->used += size;
    assert(a->used <= a->size);
    return piece;
}

void *arena_array(arena *a, size_t n, size_t size)
{
    assert(size > 0);
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *piece = arena_alloc(a, bytes);
    return piece != NULL ? memset(piece, 0, bytes) : NULL;
}

char *arena_copy(arena *a, str text)
{
    assert(text.n == 0 || text.at != NULL);
    if (text.n == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(a, text.n + 1);
    if (copy == NULL)
        return NULL;
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    return copy;
}

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void arena_fini(arena *a)
{
    for (arena_block *block = a->blocks; block != NULL;) {
        arena_block *next = block->next;
        free(block);
        block = next;
    }
    *a = (arena){0};
}
