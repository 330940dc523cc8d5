/* learn/learn_report.h - how made sets compare with real ones, pooled over many. */
#ifndef LEARN_LEARN_REPORT_H
#define LEARN_LEARN_REPORT_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/learn.h"

typedef ARRAY(double) learn_numbers;

/* Side 0 is real, 1 is made. {0} is empty. */
typedef struct learn_compare {
    map64 op_of;
    ARRAY(double) mix[2]; /* nodes by operator */
    learn_numbers sizes[2], durations[2];
    double log_nodes;
    uint32_t n_sets;
} learn_compare;

void learn_compare_fini(learn_compare *c);
halley_status learn_compare_add(learn_compare *c, const halley_trace_set *real,
                                const halley_trace_set *made, halley_error *err);
halley_held_out learn_compare_sum(learn_compare *c);

#endif
