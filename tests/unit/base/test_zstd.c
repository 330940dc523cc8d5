/* Files compressed with Zstandard. */
#include "base/file/file.h"
#include "base/file/file_stream.h"
#include "base/rng.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Two frames and a skippable one between them. */
static uint8_t *make_zstd(const void *at, size_t n, size_t *n_out)
{
    const size_t room = 2 * ZSTD_compressBound(n) + 16;
    uint8_t *packed = malloc(room);
    assert_non_null(packed);
    const size_t half = n / 2;
    size_t used = ZSTD_compress(packed, room, at, half, 3);
    assert_false(ZSTD_isError(used));
    static const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    memcpy(packed + used, skipped, sizeof skipped);
    used += sizeof skipped;
    const size_t rest = ZSTD_compress(packed + used, room - used,
                                      (const uint8_t *)at + half, n - half, 3);
    assert_false(ZSTD_isError(rest));
    *n_out = used + rest;
    return packed;
}

static void zstd_is_read_whole_and_piece_by_piece(void **state)
{
    (void)state;
    size_t n_packed, n = 0, got;
    uint8_t *bytes = malloc(500000), *read = malloc(500000);
    rng r = rng_seed(1);
    for (size_t i = 0; i < 500000; i++)
        bytes[i] = (uint8_t)(rng_below(&r, 4) * 17);
    uint8_t *packed = make_zstd(bytes, 500000, &n_packed);
    uint8_t *whole;
    size_t n_whole;
    assert_int_equal(file_unzstd(&whole, &n_whole, packed, n_packed, 0, NULL), HALLEY_OK);
    assert_int_equal(n_whole, 500000);
    assert_memory_equal(whole, bytes, n_whole);
    free(whole);
    file_stream *stream;
    assert_int_equal(file_stream_lend(&stream, packed, n_packed, "any-name", NULL),
                     HALLEY_OK);
    assert_true(file_stream_gzipped(stream));
    do {
        assert_true(n + 7000 <= 500000 || 500000 - n <= 7000);
        const size_t room = 500000 - n < 7000 ? 500000 - n : 7000;
        uint8_t last;
        assert_int_equal(file_stream_read(stream, room > 0 ? read + n : &last,
                                          room > 0 ? room : 1, &got, NULL),
                         HALLEY_OK);
        n += got;
    } while (got > 0);
    assert_int_equal(n, 500000);
    assert_memory_equal(read, bytes, n);
    file_stream_close(stream);
    free(bytes);
    free(read);
    free(packed);
}

static void a_cut_zstd_is_refused(void **state)
{
    (void)state;
    size_t n, n_out;
    uint8_t *out, *packed = malloc(200);
    n = ZSTD_compress(packed, 200, "some text some text some text", 29, 1);
    assert_false(ZSTD_isError(n));
    for (size_t cut = 4; cut < n; cut++) {
        halley_error err = {0};
        uint8_t *part = malloc(cut), to[100];
        memcpy(part, packed, cut);
        assert_int_equal(file_unzstd(&out, &n_out, part, cut, 0, &err), HALLEY_EFORMAT);
        assert_non_null(strstr(err.text, "cut short near byte "));
        file_stream *stream;
        size_t got;
        assert_int_equal(file_stream_lend(&stream, part, cut, "a.zst", NULL), HALLEY_OK);
        halley_status status;
        do
            status = file_stream_read(stream, to, sizeof to, &got, &err);
        while (status == HALLEY_OK && got > 0);
        assert_int_equal(status, HALLEY_EFORMAT);
        assert_non_null(strstr(err.text, "cut short near byte "));
        file_stream_close(stream);
        free(part);
    }
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zstd_is_read_whole_and_piece_by_piece),
        cmocka_unit_test(a_cut_zstd_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
