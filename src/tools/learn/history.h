/*
 * learn/history.h - the nodes so far by operator: the most recent ones, and the open
 * ones, on which no other node depends yet.
 */
#ifndef LEARN_HISTORY_H
#define LEARN_HISTORY_H

#include "learn/model/model.h"

typedef ARRAY(uint32_t) synth_u32s;
typedef ARRAY(uint64_t) synth_u64s;

/* {0} is empty. synth_history_start clears it for reuse. */
typedef struct synth_history {
    /* by operator, valid where epoch[op] == now: last node; list of open nodes */
    synth_u32s epoch, recent, head, tail, n_open;
    uint32_t now;
    /* by node: the previous node of the same operator; links of the list of open nodes */
    synth_u32s earlier, prev, next, is_open;
} synth_history;

void synth_history_fini(synth_history *h);
/* Clears the history and makes room for n nodes. False: no memory. */
bool synth_history_start(synth_history *h, size_t n_nodes);
/* Makes room for an operator. False: no memory. */
bool synth_history_touch(synth_history *h, uint32_t op);
/* Adds node `at` of operator op as an open node. synth_history_touch(op) must come
 * first. */
void synth_history_add(synth_history *h, uint32_t at, uint32_t op);
/* Marks a node as not open: another node depends on it. */
void synth_history_close(synth_history *h, uint32_t at, uint32_t op);

/* Grows the array to at least n elements; new ones are 0. False: no memory. */
bool synth_u32s_resize(synth_u32s *a, size_t n);

#endif
