/* Any bytes as a launch file; what is read becomes a plan or is refused. */
#include "halley/launch.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static const char *const names[] = {"run.sh", "a.yaml", "a.json", "a.toml"};
    halley_launch *l;
    halley_plan plan;
    if (n == 0)
        return 0;
    const halley_launch_opts opts = {.may_lack_vocab = (at[0] & 4) != 0};
    if (halley_launch_parse(&l, (const char *)at, n, names[at[0] & 3], &opts, NULL) !=
        HALLEY_OK)
        return 0;
    const halley_model *model = halley_launch_model(l);
    if (model != NULL && !isfinite(halley_model_params(model)))
        abort();
    halley_plan_default(&plan);
    if (halley_launch_plan(&plan, NULL, l, 64, 0, NULL) == HALLEY_OK && model != NULL)
        halley_plan_check(&plan, model, 64, NULL);
    halley_launch_free(l);
    return 0;
}
