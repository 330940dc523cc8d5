/* ours FILE THREADS: decode and encode with halley; prints seconds and bytes. */
#include "../measure.h"
#include "halley/trace.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const halley_load_opts opts = {.n_threads = (uint32_t)atoi(argv[2])};
    halley_error err = {0};
    halley_trace *t;
    uint8_t *out;
    size_t n;
    measure_memory_start();
    const double start = measure_wall_s();
    if (halley_trace_load(&t, argv[1], &opts, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const double decoded = measure_wall_s();
    const size_t bytes = measure_memory_stop();
    const double before = measure_wall_s();
    if (halley_trace_encode_et(&out, &n, t, &err))
        return 1;
    printf("%.6f %.6f %zu %u\n", decoded - start, measure_wall_s() - before, bytes,
           halley_trace_count(t));
    free(out);
    halley_trace_free(t);
}
