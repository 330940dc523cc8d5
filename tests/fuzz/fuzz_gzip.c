/* Any bytes as a gzip file. */
#include "base/file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    uint8_t *out = NULL;
    size_t n_out = 0;
    halley_error err = {0};
    if (file_gunzip(&out, &n_out, at, n, &err) == HALLEY_OK)
        free(out);
    return 0;
}
