/* Look at files and folders, and notice when that fails. */
#include "base/file/file_look.h"

#include "base/call.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool file_is_absent(int reason)
{
    return reason == ENOENT || reason == ENOTDIR || reason == ENAMETOOLONG;
}

int file_look(const char *path, struct stat *about)
{
    assert(path != NULL);
    if (stat(path, about) == 0)
        return 0;
    const int reason = errno;
    if (!file_is_absent(reason))
        call_fault("look at the file", path, reason);
    errno = reason;
    return reason;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int file_walk(int at, const char *path, bool follows, file_visitor *visit, void *context)
{
    assert(path != NULL && visit != NULL);
    const int fd =
        openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return errno;
    DIR *const folder = fdopendir(fd);
    int reason = folder != NULL ? 0 : errno;
    if (folder == NULL)
        close(fd);
    while (reason == 0) {
        errno = 0; /* readdir returns NULL at the end, and when it fails */
        const struct dirent *const entry = readdir(folder);
        if (entry == NULL) {
            reason = errno;
            break;
        }
        if (!is_dots(entry->d_name) && !visit(context, entry))
            reason = ECANCELED;
    }
    if (folder != NULL)
        closedir(folder);
    return reason;
}
