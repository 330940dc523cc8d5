/*
 * learn/neural/neural_net.h - a network that writes programs layer by layer.
 *
 * A program is what a stage of ranks does, repeats folded into loops. It is cut into
 * layers: runs of items none of which depends on another (after LayerDAG, whose layers
 * are those of depth; ours keep the order of the file, which simulators follow). A loop's
 * opening and closing are layers of one item. Given the conditions and the layers so far,
 * the network says how large the next layer is (or that a loop opens or closes, or that
 * the program ends); for each item in turn its operator; which earlier items it depends
 * on; and its numbers.
 *
 * The graph so far enters in two ways. An item's embedding is made of its operator, its
 * numbers and the items it depends on (one round of messages along its edges). A
 * recurrent unit carries the sums of the layers' embeddings. The cost is linear in the
 * number of items.
 */
#ifndef LEARN_NEURAL_NEURAL_NET_H
#define LEARN_NEURAL_NEURAL_NET_H

#include "base/arena.h"
#include "learn/neural/neural.h"
#include "learn/neural/nn.h"

enum {
    NEURAL_WIDTH = 96,
    NEURAL_KEY = 24,      /* of the product that scores an edge */
    NEURAL_SLOTS = 32,    /* operators, latest first, whose last item an edge may name */
    NEURAL_FEATURES = 48, /* conditions of a program */
    NEURAL_FIELDS = 10,   /* numbers of an item at most */
    NEURAL_LAYER = 8,     /* items of a layer at most; longer ones are cut */
    NEURAL_BACK = 16,     /* how many nodes before an edge of its own may lead */
    NEURAL_BACKS = 8,     /* edges of its own that are counted */
    NEURAL_DEPTH = 6,     /* loops within loops */
};

/* How an edge names its node among those of an operator; twice, for control. */
enum {
    NEURAL_REF_RECENT, /* to the last, the one before … */
    NEURAL_REF_STACK = NEURAL_REF_RECENT + 4,
    NEURAL_REF_QUEUE,
    NEURAL_REF_ALL,
    NEURAL_REF_CTRL, /* added for control dependencies */
    NEURAL_REFS = 2 * NEURAL_REF_CTRL
};
typedef struct neural_ref {
    uint32_t op; /* NEURAL_LATEST: that of the item before */
    uint32_t how;
} neural_ref;
#define NEURAL_LATEST UINT32_MAX

/* What programs are made of. Tokens are operators with edges that were seen together, by
 * operator. All arrays are the owner's and outlive the network. */
typedef struct neural_shape {
    uint32_t n_ops, n_tokens;
    const uint32_t *first_token; /* of an operator; n_ops + 1 */
    const uint32_t *op_of;       /* of a token */
    const uint32_t *first_ref;   /* of a token; n_tokens + 1 */
    const neural_ref *refs;
    const uint32_t *first_attr; /* of an operator; n_ops + 1. Numbers are its fields */
    const float *total_law;     /* see NEURAL_TOTALS; NEURAL_FEATURES each */
} neural_shape;

/* Laws of a program's totals: for each operator the logarithm of one more than how often
 * it runs; then those of its nodes and of its microseconds. */
enum { NEURAL_TOTAL_NODES, NEURAL_TOTAL_TIME, NEURAL_TOTALS };

/* An item: a token, or one of these, or NEURAL_FREE + an operator whose edges are no
 * token's: they are described by how many nodes before they lead. */
#define NEURAL_OPEN (UINT32_MAX - 1)
#define NEURAL_CLOSE (UINT32_MAX - 2)
#define NEURAL_FREE 0x80000000U
#define NEURAL_UNTOLD UINT32_MAX /* edges that are not known, and are not learned */

/* Numbers are logarithms; of a closing: of how often the loop runs. */
#define NEURAL_ZERO (-1e30F) /* the number is 0 */
#define NEURAL_UNKNOWN 1e30F /* and is not learned */

/* One program. Numbers of item i start at first_value[i]. */
typedef struct neural_program {
    float feature[NEURAL_FEATURES];
    uint32_t n_items;
    const uint32_t *items, *first_value;
    const float *values;
    /* of free items: bit i = it depends on the node i + 1 before; NULL = none is free */
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

/* Lays out the parameters of a network of this shape: net->layout.n of them. */
void neural_net_make(neural_net *net, const neural_shape *shape);
void neural_net_init(const neural_net *net, nn_real *param, uint64_t seed);
size_t neural_n_ranges(const neural_net *net);
size_t neural_n_totals(const neural_net *net); /* numbers of their laws */
uint32_t neural_n_values(const neural_net *net, uint32_t item);
uint32_t neural_op_of(const neural_net *net, uint32_t item); /* n_ops, n_ops + 1: loops */

/* What a pass costs in nats, by head. Numbers count for a part of what they cost: they
 * can be predicted to a thousandth, which would leave the network little for the
 * structure. */
#define NEURAL_MOST 10.6 /* one in a thousand, spread over a range of e^40 */
typedef struct neural_loss {
    double step, op, edge, zero, number;
    double bounded; /* numbers again, none costing more than NEURAL_MOST; not trained */
    uint64_t n_items;
} neural_loss;
double neural_loss_per_item(const neural_loss *loss); /* what training makes small */
void neural_loss_add(neural_loss *to, const neural_loss *from);

/*
 * The loss of n programs; with run->grad, its gradient is added there. Memory comes from
 * `memory`, which the caller empties.
 */
halley_status neural_pass(neural_loss *loss, const nn_run *run, const neural_net *net,
                          const neural_program *const *programs, uint32_t n,
                          arena *memory, halley_error *err);

/* A program that was drawn; {0} is empty. */
typedef struct neural_drawn {
    uint32_t *items;
    uint32_t *first_value; /* one more than items */
    uint32_t *backs;       /* of free items */
    double *values;        /* not logarithms; loops: how often */
    uint32_t n_items, n_values, cap_items, cap_values;
} neural_drawn;
/* Logarithms of the smallest and largest value of each number, then of loops; then for
 * each total how far its law is off, and the largest. */
typedef struct neural_range {
    float low, high;
} neural_range;
typedef struct neural_draw_opts {
    double structure, numbers; /* temperatures; 1 = as learned */
    double least;              /* of structure: see nn_softmax_draw */
    uint32_t max_items;        /* the program is brought to its end there */
    const neural_range *range; /* neural_n_ranges of them; numbers are kept in them */
    float beyond;              /* by how much they may leave it */
} neural_draw_opts;
/* Draw a program. Every loop is closed and not empty; at least one item. */
halley_status neural_draw(neural_drawn *out, const neural_net *net, const nn_real *param,
                          const float feature[NEURAL_FEATURES],
                          const neural_draw_opts *opts, rng *random, halley_error *err);
double neural_drawn_length(const neural_drawn *d); /* items, loops run as they say */
void neural_drawn_fini(neural_drawn *d);

typedef struct neural_report {
    neural_loss held_out;                   /* of the parameters that were kept */
    uint32_t n_steps, best_step, n_resumed; /* n_resumed: steps of an earlier run */
    bool blas;
} neural_report;
/*
 * Train on programs [0, n - n_held_out); the others choose when to stop. `param` holds
 * the start and then the best. Same seed, same parameters, whatever the number of
 * threads, and whether it was stopped on the way or not.
 */
halley_status neural_train(nn_real *param, neural_report *report, const neural_net *net,
                           const neural_program *programs, uint32_t n,
                           uint32_t n_held_out, const neural_train_opts *opts,
                           halley_error *err);

#endif
