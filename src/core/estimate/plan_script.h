/* estimate/plan_script.h - the contents of a pass over a layer, priced once and
 * repeated. */
#ifndef ESTIMATE_PLAN_SCRIPT_H
#define ESTIMATE_PLAN_SCRIPT_H

#include "estimate/plan_nodes.h"
#include "estimate/step.h"

/* INPUT and WEIGHT are the two halves of a backward pass. AGAIN is recomputation. */
typedef enum plan_pass {
    PLAN_FORWARD,
    PLAN_AGAIN,
    PLAN_BACKWARD,
    PLAN_INPUT,
    PLAN_WEIGHT,
    PLAN_N_PASSES
} plan_pass;

/*
 * An operator that computes, or a message. A part of a message may run next to compute.
 * It does so in the `early_s` seconds before its turn, where it starts `offset_s` after
 * the beginning of item `start`, and in message.hidden_s - early_s seconds after it.
 */
typedef struct plan_item {
    const char *name; /* static */
    bool is_message;
    bool is_attention; /* compute that hides keys and values on their way ... */
    bool is_turning;   /* ... if there are any */
    bool follows;      /* a message that overlaps with the compute after it if it can */
    double seconds, flops, bytes; /* of compute */
    plan_message message;
    double early_s, offset_s;
    uint32_t start;
} plan_item;

typedef struct plan_script {
    ARRAY(plan_item) items;
    double host_s, host_plain_s; /* waiting for the host; plain: not recomputed */
} plan_script;

/* Scripts of every kind of layer. */
typedef struct plan_scripts {
    plan_script of[ESTIMATE_N_KINDS][PLAN_N_PASSES];
} plan_scripts;

/* Returns false if memory ran out. */
bool plan_scripts_init(plan_scripts *out, const step *s, const workload_parts *parts);
void plan_scripts_fini(plan_scripts *scripts);

/* Write one pass. */
void plan_script_run(plan_nodes *to, const plan_script *script);

#endif
