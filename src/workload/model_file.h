/* workload/model_file.h - models from other people's files. */
#ifndef WORKLOAD_MODEL_FILE_H
#define WORKLOAD_MODEL_FILE_H

#include "base/conf.h"
#include "halley/model.h"

/* A Hugging Face config.json. A field that is needed and absent is named. */
halley_status workload_model_from_hf(halley_model *out, const conf_file *file,
                                     const char *name, halley_error *err);
/* Megatron's arguments, as on its command line. */
halley_status workload_model_from_megatron(halley_model *out, str text, const char *name,
                                           halley_error *err);

#endif
