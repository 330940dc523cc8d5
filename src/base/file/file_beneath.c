/*
 * Open a file below a folder. The kernel can do that without a race (openat2 with
 * RESOLVE_BENEATH). Otherwise each part of the path is opened separately and no link is
 * followed. So a concurrent rename by another process cannot lead outside.
 */
#include "base/file/file_beneath.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The error is the same whether the file is missing, outside or forbidden, so that it
 * leaks nothing about other files. */
static halley_status refuse_path(halley_error *err, const char *path)
{
    return error_set(err, HALLEY_ENOTFOUND,
                     "there is no file \"%.200s\" in the folder that may be read", path);
}

bool file_path_is_plain(const char *path)
{
    str rest = str_from(path), part;
    if (path[0] == '\0' || path[0] == '/' || strlen(path) >= PATH_MAX)
        return false;
    while (str_next(&rest, '/', &part))
        if (str_eq(part, STR("..")))
            return false;
    return true;
}

/* Keep regular files and folders only; close the descriptor of anything else. */
static halley_status keep_descriptor(int *fd, int opened, const char *path,
                                     halley_error *err)
{
    struct stat about;
    if (opened < 0)
        return refuse_path(err, path);
    if (fstat(opened, &about) != 0 ||
        !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) {
        close(opened);
        return refuse_path(err, path);
    }
    *fd = opened;
    return HALLEY_OK;
}

halley_status file_walk_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err)
{
    char name[NAME_MAX + 1];
    str rest = str_from(path), part;
    if (!file_path_is_plain(path))
        return refuse_path(err, path);
    int at = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
    while (at >= 0 && str_next(&rest, '/', &part)) {
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        int next = -1;
        if (part.n <= NAME_MAX) {
            memcpy(name, part.at, part.n);
            name[part.n] = '\0';
            next = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        }
        close(at);
        at = next;
    }
    return keep_descriptor(fd, at, path, err);
}

halley_status file_open_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (!file_path_is_plain(path))
        return refuse_path(err, path);
    const long opened = syscall(SYS_openat2, folder_fd, path, &how, sizeof how);
    if (opened < 0 && (errno == ENOSYS || errno == EPERM))
        return file_walk_beneath(fd, folder_fd, path, err);
    return keep_descriptor(fd, (int)opened, path, err);
}
