/* The folder of a server and the list of its files. */
#include "serve/folder.h"

#include "base/file/file_root.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_LISTED = 10000,
    MAX_DEPTH = 8,
};

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

halley_status serve_folder_open(serve_folder *f, const char *path, bool read_only,
                                uint64_t most_bytes, halley_error *err)
{
    char state[PATH_MAX];
    if (path == NULL) {
        TRY(find_state_folder(state, err));
        path = state;
    }
    TRY(file_root_set(path, read_only, err));
    f->fd = file_root_get();
    return serve_uploads_open(&f->uploads, f->fd, read_only, most_bytes, err);
}

void serve_folder_close(serve_folder *f)
{
    serve_uploads_close(&f->uploads);
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
    list_folder(&list, f->fd, f->uploads.path, 0);
    strbuf_add(to, STR("\n]"));
    if (list.n_left_out > 0)
        strbuf_printf(to, ", \"left_out\": %llu", (unsigned long long)list.n_left_out);
    strbuf_add(to, STR("}\n"));
    return to->failed ? error_nomem(err) : HALLEY_OK;
}
