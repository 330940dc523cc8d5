/* score/csv_read.h - rows of measured matmuls and collectives. */
#ifndef SCORE_CSV_READ_H
#define SCORE_CSV_READ_H

#include "base/str.h"
#include "coll/time.h"
#include "halley/score.h"

/* The name of a machine in the tables, and the names of its presets; npu may be NULL. */
typedef struct score_system {
    const char *system, *npu, *link;
} score_system;
enum { SCORE_N_SYSTEMS = 9 };
const score_system *score_system_get(uint32_t i);

typedef struct score_csv_row {
    bool product; /* a matmul, else a collective */
    bool known;   /* halley has constants for this system and type */
    uint32_t system;
    str system_name, name; /* name: a matmul's type, or "all_reduce half" */
    bool low;              /* matmul of 8-bit types */
    double mnk[3];
    coll_call coll;
    double seconds;
} score_csv_row;

/* Call `visit` for every row. Reading stops at the first call that fails. */
typedef halley_status score_csv_visit(void *context, const score_csv_row *row,
                                      halley_error *err);
halley_status score_csv_read(const char *path, score_csv_visit *visit, void *context,
                             halley_error *err);

#endif
