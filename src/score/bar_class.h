/* score/bar_class.h - classes of runs that have an error bar in common. */
#ifndef SCORE_BAR_CLASS_H
#define SCORE_BAR_CLASS_H

#include "halley/error_bar.h"
#include "hw/cluster.h"

typedef enum bar_kind { BAR_DENSE, BAR_MOE, BAR_TPU, BAR_OTHER, BAR_N_KINDS } bar_kind;
typedef enum bar_stack {
    BAR_KNOWN,   /* fitted to runs of this software */
    BAR_FAMILY,  /* to runs of another release of it */
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

/* BAR_ANY in a member: the class is not told apart by it. */
enum { BAR_ANY = 255 };
typedef struct bar_class {
    uint8_t kind, stack, device, parallel;
} bar_class;

extern const char *const bar_kind_names[BAR_N_KINDS + 1];
extern const char *const bar_stack_names[BAR_N_STACKS + 1];
extern const char *const bar_device_names[BAR_N_DEVICES + 1];
extern const char *const bar_parallel_names[BAR_N_PARALLELS + 1];

/* Kind and parallelism of a design; stack and device are for the caller. */
bar_class bar_class_of(const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster);
/* The i-th wider class to look in, the class itself at 0; false past the widest. */
bool bar_class_widen(bar_class *out, bar_class class, uint32_t i);
/* "dense, stack known, pipeline" */
void bar_class_print(char *to, size_t size, bar_class class);
/* Does a run of class `of` belong to `class`? */
bool bar_class_has(bar_class class, bar_class of);

/* One run predicted by a fit that had not seen its group. */
typedef struct bar_error {
    bar_class class;
    uint64_t source; /* runs of one source count by the root of their number */
    double error;    /* absolute, share of the measured time */
    double weight;   /* bar_quantiles_make fills it in */
} bar_error;

/* Quantiles of the errors of a class. */
typedef struct bar_quantiles {
    double typical, bound;
    uint32_t n_runs, n_sources;
} bar_quantiles;

/* Of the errors that belong to `class`, without those of source `except` (0 = none).
 * `scratch` has room for n. False with fewer than three sources. */
bool bar_quantiles_make(bar_quantiles *out, bar_error *scratch, const bar_error *errors,
                        size_t n, bar_class class, uint64_t except);

#endif
