/*
 * Sets of ranks: finding the files, reading them side by side, holding equal ones once.
 */
#include "base/pool.h"
#include "trace/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct halley_trace_set {
    uint32_t n;
    halley_trace **traces; /* by rank; equal ranks point to the same trace */
    char **paths;
    uint32_t n_distinct;
};

static const char *const endings[] = {".et",      ".et.gz", ".json",
                                      ".json.gz", ".jsonl", ".jsonl.gz"};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

typedef struct found {
    char *path;
    uint64_t rank;
    uint32_t ending;
    uint32_t n_prefix; /* bytes of the path before ".RANK.et" */
} found;
typedef ARRAY(found) found_array;

static void free_found(found_array *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].path);
    array_fini(files);
}

/* "prefix.12.et": its parts, or false. The rank has no sign and no leading zero. */
static bool split_name(const char *path, found *out)
{
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

static halley_status add_path(found_array *files, const char *folder, const char *name,
                              halley_error *err)
{
    found f = {0};
    const size_t n = strlen(folder) + strlen(name) + 2;
    f.path = mem_array(n, 1);
    if (!f.path)
        return error_nomem(err);
    snprintf(f.path, n, "%s%s%s", folder,
             *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", name);
    if (split_name(f.path, &f)) {
        if (array_push(files, f))
            return HALLEY_OK;
        free(f.path);
        return error_nomem(err);
    }
    free(f.path);
    return HALLEY_OK;
}

/* All "*.N.et" and the like of a folder whose name before the rank is `prefix` (NULL:
 * any). */
static halley_status list_folder(found_array *files, const char *folder,
                                 const char *prefix, halley_error *err)
{
    DIR *const dir = opendir(*folder ? folder : ".");
    if (!dir) {
        const halley_status status = error_errno(err, "open this folder", errno);
        error_at_file(err, folder);
        return status;
    }
    halley_status status = HALLEY_OK;
    const struct dirent *entry;
    while (!status && (entry = readdir(dir))) {
        found f;
        if (!split_name(entry->d_name, &f))
            continue;
        if (!prefix || (strlen(prefix) == f.n_prefix &&
                        memcmp(entry->d_name, prefix, f.n_prefix) == 0))
            status = add_path(files, folder, entry->d_name, err);
    }
    closedir(dir);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const found *const x = a, *const y = b;
    const int prefix = str_cmp((str){x->path, x->n_prefix}, (str){y->path, y->n_prefix});
    if (prefix)
        return prefix;
    if (x->ending != y->ending)
        return x->ending < y->ending ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* One set among what a folder or prefix gave: the same prefix and ending for all. */
static halley_status one_set(const found_array *files, const char *path,
                             halley_error *err)
{
    for (size_t i = 1; i < files->n; i++) {
        const found *const a = &files->at[0], *const b = &files->at[i];
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

/* Ranks must be 0 … n-1, each once. */
static halley_status whole(const found_array *files, halley_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        const found *const f = &files->at[i];
        if (f->rank == i)
            continue;
        if (f->rank < i)
            return error_set(err, HALLEY_EINVAL, "rank %llu stands twice in the set",
                             (unsigned long long)f->rank);
        return error_set(
            err, HALLEY_ENOTFOUND,
            "rank %zu is missing: there is %s but no %.*s.%zu%s; ranks must run from "
            "0 without a gap",
            i, f->path, (int)f->n_prefix, f->path, i, endings[f->ending]);
    }
    return HALLEY_OK;
}

static halley_status find_in_folder(found_array *files, const char *path,
                                    halley_error *err)
{
    TRY(list_folder(files, path, NULL, err));
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
    return whole(files, err);
}

static halley_status find_by_prefix(found_array *files, const char *path,
                                    halley_error *err)
{
    const char *const slash = strrchr(path, '/');
    char *const folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
    if (!folder)
        return error_nomem(err);
    const char *const name = slash ? slash + 1 : path;
    halley_status status = HALLEY_OK;
    if (file_is_folder(*folder ? folder : "."))
        status = list_folder(files, folder, name, err);
    free(folder);
    TRY(status);
    if (files->n == 0) {
        error_set(
            err, HALLEY_ENOTFOUND,
            "no such trace: there is no file, no folder and no %s.0.et of that name",
            name);
        error_at_file(err, path);
        return HALLEY_ENOTFOUND;
    }
    qsort(files->at, files->n, sizeof *files->at, by_name);
    TRY(one_set(files, path, err));
    return whole(files, err);
}

static int by_rank(const void *a, const void *b)
{
    const found *const x = a, *const y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Files one by one: their own rank numbers if those are 0 … n-1, else the order given. */
static halley_status take_files(found_array *files, const char *const *paths, size_t n,
                                halley_error *err)
{
    bool numbered = true;
    for (size_t i = 0; i < n; i++) {
        found f = {0};
        numbered &= split_name(paths[i], &f);
        f.path = strdup(paths[i]);
        if (!f.path || !array_push(files, f)) {
            free(f.path);
            return error_nomem(err);
        }
    }
    if (!numbered)
        return HALLEY_OK;
    found *const sorted = mem_array(n, sizeof *sorted);
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

static halley_status find_files(found_array *files, const char *const *paths, size_t n,
                                halley_error *err)
{
    if (n == 0)
        return error_set(err, HALLEY_EINVAL, "no trace is named");
    if (n > 1 || strcmp(paths[0], "-") == 0)
        return take_files(files, paths, n, err);
    if (file_is_folder(paths[0]))
        return find_in_folder(files, paths[0], err);
    return file_exists(paths[0]) ? take_files(files, paths, n, err)
                                 : find_by_prefix(files, paths[0], err);
}

/* What is known of a file before it is decoded: enough to see which are worth comparing.
 */
typedef struct rank_file {
    uint64_t size, hash;
    uint32_t same_as; /* a lower rank with the same bytes, or itself */
} rank_file;

typedef struct set_job {
    const found_array *files;
    rank_file *ranks;
    halley_trace **traces;
    const halley_load_opts *opts;
} set_job;

static halley_status hash_file(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    (void)worker;
    const set_job *const j = context;
    file_input in;
    TRY(file_input_open(&in, j->files->at[i].path, err));
    j->ranks[i].size = in.n;
    j->ranks[i].hash = hash_bytes(in.at, in.n, 1);
    file_input_close(&in);
    return HALLEY_OK;
}

static halley_status load_rank(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    (void)worker;
    const set_job *const j = context;
    if (j->ranks[i].same_as != i)
        return HALLEY_OK;
    return halley_trace_load(&j->traces[i], j->files->at[i].path, j->opts, err);
}

/* Equal size and hash, then equal bytes. */
static halley_status same_bytes(bool *same, const char *a, const char *b,
                                halley_error *err)
{
    file_input x, y;
    TRY(file_input_open(&x, a, err));
    const halley_status status = file_input_open(&y, b, err);
    if (!status) {
        *same = x.n == y.n && memcmp(x.at, y.at, x.n) == 0;
        file_input_close(&y);
    }
    file_input_close(&x);
    return status;
}

static halley_status pair_up(const set_job *j, halley_error *err)
{
    map64 first = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < j->files->n && !status; i++) {
        rank_file *const r = &j->ranks[i];
        uint32_t other = i;
        bool fresh, same = false;
        r->same_as = i;
        if (!map64_put(&first, r->hash ^ hash_u64(r->size), &other, &fresh))
            status = error_nomem(err);
        else if (!fresh && j->ranks[other].size == r->size)
            status =
                same_bytes(&same, j->files->at[other].path, j->files->at[i].path, err);
        if (same)
            r->same_as = other;
    }
    map64_fini(&first);
    return status;
}

static halley_status load_all(halley_trace_set *set, const found_array *files,
                              const halley_load_opts *opts, halley_error *err)
{
    const halley_load_opts given = opts ? *opts : (halley_load_opts){0};
    halley_load_opts each = given;
    if (files->n > 1)
        each.n_threads = 1; /* the ranks keep the threads busy */
    set_job j = {files, mem_array_zero(files->n, sizeof *j.ranks), set->traces, &each};
    if (!j.ranks)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    if (files->n > 1)
        status = pool_run(given.n_threads, files->n, hash_file, &j, err);
    if (!status && files->n > 1)
        status = pair_up(&j, err);
    if (!status)
        status = pool_run(given.n_threads, files->n, load_rank, &j, err);
    for (uint32_t i = 0; i < files->n && !status; i++) {
        set->n_distinct += j.ranks[i].same_as == i;
        if (j.ranks[i].same_as != i)
            set->traces[i] = halley_trace_keep(set->traces[j.ranks[i].same_as]);
    }
    free(j.ranks);
    return status;
}

static halley_trace_set *new_set(uint32_t n)
{
    halley_trace_set *const set = mem_array_zero(1, sizeof *set);
    if (!set)
        return NULL;
    set->n = n;
    set->traces = mem_array_zero(n, sizeof *set->traces);
    set->paths = mem_array_zero(n, sizeof *set->paths);
    if (set->traces && set->paths)
        return set;
    set->n = 0;
    halley_trace_set_free(set);
    return NULL;
}

halley_status halley_trace_set_load(halley_trace_set **out, const char *const *paths,
                                    size_t n_paths, const halley_load_opts *opts,
                                    halley_error *err)
{
    found_array files = {0};
    halley_trace_set *set = NULL;
    halley_status status = find_files(&files, paths, n_paths, err);
    if (!status && files.n >= UINT32_MAX)
        status = error_set(err, HALLEY_ELIMIT, "too many files in one set");
    if (!status && !(set = new_set((uint32_t)files.n)))
        status = error_nomem(err);
    if (!status)
        status = load_all(set, &files, opts, err);
    for (size_t i = 0; i < files.n && !status; i++) {
        set->paths[i] = files.at[i].path;
        files.at[i].path = NULL;
    }
    free_found(&files);
    if (status)
        halley_trace_set_free(set);
    else
        *out = set;
    return status;
}

typedef struct error_job {
    const found_array *files;
    halley_error *errors; /* by rank; code 0 = none */
    const halley_load_opts *opts;
} error_job;

static halley_status try_rank(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    (void)err;
    const error_job *const j = context;
    halley_trace *trace = NULL;
    if (!halley_trace_load(&trace, j->files->at[i].path, j->opts, &j->errors[i]))
        halley_trace_free(trace);
    return HALLEY_OK;
}

halley_status halley_trace_set_errors(halley_error **out, uint32_t *n,
                                      const char *const *paths, size_t n_paths,
                                      const halley_load_opts *opts, halley_error *err)
{
    found_array files = {0};
    halley_load_opts each = opts ? *opts : (halley_load_opts){0};
    const uint32_t n_threads = each.n_threads;
    each.n_threads = 1;
    error_job j = {.files = &files, .opts = &each};
    halley_status status = find_files(&files, paths, n_paths, err);
    if (!status && !(j.errors = mem_array_zero(files.n, sizeof *j.errors)))
        status = error_nomem(err);
    if (!status)
        status = pool_run(n_threads, files.n, try_rank, &j, err);
    *n = 0;
    for (size_t i = 0; i < files.n && !status; i++)
        if (j.errors[i].code != HALLEY_OK)
            j.errors[(*n)++] = j.errors[i];
    free_found(&files);
    if (status)
        free(j.errors);
    else
        *out = j.errors;
    return status;
}

halley_status halley_trace_set_new(halley_trace_set **out, halley_trace *const *traces,
                                   uint32_t n, halley_error *err)
{
    halley_trace_set *const set = new_set(n);
    if (!set)
        return error_nomem(err);
    map64 seen = {0};
    bool fine = true;
    for (uint32_t i = 0; i < n && fine; i++) {
        uint32_t rank = i;
        bool fresh = false;
        fine = map64_put(&seen, (uint64_t)(uintptr_t)traces[i], &rank, &fresh);
        set->n_distinct += fresh;
    }
    map64_fini(&seen);
    if (!fine) {
        halley_trace_set_free(set);
        return error_nomem(err);
    }
    memcpy(set->traces, traces, n * sizeof *traces);
    *out = set;
    return HALLEY_OK;
}

void halley_trace_set_free(halley_trace_set *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->n; i++) {
        halley_trace_free(set->traces[i]);
        free(set->paths[i]);
    }
    free(set->traces);
    free(set->paths);
    free(set);
}

uint32_t halley_trace_set_count(const halley_trace_set *set)
{
    return set->n;
}

const halley_trace *halley_trace_set_get(const halley_trace_set *set, uint32_t rank)
{
    return set->traces[rank];
}

const char *halley_trace_set_path(const halley_trace_set *set, uint32_t rank)
{
    return set->paths[rank] ? set->paths[rank] : "";
}

char *halley_trace_set_groups(const halley_trace_set *set)
{
    const char *const path = set->n ? set->paths[0] : NULL;
    found f = {0};
    if (!path)
        return NULL;
    const char *const slash = strrchr(path, '/');
    const int n_folder = slash ? (int)(slash + 1 - path) : 0;
    int n_prefix = (int)strlen(path);
    if (split_name(path, &f))
        n_prefix = (int)f.n_prefix;
    else /* one file, "x.et" */
        for (uint32_t e = 0; e < N_ENDINGS && n_prefix == (int)strlen(path); e++)
            if (str_ends(str_from(path), str_from(endings[e])))
                n_prefix -= (int)strlen(endings[e]);
    strbuf name = {0};
    strbuf_printf(&name, "%.*s.comm_group.json", n_prefix, path);
    if (!name.failed && !file_exists(name.at)) {
        name.n = 0;
        strbuf_printf(&name, "%.*scomm_group.json", n_folder, path);
    }
    if (!name.failed && file_exists(name.at))
        return name.at;
    strbuf_fini(&name);
    return NULL;
}

uint32_t halley_trace_set_distinct(const halley_trace_set *set)
{
    return set->n_distinct;
}
