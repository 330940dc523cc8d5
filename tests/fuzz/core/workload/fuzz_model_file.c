/* Any text as a model: of what is read, parameters are finite and a plan is estimated. */
#include "halley/estimate.h"
#include "halley/import.h"
#include "halley/model.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void estimate_model(const halley_model *model)
{
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_estimate e;
    halley_error err = {0};
    halley_plan plan = {.dp = 8, .global_batch = 8};
    halley_stack_default(&stack);
    if (halley_cluster_load(&cluster, "dgx-h100:8", NULL) == HALLEY_OK &&
        halley_plan_check(&plan, model, 8, NULL) == HALLEY_OK) {
        halley_estimate_run(&e, model, &plan, cluster, &stack);
        if (halley_estimate_check(&e, &err) != HALLEY_OK && err.text[0] == '\0')
            abort();
    }
    halley_cluster_free(cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    halley_model model;
    halley_import *import = NULL;
    if (halley_model_parse(&model, &import, (const char *)at, n, "model.yaml", NULL) !=
        HALLEY_OK)
        return 0;
    if (!isfinite(halley_model_params(&model)) || halley_model_params(&model) < 0)
        abort();
    estimate_model(&model);
    halley_import_free(import);
    halley_model_fini(&model);
    return 0;
}
