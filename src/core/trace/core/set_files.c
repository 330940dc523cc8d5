/*
 * Map file names to ranks of sets. A folder is read once, for all its sets. In a folder
 * of thousands of sets, searching for the files of each would take longer than reading
 * them.
 */
#include "trace/core/set_files.h"

#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_look.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef ARRAY(char *) path_array;

static const char *const endings[] = {".et",    ".et.gz",    ".et.zst",
                                      ".json",  ".json.gz",  ".json.zst",
                                      ".jsonl", ".jsonl.gz", ".jsonl.zst"};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

void trace_files_fini(trace_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].path);
    array_fini(files);
}

bool trace_file_split(const char *path, trace_file *out)
{
    assert(path != NULL);
    const str all = str_from(path);
    for (uint32_t e = 0; e < N_ENDINGS; e++) {
        const str ending = str_from(endings[e]);
        if (!str_ends(all, ending))
            continue;
        const str stem = {all.at, all.n - ending.n};
        size_t dot = stem.n;
        while (dot > 0 && stem.at[dot - 1] != '.' && stem.at[dot - 1] != '/')
            dot--;
        const str digits = {stem.at + dot, stem.n - dot};
        if (dot == 0 || stem.at[dot - 1] != '.' || digits.n == 0 || digits.n > 10 ||
            (digits.n > 1 && digits.at[0] == '0') || !str_to_u64(digits, &out->rank))
            continue;
        out->ending = e;
        out->n_prefix = (uint32_t)(dot - 1);
        return true;
    }
    return false;
}

str trace_file_stem(const char *path)
{
    trace_file f;
    str stem = str_from(path);
    if (trace_file_split(path, &f))
        return (str){path, f.n_prefix};
    for (uint32_t e = 0; e < N_ENDINGS; e++)
        if (str_ends(stem, str_from(endings[e])))
            return (str){path, stem.n - strlen(endings[e])};
    return stem;
}

/* Is this file of a searched folder a set of its own? */
static bool is_whole(const char *name, trace_file *out)
{
    const str all = str_from(name);
    for (uint32_t e = 0; e < N_ENDINGS; e++) {
        if (!str_ends(all, str_from(endings[e])) ||
            strncmp(endings[e], ".json", 6) == 0 || strcmp(endings[e], ".json.gz") == 0 ||
            strcmp(endings[e], ".json.zst") == 0)
            continue;
        *out = (trace_file){.ending = e, .n_prefix = (uint32_t)all.n};
        return true;
    }
    return false;
}

/* What to list in a folder: the ranks of all sets, or of one set (`prefix` not NULL). A
 * search (`folders` not NULL) also lists sets of one file, and folders. */
typedef struct listing {
    const char *folder, *prefix;
    trace_files *files;
    path_array *folders; /* owns its paths */
} listing;

static char *join_paths(const char *folder, const char *name)
{
    assert(folder != NULL && name != NULL);
    strbuf path = {0};
    const bool slash = *folder && !str_ends(str_from(folder), STR("/"));
    strbuf_printf(&path, "%s%s%s", folder, slash ? "/" : "", name);
    if (!path.failed)
        return path.at;
    strbuf_fini(&path);
    return NULL;
}

static bool is_folder(const char *path, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    if (lstat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    if (!file_is_absent(errno))
        call_fault("look at the file", path, errno);
    return false;
}

/* Skip pipes and devices: opening a pipe would wait for its writer. */
static bool is_special(const char *path, const struct dirent *entry)
{
    struct stat st;
    return entry->d_type != DT_REG && file_look(path, &st) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode);
}

static bool take_file(const listing *l, const struct dirent *entry, char *path)
{
    trace_file f = {0};
    const char *const name = entry->d_name;
    bool wanted = trace_file_split(name, &f);
    if (wanted && l->prefix)
        wanted =
            strlen(l->prefix) == f.n_prefix && memcmp(name, l->prefix, f.n_prefix) == 0;
    if (!wanted && l->folders)
        wanted = is_whole(name, &f);
    if (!wanted || (l->folders && is_special(path, entry))) {
        free(path);
        return true;
    }
    f.path = path;
    f.n_prefix += (uint32_t)(strlen(path) - strlen(name));
    if (array_push(l->files, f))
        return true;
    free(path);
    return false;
}

/* Handle one entry of a folder. False: no memory. */
static bool take_entry(void *context, const struct dirent *entry)
{
    const listing *const l = context;
    if (l->folders && entry->d_name[0] == '.')
        return true;
    char *const path = join_paths(l->folder, entry->d_name);
    if (!path)
        return false;
    if (!l->folders || !is_folder(path, entry))
        return take_file(l, entry, path);
    if (array_push(l->folders, path))
        return true;
    free(path);
    return false;
}

static halley_status list_folder(const listing *l, halley_error *err)
{
    const int reason = file_walk(AT_FDCWD, *l->folder ? l->folder : ".", true, take_entry,
                                 (void *)(uintptr_t)l);
    if (reason == ECANCELED)
        return error_nomem(err);
    if (reason != 0) {
        const halley_status status = error_errno(err, "open this folder", reason);
        error_at_file(err, l->folder);
        return status;
    }
    return HALLEY_OK;
}

static int by_name(const void *a, const void *b)
{
    const trace_file *const x = a, *const y = b;
    const int prefix = str_cmp((str){x->path, x->n_prefix}, (str){y->path, y->n_prefix});
    if (prefix)
        return prefix;
    if (x->ending != y->ending)
        return x->ending < y->ending ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Check that a folder or prefix gave one set: the same prefix and ending for all. */
static halley_status one_set(const trace_files *files, const char *path,
                             halley_error *err)
{
    for (size_t i = 1; i < files->n; i++) {
        const trace_file *const a = &files->at[0], *const b = &files->at[i];
        if (a->ending == b->ending && a->n_prefix == b->n_prefix &&
            memcmp(a->path, b->path, a->n_prefix) == 0)
            continue;
        error_set(err, HALLEY_EINVAL,
                  "holds more than one trace set (%.*s.*%s and %.*s.*%s); name one by "
                  "its prefix",
                  (int)a->n_prefix, a->path, endings[a->ending], (int)b->n_prefix,
                  b->path, endings[b->ending]);
        error_at_file(err, path);
        return HALLEY_EINVAL;
    }
    return HALLEY_OK;
}

/* Check that the ranks are 0 … n-1, each once. */
static halley_status is_whole_set(const trace_file *files, size_t n, halley_error *err)
{
    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        const trace_file *const f = &files[i];
        if (f->rank == i)
            continue;
        if (f->rank < i)
            return error_set(err, HALLEY_EINVAL, "rank %llu is twice in the set",
                             (unsigned long long)f->rank);
        return error_set(
            err, HALLEY_ENOTFOUND,
            "rank %zu is missing: there is %s but no %.*s.%zu%s; ranks must run from "
            "0 without a gap",
            i, f->path, (int)f->n_prefix, f->path, i, endings[f->ending]);
    }
    return HALLEY_OK;
}

static halley_status find_in_folder(trace_files *files, const char *path,
                                    halley_error *err)
{
    TRY(list_folder(&(listing){.folder = path, .files = files}, err));
    if (files->n == 0) {
        error_set(
            err, HALLEY_ENOTFOUND,
            "no trace in this folder; traces are called NAME.RANK.et (or .et.gz, .json, "
            ".jsonl)");
        error_at_file(err, path);
        return HALLEY_ENOTFOUND;
    }
    qsort(files->at, files->n, sizeof *files->at, by_name);
    TRY(one_set(files, path, err));
    return is_whole_set(files->at, files->n, err);
}

static halley_status list_prefix(trace_files *files, const char *path, halley_error *err)
{
    const char *const slash = strrchr(path, '/');
    char *const folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
    if (!folder)
        return error_nomem(err);
    const char *const name = slash ? slash + 1 : path;
    halley_status status = HALLEY_OK;
    if (file_is_folder(*folder ? folder : "."))
        status = list_folder(&(listing){folder, name, files, NULL}, err);
    free(folder);
    return status;
}

static halley_status find_by_prefix(trace_files *files, const char *path,
                                    halley_error *err)
{
    TRY(list_prefix(files, path, err));
    if (files->n == 0) {
        const char *const slash = strrchr(path, '/');
        error_set(
            err, HALLEY_ENOTFOUND,
            "no such trace: there is no file, no folder and no %s.0.et of that name",
            slash ? slash + 1 : path);
        error_at_file(err, path);
        return HALLEY_ENOTFOUND;
    }
    qsort(files->at, files->n, sizeof *files->at, by_name);
    TRY(one_set(files, path, err));
    return is_whole_set(files->at, files->n, err);
}

static int by_rank(const void *a, const void *b)
{
    const trace_file *const x = a, *const y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Take files one by one. Their own rank numbers count if those are 0 … n-1; otherwise the
 * given order counts. */
static halley_status take_files(trace_files *files, const char *const *paths, size_t n,
                                halley_error *err)
{
    assert(paths != NULL || n == 0);
    bool numbered = true;
    for (size_t i = 0; i < n; i++) {
        trace_file f = {0};
        numbered &= trace_file_split(paths[i], &f);
        f.path = strdup(paths[i]);
        if (!f.path || !array_push(files, f)) {
            free(f.path);
            return error_nomem(err);
        }
    }
    if (!numbered)
        return HALLEY_OK;
    trace_file *const sorted = mem_array(n, sizeof *sorted);
    if (!sorted)
        return error_nomem(err);
    memcpy(sorted, files->at, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_rank);
    bool complete = true;
    for (size_t i = 0; i < n; i++)
        complete &= sorted[i].rank == i;
    if (complete)
        memcpy(files->at, sorted, n * sizeof *sorted);
    free(sorted);
    return HALLEY_OK;
}

halley_status trace_files_find(trace_files *files, const char *const *paths, size_t n,
                               halley_error *err)
{
    assert(paths != NULL || n == 0);
    if (n == 0)
        return error_set(err, HALLEY_EINVAL, "no trace is named");
    if (n > 1 || strcmp(paths[0], "-") == 0)
        return take_files(files, paths, n, err);
    if (file_is_folder(paths[0]))
        return find_in_folder(files, paths[0], err);
    return file_exists(paths[0]) ? take_files(files, paths, n, err)
                                 : find_by_prefix(files, paths[0], err);
}

void trace_found_fini(trace_found *f)
{
    trace_files_fini(&f->all);
    array_fini(&f->files);
    array_fini(&f->list);
    arena_fini(&f->memory);
}

/* Search all folders below `root`, which must open. Others that do not open are
 * counted. */
static halley_status walk_folder(trace_found *f, const char *root, bool strict,
                                 halley_error *err)
{
    path_array folders = {0};
    listing l = {.folder = root, .files = &f->all, .folders = &folders};
    halley_status status = list_folder(&l, err);
    for (size_t i = 0; status == HALLEY_OK && i < folders.n; i++) {
        halley_error why = {0};
        l.folder = folders.at[i];
        if (list_folder(&l, &why) == HALLEY_OK)
            continue;
        if (f->n_unreadable++ == 0)
            f->why = why;
        if (why.code == HALLEY_ENOMEM || strict) {
            status = why.code;
            if (err)
                *err = why;
        }
    }
    for (size_t i = 0; i < folders.n; i++)
        free(folders.at[i]);
    array_fini(&folders);
    return status;
}

/* Add a file or a prefix. If it is neither, loading it reports that. */
static halley_status add_named(trace_found *f, const char *name, halley_error *err)
{
    const size_t before = f->all.n;
    if (!file_exists(name))
        TRY(list_prefix(&f->all, name, err));
    if (f->all.n > before)
        return HALLEY_OK;
    trace_file file = {0};
    if (!trace_file_split(name, &file))
        file.n_prefix = (uint32_t)strlen(name);
    file.named = true;
    file.path = strdup(name);
    if (file.path && array_push(&f->all, file))
        return HALLEY_OK;
    free(file.path);
    return error_nomem(err);
}

static bool same_set(const trace_file *a, const trace_file *b)
{
    return str_eq((str){a->path, a->n_prefix}, (str){b->path, b->n_prefix});
}

/* Keep each file once. Files of one set are adjacent; one that was named twice, or exists
 * in a second form, is dropped. */
static void leave_one_of_each(trace_files *files)
{
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        trace_file *const at = &files->at[i];
        trace_file *const last = n > 0 ? &files->at[n - 1] : NULL;
        if (last && same_set(last, at) &&
            (at->ending != last->ending || at->rank == last->rank)) {
            last->named |= at->named;
            free(at->path);
        } else
            files->at[n++] = *at;
    }
    files->n = n;
}

static halley_status group_files(trace_found *f, halley_error *err)
{
    if (f->all.n > 1)
        qsort(f->all.at, f->all.n, sizeof *f->all.at, by_name);
    leave_one_of_each(&f->all);
    for (size_t i = 0; i < f->all.n; i++) {
        const trace_file *const at = &f->all.at[i];
        if (!array_push(&f->files, at->path))
            return error_nomem(err);
        if (i > 0 && same_set(&f->all.at[i - 1], at)) {
            f->list.at[f->list.n - 1].n++;
            continue;
        }
        const char *const name = arena_copy(&f->memory, (str){at->path, at->n_prefix});
        if (!name || !array_push(&f->list, (trace_found_set){name, i, 1}))
            return error_nomem(err);
    }
    assert(f->files.n <= f->all.n);
    return HALLEY_OK;
}

halley_status trace_find(trace_found *f, const char *const *from, size_t n_from,
                         bool strict, halley_error *err)
{
    for (size_t i = 0; i < n_from; i++)
        TRY(file_is_folder(from[i]) ? walk_folder(f, from[i], strict, err)
                                    : add_named(f, from[i], err));
    return group_files(f, err);
}

halley_status trace_found_load(halley_trace_set **out, const trace_found *f, size_t i,
                               uint32_t n_threads, halley_error *err)
{
    assert(i < f->list.n);
    assert(f->list.at[i].first + f->list.at[i].n <= f->files.n);
    const halley_load_opts opts = {.n_threads = n_threads};
    const trace_found_set *const set = &f->list.at[i];
    const trace_file *const files = &f->all.at[set->first];
    bool searched = true;
    for (size_t k = 0; k < set->n; k++)
        searched &= !files[k].named;
    if (searched && files[0].n_prefix < strlen(files[0].path))
        TRY(is_whole_set(files, set->n, err));
    return halley_trace_set_load(out, f->files.at + set->first, set->n, &opts, err);
}
