/* Any bytes as an xplane: no crash, and what is read links and replays exactly. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    rec_list list = {0};
    run_records(&list, rec_read_xplane(&list, at, n, NULL));
    return 0;
}
