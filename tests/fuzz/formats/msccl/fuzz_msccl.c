/* Any bytes as an algorithm of MSCCL. */
#include "msccl/msccl.h"

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
    msccl_algorithm algorithm = {0};
    file_input_lend(&algorithm.in, padded, n);
    (void)msccl_parse(&algorithm, "xml", NULL);
    msccl_fini(&algorithm);
    free(padded);
    return 0;
}
