/*
 * halley/error_bar.h - what error to expect of a step time, from published runs that the
 * prediction had not seen: whole layouts, sources and devices left out in turn.
 */
#ifndef HALLEY_ERROR_BAR_H
#define HALLEY_ERROR_BAR_H

#include "halley/cluster.h"
#include "halley/plan.h"
#include "halley/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_error_bar {
    size_t size;         /* filled by the library, see error.h */
    double typical;      /* share of the step time: 7 of 10 comparable runs are within */
    double bound;        /* 19 of 20 are within */
    uint32_t n_runs;     /* comparable runs, each predicted without its own kind */
    uint32_t n_sources;  /* that they come from */
    char class_name[96]; /* which runs are comparable: "dense, stack known, pipeline" */
    bool known_stack;    /* the constants were fitted: by its stack, or by its family */
    bool measured;       /* runs of this chip, and of this kind of model, were compared */
    bool measured_npu;   /* of this chip */
    const char *unmeasured; /* layers that no run had ("Mamba-2 layers"), or NULL */
    uint64_t room[HALLEY_ROOM - 1]; /* for members to come; 0 */
} halley_error_bar;

/* Find the bar of a design. Fails only when the built-in table is damaged. */
halley_status halley_error_bar_find(halley_error_bar *out, const halley_model *model,
                                    const halley_plan *plan,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack, halley_error *err);

enum { HALLEY_ERROR_BAR_TEXT = 400 };
/* The bar in one or two sentences. */
void halley_error_bar_print(char to[HALLEY_ERROR_BAR_TEXT], const halley_error_bar *bar);

/*
 * Make the table of bars again from `files` (none: our own runs) and write it to `path`
 * (NULL: nothing is written). Every stack is fitted with each layout fold, set, device
 * and release left out in turn. How much of a source's runs lies within the bars made
 * without that source is in the result.
 */
enum { HALLEY_MAX_COVERED = 48 };
typedef struct halley_class_coverage {
    char class_name[96]; /* "dense, stack known, pipeline" */
    uint32_t n_runs;
    double typical, bound; /* shares of its runs within */
} halley_class_coverage;
typedef struct halley_error_coverage {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_runs, n_classes;
    double typical, bound; /* shares of runs within; targets 0.6 to 0.8 and >= 0.9 */
    uint32_t n_covered; /* classes with 20 runs and more; target: bound >= 0.8 in each */
    halley_class_coverage covered[HALLEY_MAX_COVERED];
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_error_coverage;
halley_status halley_error_bars_make(halley_error_coverage *out, const char *path,
                                     const char *const *files, size_t n_files,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
