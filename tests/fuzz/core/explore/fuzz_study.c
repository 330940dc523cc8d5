/* Any text as a study; of a small space a sample is evaluated. */
#include "halley/explore.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    halley_study *s = NULL;
    halley_exploration *e = NULL;
    const halley_explore_opts opts = {.threads = 1, .top = 3};
    if (halley_study_parse(&s, (const char *)at, n, "study.yaml", NULL) != HALLEY_OK)
        return 0;
    const double size = halley_study_size(s);
    if (size > 0 && size <= 64 && halley_explore_run(&e, s, &opts, NULL) == HALLEY_OK)
        halley_exploration_free(e);
    halley_study_free(s);
    return 0;
}
