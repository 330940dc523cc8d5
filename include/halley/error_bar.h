/*
 * halley/error_bar.h - the expected error of a predicted step time. It comes from
 * published runs that the prediction had not seen: whole layouts, sources and devices are
 * held out in turn.
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
    double typical;      /* relative error that 7 of 10 comparable runs stay within */
    double bound;        /* relative error that 19 of 20 stay within */
    uint32_t n_runs;     /* comparable runs, each predicted with its own kind held out */
    uint32_t n_sources;  /* sources of these runs */
    char class_name[96]; /* the comparable runs: "dense, stack known, pipeline" */
    bool known_stack;  /* the constants were fitted, for its stack or its model family */
    bool measured;     /* runs of this chip with this kind of model were compared */
    bool measured_npu; /* runs of this chip were compared */
    const char *unmeasured; /* layers that no run had ("Mamba-2 layers"), or NULL */
    uint64_t room[HALLEY_ROOM - 1]; /* reserved for new members; 0 */
} halley_error_bar;

/* Find the error bar of a design. Fails only if the built-in table is damaged. */
halley_status halley_error_bar_find(halley_error_bar *out, const halley_model *model,
                                    const halley_plan *plan,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack, halley_error *err);

enum { HALLEY_ERROR_BAR_TEXT = 400 };
/* Describe the error bar in one or two sentences. */
void halley_error_bar_print(char to[HALLEY_ERROR_BAR_TEXT], const halley_error_bar *bar);

/*
 * Recompute the table of error bars from `files` (none: halley's own runs) and write it
 * to `path` (NULL: do not write it). Every stack is fitted with each layout fold, set,
 * device and release held out in turn. The result says how many of a source's runs are
 * within error bars that were made without that source.
 */
enum { HALLEY_MAX_COVERED = 48 };
typedef struct halley_class_coverage {
    char class_name[96]; /* "dense, stack known, pipeline" */
    uint32_t n_runs;
    double typical, bound; /* shares of the runs within them */
} halley_class_coverage;
typedef struct halley_error_coverage {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_runs, n_classes;
    double typical, bound; /* shares of runs within; targets 0.6 to 0.8 and >= 0.9 */
    uint32_t n_covered; /* classes with 20 runs and more; target: bound >= 0.8 in each */
    halley_class_coverage covered[HALLEY_MAX_COVERED];
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_error_coverage;
halley_status halley_error_bars_make(halley_error_coverage *out, const char *path,
                                     const char *const *files, size_t n_files,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
