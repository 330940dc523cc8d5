/* Pieces of ASTRA-sim's log and memory traces that its library decides. */
#include "astra/grisu.h"
#include "astra/log.h"
#include "astra/stdsort.h"
#include "sim/coll/stdset.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What nlohmann::json 3.10 writes for these; the first four are not the shortest or not
 * the nearest text. */
static void doubles_are_written_as_grisu2_does(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {4468.0250000000005, "4468.0250000000005"},
        {6182.6500000000005, "6182.6500000000005"},
        {745928.0 / 1048576, "0.7113723754882813"},
        {673.0 / 1048576, "0.0006418228149414063"},
        {0.017, "0.017"},
        {1e-3 * 123456789, "123456.789"},
        {12, "12.0"},
        {0.00001, "1e-05"},
        {0.000012, "1.2e-05"},
        {0, "0.0"},
        {1048576, "1048576.0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(grisu_write(rows[i].value).at, rows[i].text);
}

/* Whatever Grisu2 writes reads back as the same number. */
static void what_grisu2_writes_reads_back(void **state)
{
    uint64_t x = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const double value = (double)(x >> 11) / (double)(UINT64_C(1) << (x % 60));
        if (!(value >= 1e-12 && value < 1e15))
            continue;
        const number_text text = grisu_write(value);
        assert_true(strtod(text.at, NULL) == value);
    }
}

static int compare_keys(const void *a, const void *b)
{
    const stdsort_item *x = a, *y = b;
    return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

static void sorted_items_descend_and_none_is_lost(void **state)
{
    enum { N = 5000 };
    static stdsort_item items[N], reference[N];
    (void)state;
    for (int round = 0; round < 6; round++) {
        const uint64_t keys = round == 0   ? 1
                              : round == 1 ? 3
                                           : UINT64_C(1) << (8 * round);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < N; i++) {
            const uint64_t key = round == 5 ? i : (i * UINT64_C(2654435761) >> 7) % keys;
            items[i] = reference[i] = (stdsort_item){key, i};
        }
        stdsort_descending(items, N);
        qsort(reference, N, sizeof *reference, compare_keys);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(items[i].key, reference[i].key);
            sum += items[i].index;
        }
        assert_int_equal(sum, (uint64_t)N * (N - 1) / 2);
    }
}

/* Up to 16 items std::sort inserts one by one, so that equal ones keep their order. */
static void few_equal_items_keep_their_order(void **state)
{
    stdsort_item items[16];
    (void)state;
    for (uint32_t i = 0; i < 16; i++)
        items[i] = (stdsort_item){i % 2, i};
    stdsort_descending(items, 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(items[i].index, i < 8 ? 2 * i + 1 : 2 * (i - 8));
}

/* So the log of a run need not know in which order all nodes were issued. */
static void with_a_bucket_for_each_key_the_last_one_added_is_first(void **state)
{
    enum { MOST = 3000 };
    static uint64_t keys[MOST];
    static uint32_t next[MOST];
    (void)state;
    for (uint32_t n = 1; n <= MOST; n += n < 70 ? 1 : 97) {
        const uint32_t n_buckets = stdset_count_buckets(n);
        stdset set;
        for (uint32_t i = 0; i < n; i++) /* 7919 is a prime beyond all of them */
            keys[i] = (i + 1) * UINT64_C(7919) % n + (n_buckets - n);
        stdset_init(&set, keys, next);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(stdset_add(&set, i));
            assert_int_equal(set.n_buckets, stdset_count_buckets(i + 1));
        }
        assert_int_equal(set.n_buckets, n_buckets);
        assert_int_equal(set.first, n - 1);
        stdset_fini(&set);
    }
}

static void a_full_log_file_is_kept_under_a_number(void **state)
{
    char folder[] = "/tmp/halley-log-XXXXXX", path[64], line[1024];
    astra_log log;
    struct stat found;
    FILE *const none = fopen("/dev/null", "w");
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(astra_log_open(&log, none, folder, NULL), HALLEY_OK);
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < 10 * 1024; i++)
        astra_log_write(&log, ASTRA_DEBUG, "workload", "%s", line);
    astra_log_write(&log, ASTRA_CRITICAL, "system", "end");
    assert_int_equal(astra_log_close(&log, NULL), HALLEY_OK);
    fclose(none);
    snprintf(path, sizeof path, "%s/log.1.log", folder);
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size <= 10 << 20 && found.st_size > (10 << 20) - 1100);
    unlink(path);
    snprintf(path, sizeof path, "%s/log.log", folder);
    assert_int_equal(stat(path, &found), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/err.log", folder);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_size,
                     strlen("[2026-01-01 00:00:00.000] [system] [critical] end\n"));
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_written_as_grisu2_does),
        cmocka_unit_test(what_grisu2_writes_reads_back),
        cmocka_unit_test(sorted_items_descend_and_none_is_lost),
        cmocka_unit_test(few_equal_items_keep_their_order),
        cmocka_unit_test(with_a_bucket_for_each_key_the_last_one_added_is_first),
        cmocka_unit_test(a_full_log_file_is_kept_under_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
