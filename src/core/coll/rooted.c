/*
 * coll/rooted.c - trees with a root. Places are counted from the root's: place 0 is the
 * root of the line, n-1 the place before it.
 */
#include "coll/rooted.h"

#include "coll/schedules.h"

#include <assert.h>

typedef struct shape {
    uint32_t (*parent)(uint32_t v);
    uint32_t (*child)(uint32_t v, uint32_t k, uint32_t n); /* n or more: no such child */
    uint32_t (*size)(uint32_t v, uint32_t n); /* number of places in the tree below v,
                                                 including v */
} shape;

static uint32_t chain_parent(uint32_t v)
{
    return v - 1;
}
static uint32_t chain_child(uint32_t v, uint32_t k, uint32_t n)
{
    return k == 0 ? v + 1 : n;
}
static uint32_t chain_size(uint32_t v, uint32_t n)
{
    return n - v;
}

static uint32_t star_parent(uint32_t v)
{
    (void)v;
    return 0;
}
static uint32_t star_child(uint32_t v, uint32_t k, uint32_t n)
{
    return v == 0 ? k + 1 : n;
}
static uint32_t star_size(uint32_t v, uint32_t n)
{
    return v == 0 ? n : 1;
}

/* The lowest bit of v; for the root, the least power of two that is at least n. */
static uint32_t get_reach(uint32_t v, uint32_t n)
{
    uint32_t power = 1;
    if (v != 0)
        return v & (0 - v);
    while (power < n)
        power *= 2;
    return power;
}
static uint32_t binomial_parent(uint32_t v)
{
    return v & (v - 1);
}
/* The largest subtree first. */
static uint32_t binomial_child(uint32_t v, uint32_t k, uint32_t n)
{
    assert(v < n);
    uint32_t bit = get_reach(v, n) / 2;
    while (bit > 0 && (v + bit >= n || k > 0)) {
        k -= v + bit < n;
        bit /= 2;
    }
    return bit == 0 ? n : v + bit;
}
static uint32_t binomial_size(uint32_t v, uint32_t n)
{
    const uint32_t most = get_reach(v, n);
    return most < n - v ? most : n - v;
}

static uint32_t binary_parent(uint32_t v)
{
    return (v - 1) / 2;
}
static uint32_t binary_child(uint32_t v, uint32_t k, uint32_t n)
{
    return k < 2 && v < n / 2 + 1 ? 2 * v + 1 + k : n;
}
static uint32_t binary_size(uint32_t v, uint32_t n)
{
    assert(n > 0);
    uint32_t size = 0;
    for (uint64_t low = v, high = v; low < n; low = 2 * low + 1, high = 2 * high + 2)
        size += (uint32_t)((high < n ? high : n - 1) - low + 1);
    return size;
}

static const shape shapes[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = {chain_parent, chain_child, chain_size},
    [CLUSTER_ALGO_DIRECT] = {star_parent, star_child, star_size},
    [CLUSTER_ALGO_HALVING_DOUBLING] = {binomial_parent, binomial_child, binomial_size},
    [CLUSTER_ALGO_TREE] = {binary_parent, binary_child, binary_size},
};

static uint32_t get_root_place(const coll_phase *p)
{
    return p->root / p->stride % p->n;
}

static uint32_t get_place(const coll_phase *p, uint32_t member)
{
    const uint32_t place = member / p->stride % p->n, root = get_root_place(p);
    return place >= root ? place - root : place + p->n - root;
}

static uint32_t get_member_at(const coll_phase *p, uint32_t member, uint32_t v)
{
    const uint32_t place = member / p->stride % p->n;
    return member - place * p->stride + (v + get_root_place(p)) % p->n * p->stride;
}

halley_status coll_rooted_fill(coll_phase *p, const coll_fill_options *o,
                               halley_error *err)
{
    (void)err;
    assert(p->rooted != COLL_ROOTED_NONE && o->impl->algo < CLUSTER_N_ALGOS);
    p->shape = o->impl->algo;
    assert(shapes[p->shape].parent != NULL);
    const bool star = p->shape == CLUSTER_ALGO_DIRECT;
    const bool up = p->rooted == COLL_ROOTED_REDUCE || p->rooted == COLL_ROOTED_GATHER;
    p->window = 1;
    p->n_sends = !up    ? 1
                 : star ? p->n - 1
                        : 32; /* steps identify the sender of a
                                 message */
    p->n_steps = p->n_sends;
    p->silent = p->rooted != COLL_ROOTED_REDUCE;
    p->message_bytes =
        p->rooted == COLL_ROOTED_SCATTER ? p->data_bytes / p->n : p->data_bytes;
    return HALLEY_OK;
}

uint32_t coll_rooted_child(const coll_phase *p, uint32_t member, uint32_t k)
{
    return get_member_at(p, member,
                         shapes[p->shape].child(get_place(p, member), k, p->n));
}

coll_rooted_place coll_rooted_find(const coll_phase *p, uint32_t member)
{
    const shape *s = &shapes[p->shape];
    const uint32_t v = get_place(p, member);
    const bool parts =
        p->rooted == COLL_ROOTED_GATHER || p->rooted == COLL_ROOTED_SCATTER;
    coll_rooted_place at = {.takes_part = member % p->stride == p->root % p->stride,
                            .parent = COLL_NONE,
                            .bytes = p->message_bytes};
    if (!at.takes_part)
        return at;
    if (parts)
        at.bytes *= s->size(v, p->n);
    while (s->child(v, at.n_children, p->n) < p->n)
        at.n_children++;
    if (v == 0)
        return at;
    const uint32_t parent = s->parent(v);
    at.parent = get_member_at(p, member, parent);
    while (s->child(parent, at.child_index, p->n) != v)
        at.child_index++;
    return at;
}
