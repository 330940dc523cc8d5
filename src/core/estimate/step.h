/* estimate/step.h - the sums of a training step, for the step_*.c files. */
#ifndef ESTIMATE_STEP_H
#define ESTIMATE_STEP_H

#include "estimate/price.h"
#include "estimate/run.h"
#include "workload/stages.h"

/* Everything about one kind of layer. */
typedef struct kind_cost {
    const price_layer *price;
    double weights, expert_weights, touched, frozen, frozen_experts;
    /* Including FSDP messages if they run in every micro-batch; plain: without
     * recomputation. */
    double forward_s, backward_s, plain_s;
    double fsdp_f_s, fsdp_b_s, fsdp_plain_s; /* the exposed part of them */
} kind_cost;

typedef struct step {
    price_context c;
    halley_estimate *out;
    kind_cost kinds[ESTIMATE_N_KINDS];
    bool fsdp_each; /* weights are gathered in every micro-batch */
    double micro_batches;
} step;

/* The number of layers of one kind in a stage, and how many of them are recomputed. */
typedef struct kind_count {
    double n, again;
} kind_count;

/* A stage, or one of its chunks. */
typedef struct stage_cost {
    kind_count kinds[ESTIMATE_N_KINDS];
    double forward_s, backward_s; /* of one micro-batch */
    double weight_s;              /* the part of the backward pass for weight gradients */
    double weights, expert_weights, touched;
    double trained, trained_experts; /* the part of the weights that has gradients */
    double reduced_s; /* exposed time of gradients that are reduced after every
                         micro-batch */
    double added;     /* parameters whose gradients a micro-batch accumulates */
} stage_cost;

static inline double stage_time(const stage_cost *s)
{
    return s->forward_s + s->backward_s;
}

/* The step of a design. `out` has its memory. `stack` is the one for the kind of
 * model. */
void step_make(step *s, halley_estimate *out, estimate_layers *layers,
               const halley_model *model, const halley_plan *plan,
               const halley_cluster *cluster, const halley_stack *stack);
/* Price every kind of layer that the model has. */
void step_price_kinds(step *s, estimate_layers *layers);

stage_cost step_stage_make(const step *s, const workload_stage *stage);

/* Add passes, bubble, transfers and gradient accumulation. `walk`: walk the schedule pass
 * by pass, else use its closed form. Returns the stage with the most parameters. */
stage_cost step_add_pipeline(step *s, bool walk);
/* Seconds in which a micro-batch adds up its gradients. */
double step_accumulation_time(const step *s, const stage_cost *c);
/* Exposed seconds of reducing the gradients of a stage or chunk after a micro-batch,
 * where they are reduced after each one (ZeRO 2). */
double step_reduced_each(const step *s, const stage_cost *st);
/*
 * One collective of a step's gradients or weights, with all its buckets. Traces are made
 * from these.
 */
typedef struct step_message {
    coll_kind kind;
    workload_group group;
    double bytes; /* as coll/time.h counts them, over all buckets */
    double all_s; /* time of all buckets, one after the other */
    bool gathers; /* weights, after the update or before the first pass */
} step_message;

/* The reductions and gathers of a stage outside its passes. */
typedef struct step_reduction {
    uint32_t n;
    step_message messages[6];
    double reduce_s, last_s; /* gradients; the last bucket of them */
    double gather_s;         /* gathering the weights again */
    double hidden_s;         /* the part of the three that compute hides */
    double exposed_s;        /* the rest, including delays */
    bool by_chunk; /* buckets leave as soon as a chunk's last pass has computed them */
} step_reduction;
step_reduction step_reduction_make(const step *s, const stage_cost *st);
/* Extra time of owner-wise ZeRO 1, where ranks own whole tensors one after the other. */
double step_owner_time(const step *s);
void step_add_reduction(step *s, const stage_cost *st);
/* Parameters in a bucket of a group's gradients or weights. */
double step_bucket_params(const step *s, workload_group group);
/* The share of a step by which ranks wait for the slowest of those they meet. */
double step_meeting_share(const step *s);
/* The share of hidden gradient messages by which they slow down the passes. */
double step_drag(const step *s);
void step_add_update(step *s, const stage_cost *st);

/* The operators of a kind of layer; NULL if the model has no such layer. */
const workload_layer *step_find_layer(const workload_parts *parts, estimate_kind kind);

#endif
