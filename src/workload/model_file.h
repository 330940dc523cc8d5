/* workload/model_file.h - models from files of other programs. */
#ifndef WORKLOAD_MODEL_FILE_H
#define WORKLOAD_MODEL_FILE_H

#include "base/conf/conf.h"
#include "halley/model.h"

/* Name a model after the last part of a path. */
void workload_model_name(halley_model *model, const char *path);

#endif
