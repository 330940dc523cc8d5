/* Any bytes as kernel rules: no crash, and what is read links and replays exactly. */
#include "recording/record/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    rec_rules rules = {0};
    const str text = {(const char *)at, n};
    if (rec_rules_read(&rules, text, "rules", NULL) == HALLEY_OK)
        (void)rec_rules_kernel(&rules, STR("ampere_sgemm_128x64_nn"));
    rec_rules_fini(&rules);
    return 0;
}
