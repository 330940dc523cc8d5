/*
 * Sets of ranks: files are read in parallel, and equal ones are stored once.
 */
#include "base/file/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "trace/core/rank_file.h"
#include "trace/core/set_alike.h"
#include "trace/core/set_files.h"
#include "trace/core/store.h"

#include <assert.h>
#include <string.h>

struct halley_trace_set {
    uint32_t n;
    halley_trace **traces; /* by rank; equal ranks point to the same trace */
    char **paths;
    uint32_t n_distinct;
    trace_alike *alike; /* NULL: no rank shares a trace with differences */
};

/* Limit of the bytes of small files that are kept from the search for equal files until
 * they are decoded. */
enum { KEEP_BYTES = 1 << 26 };

typedef struct set_job {
    const trace_files *files;
    rank_file *ranks;
    halley_trace **traces;
    const halley_load_opts *opts;
} set_job;

/* Scan a file. A small file with the same bytes as rank 0's needs no further work. */
static halley_status scan_rank(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    assert(context != NULL);
    (void)worker;
    const set_job *const j = context;
    rank_file *const r = &j->ranks[i], *const first = &j->ranks[0];
    bool same = false;
    TRY(trace_rank_file_scan(r, j->files->at[i].path, KEEP_BYTES / j->files->n, err));
    if (i > 0 && !r->is_large)
        TRY(trace_rank_file_compare(&same, first, j->files->at[0].path, r,
                                    j->files->at[i].path, err));
    r->same_as = same ? 0 : (uint32_t)i;
    if (same)
        file_input_close(&r->kept);
    return HALLEY_OK;
}

static halley_status scan_next_rank(void *context, size_t i, uint32_t worker,
                                    halley_error *err)
{
    return scan_rank(context, i + 1, worker, err);
}

/* Find the large files of ranks [1 + 8 i, 9 + 8 i) that equal rank 0's. */
static halley_status match_block(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    (void)worker;
    const set_job *const j = context;
    const char *paths[RANK_FILE_BLOCK];
    uint32_t ranks[RANK_FILE_BLOCK], n = 0;
    bool same[RANK_FILE_BLOCK] = {false};
    const size_t first = 1 + i * RANK_FILE_BLOCK;
    for (size_t k = first; k < j->files->n && k < first + RANK_FILE_BLOCK; k++) {
        if (!j->ranks[k].is_large || !j->ranks[0].is_large ||
            j->ranks[k].head != j->ranks[0].head)
            continue;
        ranks[n] = (uint32_t)k;
        paths[n++] = j->files->at[k].path;
    }
    if (n > 0)
        TRY(trace_rank_file_match(same, j->files->at[0].path, paths, n, err));
    for (uint32_t k = 0; k < n; k++)
        j->ranks[ranks[k]].same_as = same[k] ? 0 : ranks[k];
    return HALLEY_OK;
}

/* Find large files that begin alike. Those equal to rank 0's have already been found. */
static halley_status find_peers(const set_job *j, halley_error *err)
{
    map64 first = {0};
    bool fine = true, fresh;
    for (uint32_t i = 1; i < j->files->n && fine; i++) {
        rank_file *const r = &j->ranks[i];
        uint32_t other = i;
        if (!r->is_large || r->same_as != i)
            continue;
        fine = map64_put(&first, r->head, &other, &fresh);
        if (fine && !fresh)
            r->has_peer = j->ranks[other].has_peer = true;
    }
    map64_fini(&first);
    return fine ? HALLEY_OK : error_nomem(err);
}

static halley_status hash_rank(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    (void)worker;
    const set_job *const j = context;
    if (!j->ranks[i].has_peer)
        return HALLEY_OK;
    return trace_rank_file_hash(&j->ranks[i], j->files->at[i].path, err);
}

static halley_status load_rank(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    assert(context != NULL);
    (void)worker;
    const set_job *const j = context;
    rank_file *const r = &j->ranks[i];
    if (r->same_as != i)
        return HALLEY_OK;
    if (r->kept.at == NULL)
        return halley_trace_load(&j->traces[i], j->files->at[i].path, j->opts, err);
    return trace_load_input(&j->traces[i], &r->kept, j->files->at[i].path, j->opts, err);
}

static halley_status pair_ranks(const set_job *j, halley_error *err)
{
    map64 first = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < j->files->n && !status; i++) {
        rank_file *const r = &j->ranks[i];
        uint32_t other = i;
        bool fresh, same = false;
        if (r->same_as != i || (r->is_large && !r->has_peer))
            continue;
        if (!map64_put(&first, r->hash ^ hash_u64(r->size), &other, &fresh))
            status = error_nomem(err);
        else if (!fresh)
            status =
                trace_rank_file_compare(&same, &j->ranks[other], j->files->at[other].path,
                                        r, j->files->at[i].path, err);
        if (same) {
            r->same_as = other;
            file_input_close(&r->kept);
        }
    }
    map64_fini(&first);
    return status;
}

/* Find which ranks have the same bytes. */
static halley_status find_equal(const set_job *j, uint32_t n_threads, halley_error *err)
{
    const size_t n = j->files->n;
    set_job job = *j;
    TRY(scan_rank(&job, 0, 0, err));
    TRY(pool_run(n_threads, n - 1, scan_next_rank, &job, err));
    TRY(pool_run(n_threads, (n - 1 + RANK_FILE_BLOCK - 1) / RANK_FILE_BLOCK, match_block,
                 &job, err));
    TRY(find_peers(&job, err));
    TRY(pool_run(n_threads, n, hash_rank, &job, err));
    return pair_ranks(&job, err);
}

static halley_status load_all(halley_trace_set *set, const trace_files *files,
                              const halley_load_opts *opts, halley_error *err)
{
    assert(files->n > 0);
    const halley_load_opts given = opts ? *opts : (halley_load_opts){0};
    halley_load_opts each = given;
    if (files->n > 1)
        each.n_threads = 1; /* the ranks keep the threads busy */
    set_job j = {files, mem_array_zero(files->n, sizeof *j.ranks), set->traces, &each};
    if (!j.ranks)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    if (files->n > 1)
        status = find_equal(&j, given.n_threads, err);
    if (!status)
        status = pool_run(given.n_threads, files->n, load_rank, &j, err);
    for (size_t i = 0; i < files->n; i++)
        file_input_close(&j.ranks[i].kept);
    for (uint32_t i = 0; i < files->n && !status; i++) {
        set->n_distinct += j.ranks[i].same_as == i;
        if (j.ranks[i].same_as != i)
            set->traces[i] = halley_trace_keep(set->traces[j.ranks[i].same_as]);
    }
    free(j.ranks);
    return status;
}

/* Load the set and, for ranks that are alike, store only the differences. */
static halley_status load_alike(halley_trace_set *set, const trace_files *files,
                                const halley_load_opts *opts, halley_error *err)
{
    TRY(trace_alike_load(&set->alike, set->traces, files, opts, err));
    set->n_distinct = trace_alike_count(set->alike);
    return HALLEY_OK;
}

static halley_trace_set *new_set(uint32_t n)
{
    assert(n > 0);
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
    assert(paths != NULL || n_paths == 0);
    trace_files files = {0};
    halley_trace_set *set = NULL;
    halley_status status = trace_files_find(&files, paths, n_paths, err);
    if (!status && files.n >= UINT32_MAX)
        status = error_set(err, HALLEY_ELIMIT, "too many files in one set");
    if (!status && !(set = new_set((uint32_t)files.n)))
        status = error_nomem(err);
    if (!status)
        status = opts != NULL && opts->differences_only && files.n > 1
                     ? load_alike(set, &files, opts, err)
                     : load_all(set, &files, opts, err);
    for (size_t i = 0; i < files.n && !status; i++) {
        set->paths[i] = files.at[i].path;
        files.at[i].path = NULL;
    }
    trace_files_fini(&files);
    if (status)
        halley_trace_set_free(set);
    else
        *out = set;
    return status;
}

typedef struct error_job {
    const trace_files *files;
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
    trace_files files = {0};
    halley_load_opts each = opts ? *opts : (halley_load_opts){0};
    const uint32_t n_threads = each.n_threads;
    each.n_threads = 1;
    error_job j = {.files = &files, .opts = &each};
    halley_status status = trace_files_find(&files, paths, n_paths, err);
    if (!status && !(j.errors = mem_array_zero(files.n, sizeof *j.errors)))
        status = error_nomem(err);
    if (!status)
        status = pool_run(n_threads, files.n, try_rank, &j, err);
    *n = 0;
    for (size_t i = 0; i < files.n && !status; i++)
        if (j.errors[i].code != HALLEY_OK)
            j.errors[(*n)++] = j.errors[i];
    trace_files_fini(&files);
    if (status)
        free(j.errors);
    else
        *out = j.errors;
    return status;
}

halley_status halley_trace_set_new(halley_trace_set **out, halley_trace *const *traces,
                                   uint32_t n, halley_error *err)
{
    assert(n > 0 && traces != NULL);
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
    trace_alike_free(set->alike);
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

/* Does the file start like a list of groups: {"1": [0, 1], …}? */
static bool lists_groups(const char *path)
{
    file_input in;
    if (!file_exists(path) || file_input_open(&in, path, NULL) != HALLEY_OK)
        return false;
    json_reader r;
    json_open(&r, (str){(const char *)in.at, in.n});
    uint64_t group;
    const bool is_object = json_next(&r) == JSON_OBJECT;
    const bool is = is_object && json_next(&r) == JSON_KEY &&
                    str_to_u64(r.text, &group) && json_next(&r) == JSON_ARRAY;
    file_input_close(&in);
    return is;
}

char *halley_trace_set_groups(const halley_trace_set *set)
{
    const char *const path = set->n ? set->paths[0] : NULL;
    if (!path)
        return NULL;
    const char *const slash = strrchr(path, '/');
    const int n_folder = slash ? (int)(slash + 1 - path) : 0;
    const str stem = trace_file_stem(path);
    strbuf name = {0};
    strbuf_printf(&name, "%.*s.comm_group.json", STR_ARG(stem));
    if (!name.failed && !file_exists(name.at)) {
        name.n = 0;
        strbuf_printf(&name, "%.*scomm_group.json", n_folder, path);
    }
    if (!name.failed && file_exists(name.at))
        return name.at;
    name.n = 0; /* STAGE writes the groups of PREFIX.0.et to PREFIX.json */
    strbuf_printf(&name, "%.*s.json", STR_ARG(stem));
    if (!name.failed && lists_groups(name.at))
        return name.at;
    strbuf_fini(&name);
    return NULL;
}

bool trace_set_alike(trace_alike_rank *out, const halley_trace_set *set, uint32_t rank)
{
    assert(rank < set->n);
    return set->alike != NULL && trace_alike_get(out, set->alike, rank);
}

bool trace_set_is_whole(const halley_trace_set *set)
{
    return set->alike == NULL;
}

uint32_t halley_trace_set_distinct(const halley_trace_set *set)
{
    return set->n_distinct;
}
