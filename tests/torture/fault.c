/*
 * A library to preload: it fails the n-th call of one kind that the program makes, or all
 * from the n-th on, as a machine without memory, with a full disk or a broken one would.
 *
 *   FAULT_CALL   malloc (with calloc, realloc), write, read, open, fsync, rename, close,
 *                opendir, readdir, stat, fstat, getrandom, pthread_create; short: a read
 *                or write moves half of its bytes; eintr: it is interrupted
 *   FAULT_AT     which call fails, from 1 on; 0 = none
 *   FAULT_LASTS  any text: all later calls of this kind fail, too
 *   FAULT_COUNT  a file: how many calls of each kind there were is appended at the end,
 *                and the CPU seconds
 *   FAULT_SITES  a file: where the calls came from is appended at the end, a line for
 *                each kind and chain of callers in the program: the kind, a hash of the
 *                chain, the numbers of its first, second (0 = none) and last call
 *   FAULT_UNDER  pairs of numbers in hexadecimal, the places in the program where
 *                functions begin and end: only calls of these functions, and of those
 *                that they call, are in FAULT_SITES, whoever called the function
 *   FAULT_TRACE  any text: the addresses of the functions that made the failing call are
 *                printed (addr2line -e PROGRAM)
 *
 * Calls are counted from the start of main() on; calls inside the C library (the loader,
 * stdio's own buffers) are not seen, as it does not call itself through its symbols.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FAULT_MALLOC,
    FAULT_WRITE,
    FAULT_READ,
    FAULT_OPEN,
    FAULT_FSYNC,
    FAULT_RENAME,
    FAULT_CLOSE,
    FAULT_OPENDIR,
    FAULT_READDIR,
    FAULT_STAT,
    FAULT_FSTAT,
    FAULT_GETRANDOM,
    FAULT_PTHREAD_CREATE,
    FAULT_SHORT,
    FAULT_EINTR,
    N_FAULTS
};

static const char *const fault_names[N_FAULTS] = {
    "malloc", "write",     "read",           "open",    "fsync",
    "rename", "close",     "opendir",        "readdir", "stat",
    "fstat",  "getrandom", "pthread_create", "short",   "eintr"};
static atomic_long counts[N_FAULTS];
static int failing = -1;
static long fail_at;
static atomic_bool is_counting;

enum { N_FRAMES = 64, N_SITES = 1 << 16 };

/* The calls that one chain of callers made: the numbers of three of them, 0 = none. */
typedef struct {
    uint64_t hash; /* of the chain; 0: no site */
    int kind;
    long first, second, last;
} site;

static site sites[N_SITES]; /* open addressing */
static atomic_flag sites_lock = ATOMIC_FLAG_INIT;
static bool has_sites, lasts;
static uintptr_t program_begin, program_end;

enum { MOST_CALLERS = 32 };
static uintptr_t callers[MOST_CALLERS][2];
static int n_callers;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t n);

static int open_result(const char *variable)
{
    const char *const path = getenv(variable);
    return path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                        : -1;
}

static void write_results(void)
{
    atomic_store(&is_counting, false);
    const int counted = open_result("FAULT_COUNT"), found = open_result("FAULT_SITES");
    for (int i = 0; counted >= 0 && i < N_FAULTS; i++)
        dprintf(counted, "%s %ld\n", fault_names[i], atomic_load(&counts[i]));
    if (counted >= 0)
        dprintf(counted, "seconds %.3f\n", (double)clock() / CLOCKS_PER_SEC);
    for (const site *s = sites; found >= 0 && s < sites + N_SITES; s++)
        if (s->hash != 0)
            dprintf(found, "%s %llx %ld %ld %ld\n", fault_names[s->kind],
                    (unsigned long long)s->hash, s->first, s->second, s->last);
}

/* Where the program is in memory; its own entry is the first of the list. */
static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    program_begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        if (begin < program_begin)
            program_begin = begin;
        if (begin + info->dlpi_phdr[i].p_memsz > program_end)
            program_end = begin + info->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

static void read_callers(void)
{
    const char *text = getenv("FAULT_UNDER");
    char *end = NULL;
    for (; text != NULL && n_callers < MOST_CALLERS; text = end, n_callers++) {
        callers[n_callers][0] = strtoul(text, &end, 16);
        if (end == text)
            break;
        callers[n_callers][1] = strtoul(end, &end, 16);
    }
}

static bool is_wanted_caller(uintptr_t at)
{
    bool found = n_callers == 0;
    for (int i = 0; i < n_callers && !found; i++)
        found = at >= callers[i][0] && at < callers[i][1];
    return found;
}

/* The chain of callers in the program, up to the first that is wanted where some are; 0:
 * none of them is wanted. How a library came to the call, and how deep a recursion is,
 * makes no difference. */
static uint64_t hash_callers(int kind)
{
    void *frames[N_FRAMES];
    const int n = backtrace(frames, N_FRAMES);
    uint64_t hash = (uint64_t)kind + 1;
    bool is_wanted = false;
    for (int i = 0; i < n && !(is_wanted && n_callers > 0); i++) {
        const uintptr_t at = (uintptr_t)frames[i];
        bool is_new = at >= program_begin && at < program_end;
        for (int j = 0; j < i && is_new; j++)
            is_new = frames[j] != frames[i];
        if (!is_new)
            continue;
        is_wanted |= is_wanted_caller(at - program_begin);
        hash = (hash ^ (at - program_begin)) * 0x9e3779b97f4a7c15 + (hash >> 29);
    }
    return is_wanted ? hash | 1 : 0;
}

/* The n-th call of this kind is one of its site. A full table loses what is new. */
static void note_site(int kind, long n)
{
    const uint64_t hash = hash_callers(kind);
    if (hash == 0)
        return;
    while (atomic_flag_test_and_set(&sites_lock))
        continue;
    for (uint64_t i = 0; i < N_SITES; i++) {
        site *const s = &sites[(hash + i) % N_SITES];
        if (s->hash == 0)
            *s = (site){.hash = hash, .kind = kind, .first = n};
        else if (s->hash != hash)
            continue;
        else if (s->second == 0)
            s->second = n;
        s->last = n;
        break;
    }
    atomic_flag_clear(&sites_lock);
}

__attribute__((constructor)) static void start_counting(void)
{
    const char *const call = getenv("FAULT_CALL"), *const at = getenv("FAULT_AT");
    for (int i = 0; call != NULL && i < N_FAULTS; i++)
        if (strcmp(call, fault_names[i]) == 0)
            failing = i;
    fail_at = at != NULL ? strtol(at, NULL, 10) : 0;
    lasts = getenv("FAULT_LASTS") != NULL;
    has_sites = getenv("FAULT_SITES") != NULL;
    if (has_sites) {
        dl_iterate_phdr(find_program, NULL);
        read_callers();
        (void)hash_callers(FAULT_MALLOC); /* its first call loads a library */
    }
    atexit(write_results);
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
    const long n = atomic_fetch_add(&counts[kind], 1) + 1;
    const bool fails =
        kind == failing && fail_at > 0 && (lasts ? n >= fail_at : n == fail_at);
    if (has_sites)
        note_site(kind, n);
    if (fails && n == fail_at)
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

/* The bytes that this read or write may move; 0: it is interrupted. */
static size_t allow_bytes(size_t n)
{
    if (is_failing(FAULT_EINTR)) {
        errno = EINTR;
        return 0;
    }
    return is_failing(FAULT_SHORT) && n > 1 ? n / 2 : n;
}

ssize_t write(int fd, const void *at, size_t n)
{
    REAL(write)
    if (fd > 2 && is_failing(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    const size_t most = fd > 2 ? allow_bytes(n) : n;
    return most == 0 && n > 0 ? -1 : real(fd, at, most);
}

ssize_t pwrite64(int fd, const void *at, size_t n, off_t offset)
{
    REAL(pwrite64)
    if (is_failing(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    const size_t most = allow_bytes(n);
    return most == 0 && n > 0 ? -1 : real(fd, at, most, offset);
}

ssize_t read(int fd, void *to, size_t n)
{
    REAL(read)
    if (is_failing(FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    const size_t most = allow_bytes(n);
    return most == 0 && n > 0 ? -1 : real(fd, to, most);
}

ssize_t pread64(int fd, void *to, size_t n, off_t offset)
{
    REAL(pread64)
    if (is_failing(FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    const size_t most = allow_bytes(n);
    return most == 0 && n > 0 ? -1 : real(fd, to, most, offset);
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

/* A function that returns `type` and fails with `value` and an errno. */
#define FAILING(kind, reason, value, type, name, parameters, arguments)                  \
    type name parameters                                                                 \
    {                                                                                    \
        REAL(name)                                                                       \
        if (is_failing(kind)) {                                                          \
            errno = reason;                                                              \
            return value;                                                                \
        }                                                                                \
        return real arguments;                                                           \
    }

FAILING(FAULT_OPENDIR, EIO, NULL, DIR *, opendir, (const char *path), (path))
FAILING(FAULT_OPENDIR, EIO, NULL, DIR *, fdopendir, (int fd), (fd))
FAILING(FAULT_READDIR, EIO, NULL, struct dirent *, readdir, (DIR * folder), (folder))
FAILING(FAULT_READDIR, EIO, NULL, struct dirent64 *, readdir64, (DIR * folder), (folder))
FAILING(FAULT_STAT, ESTALE, -1, int, stat, (const char *path, struct stat *to),
        (path, to))
FAILING(FAULT_STAT, ESTALE, -1, int, stat64, (const char *path, struct stat64 *to),
        (path, to))
FAILING(FAULT_STAT, ESTALE, -1, int, lstat, (const char *path, struct stat *to),
        (path, to))
FAILING(FAULT_STAT, ESTALE, -1, int, lstat64, (const char *path, struct stat64 *to),
        (path, to))
FAILING(FAULT_FSTAT, EIO, -1, int, fstat, (int fd, struct stat *to), (fd, to))
FAILING(FAULT_FSTAT, EIO, -1, int, fstat64, (int fd, struct stat64 *to), (fd, to))
FAILING(FAULT_GETRANDOM, ENOSYS, -1, ssize_t, getrandom,
        (void *to, size_t n, unsigned flags), (to, n, flags))
FAILING(FAULT_PTHREAD_CREATE, EAGAIN, EAGAIN, int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *),
         void *context),
        (thread, attributes, run, context))

static int open_at_real(int at, const char *path, int flags, mode_t mode)
{
    REAL(openat)
    if (is_failing(FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return real(at, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_at_real(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_at_real(at, path, flags, mode);
}
