/* request/trace/fit_stack.h - fits constants of a stack to a recorded step, and measures
 * how well `trace gen` reproduces the step with them. */
#ifndef REQUEST_FIT_STACK_H
#define REQUEST_FIT_STACK_H

#include "base/str.h"
#include "halley/fit.h"
#include "halley/stack.h"

/* Parts of a step, each with the constants that scale it. */
typedef enum fit_part {
    FIT_MATMULS,
    FIT_ATTENTION,
    FIT_MEMORY_BOUND,
    FIT_OPTIMIZER,
    FIT_N_PARTS
} fit_part;
extern const char *const fit_part_names[FIT_N_PARTS];
extern const char *const fit_part_keys[FIT_N_PARTS];

typedef struct fit_stack {
    bool is_fitted;     /* else why_not explains why there is no stack */
    char why_not[320];  /* one sentence */
    bool is_eager;      /* norms and activations ran operator by operator */
    bool is_forward;    /* only the compute of the forward pass is compared */
    char cluster[96];   /* "dgx-h100:8" */
    halley_stack stack; /* fitted constants have origin 2 */
    char at_limit[160]; /* keys of constants that ended at their bounds; "" = none */
    double recorded_s;  /* the step; if is_forward, its compute and idle time */
    double default_s;   /* of the generated step with default constants */
    double generated_s; /* with `stack` */
    double part_recorded_s[FIT_N_PARTS];
    double part_default_s[FIT_N_PARTS];
    double idle_s;
} fit_stack;

/* Above this error the constants do not describe the recording and are not written. */
static const double fit_most_error = 0.25;

/*
 * `model_text` is the model file that the fit gives. `cluster`: a preset or file of the
 * machine; NULL = the preset with the recorded device. If the step cannot be compared,
 * that is no error, but is_fitted is false.
 */
halley_status fit_stack_make(fit_stack *out, const halley_recorded_model *model,
                             const halley_recorded_times *times, const strbuf *model_text,
                             const char *cluster, halley_error *err);
/* The plan that was found; valid after halley_plan_check. */
halley_plan fit_plan(const halley_recorded_model *model);

#endif
