/* The compressed formats that inputs may have: isa-l for gzip, libzstd, liblzma. */
#include "base/file/unpack.h"

#include "base/array.h"
#include "base/limit.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* isa-l counts in 32 bits. */
enum { LARGEST_PIECE = 1 << 30 };

static uint32_t cut_piece(size_t n)
{
    return (uint32_t)(n < LARGEST_PIECE ? n : LARGEST_PIECE);
}

static void *open_gzip(void)
{
    struct inflate_state *const z = malloc(sizeof *z);
    if (z != NULL)
        isal_inflate_init(z);
    return z;
}

static unpack_result run_gzip(void *state, unpack_io *io)
{
    struct inflate_state *const z = state;
    if (!io->in_member) {
        if (io->in[0] != 0x1f)
            return UNPACK_FOREIGN;
        isal_inflate_reset(z);
        z->crc_flag = ISAL_GZIP;
        io->in_member = true;
    }
    const uint32_t n_in = cut_piece(io->n_in), n_out = cut_piece(io->n_out);
    z->next_in = (uint8_t *)(uintptr_t)io->in; /* isa-l only reads it */
    z->avail_in = n_in;
    z->next_out = io->out;
    z->avail_out = n_out;
    const int result = isal_inflate(z);
    io->in += n_in - z->avail_in;
    io->n_in -= n_in - z->avail_in;
    io->out += n_out - z->avail_out;
    io->n_out -= n_out - z->avail_out;
    io->in_member = z->block_state != ISAL_BLOCK_FINISH;
    if (result == ISAL_DECOMP_OK || result == ISAL_END_INPUT)
        return UNPACK_OK;
    if (result == ISAL_INCORRECT_CHECKSUM)
        return UNPACK_CHECKSUM;
    return result == ISAL_INVALID_WRAPPER || result == ISAL_UNSUPPORTED_METHOD
               ? UNPACK_HEADER
               : UNPACK_CORRUPT;
}

static void *open_zstd(void)
{
    return ZSTD_createDStream();
}

static unpack_result run_zstd(void *state, unpack_io *io)
{
    ZSTD_inBuffer in = {.src = io->in, .size = io->n_in};
    ZSTD_outBuffer out = {.dst = io->out, .size = io->n_out};
    const size_t left = ZSTD_decompressStream(state, &out, &in);
    if (ZSTD_isError(left))
        return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? UNPACK_MEMORY
                                                                       : UNPACK_CORRUPT;
    io->in += in.pos;
    io->n_in -= in.pos;
    io->out += out.pos;
    io->n_out -= out.pos;
    io->in_member = left > 0;
    return UNPACK_OK;
}

static void close_zstd(void *state)
{
    ZSTD_freeDStream(state);
}

static void *open_xz(void)
{
    return mem_array_zero(1, sizeof(lzma_stream));
}

static unpack_result begin_xz_stream(lzma_stream *z, unpack_io *io)
{
    uint64_t limit = 0;
    if (io->in[0] != 0xfd)
        return UNPACK_FOREIGN;
    if (limit_memory(&limit, NULL) != 0 || lzma_stream_decoder(z, limit, 0) != LZMA_OK)
        return UNPACK_MEMORY;
    io->in_member = true;
    return UNPACK_OK;
}

static unpack_result run_xz(void *state, unpack_io *io)
{
    lzma_stream *const z = state;
    if (!io->in_member && io->in[0] == 0) { /* padding between streams */
        io->in++;
        io->n_in--;
        return UNPACK_OK;
    }
    const unpack_result begun = io->in_member ? UNPACK_OK : begin_xz_stream(z, io);
    if (begun != UNPACK_OK)
        return begun;
    z->next_in = io->in;
    z->avail_in = io->n_in;
    z->next_out = io->out;
    z->avail_out = io->n_out;
    const lzma_ret result = lzma_code(z, LZMA_RUN);
    io->in = z->next_in;
    io->n_in = z->avail_in;
    io->out = z->next_out;
    io->n_out = z->avail_out;
    io->in_member = result != LZMA_STREAM_END;
    if (result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR)
        return UNPACK_OK;
    if (result == LZMA_MEM_ERROR || result == LZMA_MEMLIMIT_ERROR)
        return UNPACK_MEMORY;
    return result == LZMA_FORMAT_ERROR || result == LZMA_OPTIONS_ERROR ? UNPACK_HEADER
                                                                       : UNPACK_CORRUPT;
}

static void close_xz(void *state)
{
    lzma_end(state);
    free(state);
}

static const unpack_format formats[] = {
    {"gzip", {0x1f, 0x8b}, 2, open_gzip, run_gzip, free},
    {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, open_zstd, run_zstd, close_zstd},
    {"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, open_xz, run_xz, close_xz},
};

const unpack_format *unpack_find(const uint8_t *at, size_t n)
{
    assert(at != NULL || n == 0);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (n >= formats[i].n_magic &&
            memcmp(at, formats[i].magic, formats[i].n_magic) == 0)
            return &formats[i];
    return NULL;
}
