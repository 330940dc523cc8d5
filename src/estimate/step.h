/* estimate/step.h - a training step while it is added up; for the step_*.c files. */
#ifndef ESTIMATE_STEP_H
#define ESTIMATE_STEP_H

#include "estimate/price.h"
#include "estimate/run.h"
#include "workload/stages.h"

/* Everything about one kind of layer. */
typedef struct kind_cost {
    const price_layer *price;
    double weights, expert_weights, touched, frozen, frozen_experts;
    /* With FSDP messages where they run every micro-batch; plain: not recomputed. */
    double forward_s, backward_s, plain_s;
    double fsdp_f_s, fsdp_b_s, fsdp_plain_s; /* of them, exposed */
} kind_cost;

typedef struct step {
    price_context c;
    halley_estimate *out;
    kind_cost kinds[ESTIMATE_N_KINDS];
    bool fsdp_each; /* weights are gathered every micro-batch */
    double micro_batches;
} step;

/* Layers of one kind in a stage; some are computed again. */
typedef struct kind_count {
    double n, again;
} kind_count;

/* A stage, or one of its chunks. */
typedef struct stage_cost {
    kind_count kinds[ESTIMATE_N_KINDS];
    double forward_s, backward_s; /* of one micro-batch */
    double weight_s;              /* of the backward pass: weight gradients */
    double weights, expert_weights, touched;
    double trained, trained_experts; /* of the weights, those that get gradients */
    double reduced_s; /* gradients that leave after every micro-batch, exposed */
    double added;     /* parameters whose gradients a micro-batch adds up */
} stage_cost;

static inline double stage_time(const stage_cost *s)
{
    return s->forward_s + s->backward_s;
}

/* The step of a design whose memory `out` has. `stack` is the one of the model's kind. */
void step_make(step *s, halley_estimate *out, estimate_layers *layers,
               const halley_model *model, const halley_plan *plan,
               const halley_cluster *cluster, const halley_stack *stack);
/* Price every kind of layer that the model has. */
void step_price_kinds(step *s, estimate_layers *layers);

stage_cost step_stage_make(const step *s, const workload_stage *stage);

/* Passes, bubble, transfers and accumulation. `walk`: the schedule pass by pass, else in
 * closed form. Returns the stage with most parameters. */
stage_cost step_add_pipeline(step *s, bool walk);
/* Seconds that the gradients of a stage, or a chunk, take in the open after a micro-batch
 * where they leave after each (ZeRO 2). */
double step_reduced_each(const step *s, const stage_cost *st);
/*
 * One collective of a step's gradients or weights: all its buckets. Traces are made of
 * them.
 */
typedef struct step_message {
    coll_kind kind;
    workload_group group;
    double bytes; /* as coll/time.h counts them, over all buckets */
    double all_s; /* all buckets, one after the other */
    bool gathers; /* weights, after the update or before the first pass */
} step_message;

/* What a stage reduces and gathers beyond its passes. */
typedef struct step_reduction {
    uint32_t n;
    step_message messages[6];
    double reduce_s, last_s; /* gradients; the last bucket of them */
    double gather_s;         /* weights back */
    double hidden_s;         /* of the three, behind compute */
    double exposed_s;        /* the others, with all that delays them */
} step_reduction;
step_reduction step_reduction_make(const step *s, const stage_cost *st);
/* Owner-wise ZeRO 1: whole tensors, rank after rank. */
double step_owner_time(const step *s);
void step_add_reduction(step *s, const stage_cost *st);
void step_add_update(step *s, const stage_cost *st);

/* The operators of a kind of layer; NULL when the model has none. */
const workload_layer *step_find_layer(const workload_parts *parts, estimate_kind kind);

#endif
