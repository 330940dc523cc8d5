/* Any bytes as a workload file of ASTRA-sim 1.0. */
#include "astra/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    uint8_t *const padded = calloc(1, n + FILE_PAD);
    if (padded == NULL)
        return 0;
    if (n > 0)
        memcpy(padded, at, n);
    for (int strict = 0; strict < 2; strict++) {
        text_file file = {0};
        file_input_lend(&file.in, padded, n);
        (void)text_parse(&file, "text", strict, NULL);
        text_fini(&file);
    }
    free(padded);
    return 0;
}
