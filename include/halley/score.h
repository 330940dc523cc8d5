/*
 * halley/score.h - compare predictions with published measurements, and fit constants to
 * them.
 */
#ifndef HALLEY_SCORE_H
#define HALLEY_SCORE_H

#include "halley/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HALLEY_SCORE_SKIPS = 8, HALLEY_SCORE_WORST = 5, HALLEY_SCORE_TEXT = 128 };

typedef struct halley_score_skip {
    char reason[HALLEY_SCORE_TEXT];
    uint32_t rows;
} halley_score_skip;

typedef struct halley_score_worst {
    char id[HALLEY_SCORE_TEXT];
    double measured, predicted; /* in the metric's unit */
} halley_score_worst;

/* One set of rows under one metric. Errors are in percent of the measured value. */
typedef struct halley_score_set {
    char set[HALLEY_NAME];
    char metric[HALLEY_NAME]; /* "step time", "peak memory", "latency", ... */
    uint32_t rows, scored;
    double mape_pct, median_pct, bias_pct, spearman;
    double cv_pct;     /* mean error of fits that saw no row of the layout; < 0 = not
                          run */
    uint32_t n_fitted; /* constants fitted in the stacks that the set used */
    /* Cost of choosing by prediction among runs of one model, batch and machine: how much
     * longer the predicted-best run takes than the measured best. Mean over n_choices
     * such groups of three or more. */
    double regret_pct;
    uint32_t n_choices;
    uint32_t n_skips, n_worst;
    halley_score_skip skips[HALLEY_SCORE_SKIPS];
    halley_score_worst worst[HALLEY_SCORE_WORST];
    /* memory: runs that ran out of memory, and how many of them halley refuses; runs that
     * fitted, and how many of them it refuses wrongly */
    uint32_t n_out, n_out_refused, n_fit, n_fit_refused;
} halley_score_set;

typedef struct halley_score_opts {
    bool defaults;     /* use no fitted constants: only defaults and values that files
                          give */
    bool unknown;      /* use no stack files: every constant has its default */
    bool natural;      /* ask as users do: model, cluster, batch, format and stack; the
                          rest comes from recipes */
    bool with_degrees; /* natural: the degrees are stated, too */
    bool without_chip; /* natural: recipes of the row's device are left out */
    uint32_t folds;    /* cross-validate by layout with this many folds; 0 = do not */
    const char *stack; /* a stack file for the rows that match it; NULL = halley's
                          presets */
} halley_score_opts;

/* The prediction for one run. */
typedef struct halley_score_row {
    char id[HALLEY_SCORE_TEXT], set[HALLEY_NAME], layout[HALLEY_SCORE_TEXT];
    char npu[HALLEY_NAME], stack[HALLEY_NAME]; /* the device; the stack whose constants
                                                  were used */
    halley_dtype dtype;                        /* of the matmuls */
    double measured_s, predicted_s;
    double held_out_s; /* prediction of a fit that did not see its layout; 0 = not run */
    double error_typical, error_bound;      /* its error bar, as fractions */
    double measured_bytes, predicted_bytes; /* peak memory; 0 = not measured */
    double full;                            /* predicted device memory over capacity */
    halley_memory_fit fit;                  /* whether halley would have accepted it */
} halley_score_row;

typedef struct halley_score {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_sets, n_rows;
    halley_score_set *sets;
    halley_score_row *rows; /* only runs of training steps */
} halley_score;

/* Score files: runs in halley's JSON format, or CSV tables of measured matmuls and
 * collectives, recognised by content. A name without a dot or slash is a built-in set
 * ("bloom"). No files: all built-in runs. On success the caller owns *out. */
halley_status halley_score_run(halley_score **out, const char *const *files,
                               size_t n_files, const halley_score_opts *opts,
                               halley_error *err);
void halley_score_free(halley_score *score);

/* How much the errors of two predictions differ: the same device; two devices of one
 * vendor; other number formats or vendors, or a setting that nobody states. */
typedef enum halley_alike {
    HALLEY_ALIKE_DEVICE,
    HALLEY_ALIKE_VENDOR,
    HALLEY_ALIKE_LITTLE
} halley_alike;
/* The probability that A is faster than B, from their predicted times. Below
 * halley_sure, two are a tie. */
double halley_faster(double a_s, double b_s, halley_alike alike);
double halley_sure(void);
/* The difference of two times below which they are a tie, as a share. */
double halley_tie_share(halley_alike alike);

/* A constant that a fit changed. */
typedef struct halley_fit_move {
    halley_constant constant;
    double from, to;
} halley_fit_move;

typedef struct halley_fit {
    size_t size;        /* filled by the library, see error.h */
    halley_stack stack; /* with the fitted values */
    uint32_t n_rows, n_layouts, n_moves;
    halley_fit_move moves[HALLEY_MAX_FITTED];
    double before_pct, after_pct, cv_pct; /* mean errors; cv < 0: too few layouts */
    uint64_t room[HALLEY_ROOM];           /* reserved for new members; 0 */
} halley_fit;

/* Fit a stack to the rows of `files` (none: the built-in ones) that use it. `stack` names
 * a preset or a file; NULL: the stack of the first row. The fit refuses to fit more
 * constants than the number of layouts can determine. */
halley_status halley_calibrate(halley_fit *out, const char *stack,
                               const char *const *files, size_t n_files,
                               halley_error *err);

/* Result of fitting a device's constants to a table of measurements. */
enum { HALLEY_MAX_DEVICE = 40 };
typedef struct halley_device_move {
    char key[HALLEY_NAME]; /* as in the file, "gemm.launch" */
    const char *unit;      /* static */
    double from, to;       /* in that unit */
} halley_device_move;

typedef struct halley_device_fit {
    size_t size;                            /* filled by the library, see error.h */
    uint32_t n_fitted, n_held;              /* measurements used in the fit, and held
                                               out */
    double before_pct, after_pct, held_pct; /* mean errors; held: on the held-out ones */
    uint32_t n_moves;
    halley_device_move moves[HALLEY_MAX_DEVICE];
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_device_fit;

/*
 * Fit the constants of an NPU or link preset to its rows of `csv`, a table as for
 * halley_score_run. Matmuls fit an NPU's `gemm` and `gemm-fp8-cast`; collectives fit a
 * link. Only numbers in the preset's file are fitted; a weak prior keeps them near their
 * values. `out_path` (may be NULL) is the file to write with the new numbers.
 */
halley_status halley_calibrate_device(halley_device_fit *out, const char *csv,
                                      const char *preset, const char *out_path,
                                      halley_error *err);
#ifdef __cplusplus
}
#endif
#endif
