/*
 * coll/schedules.h - the schedules of the algorithms, for the table in algo.c; only for
 * this folder.
 */
#ifndef COLL_SCHEDULES_H
#define COLL_SCHEDULES_H

#include "coll/algo.h"

coll_fill coll_ring_fill, coll_direct_fill, coll_halving_fill, coll_tree_fill,
    coll_switch_fill, coll_rooted_fill;
coll_peer coll_ring_to, coll_ring_from, coll_direct_to, coll_direct_from,
    coll_halving_peer, coll_switch_peer;
coll_distance coll_ring_distance, coll_direct_distance, coll_halving_distance;

/* The member `by` places forward (or back) in the phase's dimension. */
static inline uint32_t shift_member(const coll_phase *p, uint32_t member, uint32_t by,
                                    bool back)
{
    assert(by < p->n);
    const uint32_t place = member / p->stride % p->n;
    const uint32_t to = back ? (place >= by ? place - by : place + p->n - by)
                             : (place + by >= p->n ? place + by - p->n : place + by);
    return member + to * p->stride - place * p->stride;
}

#endif
