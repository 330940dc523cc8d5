/* Any bytes as a gzip file. */
#include "base/file/file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    uint8_t *out = NULL;
    size_t n_out = 0;
    halley_error err = {0};
    if (file_gunzip(&out, &n_out, at, n, 0, &err) != HALLEY_OK) {
        if (err.text[0] == '\0')
            abort(); /* a failure without a sentence */
        return 0;
    }
    for (size_t i = 0; i < FILE_PAD; i++)
        if (out[n_out + i] != 0)
            abort();
    free(out);
    return 0;
}
