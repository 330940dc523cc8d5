/* protobuf_c FILE: decode with protobuf-c, one message a node, all from one arena;
 * encode. */
#include "../measure.h"
#include "chakra.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

typedef struct block {
    struct block *next;
    size_t used, size;
} block;

static void *arena_alloc(void *data, size_t size)
{
    block **const top = data;
    size = (size + 15) & ~(size_t)15;
    if (!*top || (*top)->size - (*top)->used < size) {
        const size_t room = size > BLOCK ? size : BLOCK;
        block *const fresh = malloc(sizeof *fresh + room + 16);
        if (!fresh)
            abort();
        fresh->next = *top;
        fresh->used = 0;
        fresh->size = room;
        *top = fresh;
    }
    uint8_t *const at = (uint8_t *)(*top + 1) + (*top)->used;
    (*top)->used += size;
    return at;
}

static void arena_free(void *data, void *at)
{
    (void)data;
    (void)at;
}

static size_t length_at(const uint8_t *at, size_t *n_bytes)
{
    size_t value = 0, i = 0;
    do
        value |= (size_t)(at[i] & 0x7f) << (7 * i);
    while (at[i++] & 0x80);
    *n_bytes = i;
    return value;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    size_t n, n_nodes = 0, cap = 1 << 16;
    uint8_t *const file = measure_read_file(argv[1], &n);
    block *top = NULL;
    ProtobufCAllocator arena = {arena_alloc, arena_free, &top};
    measure_memory_start();
    const double start = measure_wall_s();
    Chakra__Node **nodes = malloc(cap * sizeof *nodes);
    for (size_t at = 0, first = 1; at < n; first = 0) {
        size_t n_bytes;
        const size_t length = length_at(file + at, &n_bytes);
        at += n_bytes;
        if (!first) {
            if (n_nodes == cap)
                nodes = realloc(nodes, (cap *= 2) * sizeof *nodes);
            nodes[n_nodes] = chakra__node__unpack(&arena, length, file + at);
            if (!nodes[n_nodes++])
                return 1;
        }
        at += length;
    }
    const double decoded = measure_wall_s();
    const size_t bytes = measure_memory_stop();
    const double before = measure_wall_s();
    uint8_t *const out = malloc(n + 16);
    size_t to = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        size_t length = chakra__node__get_packed_size(nodes[i]);
        for (size_t left = length;; left >>= 7) {
            out[to++] = (uint8_t)(left > 0x7f ? left | 0x80 : left);
            if (left <= 0x7f)
                break;
        }
        to += chakra__node__pack(nodes[i], out + to);
    }
    printf("%.6f %.6f %zu %zu\n", decoded - start, measure_wall_s() - before, bytes,
           n_nodes);
}
