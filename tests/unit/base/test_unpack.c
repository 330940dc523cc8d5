/* Compressed files: Zstandard and xz; test_file.c has gzip. */
#include "base/file/file.h"
#include "base/file/file_stream.h"
#include "base/rng.h"
#include "unit.h"

#include <lzma.h>
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

/* Two streams, with padding between and after them. */
static uint8_t *make_xz(const void *at, size_t n, size_t *n_out)
{
    const size_t room = 2 * lzma_stream_buffer_bound(n) + 16, half = n / 2;
    uint8_t *packed = calloc(room, 1);
    assert_non_null(packed);
    size_t used = 0;
    assert_int_equal(
        lzma_easy_buffer_encode(3, LZMA_CHECK_CRC64, NULL, at, half, packed, &used, room),
        LZMA_OK);
    used += 4;
    assert_int_equal(lzma_easy_buffer_encode(3, LZMA_CHECK_SHA256, NULL,
                                             (const uint8_t *)at + half, n - half, packed,
                                             &used, room),
                     LZMA_OK);
    *n_out = used + 8;
    return packed;
}

static const struct {
    const char *name;
    uint8_t *(*make)(const void *at, size_t n, size_t *n_out);
    size_t n_magic;
} kinds[] = {{"zstd", make_zstd, 4}, {"xz", make_xz, 6}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void read_in_pieces(const uint8_t *packed, size_t n_packed, const uint8_t *bytes,
                           size_t n_bytes)
{
    file_stream *stream;
    size_t n = 0, got;
    uint8_t *const read = malloc(n_bytes);
    assert_int_equal(file_stream_lend(&stream, packed, n_packed, "any-name", NULL),
                     HALLEY_OK);
    assert_true(file_stream_is_packed(stream));
    do {
        const size_t room = n_bytes - n < 7000 ? n_bytes - n : 7000;
        uint8_t last;
        assert_int_equal(file_stream_read(stream, room > 0 ? read + n : &last,
                                          room > 0 ? room : 1, &got, NULL),
                         HALLEY_OK);
        n += got;
    } while (got > 0);
    assert_int_equal(n, n_bytes);
    assert_memory_equal(read, bytes, n);
    file_stream_close(stream);
    free(read);
}

static void files_are_read_whole_and_piece_by_piece(void **state)
{
    (void)state;
    enum { N = 500000 };
    uint8_t *const bytes = malloc(N);
    rng r = rng_seed(1);
    for (size_t i = 0; i < N; i++)
        bytes[i] = (uint8_t)(rng_below(&r, 4) * 17);
    for (int k = 0; k < N_KINDS; k++) {
        size_t n_packed;
        file_input in;
        uint8_t *const packed = kinds[k].make(bytes, N, &n_packed);
        assert_int_equal(file_input_copy(&in, packed, n_packed, 0, NULL), HALLEY_OK);
        assert_true(in.is_packed);
        assert_int_equal(in.n, N);
        assert_memory_equal(in.at, bytes, N);
        file_input_close(&in);
        read_in_pieces(packed, n_packed, bytes, N);
        free(packed);
    }
    free(bytes);
}

/* Expects that it is refused, with these words. */
static void expect_refusal(const uint8_t *at, size_t n, const char *words)
{
    halley_error err = {0};
    file_input in;
    uint8_t *const copy = malloc(n); /* so that ASan sees the end */
    memcpy(copy, at, n);
    assert_int_equal(file_input_copy(&in, copy, n, 0, &err), HALLEY_EFORMAT);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    free(copy);
}

static void a_cut_file_is_refused(void **state)
{
    (void)state;
    for (int k = 0; k < N_KINDS; k++) {
        size_t n;
        uint8_t *const packed = kinds[k].make("some text some text some text", 29, &n);
        size_t n_refused = 0;
        for (size_t cut = kinds[k].n_magic; cut < n; cut++) {
            file_input in = {0};
            halley_error err = {0};
            /* between two members a file may end */
            if (file_input_copy(&in, packed, cut, 0, &err) == HALLEY_OK) {
                assert_memory_equal(in.at, "some text some text some text", in.n);
                file_input_close(&in);
                continue;
            }
            expect_refusal(packed, cut, "cut short near byte ");
            n_refused++;
        }
        assert_true(n_refused > n - 30);
        free(packed);
    }
}

static void a_changed_xz_is_refused(void **state)
{
    (void)state;
    size_t n;
    uint8_t *const packed = make_xz("some text some text some text", 29, &n);
    packed[7] ^= 1;
    expect_refusal(packed, n, "the xz data is corrupt near byte 12 ");
    packed[7] ^= 1;
    packed[26] ^= 1;
    expect_refusal(packed, n, "the xz data is corrupt near byte ");
    packed[26] ^= 1;
    packed[n - 1] = 1;
    expect_refusal(packed, n, "there is something else than xz data near byte ");
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_whole_and_piece_by_piece),
        cmocka_unit_test(a_cut_file_is_refused),
        cmocka_unit_test(a_changed_xz_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
