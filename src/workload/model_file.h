/* workload/model_file.h - models from other people's files. */
#ifndef WORKLOAD_MODEL_FILE_H
#define WORKLOAD_MODEL_FILE_H

#include "base/conf.h"
#include "halley/model.h"

/* Name a model after the last part of a path. */
void workload_model_name(halley_model *model, const char *path);
/* Megatron's arguments, as on its command line. */
halley_status workload_model_from_megatron(halley_model *out, str text, const char *name,
                                           halley_error *err);

#endif
