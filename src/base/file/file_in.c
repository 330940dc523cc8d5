/*
 * Read whole files. They are read and not mapped: if another process truncates a mapped
 * file, this process (or its host program) gets SIGBUS. Reading takes 0.8 s of CPU time
 * per GB, where mapping took 0.2 s (warm cache, 2 cores). It also gives a consistent
 * copy. Inputs without a known size (pipes, terminals, /proc) are read until they end or
 * exceed the limit (base/limit.h).
 */
#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_root.h"
#include "base/limit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 1 << 16, LARGEST_READ = 1 << 30 };

/* Make room for the expected further bytes and for the zeros after them. */
static halley_status make_room(file_buffer *bytes, size_t expected, halley_error *err)
{
    const size_t room = bytes->n == 0 ? expected + 1 : bytes->n / 2 + SMALL;
    if (bytes->cap - bytes->n > FILE_PAD)
        return HALLEY_OK;
    if (!array_reserve(bytes, room + FILE_PAD))
        return error_nomem(err);
    mem_prefer_large_pages(bytes->at, bytes->cap);
    return HALLEY_OK;
}

static halley_status read_bytes(file_buffer *bytes, int fd, size_t expected,
                                uint64_t most, halley_error *err)
{
    for (;;) {
        TRY(make_room(bytes, expected, err));
        const size_t room = bytes->cap - bytes->n - FILE_PAD;
        const ssize_t n =
            read(fd, bytes->at + bytes->n, room < LARGEST_READ ? room : LARGEST_READ);
        if (n == 0)
            return HALLEY_OK;
        if (n < 0 && errno != EINTR)
            return error_errno(err, "read", errno);
        bytes->n += n > 0 ? (size_t)n : 0;
        TRY(limit_check_size(bytes->n, most, err));
    }
}

static halley_status read_whole_file(file_input *in, int fd, size_t expected,
                                     uint64_t most, halley_error *err)
{
    file_buffer bytes = {0};
    const halley_status status = read_bytes(&bytes, fd, expected, most, err);
    if (status != HALLEY_OK) {
        array_fini(&bytes);
        return status;
    }
    memset(bytes.at + bytes.n, 0, FILE_PAD);
    *in = (file_input){.at = bytes.at, .n = bytes.n, .owned = bytes.at};
    return HALLEY_OK;
}

static halley_status inflate_input(file_input *in, uint64_t most, halley_error *err)
{
    assert(in->at != NULL || in->n == 0);
    const bool is_zstd = file_is_zstd(in->at, in->n);
    if (!is_zstd && (in->n < 2 || in->at[0] != 0x1f || in->at[1] != 0x8b))
        return HALLEY_OK;
    uint8_t *out;
    size_t n;
    const halley_status status = is_zstd
                                     ? file_unzstd(&out, &n, in->at, in->n, most, err)
                                     : file_gunzip(&out, &n, in->at, in->n, most, err);
    file_input_close(in);
    if (status == HALLEY_OK)
        *in = (file_input){.at = out, .n = n, .owned = out, .gzipped = true};
    return status;
}

static halley_status read_input_fd(file_input *in, int fd, const char *path,
                                   uint64_t most, halley_error *err)
{
    assert(fd >= 0);
    struct stat about;
    if (fstat(fd, &about) != 0)
        return error_errno(err, "read", errno);
    if (S_ISDIR(about.st_mode))
        return error_set(err, HALLEY_EIO, "is a directory; name a file");
    TRY(call_reads(&about, path, err));
    const bool has_size = S_ISREG(about.st_mode) && about.st_size > 0;
    if (has_size && (uintmax_t)about.st_size > PTRDIFF_MAX / 2)
        return error_set(err, HALLEY_ELIMIT, "is too large for this machine");
    const size_t size = has_size ? (size_t)about.st_size : SMALL;
    TRY(limit_check_size(has_size ? size : 0, most, err));
    TRY(read_whole_file(in, fd, size, most, err));
    return inflate_input(in, most, err);
}

static halley_status open_error(halley_error *err, int reason)
{
    assert(reason != 0);
    if (reason == ENOENT)
        return error_set(err, HALLEY_EIO, "no such file");
    if (reason == EACCES)
        return error_set(err, HALLEY_EIO, "permission denied; this file may not be read");
    return error_errno(err, "open", reason);
}

halley_status file_input_open_most(file_input *in, const char *path, uint64_t most,
                                   halley_error *err)
{
    assert(path != NULL);
    file_input opened = {0};
    halley_status status;
    if (strcmp(path, "-") == 0) {
        path = "standard input";
        status = read_input_fd(&opened, STDIN_FILENO, path, most, err);
    } else {
        const int fd = file_root_open(path);
        status =
            fd < 0 ? open_error(err, errno) : read_input_fd(&opened, fd, path, most, err);
        if (fd >= 0)
            close(fd);
    }
    if (status != HALLEY_OK)
        error_at_file(err, path);
    else
        *in = opened;
    return status;
}

halley_status file_input_open(file_input *in, const char *path, halley_error *err)
{
    return file_input_open_most(in, path, 0, err);
}

static halley_status refill_buffer(file_buffer *b, const char *path, size_t size,
                                   halley_error *err)
{
    const int fd = file_root_open(path);
    struct stat about;
    b->n = 0;
    if (fd < 0)
        return open_error(err, errno);
    halley_status status = fstat(fd, &about) == 0 ? call_reads(&about, path, err)
                                                  : error_errno(err, "read", errno);
    if (status == HALLEY_OK)
        status = limit_check_size(size, 0, err);
    if (status == HALLEY_OK && !array_reserve(b, size + 1 + FILE_PAD))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = read_bytes(b, fd, size, 0, err);
    close(fd);
    return status;
}

halley_status file_buffer_read(file_input *in, file_buffer *b, const char *path,
                               halley_error *err)
{
    struct stat about = {0};
    file_input_lend(in, NULL, 0);
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return HALLEY_OK;
    const halley_status status = refill_buffer(b, path, (size_t)about.st_size, err);
    if (status != HALLEY_OK) {
        error_at_file(err, path);
        return status;
    }
    memset(b->at + b->n, 0, FILE_PAD);
    file_input_lend(in, b->at, b->n);
    return HALLEY_OK;
}

void file_buffer_fini(file_buffer *b)
{
    array_fini(b);
}

void file_input_lend(file_input *in, const uint8_t *at, size_t n)
{
    *in = (file_input){.at = at, .n = n};
}

void file_input_close(file_input *in)
{
    free(in->owned);
    *in = (file_input){0};
}

bool file_exists(const char *path)
{
    struct stat about;
    return file_root_allows(path) && stat(path, &about) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat about;
    return file_root_allows(path) && stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool file_is_regular(const char *path)
{
    struct stat about;
    return file_root_allows(path) && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}
