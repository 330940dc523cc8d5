/*
 * Zstandard, mostly decompression. A file may consist of several frames. Skippable frames
 * are skipped, and checksums are verified if present. The output grows as needed, but
 * never beyond the limit (base/limit.h) and the machine's free memory.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/limit.h"
#include "base/number/number.h"

#include <assert.h>
#include <string.h>
#include <zstd.h>

enum { SMALLEST_OUTPUT = 1 << 16, UNCHECKED_OUTPUT = 1 << 28 };

typedef struct unpacked {
    ZSTD_inBuffer in;
    ZSTD_outBuffer out;
    uint64_t most; /* bytes that are allowed; 0 = the limit of memory */
} unpacked;

bool file_is_zstd(const uint8_t *at, size_t n)
{
    return n >= 4 && at[0] == 0x28 && at[1] == 0xb5 && at[2] == 0x2f && at[3] == 0xfd;
}

static halley_status grow_unpacked(unpacked *z, size_t wanted, halley_error *err)
{
    assert(wanted > 0);
    uint8_t *out = NULL;
    TRY(limit_check_unpacked(z->in.pos, z->out.pos + 1, z->most, err));
    if (wanted < PTRDIFF_MAX - FILE_PAD &&
        (wanted <= UNCHECKED_OUTPUT || mem_is_available(wanted, wanted - z->out.pos)))
        out = realloc(z->out.dst, wanted + FILE_PAD);
    if (out == NULL)
        return error_set(err, HALLEY_ENOMEM,
                         "memory ran out after decompressing %s MB to %s MB; allow more "
                         "(--max-memory) or use a smaller file",
                         number_fixed((double)z->in.pos / 1e6, 1).at,
                         number_fixed((double)z->out.pos / 1e6, 1).at);
    z->out.dst = out;
    z->out.size = wanted;
    return HALLEY_OK;
}

static halley_status refuse_zstd(const unpacked *z, const char *what, halley_error *err)
{
    assert(what != NULL);
    return error_set(err, HALLEY_EFORMAT,
                     "%s near byte %zu of the compressed file; copy or download it again "
                     "(zstd -t checks it)",
                     what, z->in.pos);
}

static halley_status unpack_frames(unpacked *z, ZSTD_DStream *stream, halley_error *err)
{
    size_t left = 1; /* of the frame, as far as the library knows; 0 = it has ended */
    TRY(grow_unpacked(z, SMALLEST_OUTPUT, err));
    while (z->in.pos < z->in.size || left > 0) {
        if (z->out.pos == z->out.size)
            TRY(grow_unpacked(z, z->out.size + z->out.size / 2, err));
        const size_t in_before = z->in.pos, out_before = z->out.pos;
        left = ZSTD_decompressStream(stream, &z->out, &z->in);
        if (ZSTD_isError(left))
            return refuse_zstd(z, "the zstd data is corrupt", err);
        if (left > 0 && z->in.pos == in_before && z->out.pos == out_before)
            return refuse_zstd(z, "the zstd file is cut short", err);
    }
    return limit_check_size(z->out.pos, z->most, err);
}

halley_status file_unzstd(uint8_t **out, size_t *n_out, const uint8_t *at, size_t n,
                          uint64_t most, halley_error *err)
{
    assert(out != NULL && n_out != NULL);
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL)
        return error_nomem(err);
    unpacked z = {.in = {.src = at, .size = n}, .most = most};
    const halley_status status = unpack_frames(&z, stream, err);
    ZSTD_freeDStream(stream);
    if (status != HALLEY_OK) {
        free(z.out.dst);
        return status;
    }
    *out = z.out.dst;
    *n_out = z.out.pos;
    memset(*out + *n_out, 0, FILE_PAD);
    return HALLEY_OK;
}

halley_status file_zstd(uint8_t **out, size_t *n_out, const void *at, size_t n,
                        halley_error *err)
{
    const size_t room = ZSTD_compressBound(n);
    uint8_t *packed = malloc(room);
    const size_t used = packed != NULL ? ZSTD_compress(packed, room, at, n, 9) : 0;
    if (packed == NULL || ZSTD_isError(used)) {
        free(packed);
        return error_nomem(err);
    }
    *out = packed;
    *n_out = used;
    return HALLEY_OK;
}
