/* Any bytes as rocprofv3's JSON: no crash, and what is read links and replays exactly. */
#include "fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    file_stream *file = NULL;
    rec_list list = {0};
    const rec_read_opts opts = {0};
    if (file_stream_lend(&file, at, n, "rocprof", NULL) != HALLEY_OK)
        return 0;
    run_records(&list, rec_read_rocprof(&list, file, &opts, NULL));
    file_stream_close(file);
    return 0;
}
