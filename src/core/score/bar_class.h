/* score/bar_class.h - classes of runs that share an error bar. */
#ifndef SCORE_BAR_CLASS_H
#define SCORE_BAR_CLASS_H

#include "halley/error_bar.h"
#include "hw/cluster.h"

typedef enum bar_kind { BAR_DENSE, BAR_MOE, BAR_TPU, BAR_OTHER, BAR_N_KINDS } bar_kind;
typedef enum bar_stack {
    BAR_KNOWN,   /* fitted to runs of this software */
    BAR_FAMILY,  /* fitted to runs of another release of it */
    BAR_UNKNOWN, /* defaults */
    BAR_N_STACKS
} bar_stack;
typedef enum bar_device { BAR_FITTED, BAR_UNFITTED, BAR_N_DEVICES } bar_device;
typedef enum bar_parallel {
    BAR_FSDP,
    BAR_PIPELINE,
    BAR_NEITHER,
    BAR_N_PARALLELS
} bar_parallel;

/* BAR_ANY in a member: the class includes all values of this member. */
enum { BAR_ANY = 255 };
typedef struct bar_class {
    uint8_t kind, stack, device, parallel;
} bar_class;

extern const char *const bar_kind_names[BAR_N_KINDS + 1];
extern const char *const bar_stack_names[BAR_N_STACKS + 1];
extern const char *const bar_device_names[BAR_N_DEVICES + 1];
extern const char *const bar_parallel_names[BAR_N_PARALLELS + 1];

/* The kind and parallelism of a design. The caller sets stack and device. */
bar_class bar_class_of(const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster);
/* The i-th wider class to look in; 0 is the class itself. False after the widest. */
bool bar_class_widen(bar_class *out, bar_class class, uint32_t i);
/* "dense, stack known, pipeline" */
void bar_class_print(char *to, size_t size, bar_class class);
/* True if a run of class `of` belongs to `class`. */
bool bar_class_has(bar_class class, bar_class of);

/* One run, predicted by a fit that did not use the run's group. */
typedef struct bar_error {
    bar_class class;
    uint64_t source; /* runs of one source count by the square root of their number */
    double error;    /* absolute, as a fraction of the measured time */
    double weight;   /* bar_quantiles_make fills it in */
} bar_error;

/* Quantiles of the errors of a class. */
typedef struct bar_quantiles {
    double typical, bound;
    uint32_t n_runs, n_sources;
} bar_quantiles;

/* Compute the quantiles of the errors that belong to `class`, without those of source
 * `except` (0 = none). `scratch` has room for n. Returns false if there are fewer than
 * three sources. */
bool bar_quantiles_make(bar_quantiles *out, bar_error *scratch, const bar_error *errors,
                        size_t n, bar_class class, uint64_t except);

#endif
