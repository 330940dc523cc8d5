/*
 * Runs of nodes that two collections have in common.
 *
 * A node becomes a token: a hash of its type, collective, host or device, and the
 * distances of its dependencies. Exact tokens also include its duration, operations,
 * bytes and message size. Names are left out: names may be obfuscated while the rest is
 * still copied.
 *
 * Training repeats layers and micro-batches. A trace that repeats one layer a hundred
 * times has long runs in common with every trace that has this layer once. So runs are
 * also compared after the repeats within each trace are removed. The removal goes from
 * left to right. It skips a stretch of at least REPEAT tokens that occurred earlier in
 * the same trace.
 *
 * A node is in a run of length L if some window of L tokens around it is also a window
 * of the other side. Windows are compared by rolling hashes of 61 bits.
 */
#include "base/error.h"
#include "compare/compare.h"
#include "trace/core/levels.h"
#include "trace/core/roles.h"

#include <stdlib.h>
#include <string.h>

enum { REPEAT = 8 };

static const uint32_t lengths[HALLEY_N_VERBATIM] = {8, 16, 32, 64, 128, 256};

static uint64_t mix_run_hash(uint64_t hash, uint64_t value)
{
    return hash_u64(hash ^ (value + UINT64_C(0x9e3779b97f4a7c15)));
}

static uint64_t read_run_number(const trace_roles *r, trace_role role)
{
    uint64_t value = UINT64_MAX;
    (void)trace_roles_u64(r, role, &value);
    return value;
}

static uint64_t shape_token(const halley_trace *t, uint32_t node, const trace_roles *r)
{
    uint64_t hash = mix_run_hash(halley_node_type_of(t, node), trace_roles_is_cpu(r));
    hash = mix_run_hash(hash, read_run_number(r, TRACE_ROLE_COMM_TYPE));
    const uint32_t n = trace_deps_count(t, node);
    uint64_t deps = n; /* independent of their order */
    for (uint32_t i = 0; i < n; i++)
        deps += hash_u64((uint64_t)node - trace_deps_index(t, node, i));
    return mix_run_hash(hash, deps);
}

static uint64_t exact_token(const halley_trace *t, uint32_t node, const trace_roles *r,
                            uint64_t shape)
{
    halley_attr ns;
    uint64_t hash = mix_run_hash(shape, halley_node_duration_us(t, node));
    if (halley_node_find_attr(&ns, t, node, "duration_ns"))
        hash = mix_run_hash(hash, ns.bits);
    hash = mix_run_hash(hash, read_run_number(r, TRACE_ROLE_NUM_OPS));
    hash = mix_run_hash(hash, read_run_number(r, TRACE_ROLE_TENSOR_SIZE));
    return mix_run_hash(hash, read_run_number(r, TRACE_ROLE_COMM_SIZE));
}

/* Appends the tokens that do not repeat something earlier among the n tokens. */
static bool add_novel(token_array *to, const uint64_t *tokens, size_t n)
{
    map64 seen = {0}; /* window of REPEAT tokens -> its last position */
    bool fine = true;
    for (size_t i = 0; i < n && fine;) {
        uint64_t window = 0;
        uint32_t before = HASH_NONE;
        size_t run = 0;
        if (i + REPEAT <= n) {
            for (size_t k = 0; k < REPEAT; k++)
                window = mix_run_hash(window, tokens[i + k]);
            before = map64_find(&seen, window);
        }
        while (before != HASH_NONE && i + run < n &&
               tokens[before + run] == tokens[i + run])
            run++;
        if (run < REPEAT)
            fine = array_push(to, tokens[i]);
        if (i + REPEAT <= n && before == HASH_NONE)
            fine = fine && map64_set(&seen, window, (uint32_t)i);
        i += run < REPEAT ? 1 : run;
    }
    map64_fini(&seen);
    return fine;
}

bool compare_runs_add(compare_runs *r, const halley_trace *t)
{
    const uint32_t n = halley_trace_count(t); /* may be 0 */
    uint64_t *const shapes = mem_array(n, sizeof *shapes);
    bool fine = shapes && array_reserve(&r->exact, n);
    for (uint32_t i = 0; i < n && fine; i++) {
        trace_roles roles;
        trace_roles_read(&roles, t, i);
        shapes[i] = shape_token(t, i, &roles);
        fine = array_push(&r->exact, exact_token(t, i, &roles, shapes[i]));
    }
    const uint64_t *const own = fine && n > 0 ? r->exact.at + r->exact.n - n : NULL;
    fine = fine && add_novel(&r->novel, own, n) && add_novel(&r->shape, shapes, n) &&
           array_push(&r->exact_ends, (uint32_t)r->exact.n) &&
           array_push(&r->novel_ends, (uint32_t)r->novel.n) &&
           array_push(&r->shape_ends, (uint32_t)r->shape.n);
    free(shapes);
    return fine;
}

void compare_runs_fini(compare_runs *r)
{
    array_fini(&r->exact);
    array_fini(&r->novel);
    array_fini(&r->shape);
    array_fini(&r->exact_ends);
    array_fini(&r->novel_ends);
    array_fini(&r->shape_ends);
}

/* Arithmetic modulo 2^61 - 1. */
__extension__ typedef unsigned __int128 wide;
static const uint64_t prime = (UINT64_C(1) << 61) - 1;

static uint64_t multiply_modulo(uint64_t a, uint64_t b)
{
    const wide p = (wide)a * b;
    const uint64_t sum = (uint64_t)(p & prime) + (uint64_t)(p >> 61);
    return sum >= prime ? sum - prime : sum;
}

static uint64_t add_modulo(uint64_t a, uint64_t b)
{
    const uint64_t sum = a + b;
    return sum >= prime ? sum - prime : sum;
}

/* A rolling hash over the windows of one sequence. */
typedef struct roller {
    uint64_t hash, top; /* top: base^(length - 1) */
    uint32_t length;
} roller;

static const uint64_t base = UINT64_C(1150669704793161271) % ((UINT64_C(1) << 61) - 1);

static roller roller_of(uint32_t length)
{
    roller r = {0, 1, length};
    for (uint32_t i = 1; i < length; i++)
        r.top = multiply_modulo(r.top, base);
    return r;
}

/* The hash of the window that ends at i. The first `length` - 1 results are not valid. */
static uint64_t roll_hash(roller *r, const uint64_t *tokens, size_t i)
{
    if (i >= r->length)
        r->hash = add_modulo(
            r->hash, prime - multiply_modulo(tokens[i - r->length] % prime, r->top));
    r->hash = add_modulo(multiply_modulo(r->hash, base), tokens[i] % prime);
    return r->hash;
}

typedef struct sequences {
    const uint64_t *tokens;
    const uint32_t *ends;
    size_t n; /* number of sequences */
} sequences;

static bool index_windows(map64 *to, const sequences *s, uint32_t length)
{
    uint32_t start = 0;
    for (size_t q = 0; q < s->n; start = s->ends[q++]) {
        roller r = roller_of(length);
        const size_t n = s->ends[q] - start;
        for (size_t i = 0; i < n; i++) {
            const uint64_t hash = roll_hash(&r, s->tokens + start, i);
            if (i + 1 >= length && !map64_set(to, hash, 1))
                return false;
        }
    }
    return true;
}

/* The number of tokens in windows that the map contains. */
static uint64_t count_covered(const map64 *windows, const sequences *s, uint32_t length)
{
    uint64_t covered = 0;
    uint32_t start = 0;
    for (size_t q = 0; q < s->n; start = s->ends[q++]) {
        roller r = roller_of(length);
        const size_t n = s->ends[q] - start;
        size_t done = 0; /* tokens before this one are counted or cannot be */
        for (size_t i = 0; i < n; i++) {
            const uint64_t hash = roll_hash(&r, s->tokens + start, i);
            if (i + 1 < length || map64_find(windows, hash) == HASH_NONE)
                continue;
            const size_t first = i + 1 - length > done ? i + 1 - length : done;
            covered += i + 1 - first;
            done = i + 1;
        }
    }
    return covered;
}

static halley_status measure_share(double *out, const sequences *real,
                                   const sequences *synth, uint32_t length,
                                   halley_error *err)
{
    map64 windows = {0};
    const bool fine = index_windows(&windows, real, length);
    const size_t total = synth->n ? synth->ends[synth->n - 1] : 0;
    if (fine)
        *out = total ? (double)count_covered(&windows, synth, length) / (double)total : 0;
    map64_fini(&windows);
    return fine ? HALLEY_OK : error_nomem(err);
}

halley_status compare_runs_verbatim(halley_verbatim out[HALLEY_N_VERBATIM],
                                    const compare_runs *a, const compare_runs *b,
                                    halley_error *err)
{
    const sequences real[] = {{a->exact.at, a->exact_ends.at, a->exact_ends.n},
                              {a->novel.at, a->novel_ends.at, a->novel_ends.n},
                              {a->shape.at, a->shape_ends.at, a->shape_ends.n}};
    const sequences synth[] = {{b->exact.at, b->exact_ends.at, b->exact_ends.n},
                               {b->novel.at, b->novel_ends.at, b->novel_ends.n},
                               {b->shape.at, b->shape_ends.at, b->shape_ends.n}};
    for (int i = 0; i < HALLEY_N_VERBATIM; i++) {
        out[i].length = lengths[i];
        TRY(measure_share(&out[i].whole, &real[0], &synth[0], lengths[i], err));
        TRY(measure_share(&out[i].beyond, &real[1], &synth[1], lengths[i], err));
        TRY(measure_share(&out[i].shape, &real[2], &synth[2], lengths[i], err));
    }
    return HALLEY_OK;
}
