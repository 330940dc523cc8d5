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
#include "base/file/file_look.h"
#include "base/file/file_root.h"
#include "base/file/file_stream.h"
#include "base/limit.h"
#include "base/number/number.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 1 << 16, UNCHECKED = 1 << 28, LARGEST_READ = 1 << 30 };

/* Make room for the expected further bytes and for the zeros after them. */
static halley_status make_room(file_buffer *bytes, size_t expected, halley_error *err)
{
    const size_t room = bytes->n == 0 ? expected + 1 : bytes->n / 2 + SMALL;
    if (bytes->cap - bytes->n > FILE_PAD)
        return HALLEY_OK;
    /* Linux gives what it does not have. */
    if ((room > UNCHECKED && !mem_is_available(bytes->n + room, room)) ||
        !array_reserve(bytes, room + FILE_PAD))
        return error_nomem(err);
    mem_prefer_large_pages(bytes->at, bytes->cap);
    return HALLEY_OK;
}

static halley_status report_no_room(const file_stream *from, size_t n, halley_error *err)
{
    if (!file_stream_is_packed(from))
        return HALLEY_ENOMEM;
    return error_set(err, HALLEY_ENOMEM,
                     "memory ran out after unpacking %s MB to %s MB; allow more "
                     "(--max-memory) or use a smaller file",
                     number_fixed((double)file_stream_position(from) / 1e6, 1).at,
                     number_fixed((double)n / 1e6, 1).at);
}

/* The size to expect: of compressed files four times theirs, a few times at most. */
static size_t expect_size(const file_stream *from)
{
    const uint64_t size = file_stream_size(from);
    const bool is_packed = file_stream_is_packed(from);
    if (size == 0)
        return SMALL;
    return is_packed && size > UNCHECKED / 4 ? UNCHECKED
                                             : (size_t)(is_packed ? 4 * size : size);
}

static halley_status read_whole_stream(file_buffer *bytes, file_stream *from,
                                       uint64_t most, halley_error *err)
{
    if (file_stream_size(from) > PTRDIFF_MAX / 2)
        return error_set(err, HALLEY_ELIMIT, "is too large for this machine");
    TRY(limit_check_size(file_stream_size(from), most, err));
    const size_t expected = expect_size(from);
    for (size_t got = 1; got > 0; bytes->n += got) {
        TRY(limit_check_size(bytes->n, most, err));
        if (make_room(bytes, expected, err) != HALLEY_OK)
            return report_no_room(from, bytes->n, err);
        TRY(file_stream_read(from, bytes->at + bytes->n, bytes->cap - bytes->n - FILE_PAD,
                             &got, err));
    }
    memset(bytes->at + bytes->n, 0, FILE_PAD);
    return HALLEY_OK;
}

static halley_status read_input(file_input *in, file_stream *from, uint64_t most,
                                halley_error *err)
{
    file_buffer bytes = {0};
    const halley_status status = read_whole_stream(&bytes, from, most, err);
    if (status == HALLEY_OK)
        *in = (file_input){.at = bytes.at,
                           .n = bytes.n,
                           .owned = bytes.at,
                           .is_packed = file_stream_is_packed(from)};
    else
        array_fini(&bytes);
    file_stream_close(from);
    return status;
}

halley_status file_input_copy(file_input *in, const void *at, size_t n, uint64_t most,
                              halley_error *err)
{
    file_stream *from = NULL;
    TRY(file_stream_lend(&from, at, n, "", err));
    return read_input(in, from, most, err);
}

halley_status file_input_open_most(file_input *in, const char *path, uint64_t most,
                                   halley_error *err)
{
    assert(path != NULL);
    file_stream *from = NULL;
    TRY(file_stream_open(&from, path, err));
    const halley_status status = read_input(in, from, most, err);
    if (status != HALLEY_OK)
        error_at_file(err, strcmp(path, "-") == 0 ? "standard input" : path);
    return status;
}

halley_status file_input_open(file_input *in, const char *path, halley_error *err)
{
    return file_input_open_most(in, path, 0, err);
}

static halley_status refill_from(file_buffer *b, int fd, size_t size, halley_error *err)
{
    for (;;) {
        TRY(make_room(b, size, err));
        const size_t room = b->cap - b->n - FILE_PAD;
        const ssize_t n =
            read(fd, b->at + b->n, room < LARGEST_READ ? room : LARGEST_READ);
        if (n == 0)
            return HALLEY_OK;
        if (n < 0 && errno != EINTR)
            return error_errno(err, "read", errno);
        b->n += n > 0 ? (size_t)n : 0;
        TRY(limit_check_size(b->n, 0, err));
    }
}

static halley_status refill_buffer(file_buffer *b, const char *path, size_t size,
                                   halley_error *err)
{
    const int fd = file_root_open(path);
    struct stat about;
    b->n = 0;
    if (fd < 0)
        return file_open_error(err, errno);
    halley_status status = fstat(fd, &about) == 0 ? call_reads(&about, path, err)
                                                  : error_errno(err, "read", errno);
    if (status == HALLEY_OK)
        status = limit_check_size(size, 0, err);
    if (status == HALLEY_OK && !array_reserve(b, size + 1 + FILE_PAD))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = refill_from(b, fd, size, err);
    close(fd);
    return status;
}

halley_status file_buffer_read(file_input *in, file_buffer *b, const char *path,
                               halley_error *err)
{
    struct stat about = {0};
    file_input_lend(in, NULL, 0);
    if (strcmp(path, "-") == 0 ||
        (file_look(path, &about) == 0 && !S_ISREG(about.st_mode)))
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
    return file_root_allows(path) && file_look(path, &about) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat about;
    return file_root_allows(path) && file_look(path, &about) == 0 &&
           S_ISDIR(about.st_mode);
}

bool file_is_regular(const char *path)
{
    struct stat about;
    return file_root_allows(path) && file_look(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}
