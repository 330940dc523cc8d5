/* Any bytes as a model, its version and its hash mended so that the rest is looked at;
 * what loads must make sets. */
#include "learn/sample/sample.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { HEADER = 24, VERSION_AT = 8, HASH_AT = 16 };

static void make(const synth_model *m)
{
    sample_traits traits;
    const sample_wish wish = {0};
    sample_set s = {.m = m, .random = rng_seed(1)};
    sample_traits_make(&traits, m);
    sample_outline_make(&s.outline, m, &traits, &wish, &s.random);
    if (s.outline.n_ranks > 64)
        return;
    s.max_nodes = 2000; /* quick enough to be tried often */
    if (sample_programs(&s, NULL) == HALLEY_OK && sample_values(&s, NULL) == HALLEY_OK &&
        sample_match(&s, NULL) == HALLEY_OK && sample_deps(&s, NULL) == HALLEY_OK) {
        halley_trace *trace = NULL;
        if (sample_trace(&trace, &s, s.outline.n_ranks - 1, NULL) == HALLEY_OK)
            halley_trace_free(trace);
    }
    sample_set_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    uint8_t *const copy = malloc(n + 1);
    if (!copy)
        return 0;
    if (n > 0)
        memcpy(copy, at, n);
    synth_model m;
    if (n >= HEADER) {
        const uint32_t version = MODEL_VERSION;
        memcpy(copy + VERSION_AT, &version, sizeof version);
        const uint64_t hash = synth_model_hash(copy + HEADER, n - HEADER);
        memcpy(copy + HASH_AT, &hash, sizeof hash);
    }
    if (synth_model_parse(&m, copy, n, NULL) == HALLEY_OK) {
        make(&m);
        synth_model_fini(&m);
    }
    free(copy);
    return 0;
}
