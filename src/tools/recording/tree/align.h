/* recording/tree/align.h - which children of two nodes correspond. */
#ifndef RECORDING_TREE_ALIGN_H
#define RECORDING_TREE_ALIGN_H

#include "recording/tree/tree.h"

/* Two nodes that correspond; TREE_NONE: only one tree has it. */
typedef struct tree_pair {
    uint32_t a, b;
} tree_pair;
typedef ARRAY(tree_pair) tree_pairs;

/* Add the pairs of the children of nodes `a` and `b`, in order. False: no memory. */
bool tree_align_children(tree_pairs *out, const call_tree *a, const call_tree *b,
                         uint32_t node_a, uint32_t node_b);

#endif
