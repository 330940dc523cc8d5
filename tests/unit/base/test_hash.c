/* Hashing, the map of numbers, interned strings, random numbers. */
#include "alloc_fail.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void every_bit_of_the_input_changes_half_of_the_hash(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 48, 49, 100, 200};
    rng r = rng_seed(1);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];
        uint8_t bytes[200];
        double flipped = 0, trials = 0;
        for (int round = 0; round < 20; round++) {
            for (size_t i = 0; i < n; i++)
                bytes[i] = (uint8_t)rng_u64(&r);
            const uint64_t before = hash_bytes(bytes, n, 0);
            for (size_t bit = 0; bit < 8 * n; bit++) {
                bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                const uint64_t change = before ^ hash_bytes(bytes, n, 0);
                bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                assert_true(__builtin_popcountll(change) > 8);
                flipped += __builtin_popcountll(change);
                trials += 64;
            }
        }
        assert_true(fabs(flipped / trials - 0.5) < 0.02);
    }
}

static void short_texts_and_their_lengths_hash_apart(void **state)
{
    (void)state;
    map64 seen = {0};
    uint8_t zeros[300] = {0};
    for (uint32_t n = 0; n < 300; n++) {
        uint32_t value = n;
        bool fresh;
        assert_true(map64_put(&seen, hash_bytes(zeros, n, 0), &value, &fresh));
        assert_true(fresh);
    }
    assert_true(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1));
    map64_fini(&seen);
}

static void names_that_differ_in_numbers_hash_alike(void **state)
{
    (void)state;
    static const char *const alike[] = {"LAYER 3 of 9", "LAYER 12 of 40", "LAYER 0 of 1"};
    static const char *const apart[] = {"LAYER of 9", "LAYER 3 of ", "LAYER 3 off 9",
                                        "LAYER 3 3 of 9", ""};
    const uint64_t want = hash_less_numbers(str_from(alike[0]), 7);
    for (size_t i = 1; i < 3; i++)
        assert_true(hash_less_numbers(str_from(alike[i]), 7) == want);
    for (size_t i = 0; i < 5; i++)
        assert_true(hash_less_numbers(str_from(apart[i]), 7) != want);
    assert_true(hash_less_numbers(str_from(alike[0]), 8) != want);
}

static void a_map_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    static uint32_t plain[KEYS];
    memset(plain, 0xff, sizeof plain);
    rng r = rng_seed(7);
    map64 m = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        const uint64_t k = rng_below(&r, KEYS);
        const uint64_t key = k * 0x100000000;
        uint32_t value = i;
        bool fresh = true;
        if (i % 3 == 0) {
            assert_true(map64_set(&m, key, i));
            n += plain[k] == HASH_NONE;
            plain[k] = i;
        } else {
            assert_true(map64_put(&m, key, &value, &fresh));
            assert_int_equal(fresh, plain[k] == HASH_NONE);
            n += fresh;
            if (fresh)
                plain[k] = i;
            assert_int_equal(value, plain[k]);
        }
    }
    for (uint64_t k = 0; k < KEYS; k++)
        assert_int_equal(map64_find(&m, k * 0x100000000), plain[k]);
    assert_int_equal(map64_find(&m, 1), HASH_NONE);
    assert_int_equal(m.n, n);
    map64_fini(&m);
    assert_int_equal(map64_find(&m, 0), HASH_NONE);
}

static void a_reserved_map_does_not_grow(void **state)
{
    (void)state;
    map64 m = {0};
    assert_true(map64_reserve(&m, 1000));
    const size_t n_slots = m.n_slots;
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(map64_set(&m, UINT64_MAX - i, i));
    assert_int_equal(m.n_slots, n_slots);
    assert_false(map64_reserve(&m, SIZE_MAX));
    map64_fini(&m);
}

static void interned_ids_count_in_order_of_first_sight(void **state)
{
    (void)state;
    intern t = {0};
    char text[32];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 10000; i++) {
            const int n = snprintf(text, sizeof text, "name %u", i);
            assert_int_equal(intern_add(&t, (str){text, (size_t)n}), i);
        }
    }
    assert_int_equal(t.n, 10000);
    assert_string_equal(intern_text(&t, 77).at, "name 77");
    assert_int_equal(intern_find(&t, STR("name 9999")), 9999);
    assert_int_equal(intern_find(&t, STR("name")), HASH_NONE);
    intern_fini(&t);
    assert_int_equal(intern_find(&t, STR("name 1")), HASH_NONE);
}

static void interned_texts_may_be_empty_long_or_hold_zeros(void **state)
{
    (void)state;
    static char longest[300000];
    intern t = {0};
    memset(longest, 'x', sizeof longest);
    assert_int_equal(intern_add(&t, (str){NULL, 0}), 0);
    assert_int_equal(intern_add(&t, (str){"a\0b", 3}), 1);
    assert_int_equal(intern_add(&t, (str){"a\0c", 3}), 2);
    const char *before = intern_text(&t, 1).at;
    assert_int_equal(intern_add(&t, (str){longest, sizeof longest}), 3);
    assert_int_equal(intern_add(&t, STR("")), 0);
    assert_int_equal(intern_add(&t, (str){longest, sizeof longest - 1}), 4);
    assert_ptr_equal(intern_text(&t, 1).at, before);
    assert_int_equal(intern_find(&t, (str){longest, sizeof longest}), 3);
    intern_fini(&t);
}

static void a_seed_gives_the_published_sequence(void **state)
{
    (void)state;
    /* The state {1, 2, 3, 4} starts 11520, 0, 1509978240, 1215971899390074240, as in the
     * authors' reference implementation. */
    rng r = {{1, 2, 3, 4}};
    assert_int_equal(rng_u64(&r), 11520);
    assert_int_equal(rng_u64(&r), 0);
    assert_int_equal(rng_u64(&r), 1509978240);
    assert_int_equal(rng_u64(&r), 1215971899390074240);
    rng a = rng_seed(42), b = a;
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_u64(&a), rng_u64(&b));
}

static void random_numbers_below_n_are_uniform(void **state)
{
    (void)state;
    rng r = rng_seed(3);
    uint32_t counts[7] = {0};
    for (int i = 0; i < 70000; i++)
        counts[rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9600, 10400);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&r, 1), 0);
    const uint64_t third = UINT64_MAX / 4; /* of what is left below 3/4 of all */
    uint32_t thirds[3] = {0};
    for (int i = 0; i < 30000; i++)
        thirds[rng_below(&r, 3 * third) / third]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(thirds[i], 9600, 10400);
}

static void normal_numbers_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    double sum = 0, squares = 0, fourth = 0;
    const int n = 200000;
    for (int i = 0; i < n; i++) {
        const double x = rng_normal(&r), u = rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    assert_true(fabs(sum / n) < 0.01);
    assert_true(fabs(squares / n - 1) < 0.02);
    assert_true(fabs(fourth / n - 3) < 0.1);
}

static halley_status fill_map(void *context, halley_error *err)
{
    (void)context;
    map64 m = {0};
    uint32_t n = 0;
    while (n < 500 && map64_set(&m, n * 7, n))
        n++;
    for (uint32_t i = 0; i < n; i++) /* what went in is there, whatever failed */
        assert_int_equal(map64_find(&m, i * 7), i);
    map64_fini(&m);
    return n == 500 ? HALLEY_OK : error_nomem(err);
}

static halley_status fill_intern(void *context, halley_error *err)
{
    (void)context;
    intern t = {0};
    char text[600];
    uint32_t n = 0;
    for (; n < 500; n++) {
        const int length = snprintf(text, sizeof text, "%0*u", (int)n + 4, n);
        if (intern_add(&t, (str){text, (size_t)length}) != n)
            break;
    }
    assert_int_equal(t.n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(intern_text(&t, i).n, i + 4);
    intern_fini(&t);
    return n == 500 ? HALLEY_OK : error_nomem(err);
}

static void running_out_of_memory_loses_no_entry(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(fill_map, NULL) > 5);
    assert_true(alloc_fail_everywhere(fill_intern, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_of_the_input_changes_half_of_the_hash),
        cmocka_unit_test(short_texts_and_their_lengths_hash_apart),
        cmocka_unit_test(names_that_differ_in_numbers_hash_alike),
        cmocka_unit_test(a_map_agrees_with_an_array),
        cmocka_unit_test(a_reserved_map_does_not_grow),
        cmocka_unit_test(interned_ids_count_in_order_of_first_sight),
        cmocka_unit_test(interned_texts_may_be_empty_long_or_hold_zeros),
        cmocka_unit_test(running_out_of_memory_loses_no_entry),
        cmocka_unit_test(a_seed_gives_the_published_sequence),
        cmocka_unit_test(random_numbers_below_n_are_uniform),
        cmocka_unit_test(normal_numbers_have_mean_0_and_deviation_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
