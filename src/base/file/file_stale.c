/*
 * Remove temporary files that killed processes left. Only names of exactly halley's
 * format are removed, created on this machine since its last boot by a process that no
 * longer exists. If the process id is in use again, the file stays until that process has
 * ended as well.
 */
#include "base/file/file_stale.h"

#include "base/file/file_look.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FOLDERS = 256, HEX_DIGITS = 8 };

/* The exception to "no mutable globals": the set of checked folders belongs to the
 * process. Folders are identified by a hash of device and inode; 0 = free. */
static _Atomic uint64_t looked_at[MOST_FOLDERS];

uint32_t file_machine_tag(void)
{
    char text[256] = "";
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, 64) : 0;
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    const ssize_t more = readlink("/proc/self/ns/pid", text + n, sizeof text - (size_t)n);
    if (more > 0)
        n += more;
    if (gethostname(text + n, sizeof text - (size_t)n - 1) == 0)
        n += (ssize_t)strnlen(text + n, sizeof text - (size_t)n - 1);
    return (uint32_t)hash_bytes(text, (size_t)n, 0);
}

/* True if the process checks this folder for the first time. */
static bool is_first_look(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return false;
    const uint64_t key = hash_u64(hash_u64(about.st_dev) ^ about.st_ino) | 1;
    for (uint32_t i = 0; i < MOST_FOLDERS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&looked_at[i], &none, key))
            return true;
        if (none == key)
            return false;
    }
    return false; /* the table is full: further folders are not cleaned */
}

static bool read_hex(uint32_t *out, const char **at, size_t least, size_t most)
{
    const size_t n = strspn(*at, "0123456789abcdef");
    if (n < least || n > most)
        return false;
    *out = (uint32_t)strtoul(*at, NULL, 16);
    *at += n;
    return true;
}

/* ".NAME.RANDOM-MACHINE-PROCESS" or the same with ".gz". */
static bool read_temporary_name(uint32_t *machine, uint32_t *process, const char *name)
{
    uint32_t random;
    const char *end = name + strlen(name);
    if (name[0] != '.' || end - name < 2L * HEX_DIGITS)
        return false;
    if (strcmp(end - 3, ".gz") == 0)
        end -= 3;
    const char *at = end;
    while (at > name && at[-1] != '.')
        at--;
    return at > name + 1 && read_hex(&random, &at, HEX_DIGITS, HEX_DIGITS) &&
           *at++ == '-' && read_hex(machine, &at, HEX_DIGITS, HEX_DIGITS) &&
           *at++ == '-' && read_hex(process, &at, 1, HEX_DIGITS) && at == end;
}

bool file_is_temporary_name(const char *path)
{
    uint32_t machine, process;
    const char *const slash = strrchr(path, '/');
    return read_temporary_name(&machine, &process, slash != NULL ? slash + 1 : path);
}

/* A killed process whose parent has not asked for its status is dead, too. */
static bool is_dead(pid_t process)
{
    char path[48], text[512] = "";
    if (kill(process, 0) != 0)
        return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    const char *const end =
        n > 0 ? strrchr(text, ')') : NULL; /* "PID (NAME) STATE ..." */
    return end != NULL && (strncmp(end, ") Z", 3) == 0 || strncmp(end, ") X", 3) == 0);
}

/* True for a temporary name that was created here by a process that no longer exists. */
static bool is_stale(const char *name, uint32_t machine)
{
    uint32_t tag, process;
    return read_temporary_name(&tag, &process, name) && tag == machine && process > 0 &&
           process <= INT32_MAX && is_dead((pid_t)process);
}

typedef struct stale_folder {
    const char *path;
    uint32_t machine;
} stale_folder;

static bool remove_stale(void *context, const struct dirent *e)
{
    const stale_folder *const folder = context;
    char full[4096];
    const int n = snprintf(full, sizeof full, "%s/%s", folder->path, e->d_name);
    if (n > 0 && (size_t)n < sizeof full && is_stale(e->d_name, folder->machine) &&
        unlink(full) != 0)
        file_folder_remove(full);
    return true;
}

void file_stale_remove(const char *path)
{
    if (!is_first_look(path))
        return;
    const int kept = errno;
    stale_folder folder = {path, file_machine_tag()};
    (void)file_walk(AT_FDCWD, path, true, remove_stale, &folder);
    errno = kept;
}
