/* Any bytes as a store of explore: rows are read, or it is refused with a sentence. */
#include "halley/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static bool count_row(void *context, const halley_results_row *row)
{
    uint64_t *const n_rows = context;
    if (row->n == 0)
        abort();
    return ++*n_rows < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    char path[64];
    uint64_t n_rows = 0;
    halley_results_summary sum;
    halley_error err = {0};
    const halley_results_opts opts = {.all = true, .top = 10};
    const int fd = memfd_create("store", MFD_CLOEXEC);
    if (fd < 0 || (n > 0 && write(fd, at, n) != (ssize_t)n))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (halley_results_query(&sum, path, &opts, count_row, &n_rows, &err) != HALLEY_OK &&
        err.text[0] == '\0')
        abort();
    close(fd);
    return 0;
}
