/*
 * Whole files in. Large regular files are mapped; small ones and everything that has no
 * size beforehand (pipes, terminals, /proc) are read, which is faster for a few pages
 * than a mapping is. A file that another process shortens while it is mapped ends the
 * program (SIGBUS); our own outputs never do that, as they replace rather than overwrite.
 */
#include "base/array.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 1 << 16, FOREWARN = 1 << 22 };

static halley_status read_whole_file(file_input *in, int fd, size_t expected,
                                     halley_error *err)
{
    assert(fd >= 0);
    ARRAY(uint8_t) bytes = {0};
    for (;;) {
        const size_t room = bytes.n == 0 ? expected + 1 : bytes.n;
        if (!array_reserve(&bytes, room + FILE_PAD)) {
            array_fini(&bytes);
            return error_nomem(err);
        }
        const ssize_t n = read(fd, bytes.at + bytes.n, bytes.cap - bytes.n - FILE_PAD);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR) {
            const int reason = errno;
            array_fini(&bytes);
            return error_errno(err, "read", reason);
        }
        bytes.n += n > 0 ? (size_t)n : 0;
    }
    memset(bytes.at + bytes.n, 0, FILE_PAD);
    *in = (file_input){.at = bytes.at, .n = bytes.n, .owned = bytes.at};
    return HALLEY_OK;
}

/* The rest of a mapping's last page reads as zeros. Where that is less than FILE_PAD, the
 * file is laid over a larger anonymous mapping, whose next page then is the rest. */
static halley_status map_file(file_input *in, int fd, size_t n, halley_error *err)
{
    assert(fd >= 0 && n > 0);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t rest = n % page == 0 ? 0 : page - n % page;
    const bool needs_page = rest < FILE_PAD;
    const size_t n_mapped = n + rest + (needs_page ? page : 0);
    uint8_t *at = MAP_FAILED;
    if (needs_page) {
        at = mmap(NULL, n_mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at != MAP_FAILED &&
            mmap(at, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
            const int reason = errno;
            munmap(at, n_mapped);
            errno = reason;
            at = MAP_FAILED;
        }
    } else {
        at = mmap(NULL, n_mapped, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (at == MAP_FAILED)
        return error_errno(err, "map into memory", errno);
    if (n >= FOREWARN)
        posix_madvise(at, n, POSIX_MADV_SEQUENTIAL);
    *in = (file_input){.at = at, .n = n, .n_mapped = n_mapped};
    return HALLEY_OK;
}

static halley_status inflate_input(file_input *in, halley_error *err)
{
    assert(in->at != NULL || in->n == 0);
    const bool is_zstd = file_is_zstd(in->at, in->n);
    if (!is_zstd && (in->n < 2 || in->at[0] != 0x1f || in->at[1] != 0x8b))
        return HALLEY_OK;
    uint8_t *out;
    size_t n;
    const halley_status status = is_zstd ? file_unzstd(&out, &n, in->at, in->n, err)
                                         : file_gunzip(&out, &n, in->at, in->n, err);
    file_input_close(in);
    if (status == HALLEY_OK)
        *in = (file_input){.at = out, .n = n, .owned = out, .gzipped = true};
    return status;
}

static halley_status read_input_fd(file_input *in, int fd, halley_error *err)
{
    assert(fd >= 0);
    struct stat about;
    if (fstat(fd, &about) != 0)
        return error_errno(err, "read", errno);
    if (S_ISDIR(about.st_mode))
        return error_set(err, HALLEY_EIO, "is a directory; name a file");
    const bool has_size = S_ISREG(about.st_mode) && about.st_size > 0;
    if (has_size && (uintmax_t)about.st_size > PTRDIFF_MAX / 2)
        return error_set(err, HALLEY_ELIMIT, "is too large for this machine");
    const size_t size = has_size ? (size_t)about.st_size : 0;
    const bool from_start = fd != STDIN_FILENO || lseek(fd, 0, SEEK_CUR) == 0;
    if (size >= SMALL && from_start)
        TRY(map_file(in, fd, size, err));
    else
        TRY(read_whole_file(in, fd, size > 0 && size < SMALL ? size : SMALL, err));
    return inflate_input(in, err);
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

halley_status file_input_open(file_input *in, const char *path, halley_error *err)
{
    assert(path != NULL);
    file_input opened = {0};
    halley_status status;
    if (strcmp(path, "-") == 0) {
        status = read_input_fd(&opened, STDIN_FILENO, err);
        path = "standard input";
    } else {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        status = fd < 0 ? open_error(err, errno) : read_input_fd(&opened, fd, err);
        if (fd >= 0)
            close(fd);
    }
    if (status != HALLEY_OK)
        error_at_file(err, path);
    else
        *in = opened;
    return status;
}

void file_input_lend(file_input *in, const uint8_t *at, size_t n)
{
    *in = (file_input){.at = at, .n = n};
}

void file_input_close(file_input *in)
{
    free(in->owned);
    if (in->n_mapped > 0)
        munmap((void *)(uintptr_t)in->at, in->n_mapped);
    *in = (file_input){0};
}

bool file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}
