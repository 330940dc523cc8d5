/*
 * Decompress gzip with isa-l. A file may consist of several members (bgzip, pigz, cat
 * a.gz b.gz); each is checked against its CRC and length. The output grows as needed, but
 * never beyond the limit (base/limit.h) and the machine's free memory. A small file can
 * expand to a thousand times its size.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/limit.h"
#include "base/number/number.h"

#include <assert.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_OUTPUT = 1 << 16, UNCHECKED_OUTPUT = 1 << 28 };
/* isa-l counts in 32 bits. */
static const size_t largest_piece = 1u << 30;

typedef struct inflater {
    struct inflate_state state;
    const uint8_t *start, *end; /* of the compressed bytes */
    uint8_t *out;
    size_t n_out, cap;
    uint64_t most; /* bytes that are allowed; 0 = the limit of memory */
} inflater;

static halley_status grow_output(inflater *z, size_t wanted, halley_error *err)
{
    assert(wanted > 0);
    const bool is_huge = wanted > UNCHECKED_OUTPUT;
    uint8_t *out = NULL;
    TRY(limit_check_unpacked((uint64_t)(z->state.next_in - z->start), z->n_out + 1,
                             z->most, err));
    if (wanted < PTRDIFF_MAX - FILE_PAD &&
        (!is_huge || mem_is_available(wanted, wanted - z->n_out)))
        out = realloc(z->out, wanted + FILE_PAD);
    if (out == NULL)
        return error_set(err, HALLEY_ENOMEM,
                         "memory ran out after inflating %s MB to %s MB; allow more "
                         "(--max-memory) or use a smaller file",
                         number_fixed((double)(z->state.next_in - z->start) / 1e6, 1).at,
                         number_fixed((double)z->n_out / 1e6, 1).at);
    z->out = out;
    z->cap = wanted;
    return HALLEY_OK;
}

static halley_status report_bad_gzip(const inflater *z, const char *what,
                                     halley_error *err)
{
    assert(what != NULL);
    return error_set(err, HALLEY_EFORMAT,
                     "%s at byte %zu of the compressed file; copy or download it again "
                     "(gzip -t checks it)",
                     what, (size_t)(z->state.next_in - z->start));
}

static const char *explain_inflate(int result)
{
    switch (result) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
        return "the gzip header is wrong";
    case ISAL_INCORRECT_CHECKSUM:
        return "the gzip data does not match its checksum";
    default:
        return "the gzip data is corrupt";
    }
}

/* One member, from state.next_in on. */
static halley_status inflate_member(inflater *z, halley_error *err)
{
    struct inflate_state *s = &z->state;
    uint8_t *start = s->next_in;
    isal_inflate_reset(s);
    s->crc_flag = ISAL_GZIP;
    s->next_in = start;
    s->avail_in = 0;
    while (s->block_state != ISAL_BLOCK_FINISH) {
        const size_t left = (size_t)(z->end - s->next_in);
        if (z->n_out == z->cap)
            TRY(grow_output(z, z->cap + z->cap / 2, err));
        const size_t room = z->cap - z->n_out;
        const uint32_t n_in = (uint32_t)(left < largest_piece ? left : largest_piece);
        const uint32_t n_room = (uint32_t)(room < largest_piece ? room : largest_piece);
        s->avail_in = n_in;
        s->next_out = z->out + z->n_out;
        s->avail_out = n_room;
        const int result = isal_inflate(s);
        if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT)
            return report_bad_gzip(z, explain_inflate(result), err);
        z->n_out += n_room - s->avail_out;
        const bool stuck = s->avail_in == n_in && s->avail_out == n_room;
        if (s->block_state != ISAL_BLOCK_FINISH && s->avail_out > 0 &&
            (stuck || s->next_in == z->end))
            return report_bad_gzip(z, "the gzip file is cut short", err);
    }
    return HALLEY_OK;
}

/* A first guess that is right for most files: the length at the end of the file, unless
 * it is not plausible. */
static size_t guess_size(const uint8_t *at, size_t n)
{
    assert(at != NULL);
    uint32_t last = 0;
    if (n >= 18)
        for (int i = 0; i < 4; i++)
            last |= (uint32_t)at[n - 4 + (size_t)i] << (8 * i);
    const size_t usual = n < SIZE_MAX / 8 ? 4 * n : n;
    size_t guess = last / 32 > n || last < n ? usual : last;
    if (guess > UNCHECKED_OUTPUT && guess == usual)
        guess = UNCHECKED_OUTPUT;
    return guess < SMALLEST_OUTPUT ? SMALLEST_OUTPUT : guess;
}

static halley_status inflate_all(inflater *z, size_t guess, halley_error *err)
{
    TRY(grow_output(z, guess, err));
    do {
        const size_t left = (size_t)(z->end - z->state.next_in);
        if (left < 2 || z->state.next_in[0] != 0x1f || z->state.next_in[1] != 0x8b)
            return report_bad_gzip(z, "there is something else than gzip data", err);
        TRY(inflate_member(z, err));
    } while (z->state.next_in < z->end);
    return limit_check_size(z->n_out, z->most, err);
}

halley_status file_gunzip(uint8_t **out, size_t *n_out, const uint8_t *at, size_t n,
                          uint64_t most, halley_error *err)
{
    uint64_t limit = 0;
    TRY(limit_memory(&limit, err));
    assert(out != NULL && n_out != NULL);
    inflater *z = malloc(sizeof *z); /* its tables are too large for a thread's stack */
    if (z == NULL)
        return error_nomem(err);
    z->start = at;
    z->end = at + n;
    z->out = NULL;
    z->n_out = z->cap = 0;
    z->most = most;
    isal_inflate_init(&z->state);
    z->state.next_in = (uint8_t *)(uintptr_t)at; /* isa-l only reads it */
    const size_t guess = guess_size(at, n);
    const halley_status status =
        inflate_all(z, guess < limit / 2 ? guess : SMALLEST_OUTPUT, err);
    if (status == HALLEY_OK) {
        memset(z->out + z->n_out, 0, FILE_PAD);
        *out = z->out;
        *n_out = z->n_out;
    } else {
        free(z->out);
    }
    free(z);
    return status;
}
