/*
 * Write sets of files. Every file gets a temporary name next to its final one. When all
 * are written they are renamed one after the other in a section that signals do not
 * interrupt. Syncing each file would take longer than everything else, so the file system
 * is synced once before that.
 */
#include "base/array.h"
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/file/file_root.h"
#include "base/file/file_stale.h"
#include "base/file/file_temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct member {
    char *path; /* final path */
    file_temporary *temporary;
    mode_t mode;   /* of the file that it replaces, or 0 */
    bool may_miss; /* the file may remain unwritten */
    dev_t device;
    bool unsynced; /* written here; other writers sync their files themselves */
    bool renamed;
} member;

struct file_set {
    pthread_mutex_t lock; /* of the list */
    ARRAY(member *) members;
    ARRAY(file_folder *) folders; /* held folders; they are renamed last */
    ARRAY(file_temporary *) made; /* folders that the call made */
    uint64_t n_failures;          /* of allocations, when the call began */
};

halley_status file_set_open(file_set **out, halley_error *err)
{
    file_set *set = mem_array_zero(1, sizeof *set);
    if (set == NULL || pthread_mutex_init(&set->lock, NULL) != 0) {
        free(set);
        return error_nomem(err);
    }
    set->n_failures = call_failures();
    *out = set;
    return HALLEY_OK;
}

static void free_member(member *m)
{
    if (m == NULL)
        return;
    file_temporary_free(m->temporary);
    free(m->path);
    free(m);
}

/* The mode follows the umask. */
static int create_file(const char *path, void *fd)
{
    *(int *)fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *(int *)fd >= 0 ? 0 : errno;
}

/* Only choose a name; other code writes the file. */
static int reserve_name(const char *path, void *unused)
{
    struct stat about;
    (void)unused;
    if (lstat(path, &about) == 0)
        return EEXIST;
    return errno == ENOENT ? 0 : errno;
}

static bool is_symbolic_link(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* An existing target keeps its mode. A link stays, and the file it points to is replaced.
 * Other names do not change: under a root (base/file/file_root.h) absolute ones are
 * refused. */
static int make_member(member *m, const char *path, const struct stat *old, int *fd)
{
    assert(path != NULL);
    m->path = is_symbolic_link(path) ? realpath(path, NULL) : strdup(path);
    if (m->path == NULL)
        return errno != 0 ? errno : ENOMEM;
    m->mode = old != NULL ? old->st_mode & 07777 : 0;
    return file_temporary_new(&m->temporary, m->path, false,
                              fd != NULL ? create_file : reserve_name, fd);
}

static bool add_set_member(file_set *set, member *m)
{
    assert(m != NULL);
    pthread_mutex_lock(&set->lock);
    const bool ok = array_push(&set->members, m);
    pthread_mutex_unlock(&set->lock);
    return ok;
}

/* Look for an existing target: 0 with `old` filled in, ENOENT, or why it cannot be
 * written. */
static int look_at_target(const char *path, struct stat *old)
{
    const int refused = file_root_check_write(path);
    if (refused != 0)
        return refused == ENOENT ? EACCES : refused;
    if (stat(path, old) != 0)
        return errno == ENOENT && str_ends(str_from(path), STR("/")) ? EISDIR : errno;
    if (S_ISDIR(old->st_mode))
        return EISDIR;
    if (access(path, W_OK) != 0)
        return errno;
    return call_writes(old, NULL, path, NULL) == HALLEY_OK ? 0 : FILE_REFUSED;
}

/* Add a member. Its temporary file is open for writing unless fd is NULL. Returns 0 or an
 * errno. */
static int open_member(member **out, file_set *set, const char *path, int *fd)
{
    struct stat old;
    const int found = look_at_target(path, &old);
    if (found != 0 && found != ENOENT)
        return found;
    member *m = mem_array_zero(1, sizeof *m);
    if (m == NULL)
        return ENOMEM;
    int reason = make_member(m, path, found == 0 ? &old : NULL, fd);
    if (reason == 0 && !add_set_member(set, m)) {
        unlink(m->temporary->path);
        if (fd != NULL)
            close(*fd);
        reason = ENOMEM;
    }
    if (reason == 0)
        *out = m;
    else
        free_member(m);
    return reason;
}

static bool is_special_file(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (file_look(path, &about) == 0 &&
                                      !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

halley_status file_set_put(file_set *set, const char *path, const void *at, size_t n,
                           halley_error *err)
{
    assert(path != NULL && (at != NULL || n == 0));
    TRY(call_check(err));
    if (!call_may_write(n))
        return call_failure(err);
    if (is_special_file(path)) {
        file_output *to;
        TRY(file_output_open(&to, path, err));
        file_output_write(to, at, n);
        return file_output_commit(to, err);
    }
    member *m;
    int fd = -1;
    int reason = open_member(&m, set, path, &fd);
    if (reason == 0) {
        struct stat about;
        reason = file_write(fd, at, n);
        m->device = fstat(fd, &about) == 0 ? about.st_dev : 0;
        if (close(fd) != 0 && reason == 0)
            reason = errno;
        m->unsynced = true;
    }
    return reason == 0 ? HALLEY_OK : file_write_error(err, path, reason);
}

halley_status file_set_add(file_set *set, const char **name, const char *path,
                           bool may_miss, halley_error *err)
{
    assert(name != NULL && path != NULL);
    *name = path;
    if (is_special_file(path))
        return HALLEY_OK;
    member *m;
    const int reason = open_member(&m, set, path, NULL);
    if (reason != 0)
        return file_write_error(err, path, reason);
    m->may_miss = may_miss;
    *name = m->temporary->path;
    return HALLEY_OK;
}

static void free_set(file_set *set)
{
    for (size_t i = 0; i < set->members.n; i++)
        free_member(set->members.at[i]);
    array_fini(&set->members);
    for (size_t i = 0; i < set->folders.n; i++)
        file_folder_free(set->folders.at[i]);
    array_fini(&set->folders);
    for (size_t i = 0; i < set->made.n; i++)
        file_temporary_free(set->made.at[i]);
    array_fini(&set->made);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

/* Remove files, then folders, and last the folders that were created for them, unless
 * those contain something else. */
static void remove_members(file_set *set)
{
    for (size_t i = 0; i < set->members.n; i++) {
        const member *m = set->members.at[i];
        unlink(m->renamed ? m->path : m->temporary->path);
    }
    for (; set->folders.n > 0; set->folders.n--)
        file_folder_abort(set->folders.at[set->folders.n - 1]);
    for (size_t i = set->made.n; i > 0; i--)
        (void)rmdir(set->made.at[i - 1]->path);
}

static halley_status rename_members(file_set *set, halley_error *err)
{
    for (size_t i = 0; i < set->members.n; i++) {
        member *m = set->members.at[i];
        assert(!m->renamed);
        if (m->mode != 0)
            (void)!chmod(m->temporary->path, m->mode);
        m->renamed = rename(m->temporary->path, m->path) == 0;
        if (!m->renamed && !(m->may_miss && errno == ENOENT))
            return file_write_error(err, m->path, errno);
    }
    for (size_t i = 0; i < set->folders.n; i++) {
        const int reason = file_folder_take_name(set->folders.at[i]);
        if (reason != 0)
            return file_write_error(err, file_folder_path(set->folders.at[i]), reason);
    }
    return HALLEY_OK;
}

/* With `all`, sync everything on its file system. */
static int sync_file(const char *path, bool all)
{
    assert(path != NULL);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno;
    const int reason = (all ? syncfs(fd) : fsync(fd)) == 0 ? 0 : errno;
    close(fd);
    return reason;
}

/* Sync a few files one by one; for many, sync their file systems. Returns 0 or an
 * errno. */
static int sync_members(const file_set *set)
{
    enum { FEW = 32 };
    const bool all = set->members.n > FEW;
    bool any = false;
    dev_t last = 0;
    for (size_t i = 0; i < set->members.n; i++) {
        const member *m = set->members.at[i];
        if (!m->unsynced || (all && any && m->device == last))
            continue;
        const int reason = sync_file(m->temporary->path, all);
        if (reason != 0)
            return reason;
        any = true;
        last = m->device;
    }
    int reason = 0;
    for (size_t i = 0; i < set->folders.n && reason == 0; i++)
        reason = file_folder_sync(set->folders.at[i]);
    return reason;
}

/* Files that this thread's call holds back, and the number of open calls. Like
 * the call itself (base/call.c), an exception to "no mutable globals". */
static _Thread_local file_set *held;
static _Thread_local uint32_t n_holds;

/* Move the members to `held` until the end of the call. */
static halley_status hold_members(file_set *set, halley_error *err)
{
    assert(held != NULL && held != set);
    halley_status status = HALLEY_OK;
    if (set->n_failures == mem_failure_count() &&
        array_reserve(&held->members, set->members.n)) {
        for (size_t i = 0; i < set->members.n; i++)
            held->members.at[held->members.n++] = set->members.at[i];
        set->members.n = 0;
    } else {
        remove_members(set);
        status = error_nomem(err);
    }
    free_set(set);
    return status;
}

int file_hold_one(char **path, file_temporary **temporary)
{
    assert(*path != NULL && *temporary != NULL);
    if (held == NULL || file_is_temporary_name(*path))
        return ENOENT;
    member *m = mem_array_zero(1, sizeof *m);
    if (m == NULL || !add_set_member(held, m)) {
        free(m);
        return ENOMEM;
    }
    m->path = *path;
    m->temporary = *temporary;
    *path = NULL;
    *temporary = NULL;
    return 0;
}

int file_hold_folder(file_folder *folder)
{
    assert(folder != NULL);
    if (held == NULL)
        return ENOENT;
    return array_push(&held->folders, folder) ? 0 : ENOMEM;
}

int file_hold_made(file_temporary *made)
{
    assert(made->kind == FILE_TEMPORARY_MADE);
    if (held != NULL && array_push(&held->made, made))
        return 0;
    if (held != NULL)
        (void)rmdir(made->path);
    file_temporary_free(made);
    return held == NULL ? 0 : ENOMEM;
}

/* True if both names are of one file, which need not exist yet. */
static bool is_same_target(const char *a, const char *b)
{
    struct stat about[2];
    if (file_look(a, &about[0]) != 0 || file_look(b, &about[1]) != 0)
        return strcmp(a, b) == 0;
    return about[0].st_dev == about[1].st_dev && about[0].st_ino == about[1].st_ino;
}

const char *file_held_name(const char *path)
{
    assert(path != NULL);
    for (size_t i = held != NULL ? held->members.n : 0; i > 0; i--)
        if (is_same_target(held->members.at[i - 1]->path, path))
            return held->members.at[i - 1]->temporary->path;
    return path;
}

halley_status file_hold_begin(halley_error *err)
{
    if (n_holds == 0)
        TRY(file_set_open(&held, err));
    n_holds++;
    return HALLEY_OK;
}

halley_status file_hold_end(halley_status status, halley_error *err)
{
    assert(n_holds > 0 && held != NULL);
    if (--n_holds > 0)
        return status;
    file_set *const set = held;
    held = NULL;
    if (status == HALLEY_OK)
        return file_set_commit(set, err);
    file_set_abort(set);
    return status;
}

halley_status file_set_commit(file_set *set, halley_error *err)
{
    file_section section;
    if (held != NULL)
        return hold_members(set, err);
    int reason = set->n_failures == mem_failure_count() ? sync_members(set) : ENOMEM;
    if (reason == 0)
        reason = file_section_begin(&section);
    halley_status status = HALLEY_OK;
    if (reason == 0) {
        status = rename_members(set, err);
        if (status != HALLEY_OK)
            remove_members(set);
        file_section_end(&section);
    } else {
        status = file_write_error(
            err, set->members.n > 0 ? set->members.at[0]->path : "files", reason);
        remove_members(set);
    }
    free_set(set);
    return status;
}

void file_set_abort(file_set *set)
{
    if (set == NULL)
        return;
    remove_members(set);
    free_set(set);
}
