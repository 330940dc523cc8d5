/*
 * Write files. Bytes are buffered, compressed by isa-l if the name ends in .gz, and
 * written to a temporary file next to the target. The temporary file gets the target's
 * name at commit. A target that is no regular file (a pipe, /dev/full) cannot be
 * replaced. It is written to directly, as is stdout.
 */
#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_root.h"
#include "base/file/file_temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
    BUFFER_BYTES = 256 << 10,
    MOST_RESERVED = 1 << 20,
    GZIP_LEVEL = 2,
};

typedef struct deflater {
    struct isal_zstream stream;
    uint8_t level_buffer[ISAL_DEF_LVL2_DEFAULT];
    uint8_t out[BUFFER_BYTES];
} deflater;

struct file_output {
    int fd;
    int reason;                /* errno of the first failure, or 0 */
    char *shown;               /* the path as given, for errors */
    char *path;                /* final path; NULL if written directly */
    file_temporary *temporary; /* the file before commit */
    uint8_t *buffer;
    size_t n, cap;
    deflater *gzip;      /* NULL when not compressed */
    uint64_t n_failures; /* of allocations, when the call began */
};

int file_write(int fd, const void *from, size_t n)
{
    assert(fd >= 0 && (from != NULL || n == 0));
    const uint8_t *at = from;
    while (n > 0) {
        const ssize_t written = write(fd, at, n);
        if (written < 0 && errno != EINTR)
            return errno;
        at += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static void write_fd(file_output *out, const uint8_t *at, size_t n)
{
    if (out->reason == 0 && !call_may_write(n))
        out->reason = FILE_REFUSED;
    if (out->reason == 0)
        out->reason = file_write(out->fd, at, n);
}

static void deflate_piece(file_output *out, const uint8_t *at, size_t n, bool last)
{
    struct isal_zstream *stream = &out->gzip->stream;
    do {
        const size_t piece = n < MOST_RESERVED ? n : MOST_RESERVED;
        n -= piece;
        stream->next_in = (uint8_t *)(uintptr_t)at; /* isa-l only reads it */
        stream->avail_in = (uint32_t)piece;
        stream->end_of_stream = last && n == 0;
        at += piece;
        do {
            stream->next_out = out->gzip->out;
            stream->avail_out = BUFFER_BYTES;
            if (isal_deflate(stream) != COMP_OK)
                out->reason = EIO;
            write_fd(out, out->gzip->out, BUFFER_BYTES - stream->avail_out);
        } while (stream->avail_out == 0 && out->reason == 0);
    } while (n > 0 && out->reason == 0);
}

static void put_bytes(file_output *out, const uint8_t *at, size_t n)
{
    assert(at != NULL || n == 0);
    if (!call_goes_on())
        out->reason = ECANCELED;
    else if (out->gzip != NULL)
        deflate_piece(out, at, n, false);
    else
        write_fd(out, at, n);
}

static void flush_piece(file_output *out)
{
    if (out->n > 0 && out->reason == 0)
        put_bytes(out, out->buffer, out->n);
    out->n = 0;
}

void file_output_write(file_output *out, const void *at, size_t n)
{
    assert(at != NULL || n == 0);
    if (n == 0 || out->reason != 0)
        return;
    if (out->cap - out->n < n)
        flush_piece(out);
    if (n >= out->cap) {
        put_bytes(out, at, n);
        return;
    }
    memcpy(out->buffer + out->n, at, n);
    out->n += n;
}

void file_output_str(file_output *out, str s)
{
    file_output_write(out, s.at, s.n);
}

void file_output_printf(file_output *out, const char *format, ...)
{
    size_t wanted = 256;
    for (int attempt = 0; attempt < 2; attempt++) {
        uint8_t *to = wanted <= MOST_RESERVED ? file_output_reserve(out, wanted) : NULL;
        if (to == NULL)
            break;
        va_list args;
        va_start(args, format);
        const int n = vsnprintf((char *)to, wanted, format, args);
        va_end(args);
        if (n < 0)
            break;
        if ((size_t)n < wanted) {
            file_output_advance(out, (size_t)n);
            return;
        }
        wanted = (size_t)n + 1;
    }
    if (out->reason == 0)
        out->reason = EOVERFLOW;
}

uint8_t *file_output_reserve(file_output *out, size_t n)
{
    assert(n <= MOST_RESERVED);
    if (out->cap - out->n < n)
        flush_piece(out);
    if (out->reason == 0 && out->cap < n) {
        uint8_t *larger = realloc(out->buffer, n);
        if (larger == NULL) {
            out->reason = ENOMEM;
        } else {
            out->buffer = larger;
            out->cap = n;
        }
    }
    return out->reason == 0 ? out->buffer + out->n : NULL;
}

void file_output_advance(file_output *out, size_t n)
{
    assert(n <= out->cap - out->n);
    out->n += n;
}

static void release_output(file_output *out)
{
    free(out->shown);
    free(out->path);
    file_temporary_free(out->temporary);
    free(out->buffer);
    free(out->gzip);
    free(out);
}

halley_status file_write_error(halley_error *err, const char *path, int reason)
{
    assert(reason != 0);
    if (reason == ENOMEM)
        return error_nomem(err);
    if (reason == FILE_REFUSED)
        return call_failure(err);
    if (reason == ECANCELED)
        TRY(call_check(err));
    char doing[HALLEY_ERROR_FILE + 16];
    snprintf(doing, sizeof doing, "write %s", path);
    return error_errno(err, doing, reason);
}

/* The mode follows the umask. */
static int create_file(const char *path, void *fd)
{
    *(int *)fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *(int *)fd >= 0 ? 0 : errno;
}

static int create_temporary(file_output *out)
{
    return file_temporary_new(&out->temporary, out->path, false, create_file, &out->fd);
}

static char *copy_text(const char *text)
{
    char *copy = mem_array(strlen(text) + 1, 1);
    return copy != NULL ? strcpy(copy, text) : NULL;
}

/* Open an existing target. Returns 0 or an errno. */
static int open_existing(file_output *out, const char *path, const struct stat *about)
{
    assert(path != NULL && about != NULL);
    if (S_ISDIR(about->st_mode))
        return EISDIR;
    if (!S_ISREG(about->st_mode)) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? errno : 0;
    }
    if (access(path, W_OK) != 0)
        return errno;
    if (call_writes(about, NULL, path, NULL) != HALLEY_OK)
        return FILE_REFUSED;
    out->path = realpath(path, NULL); /* a link stays and its target is replaced */
    if (out->path == NULL)
        return errno;
    const int reason = create_temporary(out);
    if (reason == 0)
        (void)!fchmod(out->fd, about->st_mode & 07777);
    return reason;
}

static int open_target(file_output *out, const char *path)
{
    struct stat about;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
        fflush(stdout);
        out->fd = STDOUT_FILENO;
        return 0;
    }
    const int refused = file_root_check_write(path);
    if (refused != 0)
        return refused;
    if (stat(path, &about) == 0)
        return open_existing(out, path, &about);
    if (errno != ENOENT || path[0] == '\0')
        return errno;
    if (str_ends(str_from(path), STR("/")))
        return EISDIR;
    out->path = copy_text(path);
    return out->path != NULL ? create_temporary(out) : ENOMEM;
}

static int start_gzip(file_output *out)
{
    out->gzip = malloc(sizeof *out->gzip);
    if (out->gzip == NULL)
        return ENOMEM;
    struct isal_zstream *stream = &out->gzip->stream;
    isal_deflate_init(stream);
    stream->gzip_flag = IGZIP_GZIP;
    stream->level = GZIP_LEVEL;
    stream->level_buf = out->gzip->level_buffer;
    stream->level_buf_size = sizeof out->gzip->level_buffer;
    return 0;
}

halley_status file_output_open(file_output **out, const char *path, halley_error *err)
{
    assert(out != NULL && path != NULL);
    file_output *o = calloc(1, sizeof *o);
    if (o == NULL)
        return error_nomem(err);
    o->fd = -1;
    o->n_failures = call_failures();
    o->cap = BUFFER_BYTES;
    o->shown = copy_text(strcmp(path, "-") == 0 ? "standard output" : path);
    o->buffer = malloc(o->cap);
    int reason = o->shown == NULL || o->buffer == NULL ? ENOMEM : 0;
    if (reason == 0 && str_ends(str_from(path), STR(".gz")))
        reason = start_gzip(o);
    if (reason == 0)
        reason = open_target(o, path);
    if (reason == 0) {
        *out = o;
        return HALLEY_OK;
    }
    release_output(o);
    return file_write_error(err, path, reason);
}

static void close_fd(file_output *out)
{
    if (out->fd != STDOUT_FILENO && close(out->fd) != 0 && out->reason == 0)
        out->reason = errno;
}

/* Do not rename while a signal handler removes unfinished files: the name may belong to a
 * file of a set that the handler has already removed. */
static int take_output_name(file_output *out)
{
    file_section section;
    int reason = file_section_begin(&section);
    if (reason != 0)
        return reason;
    if (rename(out->temporary->path, out->path) != 0)
        reason = errno;
    file_section_end(&section);
    return reason;
}

static int finish_output(file_output *out, bool may_hold)
{
    const int reason = may_hold ? file_hold_one(&out->path, &out->temporary) : ENOENT;
    return reason == ENOENT ? take_output_name(out) : reason;
}

static halley_status commit_output(file_output *out, bool may_hold, halley_error *err)
{
    assert(out != NULL);
    flush_piece(out);
    if (out->reason == 0 && out->n_failures != mem_failure_count())
        out->reason = ENOMEM; /* the file may be incomplete */
    if (out->gzip != NULL && out->reason == 0)
        deflate_piece(out, out->buffer, 0, true);
    if (out->path != NULL && out->reason == 0 && fsync(out->fd) != 0)
        out->reason = errno;
    close_fd(out);
    if (out->path != NULL && out->reason == 0)
        out->reason = finish_output(out, may_hold);
    if (out->temporary != NULL && out->reason != 0)
        unlink(out->temporary->path);
    halley_status status = HALLEY_OK;
    if (out->reason != 0)
        status = file_write_error(err, out->shown, out->reason);
    release_output(out);
    return status;
}

halley_status file_output_commit(file_output *out, halley_error *err)
{
    return commit_output(out, true, err);
}

halley_status file_output_commit_now(file_output *out, halley_error *err)
{
    return commit_output(out, false, err);
}

halley_status file_save(const char *path, strbuf *text, halley_error *err)
{
    assert(path != NULL && text != NULL);
    file_output *out = NULL;
    halley_status status =
        text->failed ? error_nomem(err) : file_output_open(&out, path, err);
    if (status == HALLEY_OK) {
        file_output_str(out, strbuf_str(text));
        status = file_output_commit(out, err);
    }
    strbuf_fini(text);
    return status;
}

void file_output_abort(file_output *out)
{
    if (out == NULL)
        return;
    close_fd(out);
    if (out->temporary != NULL)
        unlink(out->temporary->path);
    release_output(out);
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
