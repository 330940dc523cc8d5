/*
 * Read files in pieces. A plain file is read directly into the caller's memory. A gzip or
 * zstd file is read into a small buffer and decompressed from there, member after member.
 * Nothing may follow the last member: a file that was truncated or joined wrongly is an
 * error.
 */
#include "base/file/file_stream.h"

#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_root.h"
#include "base/limit.h"
#include "base/number/units.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { PACKED = 1 << 16, LARGEST_READ = 1 << 30 };

typedef struct unpacker {
    struct inflate_state state;
    bool in_member;
    uint8_t packed[PACKED];
} unpacker;

typedef struct zstd_unpacker {
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    bool in_frame;
    uint8_t packed[PACKED];
} zstd_unpacker;

struct file_stream {
    int fd;              /* -1 = lent bytes */
    const uint8_t *lent; /* the rest of them */
    size_t n_lent;
    uint8_t first[4]; /* read to detect the format */
    size_t n_first, first_at;
    bool at_end;
    uint64_t n_read;     /* stored bytes */
    uint64_t n_given;    /* to the caller, unpacked */
    uint64_t most_given; /* 0 = any number, for plain files */
    unpacker *gzip;      /* NULL: it is not gzip */
    zstd_unpacker *zstd; /* NULL: it is not zstd */
    char *path;
};

static halley_status read_stream_fd(file_stream *s, void *to, size_t n, size_t *got,
                                    halley_error *err)
{
    assert(n > 0);
    for (;;) {
        const ssize_t count = read(s->fd, to, n);
        if (count >= 0) {
            *got = (size_t)count;
            return HALLEY_OK;
        }
        if (errno != EINTR) {
            error_errno(err, "read", errno);
            error_at_file(err, s->path);
            return HALLEY_EIO;
        }
    }
}

/* Read stored bytes; the bytes read to detect the format come first. */
static halley_status read_stored(file_stream *s, void *to, size_t n, size_t *got,
                                 halley_error *err)
{
    assert(got != NULL);
    *got = 0;
    if (s->first_at < s->n_first) {
        const size_t left = s->n_first - s->first_at;
        *got = left < n ? left : n;
        memcpy(to, s->first + s->first_at, *got);
        s->first_at += *got;
    } else if (s->fd < 0) {
        *got = s->n_lent < n ? s->n_lent : n;
        if (*got > 0)
            memcpy(to, s->lent, *got);
        s->lent += *got;
        s->n_lent -= *got;
    } else if (!s->at_end) {
        TRY(read_stream_fd(s, to, n < LARGEST_READ ? n : LARGEST_READ, got, err));
    }
    s->at_end = *got == 0;
    s->n_read += *got;
    return HALLEY_OK;
}

static halley_status open_zstd(file_stream *s, halley_error *err)
{
    s->zstd = mem_array_zero(1, sizeof *s->zstd);
    if (s->zstd == NULL)
        return error_nomem(err);
    s->zstd->stream = ZSTD_createDStream();
    return s->zstd->stream == NULL ? error_nomem(err) : HALLEY_OK;
}

static halley_status look_at_head(file_stream *s, halley_error *err)
{
    size_t n = 0;
    while (n < sizeof s->first) {
        size_t got;
        TRY(read_stored(s, s->first + n, sizeof s->first - n, &got, err));
        if (got == 0)
            break;
        n += got;
    }
    s->n_first = n;
    s->n_read = 0;
    s->at_end = false;
    if (file_is_zstd(s->first, n))
        return open_zstd(s, err);
    if (n < 2 || s->first[0] != 0x1f || s->first[1] != 0x8b)
        return HALLEY_OK;
    s->gzip = malloc(sizeof *s->gzip);
    if (s->gzip == NULL)
        return error_nomem(err);
    isal_inflate_init(&s->gzip->state);
    s->gzip->in_member = false;
    return HALLEY_OK;
}

static halley_status new_stream(file_stream **out, const char *name, halley_error *err)
{
    assert(name != NULL);
    file_stream *const s = mem_array_zero(1, sizeof *s);
    char *const path = s ? strdup(name) : NULL;
    if (path == NULL) {
        free(s);
        return error_nomem(err);
    }
    s->path = path;
    s->fd = -1;
    *out = s;
    return HALLEY_OK;
}

/* Limit an input that is not a plain file, because its end is not known. */
static halley_status bound_stream(file_stream *s, halley_error *err)
{
    uint64_t limit;
    struct stat about;
    TRY(limit_memory(&limit, err));
    if (fstat(s->fd, &about) != 0)
        return error_errno(err, "read", errno);
    if (S_ISDIR(about.st_mode))
        return error_set(err, HALLEY_EIO, "is a directory; name a file");
    TRY(call_reads(&about, s->path, err));
    const bool is_endless = !S_ISREG(about.st_mode);
    s->most_given = is_endless && limit < UINT64_MAX / LIMIT_STREAM_FACTOR
                        ? limit * LIMIT_STREAM_FACTOR
                        : 0;
    return HALLEY_OK;
}

static halley_status open_path(file_stream *s, const char *path, halley_error *err)
{
    assert(path != NULL);
    if (strcmp(path, "-") == 0) {
        s->fd = STDIN_FILENO;
        return bound_stream(s, err);
    }
    s->fd = file_root_open(path);
    if (s->fd < 0)
        return errno == ENOENT ? error_set(err, HALLEY_EIO, "no such file")
                               : error_errno(err, "open", errno);
    TRY(bound_stream(s, err));
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return HALLEY_OK;
}

halley_status file_stream_open(file_stream **out, const char *path, halley_error *err)
{
    file_stream *s = NULL;
    TRY(new_stream(&s, strcmp(path, "-") == 0 ? "standard input" : path, err));
    halley_status status = open_path(s, path, err);
    if (status == HALLEY_OK)
        status = look_at_head(s, err);
    if (status != HALLEY_OK) {
        error_at_file(err, s->path);
        file_stream_close(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

halley_status file_stream_lend(file_stream **out, const void *at, size_t n,
                               const char *name, halley_error *err)
{
    assert(at != NULL || n == 0);
    file_stream *s = NULL;
    TRY(new_stream(&s, name, err));
    s->lent = at;
    s->n_lent = n;
    const halley_status status = look_at_head(s, err);
    if (status != HALLEY_OK) {
        file_stream_close(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

static halley_status report_bad_stream(const file_stream *s, const char *what,
                                       halley_error *err)
{
    assert(what != NULL);
    error_set(err, HALLEY_EFORMAT,
              "%s near byte %llu of the compressed file; copy or download it again "
              "(gzip -t checks it)",
              what, (unsigned long long)(s->n_read - s->gzip->state.avail_in));
    error_at_file(err, s->path);
    return HALLEY_EFORMAT;
}

static halley_status more_packed(file_stream *s, halley_error *err)
{
    struct inflate_state *const z = &s->gzip->state;
    if (z->avail_in > 0)
        return HALLEY_OK;
    size_t got;
    TRY(read_stored(s, s->gzip->packed, PACKED, &got, err));
    z->next_in = s->gzip->packed;
    z->avail_in = (uint32_t)got;
    return HALLEY_OK;
}

/* Advance into the next member, or to the end of the file (then state.avail_in is 0). */
static halley_status enter_member(file_stream *s, halley_error *err)
{
    unpacker *const g = s->gzip;
    TRY(more_packed(s, err));
    if (g->in_member || g->state.avail_in == 0)
        return HALLEY_OK;
    if (g->state.next_in[0] != 0x1f)
        return report_bad_stream(s, "there is something else than gzip data", err);
    uint8_t *const next = g->state.next_in;
    const uint32_t avail = g->state.avail_in;
    isal_inflate_reset(&g->state);
    g->state.crc_flag = ISAL_GZIP;
    g->state.next_in = next;
    g->state.avail_in = avail;
    g->in_member = true;
    return HALLEY_OK;
}

static halley_status inflate_some(file_stream *s, uint8_t *to, size_t n, size_t *got,
                                  halley_error *err)
{
    assert(to != NULL && n > 0);
    unpacker *const g = s->gzip;
    const uint32_t room = (uint32_t)(n < LARGEST_READ ? n : LARGEST_READ);
    *got = 0;
    while (*got == 0) {
        TRY(enter_member(s, err));
        if (g->state.avail_in == 0)
            return g->in_member ? report_bad_stream(s, "the gzip file is cut short", err)
                                : HALLEY_OK;
        g->state.next_out = to;
        g->state.avail_out = room;
        const int result = isal_inflate(&g->state);
        if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT)
            return report_bad_stream(s,
                                     result == ISAL_INCORRECT_CHECKSUM
                                         ? "the gzip data does not match its checksum"
                                         : "the gzip data is corrupt",
                                     err);
        *got = room - g->state.avail_out;
        g->in_member = g->state.block_state != ISAL_BLOCK_FINISH;
    }
    return HALLEY_OK;
}

static halley_status refuse_bad_stream(const file_stream *s, const char *what,
                                       halley_error *err)
{
    error_set(err, HALLEY_EFORMAT,
              "%s near byte %llu of the compressed file; copy or download it again "
              "(zstd -t checks it)",
              what,
              (unsigned long long)(s->n_read - (s->zstd->in.size - s->zstd->in.pos)));
    error_at_file(err, s->path);
    return HALLEY_EFORMAT;
}

static halley_status unpack_some(file_stream *s, void *to, size_t n, size_t *got,
                                 halley_error *err)
{
    zstd_unpacker *const z = s->zstd;
    ZSTD_outBuffer out = {.dst = to, .size = n};
    while (out.pos == 0) {
        if (z->in.pos == z->in.size) {
            size_t packed;
            TRY(read_stored(s, z->packed, PACKED, &packed, err));
            z->in = (ZSTD_inBuffer){.src = z->packed, .size = packed};
        }
        const bool at_end = z->in.size == 0;
        if (at_end && !z->in_frame)
            break;
        const size_t left = ZSTD_decompressStream(z->stream, &out, &z->in);
        if (ZSTD_isError(left))
            return refuse_bad_stream(s, "the zstd data is corrupt", err);
        z->in_frame = left > 0;
        if (at_end && out.pos == 0 && z->in_frame)
            return refuse_bad_stream(s, "the zstd file is cut short", err);
    }
    *got = out.pos;
    return HALLEY_OK;
}

/* A pipe may never end, and compressed bytes may expand to any size. */
static halley_status check_stream_limits(file_stream *s, halley_error *err)
{
    if (s->zstd != NULL || s->gzip != NULL)
        TRY(limit_check_ratio(s->n_read, s->n_given, err));
    if (s->most_given == 0 || s->n_given <= s->most_given)
        return HALLEY_OK;
    char given[32];
    units_format(given, sizeof given, (double)s->most_given, UNITS_BYTES);
    return error_set(err, HALLEY_ELIMIT,
                     "does not end after %s, %d times the limit of memory; "
                     "--max-memory or HALLEY_MAX_MEMORY raises it",
                     given, LIMIT_STREAM_FACTOR);
}

halley_status file_stream_read(file_stream *s, void *to, size_t n, size_t *got,
                               halley_error *err)
{
    assert(to != NULL && got != NULL);
    if (s->zstd != NULL)
        TRY(unpack_some(s, to, n, got, err));
    else if (s->gzip != NULL)
        TRY(inflate_some(s, to, n, got, err));
    else
        TRY(read_stored(s, to, n, got, err));
    s->n_given += *got;
    const halley_status status = check_stream_limits(s, err);
    if (status != HALLEY_OK)
        error_at_file(err, s->path);
    return status;
}

bool file_stream_gzipped(const file_stream *s)
{
    return s->gzip != NULL || s->zstd != NULL;
}

void file_stream_close(file_stream *s)
{
    if (s == NULL)
        return;
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    if (s->zstd != NULL)
        ZSTD_freeDStream(s->zstd->stream);
    free(s->zstd);
    free(s->gzip);
    free(s->path);
    free(s);
}
