/*
 * sim/coll/stdset.c - one linked list holds all items; a bucket points to the item before
 * its first. A new item goes to the front of its bucket, or to the front of the list if
 * the bucket is empty. The number of buckets is a prime that about doubles when there are
 * more items than buckets.
 */
#include "sim/coll/stdset.h"

#include "base/array.h"

#include <assert.h>

#define NOBODY UINT32_MAX      /* the bucket is empty */
#define FRONT (UINT32_MAX - 1) /* the item before the first is the list's head */

static const uint32_t primes[] = {
    13,    29,    59,    127,    257,    541,    1109,    2357,    5087,    10273,
    20753, 42043, 85229, 172933, 351061, 712697, 1447153, 2938679, 5967347, 12117689};

static uint32_t bucket_of(const stdset *s, uint32_t i)
{
    return (uint32_t)(s->keys[i] % s->n_buckets);
}

static uint32_t *get_link(stdset *s, uint32_t before)
{
    return before == FRONT ? &s->first : &s->next[before];
}

static void insert_item(stdset *s, uint32_t i)
{
    const uint32_t b = bucket_of(s, i);
    if (s->buckets[b] != NOBODY) {
        assert(s->first != STDSET_END);
        uint32_t *link = get_link(s, s->buckets[b]);
        s->next[i] = *link;
        *link = i;
        return;
    }
    s->next[i] = s->first;
    if (s->first != STDSET_END)
        s->buckets[bucket_of(s, s->first)] = i;
    s->first = i;
    s->buckets[b] = FRONT;
}

uint32_t stdset_count_buckets(uint32_t n)
{
    uint32_t k = 0;
    while (k + 1 < sizeof primes / sizeof *primes && primes[k] < n)
        k++;
    return primes[k];
}

static bool grow_buckets(stdset *s)
{
    const uint32_t n_buckets = stdset_count_buckets(s->n + 1);
    assert(n_buckets >= s->n_buckets && s->n == s->n_buckets);
    uint32_t *buckets = n_buckets > 0 ? mem_array(n_buckets, sizeof *buckets) : NULL;
    if (buckets == NULL)
        return false;
    free(s->buckets);
    s->buckets = buckets;
    s->n_buckets = n_buckets;
    for (uint32_t b = 0; b < s->n_buckets; b++)
        buckets[b] = NOBODY;
    uint32_t i = s->first;
    s->first = STDSET_END;
    while (i != STDSET_END) {
        const uint32_t next = s->next[i];
        insert_item(s, i);
        i = next;
    }
    return true;
}

bool stdset_add(stdset *s, uint32_t i)
{
    if (s->n >= s->n_buckets && !grow_buckets(s))
        return false;
    insert_item(s, i);
    s->n++;
    return true;
}

void stdset_remove(stdset *s, uint32_t i)
{
    const uint32_t b = bucket_of(s, i);
    uint32_t before = s->buckets[b];
    assert(s->n > 0 && before != NOBODY); /* it is in the set */
    while (*get_link(s, before) != i)
        before = *get_link(s, before);
    const uint32_t next = s->next[i];
    const uint32_t next_bucket = next == STDSET_END ? NOBODY : bucket_of(s, next);
    const bool was_first = before == s->buckets[b];
    *get_link(s, before) = next;
    if (next != STDSET_END && next_bucket != b)
        s->buckets[next_bucket] = before;
    if (was_first && (next == STDSET_END || next_bucket != b))
        s->buckets[b] = NOBODY;
    s->n--;
}

void stdset_fini(stdset *s)
{
    free(s->buckets);
    *s = (stdset){0};
}
