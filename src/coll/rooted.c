/* Places are counted from the root's: place 0 is the root of the line, n-1 the one before
 * it. */
#include "coll/rooted.h"

typedef struct shape {
    uint32_t (*parent)(uint32_t v);
    uint32_t (*child)(uint32_t v, uint32_t k, uint32_t n); /* n or more: no such child */
    uint32_t (*size)(uint32_t v, uint32_t n); /* of the tree below v, and v */
} shape;

static uint32_t before(uint32_t v)
{
    return v - 1;
}
static uint32_t after(uint32_t v, uint32_t k, uint32_t n)
{
    return k == 0 ? v + 1 : n;
}
static uint32_t rest(uint32_t v, uint32_t n)
{
    return n - v;
}

static uint32_t centre(uint32_t v)
{
    (void)v;
    return 0;
}
static uint32_t ray(uint32_t v, uint32_t k, uint32_t n)
{
    return v == 0 ? k + 1 : n;
}
static uint32_t alone(uint32_t v, uint32_t n)
{
    return v == 0 ? n : 1;
}

/* The lowest bit of v; of the root, the power of two that is at least n. */
static uint32_t reach(uint32_t v, uint32_t n)
{
    uint32_t power = 1;
    if (v != 0)
        return v & (0 - v);
    while (power < n)
        power *= 2;
    return power;
}
static uint32_t without_lowest(uint32_t v)
{
    return v & (v - 1);
}
/* The largest tree first. */
static uint32_t binomial_child(uint32_t v, uint32_t k, uint32_t n)
{
    uint32_t bit = reach(v, n) / 2;
    while (bit > 0 && (v + bit >= n || k > 0)) {
        k -= v + bit < n;
        bit /= 2;
    }
    return bit == 0 ? n : v + bit;
}
static uint32_t binomial_size(uint32_t v, uint32_t n)
{
    const uint32_t most = reach(v, n);
    return most < n - v ? most : n - v;
}

static uint32_t half(uint32_t v)
{
    return (v - 1) / 2;
}
static uint32_t binary_child(uint32_t v, uint32_t k, uint32_t n)
{
    return k < 2 && v < n / 2 + 1 ? 2 * v + 1 + k : n;
}
static uint32_t binary_size(uint32_t v, uint32_t n)
{
    uint32_t size = 0;
    for (uint64_t low = v, high = v; low < n; low = 2 * low + 1, high = 2 * high + 2)
        size += (uint32_t)((high < n ? high : n - 1) - low + 1);
    return size;
}

static const shape shapes[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = {before, after, rest},
    [CLUSTER_ALGO_DIRECT] = {centre, ray, alone},
    [CLUSTER_ALGO_HALVING_DOUBLING] = {without_lowest, binomial_child, binomial_size},
    [CLUSTER_ALGO_TREE] = {half, binary_child, binary_size},
};

static uint32_t root_place(const coll_phase *p)
{
    return p->root / p->stride % p->n;
}

static uint32_t place_of(const coll_phase *p, uint32_t member)
{
    const uint32_t place = member / p->stride % p->n, root = root_place(p);
    return place >= root ? place - root : place + p->n - root;
}

static uint32_t member_at(const coll_phase *p, uint32_t member, uint32_t v)
{
    const uint32_t place = member / p->stride % p->n;
    return member - place * p->stride + (v + root_place(p)) % p->n * p->stride;
}

void coll_rooted_fill(coll_phase *p)
{
    const bool star = p->shape == CLUSTER_ALGO_DIRECT;
    const bool up = p->rooted == COLL_ROOTED_REDUCE || p->rooted == COLL_ROOTED_GATHER;
    p->window = 1;
    p->n_sends = !up ? 1 : star ? p->n - 1 : 32; /* steps: who a message comes from */
    p->silent = p->rooted != COLL_ROOTED_REDUCE;
    p->message_bytes =
        p->rooted == COLL_ROOTED_SCATTER ? p->data_bytes / p->n : p->data_bytes;
}

uint32_t coll_rooted_child(const coll_phase *p, uint32_t member, uint32_t k)
{
    return member_at(p, member, shapes[p->shape].child(place_of(p, member), k, p->n));
}

coll_rooted_place coll_rooted_find(const coll_phase *p, uint32_t member)
{
    const shape *s = &shapes[p->shape];
    const uint32_t v = place_of(p, member);
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
    at.parent = member_at(p, member, parent);
    while (s->child(parent, at.child_index, p->n) != v)
        at.child_index++;
    return at;
}
