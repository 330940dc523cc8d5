/* learn/history.h - nodes so far by operator: the last ones, and those still open, that
 * nothing depends on yet. */
#ifndef LEARN_HISTORY_H
#define LEARN_HISTORY_H

#include "learn/model/model.h"

typedef ARRAY(uint32_t) synth_u32s;
typedef ARRAY(uint64_t) synth_u64s;

/* {0} is empty; start anew with synth_history_start. */
typedef struct synth_history {
    /* by operator, valid where epoch[op] == now: last node, open nodes */
    synth_u32s epoch, recent, head, tail, n_open;
    uint32_t now;
    /* by node: the one before of the same operator; neighbours among the open ones */
    synth_u32s earlier, prev, next, is_open;
} synth_history;

void synth_history_fini(synth_history *h);
/* Forget all; room for n nodes. False: no memory. */
bool synth_history_start(synth_history *h, size_t n_nodes);
/* Room for an operator. False: no memory. */
bool synth_history_touch(synth_history *h, uint32_t op);
/* Node `at` of operator op (touched) comes; it is open. */
void synth_history_add(synth_history *h, uint32_t at, uint32_t op);
/* Something depends on it. */
void synth_history_close(synth_history *h, uint32_t at, uint32_t op);

/* At least n elements, new ones 0. False: no memory. */
bool synth_u32s_resize(synth_u32s *a, size_t n);

#endif
