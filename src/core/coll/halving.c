/*
 * coll/halving.c - halving-doubling: in step j, members at distance 2^j exchange data. A
 * reduction halves the data while distances double. An all-gather goes the other way, and
 * an all-reduce does both. There is no closed form, because NCCL does not use this
 * algorithm.
 */
#include "coll/schedules.h"

#include <assert.h>
#include <math.h>

/*
 * Compute distances and sizes packet by packet. In an all-reduce, sizes halve while
 * distances double, until the distance reaches n. Then the last halved size is doubled
 * again, so a size that is not even loses a byte. As in ASTRA-sim, sizes and distances
 * are truncated to whole numbers at every step.
 */
static void fill_steps(coll_phase *p)
{
    const bool gather = p->coll == CLUSTER_ALL_GATHER;
    double factor = gather ? 0.5 : 2;
    uint32_t distance = gather ? p->n / 2 : 1;
    uint64_t bytes = gather ? p->data_bytes : p->data_bytes / 2;
    for (uint32_t k = 0; k <= p->n_sends; k++) {
        p->distance[k] = distance;
        p->bytes[k] = bytes;
        distance = (uint32_t)(distance * factor);
        bytes = (uint64_t)((double)bytes / factor);
        if (distance == p->n && p->coll == CLUSTER_ALL_REDUCE) {
            factor = 0.5;
            distance = (uint32_t)(distance * factor);
            bytes = (uint64_t)((double)bytes / factor);
        }
    }
}

halley_status coll_halving_fill(coll_phase *p, const coll_fill_options *o,
                                halley_error *err)
{
    const bool power = (p->n & (p->n - 1)) == 0;
    assert(p->n > 1);
    if (p->coll == CLUSTER_ALL_TO_ALL)
        return error_set(err, HALLEY_EINVAL,
                         "halving-doubling cannot do an all-to-all; use ring or direct");
    if (!power && p->coll != CLUSTER_ALL_GATHER)
        return error_set(err, HALLEY_EINVAL,
                         "halving-doubling needs a power of two of members, not %u",
                         p->n);
    const double rounds = log2(p->n);
    p->window = 1;
    p->lopsided = !power;
    p->turns = true;
    p->n_loud = (uint32_t)(rounds - 1);
    p->n_sends = (uint32_t)(p->coll == CLUSTER_ALL_REDUCE ? 2 * rounds : rounds);
    p->n_steps = p->n_distances = p->n_sends;
    p->message_bytes = p->data_bytes;
    p->distance = arena_array(o->memory, p->n_sends + 1, sizeof *p->distance);
    p->bytes = arena_array(o->memory, p->n_sends + 1, sizeof *p->bytes);
    if (p->distance == NULL || p->bytes == NULL)
        return error_nomem(err);
    fill_steps(p);
    return HALLEY_OK;
}

uint32_t coll_halving_distance(const coll_phase *p, uint32_t k)
{
    assert(k <= p->n_sends);
    return p->distance[k];
}

uint32_t coll_halving_peer(const coll_phase *p, uint32_t member, uint32_t k)
{
    assert(p->n > 0 && p->stride > 0);
    assert(k <= p->n_sends);
    const uint32_t distance = coll_halving_distance(p, k);
    if (distance == 0)
        return member;
    const uint32_t place = member / p->stride % p->n;
    return shift_member(p, member, distance, place / distance % 2 == 1);
}
