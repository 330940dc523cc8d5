/* Any bytes as a compressed file. */
#include "base/file/file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    file_input in = {0};
    halley_error err = {0};
    if (file_input_copy(&in, at, n, 1 << 26, &err) != HALLEY_OK) {
        if (err.text[0] == '\0')
            abort(); /* a failure without a sentence */
        return 0;
    }
    for (size_t i = 0; i < FILE_PAD; i++)
        if (in.at[in.n + i] != 0)
            abort();
    file_input_close(&in);
    return 0;
}
