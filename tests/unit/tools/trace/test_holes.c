/*
 * Files that differ in names only, read by comparing them with one that was decoded: what
 * comes out is what decoding the file gives, and whatever else differs is found.
 */
#include "alloc_fail.h"
#include "base/file/file.h"
#include "base/rng.h"
#include "folder.h"
#include "same_trace.h"
#include "trace/core/set_alike.h"
#include "trace/format/et.h"
#include "trace/format/holes.h"
#include "unit.h"

#include <string.h>

/* Names of one rank: groups, peers, tags, a root. */
typedef struct names {
    char groups[2][24];
    int64_t peer, tag, root, self;
} names;

static names draw_names(rng *r)
{
    static const uint64_t sizes[] = {10, 200, 20000, 1000000000};
    names n = {.peer = (int64_t)rng_below(r, sizes[rng_below(r, 4)]),
               .tag = (int64_t)rng_below(r, sizes[rng_below(r, 4)]),
               .root = (int64_t)rng_below(r, sizes[rng_below(r, 4)]),
               .self = (int64_t)rng_below(r, sizes[rng_below(r, 4)])};
    for (int i = 0; i < 2; i++)
        snprintf(n.groups[i], sizeof n.groups[i], "%llu",
                 (unsigned long long)rng_below(r, sizes[rng_below(r, 4)]));
    return n;
}

static halley_bytes bytes_of(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

static void add_random_node(halley_builder *b, rng *r, uint32_t i, const names *n)
{
    static const halley_node_type types[] = {HALLEY_NODE_COMP, HALLEY_NODE_COLL,
                                             HALLEY_NODE_SEND, HALLEY_NODE_RECV,
                                             HALLEY_NODE_COLL};
    const halley_node_type type = types[rng_below(r, 5)];
    halley_builder_node(b, i, type, bytes_of(rng_below(r, 2) ? "a name" : ""));
    if (i > 0)
        halley_builder_data(b, i - 1 - rng_below(r, i));
    halley_builder_attr_i64(b, "comm_size", (int64_t)rng_below(r, 1 << 20));
    if (type == HALLEY_NODE_COLL) {
        halley_builder_attr_i64(b, "comm_type", (int64_t)rng_below(r, 4));
        halley_builder_attr_text(b, "pg_name", bytes_of(n->groups[rng_below(r, 2)]));
        if (rng_below(r, 3) == 0)
            halley_builder_attr_i64(b, "root", n->root);
    }
    if (type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV) {
        halley_builder_attr_i64(b, "comm_src", n->self);
        halley_builder_attr_i64(b, "comm_dst", n->peer);
        halley_builder_attr_i64(b, "comm_tag", n->tag);
    }
    if (rng_below(r, 4) == 0) /* a text whose length needs two bytes */
        halley_builder_attr_text(b, "note", bytes_of(rng_below(r, 2) ? "x" : folder));
}

/* The file of a rank; traces of one seed differ in names only. */
static uint8_t *encode_rank(size_t *n, uint64_t seed, const names *of)
{
    halley_builder *b;
    halley_trace *t;
    uint8_t *bytes = NULL;
    rng r = rng_seed(seed);
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_version(b, bytes_of("1.0.0"));
    const uint32_t n_nodes = 1 + (uint32_t)rng_below(&r, 30);
    for (uint32_t i = 0; i < n_nodes; i++)
        add_random_node(b, &r, i, of);
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_encode_et(&bytes, n, t, NULL), HALLEY_OK);
    halley_trace_free(t);
    bytes = realloc(bytes, *n + FILE_PAD);
    memset(bytes + *n, 0, FILE_PAD);
    return bytes;
}

/* True: it was read by comparing. */
static bool compare_one(const trace_holes *h, const uint8_t *at, size_t n)
{
    trace_differences *d = NULL;
    halley_trace *made, *read;
    assert_int_equal(trace_holes_compare(&d, h, at, n, NULL), HALLEY_OK);
    if (d == NULL)
        return false;
    assert_int_equal(trace_holes_apply(&made, h, d, "other", NULL), HALLEY_OK);
    assert_int_equal(halley_trace_parse(&read, at, n, "other", NULL, NULL), HALLEY_OK);
    same_trace(made, read);
    assert_string_equal(halley_trace_path(made), "other");
    halley_trace_free(made);
    halley_trace_free(read);
    free(d);
    return true;
}

static trace_holes *find_holes(halley_trace **trace, const uint8_t *at, size_t n)
{
    trace_holes *h = NULL;
    assert_int_equal(halley_trace_parse(trace, at, n, "first", NULL, NULL), HALLEY_OK);
    assert_int_equal(trace_holes_new(&h, *trace, NULL), HALLEY_OK);
    assert_non_null(h);
    return h;
}

static void files_that_differ_in_names_are_their_differences(void **state)
{
    (void)state;
    rng r = rng_seed(7);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        const names a = draw_names(&r), b = draw_names(&r);
        size_t n_a, n_b;
        uint8_t *x = encode_rank(&n_a, seed, &a), *y = encode_rank(&n_b, seed, &b);
        halley_trace *first;
        trace_holes *h = find_holes(&first, x, n_a);
        assert_true(compare_one(h, y, n_b));
        assert_true(compare_one(h, x, n_a));
        trace_holes_free(h);
        halley_trace_free(first);
        free(x);
        free(y);
    }
}

/* Bytes changed, put in, left out: it is like the first only if reading says the same. */
static void other_differences_are_never_missed(void **state)
{
    (void)state;
    rng r = rng_seed(8);
    uint32_t n_alike = 0, n_tries = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const names a = draw_names(&r), b = draw_names(&r);
        size_t n_a, n_b;
        uint8_t *x = encode_rank(&n_a, seed, &a), *y = encode_rank(&n_b, seed, &b);
        halley_trace *first;
        trace_holes *h = find_holes(&first, x, n_a);
        for (int k = 0; k < 200; k++, n_tries++) {
            uint8_t *z = malloc(n_b + FILE_PAD + 1);
            size_t n = n_b;
            memcpy(z, y, n_b + FILE_PAD);
            const size_t at = (size_t)rng_below(&r, n_b);
            const uint64_t how = rng_below(&r, 4);
            if (how < 2)
                z[at] ^= (uint8_t)(1u << rng_below(&r, 8));
            else if (how == 2)
                memmove(z + at, z + at + 1, n-- - at - 1 + FILE_PAD);
            else
                memmove(z + at + 1, z + at, n++ - at + FILE_PAD);
            n_alike += compare_one(h, z, n);
            free(z);
        }
        trace_holes_free(h);
        halley_trace_free(first);
        free(x);
        free(y);
    }
    assert_in_range(n_alike, n_tries / 100, n_tries / 2);
}

static void write_file(const char *path, const uint8_t *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    fclose(f);
}

static halley_trace_set *load_set(uint32_t n_threads, bool differences_only)
{
    const char *prefix = "step";
    halley_trace_set *set = NULL;
    const halley_load_opts o = {.n_threads = n_threads,
                                .differences_only = differences_only};
    assert_int_equal(halley_trace_set_load(&set, &prefix, 1, &o, NULL), HALLEY_OK);
    return set;
}

/* The trace of a rank, whole. */
static halley_trace *make_rank(const halley_trace_set *set, uint32_t rank)
{
    trace_alike_rank of;
    halley_trace *made;
    if (!trace_set_alike(&of, set, rank))
        return halley_trace_keep((halley_trace *)halley_trace_set_get(set, rank));
    assert_int_equal(trace_holes_apply(&made, of.holes, of.differences, "x", NULL),
                     HALLEY_OK);
    return made;
}

enum { N_RANKS = 40 };

/* Three sorts of files in turn, some of them equal. */
static void write_ranks(void)
{
    rng r = rng_seed(9);
    char path[32];
    for (uint32_t i = 0; i < N_RANKS; i++) {
        names of = draw_names(&r);
        if (i % 10 == 9) {
            rng again = rng_seed(1);
            of = draw_names(&again);
        }
        size_t n;
        uint8_t *x = encode_rank(&n, 100 + i % 3, &of);
        snprintf(path, sizeof path, "step.%u.et", i);
        write_file(path, x, n);
        free(x);
    }
}

static void sets_hold_the_same_traces_on_any_number_of_threads(void **state)
{
    (void)state;
    write_ranks();
    halley_trace_set *whole = load_set(1, false);
    for (uint32_t n_threads = 1; n_threads <= 4; n_threads++) {
        halley_trace_set *set = load_set(n_threads, true);
        uint32_t n_alike = 0;
        trace_alike_rank of;
        assert_false(trace_set_is_whole(set));
        assert_int_equal(halley_trace_set_distinct(set),
                         halley_trace_set_distinct(whole));
        for (uint32_t i = 0; i < N_RANKS; i++) {
            halley_trace *made = make_rank(set, i);
            same_trace(made, halley_trace_set_get(whole, i));
            halley_trace_free(made);
            n_alike += trace_set_alike(&of, set, i);
        }
        assert_in_range(n_alike, N_RANKS - 3 - 3, N_RANKS - 3);
        halley_trace_set_free(set);
    }
    halley_trace_set_free(whole);
}

static halley_status load_alike(void *context, halley_error *err)
{
    const char *prefix = "step";
    halley_trace_set *set = NULL;
    const halley_load_opts o = {.n_threads = 1, .differences_only = true};
    (void)context;
    const halley_status status = halley_trace_set_load(&set, &prefix, 1, &o, err);
    halley_trace_set_free(set);
    return status;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    write_ranks();
    assert_true(alloc_fail_everywhere(load_alike, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_differ_in_names_are_their_differences),
        cmocka_unit_test(other_differences_are_never_missed),
        cmocka_unit_test_setup_teardown(
            sets_hold_the_same_traces_on_any_number_of_threads, folder_enter,
            folder_leave),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_reported, folder_enter,
                                        folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
