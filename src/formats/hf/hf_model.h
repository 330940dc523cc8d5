/* hf/hf_model.h - Hugging Face configurations as models. */
#ifndef HF_HF_MODEL_H
#define HF_HF_MODEL_H

#include "base/conf/conf.h"
#include "base/format.h"
#include "halley/model.h"
#include "workload/notes.h"

/* Read a configuration whose root is a map. `import` records what was read and assumed.
 * HALLEY_ENOTFOUND: an unknown model type. */
halley_status import_hf_read(halley_model *out, halley_import *import,
                             const conf_file *file, halley_error *err);

extern const format_set hf_formats;

#endif
