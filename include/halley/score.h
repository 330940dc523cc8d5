/*
 * halley/score.h - predictions against published measurements, and constants fitted to
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

/* One set of rows under one metric. Errors are percent of the measured value. */
typedef struct halley_score_set {
    char set[HALLEY_NAME];
    char metric[HALLEY_NAME]; /* "step time", "peak memory", "latency", ... */
    uint32_t rows, scored;
    double mape_pct, median_pct, bias_pct, spearman;
    double cv_pct;     /* mean error, no row of a layout seen in the fit; < 0 = not run */
    uint32_t n_fitted; /* constants fitted in the stacks that served the set */
    /* Choosing the predicted-best of runs of one model, batch and machine: how much
     * longer than the measured best, on average over n_choices such groups of three and
     * more. */
    double regret_pct;
    uint32_t n_choices;
    uint32_t n_skips, n_worst;
    halley_score_skip skips[HALLEY_SCORE_SKIPS];
    halley_score_worst worst[HALLEY_SCORE_WORST];
    /* memory: runs that ran out of memory, and how many of them are refused; runs that
     * fitted, and how many of them are refused all the same */
    uint32_t n_out, n_out_refused, n_fit, n_fit_refused;
} halley_score_set;

typedef struct halley_score_opts {
    bool defaults;     /* no fitted constant: defaults and what files give */
    bool unknown;      /* no stack files: every constant at its default */
    uint32_t folds;    /* cross-validate by layout with as many folds; 0 = do not */
    const char *stack; /* a stack file to use for the rows it serves; NULL = ours */
} halley_score_opts;

/* One run, predicted. */
typedef struct halley_score_row {
    char id[HALLEY_SCORE_TEXT], set[HALLEY_NAME], layout[HALLEY_SCORE_TEXT];
    char npu[HALLEY_NAME], stack[HALLEY_NAME]; /* the device; whose constants were used */
    halley_dtype dtype;                        /* of the matmuls */
    double measured_s, predicted_s;
    double held_out_s; /* predicted by a fit that has not seen its layout; 0 = not run */
    double measured_bytes, predicted_bytes; /* peak memory; 0 = not measured */
    double full;           /* predicted memory of the device over its capacity */
    halley_memory_fit fit; /* whether halley would have let it run */
} halley_score_row;

typedef struct halley_score {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_sets, n_rows;
    halley_score_set *sets;
    halley_score_row *rows; /* of runs only */
} halley_score;

/*
 * Score files: runs in the format of our data (JSON), measured products and collectives
 * (CSV), recognised by content. A name without a dot or slash is one of our own sets
 * ("bloom"). No files: all our own runs. On success *out is the caller's.
 */
halley_status halley_score_run(halley_score **out, const char *const *files,
                               size_t n_files, const halley_score_opts *opts,
                               halley_error *err);
void halley_score_free(halley_score *score);

/* What a fit moved. */
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
    uint64_t room[HALLEY_ROOM];           /* for members to come; 0 */
} halley_fit;

/*
 * Fit a stack to the rows of `files` (none: our own) that it serves. `stack` names a
 * preset or a file; NULL: the one that serves the first row. Refuses to fit more
 * constants than there are layouts to tell them apart.
 */
halley_status halley_calibrate(halley_fit *out, const char *stack,
                               const char *const *files, size_t n_files,
                               halley_error *err);

/* What fitting a device's constants to a table of measurements did. */
enum { HALLEY_MAX_DEVICE = 40 };
typedef struct halley_device_move {
    char key[HALLEY_NAME]; /* as in the file, "gemm.launch" */
    const char *unit;      /* static */
    double from, to;       /* in that unit */
} halley_device_move;

typedef struct halley_device_fit {
    size_t size;                            /* filled by the library, see error.h */
    uint32_t n_fitted, n_held;              /* measurements used, and kept aside */
    double before_pct, after_pct, held_pct; /* mean errors; held: on those kept aside */
    uint32_t n_moves;
    halley_device_move moves[HALLEY_MAX_DEVICE];
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_device_fit;

/*
 * Fit the constants of an NPU or link preset to its rows of `csv`, a table as
 * halley_score_run reads it: products fit an NPU's `gemm` and `gemm-fp8-cast`,
 * collectives a link. Only numbers that the preset's file has are fitted, held near what
 * they are by a weak prior. `out_path` (may be NULL): the file with the new numbers.
 */
halley_status halley_calibrate_device(halley_device_fit *out, const char *csv,
                                      const char *preset, const char *out_path,
                                      halley_error *err);
#ifdef __cplusplus
}
#endif
#endif
