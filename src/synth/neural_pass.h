/* synth/neural_pass.h - what training and drawing share. */
#ifndef SYNTH_NEURAL_PASS_H
#define SYNTH_NEURAL_PASS_H

#include "synth/neural.h"

/* Kinds of layers: the end, a loop's opening or closing, 1 … NEURAL_LAYER items. */
enum {
    NEURAL_STEP_END,
    NEURAL_STEP_OPEN,
    NEURAL_STEP_CLOSE,
    NEURAL_STEP_ITEMS, /* of one; of two … */
    NEURAL_STEPS = NEURAL_STEP_ITEMS + NEURAL_LAYER
};
enum {
    NEURAL_INPUTS = 2 * NEURAL_FIELDS,
    NEURAL_NUMBER =
        NN_MIX_WIDTH + 1, /* scores of a number: a mixture, and whether it is 0 */
};

/* The operators met, latest first, and the last item of each. */
typedef struct neural_slots {
    uint32_t n;
    uint32_t op[NEURAL_SLOTS], item[NEURAL_SLOTS];
} neural_slots;
void neural_slots_use(neural_slots *s, uint32_t op, uint32_t item);
uint32_t neural_slots_find(const neural_slots *s, uint32_t op); /* NN_NO_ROW: none */

/* A batch laid out for the network: items one program after the other, layers ("rows")
 * packed by step as nn_gru wants them. */
typedef struct neural_edge {
    uint32_t item, slot, how; /* of what it leads to */
} neural_edge;
typedef struct neural_batch {
    uint32_t n_programs, n_items, n_rows, n_steps;
    uint32_t *first_row; /* of a step; n_steps + 1 */
    nn_real *feature;    /* n_programs x NEURAL_FEATURES */
    /* by item */
    uint32_t *op, *wanted_op; /* wanted: NN_NO_ROW for loops */
    uint32_t *program, *row, *next_row, *first_of_layer;
    uint32_t *attr, *n_values; /* number of its first attribute */
    const float **values;
    uint32_t *first_edge; /* n_items + 1 */
    neural_edge *edges;
    uint32_t *n_slots, *slot_item; /* NEURAL_SLOTS an item */
    /* by row */
    uint32_t *kind, *kind_before, *row_program;
} neural_batch;
halley_status neural_batch_make(neural_batch *b, const neural_net *net,
                                const neural_program *const *programs, uint32_t n,
                                arena *memory, halley_error *err);

void neural_inputs(nn_real to[NEURAL_INPUTS], const float *values, uint32_t n);

#endif
