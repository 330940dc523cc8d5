/* Uploads, their journal, and the removal of what journals list. */
#include "serve/uploads.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/file/file_root.h"
#include "base/file/file_stale.h"
#include "serve/random.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_UPLOADS = 1000,
    UPLOAD_TOTAL = 4, /* limit of all uploads in total, in units of the limit of one */
    MOST_TRIES = 4,
};

static const char state_folder[] = ".halley-serve";
static const char journal_name[] = ".journal";

static halley_status report_upload(const char *path, const char *doing, int reason,
                                   halley_error *err)
{
    error_errno(err, doing, reason);
    error_at_file(err, path);
    return HALLEY_EIO;
}

/* "RANDOM/NAME" as upload_line writes it. */
static bool is_upload_line(const char *line)
{
    char id[SERVE_TOKEN + 1], first[SERVE_TOKEN + 1];
    snprintf(first, sizeof first, "%.*s", SERVE_TOKEN, line);
    return strlen(line) > SERVE_TOKEN + 1 && serve_id_read(id, first) &&
           line[SERVE_TOKEN] == '/' &&
           serve_name_is_fit(line + SERVE_TOKEN + 1, strlen(line) - SERVE_TOKEN - 1);
}

/* Remove an upload and its folder. `path` is ".halley-serve/RANDOM/RANDOM/NAME". */
static bool remove_upload(int root, const char *path)
{
    char folder[sizeof((serve_upload *)0)->path];
    const bool was_there = unlinkat(root, path, 0) == 0;
    snprintf(folder, sizeof folder, "%s", path);
    char *const slash = strrchr(folder, '/');
    assert(slash != NULL);
    *slash = '\0';
    if (unlinkat(root, folder, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
        return was_there;
    file_stale_remove(folder); /* of requests that were writing over it */
    (void)unlinkat(root, folder, AT_REMOVEDIR);
    return was_there;
}

/* Remove what the journal lists, then the folder `state` ("…/") unless something else is
 * in it. */
static void remove_listed(int root, const char *state, FILE *journal)
{
    char line[SERVE_TOKEN + SERVE_NAME + 3], path[sizeof((serve_upload *)0)->path];
    rewind(journal);
    while (fgets(line, sizeof line, journal) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (is_upload_line(line)) {
            snprintf(path, sizeof path, "%.63s%s", state, line);
            (void)remove_upload(root, path);
        }
    }
    snprintf(path, sizeof path, "%.63s%s", state, journal_name);
    (void)unlinkat(root, path, 0);
    (void)unlinkat(root, state, AT_REMOVEDIR);
    (void)unlinkat(root, state_folder, AT_REMOVEDIR);
}

/* Remove the uploads of a server that holds its journal no more. */
static void remove_dead_server(int root, const char *id)
{
    char state[64], path[96];
    snprintf(state, sizeof state, "%s/%s/", state_folder, id);
    snprintf(path, sizeof path, "%s%s", state, journal_name);
    const int fd = openat(root, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    FILE *const journal = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (journal != NULL && flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_listed(root, state, journal);
    if (journal != NULL)
        (void)fclose(journal);
    else if (fd >= 0)
        close(fd);
}

static bool visit_server(void *root, const struct dirent *e)
{
    char id[SERVE_TOKEN + 1];
    if (serve_id_read(id, e->d_name))
        remove_dead_server(*(const int *)root, id);
    return true;
}

halley_status serve_uploads_open(serve_uploads *u, int root, bool read_only,
                                 uint64_t most_bytes, halley_error *err)
{
    char id[SERVE_TOKEN + 1];
    *u = (serve_uploads){
        .root = root, .read_only = read_only, .journal = -1, .most_bytes = most_bytes};
    if (!serve_random_hex(id))
        return error_set(err, HALLEY_EIO, "the system gives no random numbers");
    snprintf(u->path, sizeof u->path, "%s/%s/", state_folder, id);
    pthread_mutex_init(&u->guard, NULL);
    file_root_show(u->path);
    if (!read_only)
        (void)file_walk(root, state_folder, false, visit_server, &root);
    return HALLEY_OK;
}

void serve_uploads_close(serve_uploads *u)
{
    FILE *const journal = u->journal >= 0 ? fdopen(u->journal, "r") : NULL;
    if (journal != NULL) {
        remove_listed(u->root, u->path, journal);
        (void)fclose(journal);
    }
    pthread_mutex_destroy(&u->guard);
}

/* A server that starts may take our journal for one without an owner, and remove it
 * before it is locked. */
static int lock_journal(int root, const char *path)
{
    struct stat about;
    const int fd = openat(
        root, path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX) == 0 && fstat(fd, &about) == 0 && about.st_nlink > 0)
        return fd;
    close(fd);
    errno = EAGAIN;
    return -1;
}

/* Under the guard. Returns 0 or an errno. */
static int make_state(serve_uploads *u)
{
    char path[96];
    struct stat about;
    snprintf(path, sizeof path, "%s%s", u->path, journal_name);
    for (int i = 0; i < MOST_TRIES && u->journal < 0; i++) {
        if (mkdirat(u->root, state_folder, 0700) != 0 && errno != EEXIST)
            return errno;
        if (fstatat(u->root, state_folder, &about, AT_SYMLINK_NOFOLLOW) != 0)
            return errno;
        if (!S_ISDIR(about.st_mode))
            return ENOTDIR;
        if (mkdirat(u->root, u->path, 0700) == 0 || errno == EEXIST)
            u->journal = lock_journal(u->root, path);
    }
    return u->journal >= 0 ? 0 : errno;
}

/* Reserve `n` more bytes before they are written. */
static bool reserve_bytes(serve_uploads *all, uint64_t n)
{
    pthread_mutex_lock(&all->guard);
    const bool has_room = n <= all->most_bytes * UPLOAD_TOTAL - all->total_bytes;
    if (has_room)
        all->total_bytes += n;
    pthread_mutex_unlock(&all->guard);
    return has_room;
}

static void return_bytes(serve_uploads *all, uint64_t n, bool is_counted)
{
    pthread_mutex_lock(&all->guard);
    assert(all->total_bytes >= n && all->n >= is_counted);
    all->total_bytes -= n;
    all->n -= is_counted;
    pthread_mutex_unlock(&all->guard);
}

static halley_status check_room(serve_uploads *all, uint64_t n_bytes, halley_error *err)
{
    if (n_bytes > all->most_bytes)
        return error_set(err, HALLEY_ELIMIT,
                         "a file of %llu bytes is too long for this server, which takes "
                         "%llu (--max-upload)",
                         (unsigned long long)n_bytes,
                         (unsigned long long)all->most_bytes);
    if (!reserve_bytes(all, n_bytes))
        return error_set(err, HALLEY_ELIMIT,
                         "the uploads of this server are full; remove one (DELETE "
                         "/api/files/PATH), or raise --max-upload");
    return HALLEY_OK;
}

/* Count it, and enter "RANDOM/NAME" into the journal before it is created. */
static halley_status enter_upload(serve_upload *u, halley_error *err)
{
    serve_uploads *const all = u->all;
    pthread_mutex_lock(&all->guard);
    const bool has_room = all->n < MAX_UPLOADS;
    int reason = has_room ? make_state(all) : 0;
    if (has_room && reason == 0) {
        strbuf line = {0};
        strbuf_printf(&line, "%s\n", u->path + strlen(all->path));
        reason = line.failed ? ENOMEM : file_write(all->journal, line.at, line.n);
        strbuf_fini(&line);
    }
    u->is_counted = has_room && reason == 0;
    all->n += u->is_counted;
    pthread_mutex_unlock(&all->guard);
    if (reason != 0)
        return report_upload(state_folder, "keep the uploads", reason, err);
    return has_room ? HALLEY_OK
                    : error_set(err, HALLEY_ELIMIT,
                                "this server has %d files, as many as it may; remove "
                                "one (DELETE /api/files/PATH)",
                                (int)MAX_UPLOADS);
}

/* Create ".halley-serve/RANDOM/RANDOM", and the file in it under its own name. */
static halley_status create_upload(serve_upload *u, str name, halley_error *err)
{
    char random[SERVE_TOKEN + 1], folder[sizeof u->path];
    if (!serve_random_hex(random))
        return error_set(err, HALLEY_EIO, "the system gives no random numbers");
    snprintf(u->path, sizeof u->path, "%s%s/%.*s", u->all->path, random, STR_ARG(name));
    snprintf(folder, sizeof folder, "%s%s", u->all->path, random);
    TRY(enter_upload(u, err));
    if (mkdirat(u->all->root, folder, 0700) != 0)
        return report_upload(folder, "make the folder", errno, err);
    u->fd = openat(u->all->root, u->path,
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return u->fd >= 0 ? HALLEY_OK : report_upload(u->path, "make the file", errno, err);
}

halley_status serve_upload_open(serve_upload **out, serve_uploads *all, str name,
                                uint64_t n_bytes, halley_error *err)
{
    assert(serve_name_is_fit(name.at, name.n));
    if (all->read_only)
        return error_set(err, HALLEY_EINVAL,
                         "this server is read-only and takes no files; put the file into "
                         "its folder, or start it without --read-only");
    TRY(check_room(all, n_bytes, err));
    serve_upload *const u = mem_array_zero(1, sizeof *u);
    if (u == NULL) {
        return_bytes(all, n_bytes, false);
        return error_nomem(err);
    }
    *u = (serve_upload){.all = all, .fd = -1, .n_reserved = n_bytes};
    const halley_status status = create_upload(u, name, err);
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
    if (end > u->all->most_bytes)
        u->reason = E2BIG;
    else if (end > u->n_reserved && !reserve_bytes(u->all, end - u->n_reserved))
        u->reason = E2BIG;
    else
        u->n_reserved = end > u->n_reserved ? end : u->n_reserved;
    if (u->reason == 0)
        u->reason = file_write(u->fd, at, n);
    u->n_bytes = end;
}

void serve_upload_abort(serve_upload *u)
{
    if (u->fd >= 0)
        close(u->fd);
    if (u->is_counted)
        (void)remove_upload(u->all->root, u->path);
    return_bytes(u->all, u->n_reserved, u->is_counted);
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
    return_bytes(u->all, u->n_reserved - u->n_bytes, false);
    free(u);
    return path->failed ? error_nomem(err) : HALLEY_OK;
}

/* True if the journal has the line "RANDOM/NAME". Under the guard. */
static bool is_listed(const serve_uploads *all, const char *line)
{
    char path[96], listed[SERVE_TOKEN + SERVE_NAME + 3];
    bool found = false;
    snprintf(path, sizeof path, "%s%s", all->path, journal_name);
    const int fd = openat(all->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    FILE *const journal = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (!found && journal != NULL && fgets(listed, sizeof listed, journal) != NULL) {
        listed[strcspn(listed, "\n")] = '\0';
        found = strcmp(listed, line) == 0;
    }
    if (journal != NULL)
        (void)fclose(journal);
    return found;
}

bool serve_upload_remove(serve_uploads *all, const char *path)
{
    struct stat about;
    const size_t n = strlen(all->path);
    if (strncmp(path, all->path, n) != 0)
        return false;
    pthread_mutex_lock(&all->guard);
    const bool is_removed = is_listed(all, path + n) &&
                            fstatat(all->root, path, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                            remove_upload(all->root, path);
    if (is_removed) { /* a request may have replaced it by a longer one */
        const uint64_t n_bytes = (uint64_t)about.st_size;
        all->total_bytes -= n_bytes < all->total_bytes ? n_bytes : all->total_bytes;
        all->n -= all->n > 0;
    }
    pthread_mutex_unlock(&all->guard);
    return is_removed;
}
