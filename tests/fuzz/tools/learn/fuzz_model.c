/* Any bytes as a model, its version and its hash mended so that the rest is looked at;
 * what loads must make sets. */
#include "learn/neural/neural_model.h"
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

typedef struct bytes {
    const uint8_t *at;
    size_t n, next;
} bytes;

/* Small numbers, and now and then one that overflows. */
static void fill(float *to, size_t n, bytes *from, float most)
{
    for (size_t i = 0; i < n; i++) {
        const int byte = from->at[from->next++ % from->n];
        to[i] = byte == 255 ? most : byte == 0 ? -most : (float)(byte - 128) / 64;
    }
}

/* A network of the model's shape, of the bytes at hand. */
static bool make_net(synth_model *m, neural_model *net, bytes *from)
{
    const model_net head = {
        .version = MODEL_NET_VERSION, .max_items = 100, .max_nodes = 5000};
    const size_t n = net->net.layout.n + neural_n_totals(&net->net);
    const size_t n_ranges = neural_n_ranges(&net->net);
    m->net_head.n = m->net.n = m->net_ranges.n = 0;
    if (!array_push(&m->net_head, head) || !array_reserve(&m->net, n) ||
        !array_reserve(&m->net_ranges, n_ranges))
        return false;
    m->net.n = n;
    m->net_ranges.n = n_ranges;
    fill(m->net.at, n, from, 1e38F);
    fill(&m->net_ranges.at->low, 2 * n_ranges, from, 99);
    fill(m->net_head.at[0].scale, MODEL_NET_FEATURES, from, 1e38F);
    net->net.shape.total_law = m->net.at + net->net.layout.n;
    return true;
}

/* The same from a network: that of the file, or else one of its bytes. */
static void make_neural(synth_model *m, bytes *from)
{
    neural_model net;
    sample_set s = {.m = m, .random = rng_seed(2), .max_nodes = 20000};
    s.outline = (sample_outline){.template = MODEL_NONE, .n_ranks = 4, .n_stages = 2};
    if (neural_model_make(&net, m, NULL) != HALLEY_OK)
        return;
    if ((neural_model_fits(&net, m) ||
         (make_net(m, &net, from) && neural_model_fits(&net, m))) &&
        neural_sample(&s, &net, NULL) == HALLEY_OK && sample_match(&s, NULL) == HALLEY_OK)
        (void)sample_deps(&s, NULL);
    sample_set_fini(&s);
    neural_model_fini(&net);
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
        make_neural(&m, &(bytes){copy, n, 0});
        synth_model_fini(&m);
    }
    free(copy);
    return 0;
}
