/*
 * halley/error_bar.h - the expected error of a predicted step time: that of a source of
 * runs which no constant has seen.
 */
#ifndef HALLEY_ERROR_BAR_H
#define HALLEY_ERROR_BAR_H

#include "halley/cluster.h"
#include "halley/estimate.h"
#include "halley/plan.h"
#include "halley/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_error_bar {
    size_t size;         /* filled by the library, see error.h */
    double typical;      /* relative error that 7 of 10 runs stay within */
    double bound;        /* relative error that 19 of 20 stay within */
    uint32_t n_runs;     /* compared runs of this kind of model */
    uint32_t n_sources;  /* sources of these runs */
    char class_name[96]; /* "dense, software and chip compared" */
    bool known_stack;  /* the constants were fitted, for its stack or its model family */
    bool chosen_stack; /* a stack was chosen, whether fitted or not */
    bool measured;     /* runs of this chip with this kind of model were compared */
    bool measured_npu; /* runs of this chip were compared */
    bool hypothetical; /* larger or faster than every system that was measured */
    const char *unmeasured; /* layers that no run had ("Mamba-2 layers"), or NULL */
    uint64_t room[HALLEY_ROOM - 1]; /* reserved for new members; 0 */
} halley_error_bar;

/* What a caller knows about a prediction beyond the design; {0} is fine. */
typedef struct halley_bar_facts {
    const halley_estimate *estimate; /* NULL: the share of host time is not known */
    bool open;              /* settings of the software are neither stated nor from a
                               recipe at this distance or less */
    double recipe_distance; /* of the recipe that supplied them; > 1: a distant one */
    double months;          /* between the recipe's release and the wanted one */
    double low_s, high_s;   /* step time by settings that nobody states; 0: all stated */
} halley_bar_facts;

/* Find the error bar of a design; `facts` may be NULL. Fails only if the built-in table
 * is damaged. */
halley_status halley_error_bar_find(halley_error_bar *out, const halley_model *model,
                                    const halley_plan *plan,
                                    const halley_cluster *cluster,
                                    const halley_stack *stack,
                                    const halley_bar_facts *facts, halley_error *err);

enum { HALLEY_ERROR_BAR_TEXT = 400 };
/* Describe the error bar in one or two sentences. */
void halley_error_bar_print(char to[HALLEY_ERROR_BAR_TEXT], const halley_error_bar *bar);

/*
 * Measure how far error bars hold on `files` (none: halley's own runs), and write the
 * table of what was compared to `path` (NULL: do not write it). Each source is left out
 * in turn: its runs are predicted by stacks that were fitted to the other sources, or by
 * defaults.
 */
enum { HALLEY_MAX_COVERED = 48 };
typedef struct halley_source_coverage {
    char source[96];
    uint32_t n_runs;
    bool fitted;           /* another source has its software */
    double typical, bound; /* shares of the runs within them */
} halley_source_coverage;
typedef struct halley_error_coverage {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_runs, n_sources;
    double typical, bound; /* shares of runs within, mean over sources; targets 0.60 to
                              0.85 and >= 0.90 */
    double rows_typical, rows_bound; /* the same over all runs */
    uint32_t n_covered;
    halley_source_coverage covered[HALLEY_MAX_COVERED];
    uint64_t room[HALLEY_ROOM - 2]; /* reserved for new members; 0 */
} halley_error_coverage;
halley_status halley_error_bars_make(halley_error_coverage *out, const char *path,
                                     const char *const *files, size_t n_files,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
