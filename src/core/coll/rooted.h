/*
 * coll/rooted.h - broadcast, reduce, gather and scatter as trees over the members of a
 * dimension. Data go down the tree (broadcast, scatter) or up (reduce, gather). The
 * dimension's algorithm selects the shape: a ring is a chain, direct a star,
 * halving-doubling a binomial tree, a double binary tree a binary tree.
 *
 * With several dimensions, data go down from the outermost dimension in, and up from the
 * innermost out. In a dimension, a line takes part only if its members have the root's
 * position in all inner dimensions. The other lines have no data yet, or no longer need
 * any.
 */
#ifndef COLL_ROOTED_H
#define COLL_ROOTED_H

#include "coll/plan.h"

/* A member's place in a rooted phase. */
typedef struct coll_rooted_place {
    bool takes_part;
    uint32_t parent;      /* COLL_NONE: it is the root of its line */
    uint32_t child_index; /* which of its parent's children it is */
    uint32_t n_children;
    uint64_t bytes; /* of the message to or from its parent */
} coll_rooted_place;
coll_rooted_place coll_rooted_find(const coll_phase *p, uint32_t member);
/* The k-th child. */
uint32_t coll_rooted_child(const coll_phase *p, uint32_t member, uint32_t k);

#endif
