/* Sets that lie in a folder, added to a profile one by one. */
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "synth/compare.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef ARRAY(char *) path_array;

static void free_paths(path_array *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->at[i]);
    array_fini(paths);
}

/* "x.3.et" gives "x" and 3; "x.et" gives all of it and 0. False: no trace. */
static bool split(str *stem, uint64_t *rank, str name)
{
    static const char *const endings[] = {".et", ".et.gz", ".jsonl", ".jsonl.gz"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const str ending = str_from(endings[e]);
        if (!str_ends(name, ending))
            continue;
        str rest = {name.at, name.n - ending.n};
        size_t dot = rest.n;
        while (dot > 0 && rest.at[dot - 1] >= '0' && rest.at[dot - 1] <= '9')
            dot--;
        *stem = name;
        *rank = 0;
        if (dot > 1 && rest.at[dot - 1] == '.' &&
            str_to_u64((str){rest.at + dot, rest.n - dot}, rank))
            *stem = (str){rest.at, dot - 1};
        return true;
    }
    return false;
}

static bool add_path(path_array *to, const char *folder, str name)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s%s%.*s", folder,
                  str_ends(str_from(folder), STR("/")) ? "" : "/", STR_ARG(name));
    if (!path.failed && array_push(to, path.at))
        return true;
    strbuf_fini(&path);
    return false;
}

/* The sets of one folder and the folders in it. */
static halley_status list(path_array *sets, path_array *folders, const char *path,
                          halley_error *err)
{
    DIR *const dir = opendir(path);
    if (!dir) {
        const halley_status status = error_errno(err, "open this folder", errno);
        error_at_file(err, path);
        return status;
    }
    bool fine = true;
    const struct dirent *entry;
    while (fine && (entry = readdir(dir))) {
        const str name = str_from(entry->d_name);
        str stem;
        uint64_t rank;
        if (entry->d_name[0] == '.')
            continue;
        if (split(&stem, &rank, name))
            fine = rank != 0 || add_path(sets, path, stem);
        else if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
            fine = add_path(folders, path, name);
    }
    closedir(dir);
    return fine ? HALLEY_OK : error_nomem(err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static halley_status find(path_array *sets, const char *path, halley_error *err)
{
    path_array folders = {0};
    halley_status status = list(sets, &folders, path, err);
    for (size_t i = 0; i < folders.n && status == HALLEY_OK; i++)
        if (file_is_folder(folders.at[i]))
            status = list(sets, &folders, folders.at[i], err);
    free_paths(&folders);
    if (sets->n > 1)
        qsort(sets->at, sets->n, sizeof *sets->at, by_name);
    return status;
}

static halley_status add_set(halley_profile *p, const char *path, bool strict,
                             uint32_t *n_left_out, halley_error *err)
{
    halley_trace_set *set;
    halley_error why = {0};
    halley_status status = halley_trace_set_load(&set, &path, 1, NULL, &why);
    if (status == HALLEY_OK) {
        char *const beside = halley_trace_set_groups(set);
        status = halley_trace_set_passes(set, beside, &why);
        if (status == HALLEY_OK)
            status = halley_profile_add(p, set, path, beside, &why);
        error_at_file(&why, path);
        free(beside);
        halley_trace_set_free(set);
    }
    if (status == HALLEY_OK)
        return HALLEY_OK;
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (!strict) {
        *n_left_out += 1;
        return HALLEY_OK;
    }
    if (err)
        *err = why;
    return status;
}

halley_status halley_profile_add_path(halley_profile *p, const char *path, bool strict,
                                      uint32_t *n_left_out, halley_error *err)
{
    uint32_t n = 0;
    halley_status status = HALLEY_OK;
    if (!file_is_folder(path)) {
        status = add_set(p, path, true, &n, err);
    } else {
        path_array sets = {0};
        status = find(&sets, path, err);
        for (size_t i = 0; i < sets.n && status == HALLEY_OK; i++)
            status = add_set(p, sets.at[i], strict, &n, err);
        if (status == HALLEY_OK && sets.n == 0) {
            status = error_set(err, HALLEY_ENOTFOUND,
                               "no trace in this folder; traces are called NAME.RANK.et");
            error_at_file(err, path);
        } else if (status == HALLEY_OK && n == sets.n) {
            status = error_set(err, HALLEY_EINVAL,
                               "none of the %zu sets in this folder passes 'halley trace "
                               "check'",
                               sets.n);
            error_at_file(err, path);
        }
        free_paths(&sets);
    }
    if (n_left_out)
        *n_left_out += n;
    return status;
}
