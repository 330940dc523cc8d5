/* Any bytes as a Hugging Face configuration; what is read has finite counts. */
#include "hf/hf_model.h"
#include "hf/json_text.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    halley_model model = {0};
    halley_import *import = import_new("Hugging Face configuration");
    if (import == NULL)
        return 0;
    if (import_json_parse(&file, (str){(const char *)at, n}, "config.json", NULL) ==
        HALLEY_OK) {
        if (file.root->kind == CONF_MAP &&
            import_hf_read(&model, import, &file, NULL) == HALLEY_OK &&
            !(isfinite(halley_model_params(&model)) &&
              isfinite(halley_model_active_params(&model))))
            abort();
        conf_fini(&file);
    }
    halley_import_free(import);
    return 0;
}
