/*
 * Read files in pieces. A plain file is read directly into the caller's memory. A
 * compressed one (unpack.h) is read into a small buffer and unpacked from there, member
 * after member. Nothing may follow the last member: a file that was truncated or joined
 * wrongly is an error.
 */
#include "base/file/file_stream.h"

#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_root.h"
#include "base/file/unpack.h"
#include "base/limit.h"
#include "base/number/units.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKED = 1 << 16, LARGEST_READ = 1 << 30 };

struct file_stream {
    int fd;              /* -1 = lent bytes */
    const uint8_t *lent; /* the rest of them */
    size_t n_lent;
    uint8_t first[UNPACK_MAGIC]; /* read to detect the format */
    size_t n_first, first_at;
    bool at_end;
    uint64_t size;       /* as stored, of a regular file or lent bytes; 0 = unknown */
    uint64_t n_read;     /* stored bytes */
    uint64_t n_given;    /* to the caller, unpacked */
    uint64_t most_given; /* 0 = any number, for plain files */
    const unpack_format *format; /* NULL: it is not compressed */
    void *state;                 /* of the format */
    unpack_io io;                /* its input is in `packed` */
    uint8_t *packed;
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
    s->format = unpack_find(s->first, n);
    if (s->format == NULL)
        return HALLEY_OK;
    s->state = s->format->open();
    s->packed = malloc(PACKED);
    return s->state == NULL || s->packed == NULL ? error_nomem(err) : HALLEY_OK;
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
    s->size = is_endless || about.st_size < 0 ? 0 : (uint64_t)about.st_size;
    s->most_given = is_endless && limit < UINT64_MAX / LIMIT_STREAM_FACTOR
                        ? limit * LIMIT_STREAM_FACTOR
                        : 0;
    return HALLEY_OK;
}

halley_status file_open_error(halley_error *err, int reason)
{
    assert(reason != 0);
    if (reason == ENOENT)
        return error_set(err, HALLEY_EIO, "no such file");
    if (reason == EACCES)
        return error_set(err, HALLEY_EIO, "permission denied; this file may not be read");
    return error_errno(err, "open", reason);
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
        return file_open_error(err, errno);
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
    s->size = s->n_lent = n;
    const halley_status status = look_at_head(s, err);
    if (status != HALLEY_OK) {
        file_stream_close(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

static halley_status report_bad_stream(const file_stream *s, unpack_result result,
                                       halley_error *err)
{
    static const char *const says[] = {
        [UNPACK_OK] = "the %s file is cut short",
        [UNPACK_FOREIGN] = "there is something else than %s data",
        [UNPACK_HEADER] = "the %s header is wrong",
        [UNPACK_CORRUPT] = "the %s data is corrupt",
        [UNPACK_CHECKSUM] = "the %s data does not match its checksum",
    };
    if (result == UNPACK_MEMORY)
        return error_nomem(err);
    char what[64];
    const char *const name = s->format->name;
    snprintf(what, sizeof what, says[result], name);
    error_set(err, HALLEY_EFORMAT,
              "%s near byte %llu of the compressed file; copy or download it again "
              "(%s -t checks it)",
              what, (unsigned long long)file_stream_position(s), name);
    error_at_file(err, s->path);
    return HALLEY_EFORMAT;
}

static halley_status unpack_some(file_stream *s, void *to, size_t n, size_t *got,
                                 halley_error *err)
{
    assert(to != NULL && n > 0);
    unpack_io *const io = &s->io;
    io->out = to;
    io->n_out = n;
    while (io->n_out == n) {
        if (io->n_in == 0) {
            TRY(read_stored(s, s->packed, PACKED, &io->n_in, err));
            io->in = s->packed;
        }
        const bool at_end = io->n_in == 0;
        if (at_end && !io->in_member)
            break;
        const unpack_result result = s->format->run(s->state, io);
        if (result != UNPACK_OK)
            return report_bad_stream(s, result, err);
        if (at_end && io->n_out == n && io->in_member)
            return report_bad_stream(s, UNPACK_OK, err);
    }
    *got = n - io->n_out;
    return HALLEY_OK;
}

/* A pipe may never end, and compressed bytes may expand to any size. */
static halley_status check_stream_limits(file_stream *s, halley_error *err)
{
    if (s->format != NULL)
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
    TRY(call_check(err));
    if (s->format != NULL)
        TRY(unpack_some(s, to, n, got, err));
    else
        TRY(read_stored(s, to, n, got, err));
    s->n_given += *got;
    const halley_status status = check_stream_limits(s, err);
    if (status != HALLEY_OK)
        error_at_file(err, s->path);
    return status;
}

bool file_stream_is_packed(const file_stream *s)
{
    return s->format != NULL;
}

uint64_t file_stream_size(const file_stream *s)
{
    return s->size;
}

uint64_t file_stream_position(const file_stream *s)
{
    return s->n_read - s->io.n_in;
}

void file_stream_close(file_stream *s)
{
    if (s == NULL)
        return;
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    if (s->state != NULL)
        s->format->close(s->state);
    free(s->packed);
    free(s->path);
    free(s);
}
