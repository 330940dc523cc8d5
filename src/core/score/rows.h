/* score/rows.h - published runs as designs to estimate. */
#ifndef SCORE_ROWS_H
#define SCORE_ROWS_H

#include "base/array.h"
#include "base/conf/conf.h"
#include "halley/score.h"
#include "hw/cluster.h"

typedef struct score_row {
    char id[HALLEY_SCORE_TEXT];
    char set[HALLEY_NAME];
    char layout[HALLEY_SCORE_TEXT];
    char framework[HALLEY_NAME], release[16], npu[HALLEY_NAME];
    char skip[HALLEY_SCORE_TEXT]; /* why it cannot be expressed; "" = it can */
    halley_model model;
    halley_plan plan;
    uint32_t cluster, stack;        /* indexes */
    uint64_t choice;                /* equal for runs that one would choose between */
    double step_s;                  /* measured; 0 = not measured */
    double peak_bytes;              /* measured; 0 = not measured */
    bool out_of_memory;             /* the run did not fit */
    bool open;                      /* settings come from recipes, not from the row */
    double recipe_distance, months; /* of that recipe */
} score_row;

typedef struct score_cluster {
    char key[HALLEY_SCORE_TEXT]; /* npu, node size and links of the record */
    halley_cluster *cluster;     /* owned */
} score_cluster;

typedef struct score_rows {
    ARRAY(score_row) rows;
    ARRAY(score_cluster) clusters;
    ARRAY(halley_stack) stacks; /* one per framework and release served */
} score_rows;

/* Add the rows of a file (a list of records, or {common, rows}). */
halley_status score_rows_add(score_rows *to, const conf_file *file, halley_error *err);
/* The rows of these files; without files: of all built-in files. */
halley_status score_rows_load(score_rows *rows, const char *const *files, size_t n_files,
                              halley_error *err);
/* Reset the fitted constants to defaults and to what is known about the software without
 * measurements. */
void score_stack_forget(halley_stack *stack);
/* The constants that predict the rows. */
typedef enum score_stacks {
    SCORE_FITTED,   /* the built-in stack files, by framework and release */
    SCORE_UNFITTED, /* the same without fitted constants */
    SCORE_UNKNOWN,  /* defaults, whatever the software */
} score_stacks;
/* Assign a stack to every row. `own` (may be NULL) takes precedence over built-in
 * stacks. */
halley_status score_rows_stacks(score_rows *rows, score_stacks which,
                                const halley_stack *own, halley_error *err);
/* The number of distinct layouts among the n rows at these indexes. */
uint32_t score_rows_layouts(const score_rows *rows, const uint32_t *at, size_t n);
void score_rows_fini(score_rows *rows);

#endif
