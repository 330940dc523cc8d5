/* workload/import/hf_model.h - Hugging Face configurations as models. */
#ifndef WORKLOAD_IMPORT_HF_MODEL_H
#define WORKLOAD_IMPORT_HF_MODEL_H

#include "base/conf/conf.h"
#include "halley/model.h"
#include "workload/import/report.h"

/* Read a configuration whose root is a map. `import` records what was read and assumed.
 * HALLEY_ENOTFOUND: an unknown model type. */
halley_status import_hf_read(halley_model *out, halley_import *import,
                             const conf_file *file, halley_error *err);

#endif
