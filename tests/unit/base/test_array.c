/* Arrays and arenas. */
#include "alloc_fail.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "unit.h"

#include <string.h>

static void an_array_keeps_what_was_pushed(void **state)
{
    (void)state;
    ARRAY(uint32_t) a = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(array_push(&a, 3 * i));
    array_trim(&a);
    assert_int_equal(a.cap, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(a.at[i], 3 * i);
    array_fini(&a);
    assert_null(a.at);
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    ARRAY(uint64_t) a = {0};
    assert_null(mem_array(SIZE_MAX / 4, 8));
    assert_null(mem_array_zero(SIZE_MAX, 2));
    assert_false(array_reserve(&a, SIZE_MAX / 8 + 1));
    assert_true(array_push(&a, 1));
    assert_false(array_reserve(&a, SIZE_MAX));
    assert_int_equal(a.at[0], 1);
    array_fini(&a);
}

static void trimming_an_empty_array_frees_it(void **state)
{
    (void)state;
    ARRAY(uint64_t) a = {0};
    assert_true(array_reserve(&a, 100));
    array_trim(&a);
    assert_null(a.at);
    assert_int_equal(a.cap, 0);
}

static void pieces_of_an_arena_are_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 0, 7, 16, 5000, 100, 3000000, 1, 100000, 40};
    enum { N = sizeof sizes / sizeof *sizes };
    arena a = {0};
    unsigned char *pieces[N];
    for (size_t i = 0; i < N; i++) {
        pieces[i] = arena_alloc(&a, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i + 1);
    arena_fini(&a);
    assert_int_equal(a.total_bytes, 0);
}

static void an_arena_wastes_little(void **state)
{
    (void)state;
    arena a = {0};
    for (int i = 0; i < 100000; i++)
        assert_non_null(arena_alloc(&a, 48));
    assert_true(a.total_bytes < 48 * 100000 + (3 << 20) / 2);
    arena_fini(&a);
}

static void a_large_first_piece_does_not_make_small_ones_dear(void **state)
{
    (void)state;
    arena a = {0};
    assert_non_null(arena_alloc(&a, 10 << 20));
    assert_non_null(arena_alloc(&a, 16));
    assert_true(a.total_bytes <= (10 << 20) + (1 << 20) + 64);
    arena_fini(&a);
}

static void an_arena_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    arena a = {0};
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX / 2 - 8));
    assert_null(arena_array(&a, SIZE_MAX / 2, 4));
    arena_fini(&a);
}

static void an_arena_copies_and_formats_text(void **state)
{
    (void)state;
    arena a = {0};
    assert_string_equal(arena_copy(&a, (str){"abcdef", 3}), "abc");
    assert_string_equal(arena_copy(&a, (str){NULL, 0}), "");
    assert_string_equal(arena_printf(&a, "%d-%s", 42, "x"), "42-x");
    const uint32_t *zeros = arena_array(&a, 10, 4);
    for (int i = 0; i < 10; i++)
        assert_int_equal(zeros[i], 0);
    arena_fini(&a);
}

typedef ARRAY(uint64_t) u64_array;

static halley_status fill_array(void *context, halley_error *err)
{
    (void)context;
    u64_array a = {0};
    halley_status status = HALLEY_OK;
    for (uint64_t i = 0; i < 1000 && status == HALLEY_OK; i++) {
        if (!array_push(&a, i)) {
            assert_int_equal(a.n, i); /* unchanged by the failure */
            status = error_nomem(err);
        }
    }
    array_trim(&a);
    for (uint64_t i = 0; i < a.n; i++)
        assert_int_equal(a.at[i], i);
    array_fini(&a);
    return status;
}

static halley_status fill_arena(void *context, halley_error *err)
{
    (void)context;
    arena a = {0};
    bool ok = true;
    for (size_t i = 0; i < 200; i++) {
        ok = ok && arena_alloc(&a, i * i) != NULL;
        ok = ok && arena_copy(&a, STR("text")) != NULL;
        ok = ok && arena_printf(&a, "%zu", i) != NULL;
        ok = ok && arena_array(&a, i, 8) != NULL;
    }
    arena_fini(&a);
    return ok ? HALLEY_OK : error_nomem(err);
}

static void running_out_of_memory_leaves_them_whole(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(fill_array, NULL) > 5);
    assert_true(alloc_fail_everywhere(fill_arena, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_what_was_pushed),
        cmocka_unit_test(a_size_that_overflows_is_refused),
        cmocka_unit_test(trimming_an_empty_array_frees_it),
        cmocka_unit_test(pieces_of_an_arena_are_aligned_and_apart),
        cmocka_unit_test(an_arena_wastes_little),
        cmocka_unit_test(a_large_first_piece_does_not_make_small_ones_dear),
        cmocka_unit_test(an_arena_refuses_sizes_that_overflow),
        cmocka_unit_test(an_arena_copies_and_formats_text),
        cmocka_unit_test(running_out_of_memory_leaves_them_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
