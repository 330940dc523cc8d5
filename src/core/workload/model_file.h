/* workload/model_file.h - models from files of other programs. */
#ifndef WORKLOAD_MODEL_FILE_H
#define WORKLOAD_MODEL_FILE_H

#include "base/conf/conf.h"
#include "halley/model.h"

/* What a reader of another program's file (base/format.h, FORMAT_MODEL) fills. */
typedef struct workload_foreign {
    halley_model *model;   /* zeroed */
    halley_import **notes; /* what was read and assumed; set even if the reader fails */
} workload_foreign;

/* Name a model after the last part of a path. */
void workload_model_name(halley_model *model, const char *path);

#endif
