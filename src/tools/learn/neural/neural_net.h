/*
 * learn/neural/neural_net.h - a neural network that writes programs layer by layer.
 *
 * A program is what the ranks of a stage run, with repeats folded into loops. It is cut
 * into layers: runs of items that do not depend on each other. This follows LayerDAG,
 * whose layers are those of equal depth. Ours keep the order of the file, which
 * simulators follow. The opening and the closing of a loop are layers of one item.
 *
 * Given the conditions and the layers so far, the network predicts the size of the next
 * layer. It can also predict that a loop opens or closes, or that the program ends. Then
 * it predicts for each item the operator, the earlier items it depends on, and its
 * numbers.
 *
 * The graph so far enters in two ways. The embedding of an item is computed from its
 * operator, its numbers and the items it depends on (one round of message passing along
 * its edges). A recurrent unit carries the sums of the layers' embeddings. The cost is
 * linear in the number of items.
 */
#ifndef LEARN_NEURAL_NEURAL_NET_H
#define LEARN_NEURAL_NEURAL_NET_H

#include "base/arena.h"
#include "learn/neural/neural.h"
#include "learn/neural/nn.h"

enum {
    NEURAL_WIDTH = 96,
    NEURAL_KEY = 24,   /* width of the dot product that scores an edge */
    NEURAL_SLOTS = 32, /* recently used operators whose last item an edge may refer to */
    NEURAL_FEATURES = 48, /* conditions of a program */
    NEURAL_FIELDS = 10,   /* maximum numbers of an item */
    NEURAL_LAYER = 8,     /* maximum items of a layer; longer ones are split */
    NEURAL_BACK = 16,     /* maximum distance of an explicit edge, in nodes */
    NEURAL_BACKS = 8,     /* explicit edges that are counted */
    NEURAL_DEPTH = 6,     /* maximum nesting of loops */
};

/* How an edge refers to a node of an operator. Control dependencies have the same list
 * again. */
enum {
    NEURAL_REF_RECENT, /* the last one, the one before, and so on */
    NEURAL_REF_STACK = NEURAL_REF_RECENT + 4,
    NEURAL_REF_QUEUE,
    NEURAL_REF_ALL,
    NEURAL_REF_CTRL, /* offset of control dependencies */
    NEURAL_REFS = 2 * NEURAL_REF_CTRL
};
typedef struct neural_ref {
    uint32_t op; /* NEURAL_LATEST: the operator of the item before */
    uint32_t how;
} neural_ref;
#define NEURAL_LATEST UINT32_MAX

/* The vocabulary of programs. A token is an operator with edges that were seen together.
 * Tokens are sorted by operator. The owner keeps all arrays; they outlive the network. */
typedef struct neural_shape {
    uint32_t n_ops, n_tokens;
    const uint32_t *first_token; /* by operator; n_ops + 1 entries */
    const uint32_t *op_of;       /* by token */
    const uint32_t *first_ref;   /* by token; n_tokens + 1 entries */
    const neural_ref *refs;
    const uint32_t *first_attr; /* first number, by operator; n_ops + 1 entries */
    const float *total_law;     /* see NEURAL_TOTALS; NEURAL_FEATURES coefficients each */
} neural_shape;

/* Laws of the totals of a program: for each operator log(1 + number of runs), then the
 * same of all nodes and of the total microseconds. */
enum { NEURAL_TOTAL_NODES, NEURAL_TOTAL_TIME, NEURAL_TOTALS };

/* An item is a token, one of these, or NEURAL_FREE + an operator. The edges of a free
 * item form no known token: they are explicit, given as distances in nodes. */
#define NEURAL_OPEN (UINT32_MAX - 1)
#define NEURAL_CLOSE (UINT32_MAX - 2)
#define NEURAL_FREE 0x80000000U
#define NEURAL_UNTOLD UINT32_MAX /* edges are not known, and not learned */

/* Numbers are logarithms. The number of a closing item is that of the loop's count. */
#define NEURAL_ZERO (-1e30F) /* the number is 0 */
#define NEURAL_UNKNOWN 1e30F /* the number is not known, and not learned */

/* One program. Numbers of item i start at first_value[i]. */
typedef struct neural_program {
    float feature[NEURAL_FEATURES];
    uint32_t n_items;
    const uint32_t *items, *first_value;
    const float *values;
    /* of free items: bit i = it depends on the node i + 1 places before; NULL = no item
     * is free */
    const uint32_t *backs;
} neural_program;

typedef struct neural_net {
    neural_shape shape;
    nn_layout layout;
    nn_embed item_op, head_op, step_kind, slot_rank, attr_law, attr_score, attr_before,
        ref_bias, token_bias, free_bias, back_count;
    nn_dense item_value, item_self, item_message, start, input_features, place_state,
        place_tally, place_left, place_features, head_state, head_layer, number_head,
        number_item, number_features, number_law, step_score, op_score, query, key,
        back_head;
    nn_norm item_norm, state_norm;
    nn_gru gru;
} neural_net;

/* Lays out the parameters of a network of this shape. There are net->layout.n of them. */
void neural_net_make(neural_net *net, const neural_shape *shape);
void neural_net_init(const neural_net *net, nn_real *param, uint64_t seed);
size_t neural_n_ranges(const neural_net *net);
size_t neural_n_totals(const neural_net *net); /* coefficients of their laws */
uint32_t neural_n_values(const neural_net *net, uint32_t item);
/* The operator of an item. A loop opens with n_ops and closes with n_ops + 1. */
uint32_t neural_op_of(const neural_net *net, uint32_t item);

/* The cost of a pass in nats, by output head. Numbers have a reduced weight: they can
 * be predicted to 1/1000, which would leave the network little capacity for the
 * structure. */
#define NEURAL_MOST 10.6 /* -log of 1/1000 spread over a range of e^40 */
typedef struct neural_loss {
    double step, op, edge, zero, number;
    double bounded; /* cost of numbers, each at most NEURAL_MOST; not trained */
    uint64_t n_items;
} neural_loss;
double neural_loss_per_item(const neural_loss *loss); /* the training objective */
void neural_loss_add(neural_loss *to, const neural_loss *from);

/* Computes the loss of n programs. With run->grad, adds the gradient to it. Memory comes
 * from `memory`, which the caller frees. */
halley_status neural_pass(neural_loss *loss, const nn_run *run, const neural_net *net,
                          const neural_program *const *programs, uint32_t n,
                          arena *memory, halley_error *err);

/* A drawn program; {0} is empty. */
typedef struct neural_drawn {
    uint32_t *items;
    uint32_t *first_value; /* n_items + 1 entries */
    uint32_t *backs;       /* of free items */
    double *values;        /* not logarithms; loops: their counts */
    uint32_t n_items, n_values, cap_items, cap_values;
} neural_drawn;
/* The logarithms of the smallest and largest value of each number, then of loop counts.
 * For each total: the deviation from its law, and the largest value. */
typedef struct neural_range {
    float low, high;
} neural_range;
typedef struct neural_draw_opts {
    double structure, numbers; /* temperatures; 1 = as learned */
    double least;              /* limit for unlikely structure: see nn_softmax_draw */
    uint32_t max_items;        /* the program is ended at this length */
    const neural_range *range; /* neural_n_ranges entries; numbers are clamped to them */
    float beyond;              /* how far numbers may exceed them */
} neural_draw_opts;
/* Draws a program. It has at least one item. Every loop is closed and not empty. */
halley_status neural_draw(neural_drawn *out, const neural_net *net, const nn_real *param,
                          const float feature[NEURAL_FEATURES],
                          const neural_draw_opts *opts, rng *random, halley_error *err);
double neural_drawn_length(const neural_drawn *d); /* items, with loops expanded */
void neural_drawn_fini(neural_drawn *d);

typedef struct neural_report {
    neural_loss held_out;                   /* of the parameters that were kept */
    uint32_t n_steps, best_step, n_resumed; /* n_resumed: steps of an earlier run */
    bool blas;
} neural_report;
/* Trains on programs [0, n - n_held_out). The others decide when to stop. `param` holds
 * the initial parameters, and the best ones on return. The same seed gives the same
 * parameters for any number of threads, and whether or not the run was interrupted. */
halley_status neural_train(nn_real *param, neural_report *report, const neural_net *net,
                           const neural_program *programs, uint32_t n,
                           uint32_t n_held_out, const neural_train_opts *opts,
                           halley_error *err);

#endif
