/*
 * Write folders of many small files. An fsync per file would cost more than writing the
 * files. Here they are written in parallel into a temporary folder, the file system is
 * synced once, and then the folder gets its name. So no process sees an incomplete
 * folder. After a power cut the folder is complete or absent.
 */
#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/file/file_root.h"
#include "base/file/file_temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_folder {
    char *path; /* as given, less slashes at the end */
    file_temporary *temporary;
    int fd; /* of the temporary folder, opened before the first file is written */
    uint64_t n_failures; /* of allocations, when the call began */
    bool inside;         /* `path` existed and was empty: the temporary folder is in it */
    bool is_named;       /* the temporary folder has its final name */
    ARRAY(char *) moved; /* names of files that moved out of the temporary folder */
};

static halley_status report_folder_error(const char *path, const char *doing, int reason,
                                         halley_error *err)
{
    const halley_status status =
        reason == ENOMEM ? error_nomem(err) : error_errno(err, doing, reason);
    error_at_file(err, path);
    return status;
}

enum { SHOWN_NAME = 64 };

static bool take_first(void *name, const struct dirent *e)
{
    snprintf(name, SHOWN_NAME, "%.*s", SHOWN_NAME - 1, e->d_name);
    return false;
}

bool file_folder_is_empty(const char *path)
{
    char name[SHOWN_NAME];
    const int reason = file_walk(AT_FDCWD, path, true, take_first, name);
    return reason == 0 || file_is_absent(reason);
}

static halley_status look_inside(file_folder *f, halley_error *err)
{
    char name[SHOWN_NAME];
    const int refused = file_root_check_write(f->path);
    if (refused != 0)
        return report_folder_error(f->path, "make the folder", refused, err);
    f->inside = file_is_folder(f->path);
    if (!f->inside && file_exists(f->path))
        return report_folder_error(f->path, "make the folder", EEXIST, err);
    const int reason =
        f->inside ? file_walk(AT_FDCWD, f->path, true, take_first, name) : 0;
    if (reason == 0)
        return HALLEY_OK;
    if (reason != ECANCELED)
        return report_folder_error(f->path, "read the folder", reason, err);
    error_set(err, HALLEY_EINVAL,
              "the folder is not empty ('%s' is in it): name another, or remove what is "
              "in it",
              name);
    error_at_file(err, f->path);
    return HALLEY_EINVAL;
}

static int make_new_folder(const char *path, void *context)
{
    (void)context;
    return mkdir(path, 0777) == 0 ? 0 : errno;
}

static int open_temporary(file_folder *f)
{
    assert(f->temporary == NULL);
    strbuf within = {0};
    strbuf_printf(&within, "%s/part", f->path);
    int reason = within.failed ? ENOMEM : 0;
    if (reason == 0)
        reason = file_temporary_new(&f->temporary, f->inside ? within.at : f->path, true,
                                    make_new_folder, NULL);
    strbuf_fini(&within);
    if (reason != 0)
        return reason;
    f->fd = open(f->temporary->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd >= 0)
        return 0;
    reason = errno;
    (void)rmdir(f->temporary->path);
    return reason;
}

void file_folder_free(file_folder *f)
{
    if (f->fd >= 0)
        close(f->fd);
    for (size_t i = 0; i < f->moved.n; i++)
        free(f->moved.at[i]);
    array_fini(&f->moved);
    free(f->path);
    file_temporary_free(f->temporary);
    free(f);
}

halley_status file_folder_open(file_folder **out, const char *path, halley_error *err)
{
    assert(out != NULL && path != NULL);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    file_folder *f = mem_array_zero(1, sizeof *f);
    if (f == NULL)
        return error_nomem(err);
    f->fd = -1;
    f->n_failures = call_failures();
    f->path = strndup(path, n);
    halley_status status = f->path ? look_inside(f, err) : error_nomem(err);
    if (status == HALLEY_OK) {
        const int reason = open_temporary(f);
        if (reason != 0)
            status = report_folder_error(path, "make the folder", reason, err);
    }
    if (status == HALLEY_OK)
        *out = f;
    else
        file_folder_free(f);
    return status;
}

halley_status file_folder_put(const file_folder *folder, const char *name, const void *at,
                              size_t n, halley_error *err)
{
    assert(name != NULL && strchr(name, '/') == NULL);
    assert(at != NULL || n == 0);
    TRY(call_check(err));
    if (!call_may_write(n))
        return call_failure(err);
    file_section section;
    int fd = -1, reason = file_section_begin(&section);
    if (reason == 0) {
        fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        reason = fd < 0 ? errno : 0;
        file_section_end(&section);
    }
    if (reason == 0)
        reason = file_write(fd, at, n);
    if (fd >= 0 && close(fd) != 0 && reason == 0)
        reason = errno;
    if (reason == 0)
        return HALLEY_OK;
    char doing[HALLEY_ERROR_FILE + 16];
    snprintf(doing, sizeof doing, "write %s/%s", folder->path, name);
    return error_errno(err, doing, reason);
}

/* If the file system supports it, do not overwrite a file that has appeared in the
 * meantime. */
static int move_entry(int from, int to, const char *name)
{
    const int status = renameat2(from, name, to, name, RENAME_NOREPLACE);
    return status != 0 && errno == EINVAL ? renameat(from, name, to, name) : status;
}

/* Move one file of the temporary folder into the folder `to`, or remove it (to = -1). The
 * name is recorded first, so that a moved file can be found again. */
static int take_entry(file_folder *f, int to, const char *name)
{
    assert(name != NULL);
    if (to < 0)
        return unlinkat(f->fd, name, 0) == 0 ? 0 : errno;
    char *const copy = strdup(name);
    if (copy == NULL || !array_push(&f->moved, copy)) {
        free(copy);
        return ENOMEM;
    }
    if (move_entry(f->fd, to, name) == 0)
        return 0;
    const int reason = errno;
    free(f->moved.at[--f->moved.n]);
    return reason;
}

typedef struct emptied {
    file_folder *folder;
    int to, reason;
} emptied;

static bool empty_entry(void *context, const struct dirent *e)
{
    emptied *const x = context;
    x->reason = take_entry(x->folder, x->to, e->d_name);
    return x->reason == 0;
}

/* Move or remove every file of the temporary folder. Returns 0 or the first errno. */
static int empty_folder(file_folder *f, int to)
{
    emptied x = {f, to, 0};
    assert(f->path != NULL);
    const int reason = file_walk(f->fd, ".", true, empty_entry, &x);
    return x.reason != 0 ? x.reason : reason;
}

static int move_inside(file_folder *f)
{
    const int to = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return errno;
    const int reason = empty_folder(f, to);
    close(to);
    if (reason == 0)
        (void)rmdir(f->temporary->path);
    return reason;
}

int file_folder_take_name(file_folder *f)
{
    assert(!f->is_named);
    if (f->inside)
        return move_inside(f);
    f->is_named = rename(f->temporary->path, f->path) == 0;
    return f->is_named ? 0 : errno;
}

int file_folder_sync(const file_folder *f)
{
    if (f->n_failures != mem_failure_count())
        return ENOMEM;
    return syncfs(f->fd) == 0 ? 0 : errno;
}

const char *file_folder_path(const file_folder *f)
{
    return f->path;
}

/* Returns 0 or an errno. */
static int finish_folder(file_folder *f)
{
    file_section section;
    int reason = file_folder_sync(f);
    if (reason == 0)
        reason = file_section_begin(&section);
    if (reason == 0) {
        reason = file_folder_take_name(f);
        file_section_end(&section);
    }
    return reason;
}

halley_status file_folder_commit(file_folder *folder, halley_error *err)
{
    int reason = file_hold_folder(folder);
    if (reason == 0)
        return HALLEY_OK;
    if (reason == ENOENT)
        reason = finish_folder(folder);
    if (reason == 0) {
        file_folder_free(folder);
        return HALLEY_OK;
    }
    const halley_status status =
        report_folder_error(folder->path, "write the folder", reason, err);
    file_folder_abort(folder);
    return status;
}

/* Remove the files that have moved out of the temporary folder. */
static void remove_moved(const file_folder *f)
{
    const int to = f->moved.n > 0 ? open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    for (size_t i = 0; i < f->moved.n && to >= 0; i++)
        (void)unlinkat(to, f->moved.at[i], 0);
    if (to >= 0)
        close(to);
}

void file_folder_abort(file_folder *folder)
{
    if (folder == NULL)
        return;
    remove_moved(folder);
    (void)empty_folder(folder, -1);
    (void)rmdir(folder->is_named ? folder->path : folder->temporary->path);
    file_folder_free(folder);
}

halley_status file_folder_make(const char *path, halley_error *err)
{
    assert(path != NULL);
    if (file_is_folder(path))
        return HALLEY_OK;
    file_temporary *made = NULL;
    int reason = file_root_check_write(path);
    if (reason == 0)
        reason = file_temporary_make_folder(&made, path);
    if (reason == 0)
        reason = file_hold_made(made);
    return reason == 0 ? HALLEY_OK
                       : report_folder_error(path, "make the folder", reason, err);
}
