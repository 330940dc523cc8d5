/*
 * A library to preload: it fails the n-th call of one kind that the program makes, as a
 * machine without memory, with a full disk or a broken one would.
 *
 *   FAULT_CALL   malloc (with calloc, realloc), write, read, open, fsync, rename, close
 *   FAULT_AT     which call fails, from 1 on; 0 = none
 *   FAULT_COUNT  a file: how many calls of each kind there were is appended at the end
 *   FAULT_TRACE  any text: the addresses of the functions that made the failing call are
 *                printed (addr2line -e PROGRAM)
 *
 * Calls are counted from the start of main() on; calls inside the C library (the loader,
 * stdio's own buffers) are not seen, as it does not call itself through its symbols.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAULT_MALLOC,
    FAULT_WRITE,
    FAULT_READ,
    FAULT_OPEN,
    FAULT_FSYNC,
    FAULT_RENAME,
    FAULT_CLOSE,
    N_FAULTS
};

static const char *const fault_names[N_FAULTS] = {"malloc", "write",  "read", "open",
                                                  "fsync",  "rename", "close"};
static atomic_long counts[N_FAULTS];
static int failing = -1;
static long fail_at;
static atomic_bool is_counting;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t n);

static void write_counts(void)
{
    const char *const path = getenv("FAULT_COUNT");
    atomic_store(&is_counting, false);
    if (path == NULL)
        return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (int i = 0; fd >= 0 && i < N_FAULTS; i++)
        dprintf(fd, "%s %ld\n", fault_names[i], atomic_load(&counts[i]));
}

__attribute__((constructor)) static void start_counting(void)
{
    const char *const call = getenv("FAULT_CALL"), *const at = getenv("FAULT_AT");
    for (int i = 0; call != NULL && i < N_FAULTS; i++)
        if (strcmp(call, fault_names[i]) == 0)
            failing = i;
    fail_at = at != NULL ? strtol(at, NULL, 10) : 0;
    atexit(write_counts);
    atomic_store(&is_counting, true);
}

static void trace_fault(void)
{
    void *frames[24];
    if (getenv("FAULT_TRACE") == NULL)
        return;
    atomic_store(&is_counting, false);
    backtrace_symbols_fd(frames, backtrace(frames, 24), 2);
    atomic_store(&is_counting, true);
}

/* One call of this kind: shall it fail? */
static bool is_failing(int kind)
{
    if (!atomic_load(&is_counting))
        return false;
    const bool fails =
        atomic_fetch_add(&counts[kind], 1) + 1 == fail_at && kind == failing;
    if (fails)
        trace_fault();
    return fails;
}

/* The function of the C library; dlsym may allocate, which is why malloc has its own. */
static void *find_real(const char *name)
{
    const bool was = atomic_exchange(&is_counting, false);
    void *const real = dlsym(RTLD_NEXT, name);
    atomic_store(&is_counting, was);
    if (real == NULL)
        _exit(99);
    return real;
}

/* `real` is the function of this name in the C library. */
#define REAL(name)                                                                       \
    static __typeof__(name) *real;                                                       \
    if (real == NULL) {                                                                  \
        void *found = find_real(#name);                                                  \
        memcpy(&real, &found, sizeof real);                                              \
    }

void *malloc(size_t n)
{
    if (is_failing(FAULT_MALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (is_failing(FAULT_MALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    if (is_failing(FAULT_MALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(at, n);
}

ssize_t write(int fd, const void *at, size_t n)
{
    REAL(write)
    if (fd > 2 && is_failing(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, at, n);
}

ssize_t pwrite64(int fd, const void *at, size_t n, off_t offset)
{
    REAL(pwrite64)
    if (is_failing(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, at, n, offset);
}

ssize_t read(int fd, void *to, size_t n)
{
    REAL(read)
    if (is_failing(FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    return real(fd, to, n);
}

ssize_t pread64(int fd, void *to, size_t n, off_t offset)
{
    REAL(pread64)
    if (is_failing(FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    return real(fd, to, n, offset);
}

static int open_real(const char *path, int flags, mode_t mode)
{
    REAL(open)
    if (is_failing(FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_real(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen)
    if (is_failing(FAULT_OPEN)) {
        errno = EMFILE;
        return NULL;
    }
    return real(path, mode);
}

int fsync(int fd)
{
    REAL(fsync)
    if (is_failing(FAULT_FSYNC)) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync)
    if (is_failing(FAULT_FSYNC)) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int syncfs(int fd)
{
    REAL(syncfs)
    if (is_failing(FAULT_FSYNC)) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    if (is_failing(FAULT_RENAME)) {
        errno = EACCES;
        return -1;
    }
    return real(from, to);
}

int renameat2(int old_fd, const char *from, int new_fd, const char *to, unsigned flags)
{
    REAL(renameat2)
    if (is_failing(FAULT_RENAME)) {
        errno = EACCES;
        return -1;
    }
    return real(old_fd, from, new_fd, to, flags);
}

int close(int fd)
{
    REAL(close)
    const bool fails = is_failing(FAULT_CLOSE);
    const int result = real(fd); /* a close that fails has closed all the same */
    if (fails)
        errno = EIO;
    return fails ? -1 : result;
}
