/* neural_example.h - a small shape, and programs of it, for tests of the network. */
#ifndef NEURAL_EXAMPLE_H
#define NEURAL_EXAMPLE_H

#include "learn/neural/neural_net.h"

#include <math.h>

/*
 * Four operators: begin, work (after the last work or begin, or after the begin before
 * that), reduce (after the last work, in the same layer as nothing), end (after all
 * reduces). Tokens 0; 1, 2; 3; 4.
 */
enum { BEGIN, WORK_FIRST, WORK, REDUCE, END, N_TOKENS };
static const uint32_t example_first_token[] = {0, 1, 3, 4, 5};
static const uint32_t example_op_of[] = {0, 1, 1, 2, 3};
static const uint32_t example_first_ref[] = {0, 0, 1, 2, 3, 5};
static const neural_ref example_refs[] = {
    {0, NEURAL_REF_RECENT},
    {1, NEURAL_REF_STACK},
    {1, NEURAL_REF_RECENT},
    {2, NEURAL_REF_ALL},
    {NEURAL_LATEST, NEURAL_REF_RECENT + NEURAL_REF_CTRL},
};
static const uint32_t example_first_attr[] = {0, 1, 3, 4, 4};
/* begin once, work size + 1 times, reduce size times, end once */
static const float example_total_law[4 + NEURAL_TOTALS][NEURAL_FEATURES] = {
    {0.7F}, {0.7F, 1}, {0.3F, 1}, {0.7F}, {1.4F, 1}, {2, 1}};
static const neural_shape example_shape = {4,
                                           N_TOKENS,
                                           example_first_token,
                                           example_op_of,
                                           example_first_ref,
                                           example_refs,
                                           example_first_attr,
                                           example_total_law[0]};

static const neural_range example_ranges[] = {{-20, 20}, {-20, 20}, {-20, 20}, {-20, 20},
                                              {0, 10},   {0.5, 5},  {0.5, 5},  {0.5, 5},
                                              {0.5, 5},  {0.5, 9},  {0.5, 9}};

enum { EXAMPLE_ITEMS = 8, EXAMPLE_VALUES = 16 };
typedef struct example {
    neural_program program;
    uint32_t items[EXAMPLE_ITEMS], first_value[EXAMPLE_ITEMS], backs[EXAMPLE_ITEMS];
    float values[EXAMPLE_VALUES];
} example;

/* begin; work; size times {work; reduce}; end. Numbers are powers of size. */
static void example_make(example *e, double size)
{
    static const uint32_t items[] = {BEGIN,  WORK_FIRST,   NEURAL_OPEN, WORK,
                                     REDUCE, NEURAL_CLOSE, END};
    const float x = (float)log(size);
    const float values[] = {x, NEURAL_ZERO, 1 + x, 2 * x, 1 - x, 3 + 0.5F * x, x};
    static const uint32_t first[] = {0, 1, 3, 3, 5, 6, 7};
    *e = (example){.program = {.feature = {1, x}, .n_items = 7}};
    for (size_t i = 0; i < 7; i++) {
        e->items[i] = items[i];
        e->first_value[i] = first[i];
        e->values[i] = values[i];
    }
    e->program.items = e->items;
    e->program.first_value = e->first_value;
    e->program.values = e->values;
    e->program.backs = e->backs;
}

#endif
