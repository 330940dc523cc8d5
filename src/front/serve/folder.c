/* The folder of a server, its lock, uploads and the list of its files. */
#include "serve/folder.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/file/file_beneath.h"
#include "base/file/file_root.h"
#include "serve/random.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_UPLOADS = 1000,
    UPLOAD_TOTAL = 4, /* limit of all uploads in total, in units of the limit of one */
    MAX_LISTED = 10000,
    MAX_DEPTH = 8,
};

static const char upload_folder[] = "upload";

static halley_status report_folder(const char *path, const char *doing, int reason,
                                   halley_error *err)
{
    error_errno(err, doing, reason);
    error_at_file(err, path);
    return HALLEY_EIO;
}

/* "a/b/c": create each part that does not exist, accessible only to the user. */
static halley_status make_folders(char *path, halley_error *err)
{
    for (char *c = path + 1;; c++) {
        const char kept = *c;
        if (kept != '/' && kept != '\0')
            continue;
        *c = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return report_folder(path, "make the folder", errno, err);
        *c = kept;
        if (kept == '\0')
            return HALLEY_OK;
    }
}

static halley_status find_state_folder(char path[PATH_MAX], halley_error *err)
{
    const char *const state = getenv("XDG_STATE_HOME"), *const home = getenv("HOME");
    int n = -1;
    if (state != NULL && state[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/halley/serve", state);
    else if (home != NULL && home[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/.local/state/halley/serve", home);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, HALLEY_EINVAL,
                         "there is no folder to work in: neither XDG_STATE_HOME nor HOME "
                         "is set; name one with --folder");
    return make_folders(path, err);
}

/* Remove everything below; links are removed, not followed. */
static void remove_tree(int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0 || depth == MAX_DEPTH)
        return;
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_tree(fd, e->d_name, depth + 1);
    if (dir != NULL)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* Servers share the lock. A server that gets it exclusively knows that no other server
 * owns the uploads. A read-only folder has no lock. */
static void lock_folder(serve_folder *f)
{
    f->lock = openat(f->fd, ".halley-serve.lock",
                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->lock < 0)
        return;
    if (flock(f->lock, LOCK_EX | LOCK_NB) == 0)
        remove_tree(f->fd, upload_folder, 0);
    (void)flock(f->lock, LOCK_SH);
}

halley_status serve_folder_open(serve_folder *f, const char *path, bool read_only,
                                uint64_t most_bytes, halley_error *err)
{
    char state[PATH_MAX];
    *f = (serve_folder){.lock = -1, .most_bytes = most_bytes};
    if (path == NULL) {
        TRY(find_state_folder(state, err));
        path = state;
    }
    TRY(file_root_set(path, read_only, err));
    f->fd = file_root_get();
    pthread_mutex_init(&f->guard, NULL);
    lock_folder(f);
    return HALLEY_OK;
}

void serve_folder_close(serve_folder *f)
{
    if (f->lock >= 0 && flock(f->lock, LOCK_EX | LOCK_NB) == 0)
        remove_tree(f->fd, upload_folder, 0);
    if (f->lock >= 0)
        close(f->lock);
    pthread_mutex_destroy(&f->guard);
}

/* Reserve `n` more bytes before they are written. */
static bool reserve_bytes(serve_folder *f, uint64_t n)
{
    pthread_mutex_lock(&f->guard);
    const bool has_room = n <= f->most_bytes * UPLOAD_TOTAL - f->total_bytes;
    if (has_room)
        f->total_bytes += n;
    pthread_mutex_unlock(&f->guard);
    return has_room;
}

static void return_bytes(serve_folder *f, uint64_t n)
{
    pthread_mutex_lock(&f->guard);
    assert(f->total_bytes >= n);
    f->total_bytes -= n;
    pthread_mutex_unlock(&f->guard);
}

static halley_status check_room(serve_folder *f, uint64_t n_bytes, halley_error *err)
{
    if (n_bytes > f->most_bytes)
        return error_set(err, HALLEY_ELIMIT,
                         "a file of %llu bytes is too long for this server, which takes "
                         "%llu (--max-upload)",
                         (unsigned long long)n_bytes, (unsigned long long)f->most_bytes);
    if (!reserve_bytes(f, n_bytes))
        return error_set(err, HALLEY_ELIMIT,
                         "the uploads of this server are full; restart it to remove "
                         "them, or raise --max-upload");
    return HALLEY_OK;
}

static halley_status count_upload(serve_folder *f, halley_error *err)
{
    pthread_mutex_lock(&f->guard);
    const bool has_room = f->n_uploads < MAX_UPLOADS;
    f->n_uploads += has_room;
    pthread_mutex_unlock(&f->guard);
    return has_room ? HALLEY_OK
                    : error_set(err, HALLEY_ELIMIT,
                                "this server has taken %d files, as many as it may; "
                                "restart it to remove them",
                                (int)MAX_UPLOADS);
}

/* Create "upload/RANDOM", and the file in it under its own name. */
static halley_status create_upload(serve_upload *u, str name, halley_error *err)
{
    char random[SERVE_TOKEN + 1], folder[sizeof "upload/" + SERVE_TOKEN];
    if (!serve_random_hex(random))
        return error_set(err, HALLEY_EIO, "the system gives no random numbers");
    if (mkdirat(u->folder->fd, upload_folder, 0700) != 0 && errno != EEXIST)
        return report_folder(upload_folder, "make the folder", errno, err);
    snprintf(folder, sizeof folder, "%s/%s", upload_folder, random);
    const size_t n = strlen(folder);
    assert(n + 1 + name.n < sizeof u->path);
    memcpy(u->path, folder, n);
    u->path[n] = '/';
    memcpy(u->path + n + 1, name.at, name.n);
    u->path[n + 1 + name.n] = '\0';
    if (mkdirat(u->folder->fd, folder, 0700) != 0)
        return report_folder(folder, "make the folder", errno, err);
    u->fd = openat(u->folder->fd, u->path,
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return u->fd >= 0 ? HALLEY_OK : report_folder(u->path, "make the file", errno, err);
}

halley_status serve_upload_open(serve_upload **out, serve_folder *f, str name,
                                uint64_t n_bytes, halley_error *err)
{
    assert(serve_name_is_fit(name.at, name.n));
    TRY(check_room(f, n_bytes, err));
    serve_upload *const u = mem_array_zero(1, sizeof *u);
    if (u == NULL) {
        return_bytes(f, n_bytes);
        return error_nomem(err);
    }
    *u = (serve_upload){.folder = f, .fd = -1, .n_reserved = n_bytes};
    halley_status status = count_upload(f, err);
    u->is_counted = status == HALLEY_OK;
    if (status == HALLEY_OK)
        status = create_upload(u, name, err);
    if (status != HALLEY_OK) {
        serve_upload_abort(u);
        return status;
    }
    *out = u;
    return HALLEY_OK;
}

void serve_upload_write(serve_upload *u, const void *at, size_t n)
{
    const uint64_t end = u->n_bytes + n;
    if (u->reason != 0)
        return;
    if (end > u->folder->most_bytes)
        u->reason = E2BIG;
    else if (end > u->n_reserved && !reserve_bytes(u->folder, end - u->n_reserved))
        u->reason = E2BIG;
    else
        u->n_reserved = end > u->n_reserved ? end : u->n_reserved;
    if (u->reason == 0)
        u->reason = file_write(u->fd, at, n);
    u->n_bytes = end;
}

static void remove_upload(const serve_upload *u)
{
    char folder[sizeof u->path];
    if (u->path[0] == '\0')
        return;
    (void)unlinkat(u->folder->fd, u->path, 0);
    snprintf(folder, sizeof folder, "%s", u->path);
    char *const slash = strrchr(folder, '/');
    assert(slash != NULL);
    *slash = '\0';
    (void)unlinkat(u->folder->fd, folder, AT_REMOVEDIR);
}

void serve_upload_abort(serve_upload *u)
{
    if (u->fd >= 0)
        close(u->fd);
    remove_upload(u);
    return_bytes(u->folder, u->n_reserved);
    pthread_mutex_lock(&u->folder->guard);
    u->folder->n_uploads -= u->is_counted;
    pthread_mutex_unlock(&u->folder->guard);
    free(u);
}

halley_status serve_upload_commit(serve_upload *u, strbuf *path, halley_error *err)
{
    int reason = u->reason;
    if (reason == 0 && close(u->fd) != 0)
        reason = errno;
    else if (reason != 0)
        close(u->fd);
    u->fd = -1;
    if (reason != 0) {
        const halley_status status =
            reason == E2BIG
                ? error_set(err, HALLEY_ELIMIT,
                            "the file is too long for this server (--max-upload)")
                : error_errno(err, "store the file", reason);
        serve_upload_abort(u);
        return status;
    }
    strbuf_add(path, str_from(u->path));
    return_bytes(u->folder, u->n_reserved - u->n_bytes);
    free(u);
    return path->failed ? error_nomem(err) : HALLEY_OK;
}

typedef struct file_list {
    strbuf *to;
    uint32_t n;
    uint64_t n_left_out;
} file_list;

static void list_file(file_list *list, const char *path, uint64_t n_bytes)
{
    if (list->n == MAX_LISTED) {
        list->n_left_out++;
        return;
    }
    strbuf_add(list->to, list->n++ > 0 ? STR(",\n{\"path\": ") : STR("\n{\"path\": "));
    strbuf_json(list->to, str_from(path));
    strbuf_printf(list->to, ", \"bytes\": %llu}", (unsigned long long)n_bytes);
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int keep_visible_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* `path` is "" for the folder itself, else it ends with '/'. Links are left out. */
static void list_folder(file_list *list, int root, const char *path, int depth)
{
    struct dirent **entries = NULL;
    const int n = depth < MAX_DEPTH
                      ? scandirat(root, *path != '\0' ? path : ".", &entries,
                                  keep_visible_entry, compare_entries)
                      : 0;
    for (int i = 0; i < n; i++) {
        strbuf name = {0};
        struct stat about;
        strbuf_printf(&name, "%s%s", path, entries[i]->d_name);
        if (!name.failed && fstatat(root, name.at, &about, AT_SYMLINK_NOFOLLOW) == 0) {
            if (S_ISREG(about.st_mode))
                list_file(list, name.at, (uint64_t)about.st_size);
            strbuf_add_char(&name, '/');
            if (S_ISDIR(about.st_mode) && !name.failed)
                list_folder(list, root, name.at, depth + 1);
        }
        list->to->failed |= name.failed;
        strbuf_fini(&name);
        free(entries[i]);
    }
    free(entries);
}

halley_status serve_folder_list(strbuf *to, const serve_folder *f, halley_error *err)
{
    file_list list = {.to = to};
    strbuf_add(to, STR("{\"ok\": true, \"files\": ["));
    list_folder(&list, f->fd, "", 0);
    strbuf_add(to, STR("\n]"));
    if (list.n_left_out > 0)
        strbuf_printf(to, ", \"left_out\": %llu", (unsigned long long)list.n_left_out);
    strbuf_add(to, STR("}\n"));
    return to->failed ? error_nomem(err) : HALLEY_OK;
}
