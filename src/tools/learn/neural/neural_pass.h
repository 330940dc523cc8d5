/* learn/neural/neural_pass.h - the parts that training and drawing share. */
#ifndef LEARN_NEURAL_NEURAL_PASS_H
#define LEARN_NEURAL_NEURAL_PASS_H

#include "learn/neural/neural_net.h"

/* Kinds of layers: end of the program, loop opens, loop closes, 1 to NEURAL_LAYER
 * items. */
enum {
    NEURAL_STEP_END,
    NEURAL_STEP_OPEN,
    NEURAL_STEP_CLOSE,
    NEURAL_STEP_ITEMS, /* of one item; then of two and so on */
    NEURAL_STEPS = NEURAL_STEP_ITEMS + NEURAL_LAYER
};
enum {
    NEURAL_INPUTS = 2 * NEURAL_FIELDS,
    NEURAL_NUMBER =
        NN_MIX_WIDTH + 1, /* outputs of a number: a mixture, and whether it is 0 */
};
#define NEURAL_NOWHERE (-6)      /* score of an edge whose operator has not occurred */
#define NEURAL_NUMBER_WEIGHT 0.1 /* weight of numbers in the training objective */

/* The operators that occurred, latest first, and the last item of each. */
typedef struct neural_slots {
    uint32_t n;
    uint32_t op[NEURAL_SLOTS], item[NEURAL_SLOTS];
} neural_slots;
void neural_slots_use(neural_slots *s, uint32_t op, uint32_t item);
uint32_t neural_slots_find(const neural_slots *s, uint32_t op); /* NN_NO_ROW: none */

/* The number of runs of each operator so far. */
typedef struct neural_tally {
    uint32_t n_ops, depth;
    double *count; /* current counts, then those before each open loop */
    uint32_t n_items[NEURAL_DEPTH + 1]; /* items of the open loop bodies */
} neural_tally;
enum { NEURAL_TALLY = 4 }; /* inputs in addition to the operators */
bool neural_tally_init(neural_tally *t, uint32_t n_ops); /* false: no memory */
void neural_tally_fini(neural_tally *t);
void neural_tally_clear(neural_tally *t);
void neural_tally_item(neural_tally *t, uint32_t op);
void neural_tally_open(neural_tally *t); /* at most NEURAL_DEPTH deep */
void neural_tally_close(neural_tally *t, double times);
/* The tally as network input: n_ops + NEURAL_TALLY numbers. */
void neural_tally_read(nn_real *to, const neural_tally *t);

/* A batch as matrices. Items are stored program by program. Layers ("rows") are packed
 * by step as nn_gru needs them. */
typedef struct neural_edge {
    uint32_t item, slot, how; /* item it leads to; of a free item: NN_NO_ROW, 0 */
} neural_edge;
typedef struct neural_batch {
    uint32_t n_programs, n_items, n_rows, n_steps;
    uint32_t *first_row; /* by step; n_steps + 1 entries */
    nn_real *feature;    /* n_programs x NEURAL_FEATURES */
    /* by item */
    /* wanted_op and token are NN_NO_ROW for loops; token also if the edges are not
     * known */
    uint32_t *op, *wanted_op, *token;
    uint32_t *backs; /* of free items */
    uint32_t *program, *row, *next_row, *first_of_layer;
    uint32_t *attr, *n_values; /* index of its first attribute */
    const float **values;
    uint32_t *first_edge; /* n_items + 1 entries */
    neural_edge *edges;
    uint32_t *n_slots, *slot_item, *slot_op; /* NEURAL_SLOTS per item */
    /* by row */
    uint32_t *kind, *kind_before, *row_program;
    uint32_t *also; /* after a loop: the row where it opened, else NN_NO_ROW */
    nn_real *tally; /* n_ops + NEURAL_TALLY per row */
} neural_batch;
halley_status neural_batch_make(neural_batch *b, const neural_net *net,
                                const neural_program *const *programs, uint32_t n,
                                arena *memory, halley_error *err);

/* Scores the edges from an item with this query to each of n slots, for each kind of
 * reference (slots x NEURAL_REFS). Writes the keys of the slots to `key`; item_key holds
 * the rows of their items. */
void neural_edge_scores(nn_real *score, nn_real *key, const nn_run *run,
                        const neural_net *net, const nn_real *query,
                        const nn_real *item_key, const uint32_t *slot, uint32_t n);
/* The sum of the scores of a token's edges. */
nn_real neural_token_score(const neural_shape *shape, uint32_t token,
                           const nn_real *score, const neural_slots *slots);
/* The score of the next edge of a free item, from the outputs of back_head. */
static inline nn_real neural_back_score(const nn_run *run, const neural_net *net,
                                        const nn_real *head, uint32_t n_before,
                                        uint32_t at)
{
    const uint32_t row = n_before < NEURAL_BACKS ? n_before : NEURAL_BACKS - 1;
    return head[1 + at] +
           run->param[net->back_count.table + (size_t)row * NEURAL_BACK + at];
}
/* neural_totals: log(1 + total runs) of the operators by their laws. neural_left: for a
 * row, tanh of the scaled difference to what already ran. */
void neural_totals(nn_real *to, const neural_shape *shape, const nn_real *feature);
void neural_left(nn_real *to, const nn_real *total, const nn_real *tally, uint32_t n_ops);
void neural_inputs(nn_real to[NEURAL_INPUTS], const float *values, uint32_t n);

/* The deviation of a number from its law, as input for later numbers. 0 if the number is
 * 0 or unknown. */
static inline nn_real neural_off(float value, nn_real base)
{
    return value <= NEURAL_ZERO || value >= NEURAL_UNKNOWN ? 0 : (nn_real)value - base;
}

#endif
