/* Any bytes as rocprofv3's CSV: no crash, and what is read links and replays exactly. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    rec_list list = {0};
    record *const rec = rec_list_add(&list, REC_ROCPROF_CSV);
    if (rec == NULL)
        abort();
    const str text = {(const char *)at, n};
    run_records(&list, rec_read_csv(rec, text, n % 2 == 0, NULL));
    return 0;
}
