/*
 * The root is one descriptor, set once. Files are opened for reading through openat2
 * (base/file_beneath), so that no link that appears concurrently leads outside. Paths
 * that are written, or that SQLite opens itself, are checked first: the path, or the
 * folder of a new file.
 */
#include "base/file/file_root.h"

#include "base/file/file_beneath.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* One per process, like a root directory. Every reader uses it, from any thread. */
static atomic_int root_fd = -1;
static atomic_bool root_read_only;
static const char *_Atomic shown_prefix;

halley_status file_root_set(const char *folder, bool read_only, halley_error *err)
{
    if (atomic_load(&root_fd) >= 0)
        return error_set(err, HALLEY_EINVAL, "the process has a folder already");
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fchdir(fd) != 0) {
        error_set(err, HALLEY_EIO, "cannot open the folder: %s", strerror(errno));
        error_at_file(err, folder);
        if (fd >= 0)
            close(fd);
        return HALLEY_EIO;
    }
    atomic_store(&root_read_only, read_only);
    atomic_store(&root_fd, fd);
    return HALLEY_OK;
}

int file_root_get(void)
{
    return atomic_load(&root_fd);
}

bool file_root_is_read_only(void)
{
    return atomic_load(&root_read_only);
}

void file_root_show(const char *prefix)
{
    atomic_store(&shown_prefix, prefix);
}

bool file_root_is_shown(const char *path)
{
    const char *const prefix = atomic_load(&shown_prefix);
    return prefix != NULL && strncmp(path, prefix, strlen(prefix)) == 0;
}

bool file_root_hides(const char *path)
{
    if (file_root_is_shown(path))
        path += strlen(atomic_load(&shown_prefix));
    return path[0] == '.' || strstr(path, "/.") != NULL;
}

halley_status file_root_refuse(const char *path, halley_error *err)
{
    return error_set(err, HALLEY_ENOTFOUND,
                     "there is no file \"%.200s\" in the folder of this server; name "
                     "files relative to it, without \"..\"",
                     path);
}

/* Check the folder of a file that does not exist (yet). */
static bool is_new_allowed(int root, const char *path)
{
    char folder[PATH_MAX];
    int fd;
    const char *const slash = strrchr(path, '/');
    if (slash == NULL)
        return true;
    assert((size_t)(slash - path) < sizeof folder);
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    if (file_open_beneath(&fd, root, folder, NULL) == HALLEY_OK) {
        close(fd);
        return true;
    }
    return faccessat(root, folder, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
           is_new_allowed(root, folder);
}

bool file_root_allows(const char *path)
{
    const int root = atomic_load(&root_fd);
    int fd;
    if (root < 0)
        return true;
    if (!file_path_is_plain(path))
        return false;
    if (file_open_beneath(&fd, root, path, NULL) == HALLEY_OK) {
        close(fd);
        return true;
    }
    return faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
           is_new_allowed(root, path);
}

int file_root_check_write(const char *path)
{
    if (!file_root_allows(path))
        return ENOENT;
    return atomic_load(&root_read_only) ? EROFS : 0;
}

int file_root_open(const char *path)
{
    const int root = atomic_load(&root_fd);
    int fd;
    if (root < 0)
        return open(path, O_RDONLY | O_CLOEXEC);
    if (file_open_beneath(&fd, root, path, NULL) == HALLEY_OK)
        return fd;
    errno = ENOENT;
    return -1;
}
