/*
 * Sets in files and folders. Files that end in .et, .et.gz, .json(l) with a number before
 * are ranks of the set their names begin with; files without one are sets of one rank;
 * what else lies in a folder (groups, conditions) is not a trace.
 */
#include "synth/learn_find.h"

#include "base/file.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

void learn_sets_fini(learn_sets *s)
{
    array_fini(&s->files);
    array_fini(&s->list);
    arena_fini(&s->memory);
}

/* The path without ".12.et", the whole path without a number; {0}: no trace. */
static str set_of(str path)
{
    static const char *const endings[] = {".et", ".et.gz"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        const str ending = str_from(endings[e]);
        if (!str_ends(path, ending))
            continue;
        size_t n = path.n - ending.n;
        while (n > 0 && path.at[n - 1] >= '0' && path.at[n - 1] <= '9')
            n--;
        const bool numbered = n > 1 && n < path.n - ending.n && path.at[n - 1] == '.';
        return numbered ? (str){path.at, n - 1} : path;
    }
    return (str){0};
}

static halley_status add(learn_sets *s, str path, halley_error *err)
{
    const char *copy = arena_copy(&s->memory, path);
    return copy && array_push(&s->files, copy) ? HALLEY_OK : error_nomem(err);
}

static halley_status walk(learn_sets *s, const char *root, halley_error *err)
{
    ARRAY(const char *) folders = {0};
    halley_status status = HALLEY_OK;
    if (!array_push(&folders, root))
        status = error_nomem(err);
    for (size_t i = 0; status == HALLEY_OK && i < folders.n; i++) {
        DIR *folder = opendir(folders.at[i]);
        for (struct dirent *e; folder && status == HALLEY_OK && (e = readdir(folder));) {
            if (e->d_name[0] == '.')
                continue;
            const char *at = folders.at[i];
            const size_t n = strlen(at);
            const char *path =
                arena_printf(&s->memory, "%s%s%s", at,
                             n > 0 && at[n - 1] == '/' ? "" : "/", e->d_name);
            struct stat st;
            if (!path)
                status = error_nomem(err);
            else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
                if (!array_push(&folders, path))
                    status = error_nomem(err);
            } else if (set_of(str_from(path)).n > 0)
                status = add(s, str_from(path), err);
        }
        if (folder)
            closedir(folder);
    }
    array_fini(&folders);
    return status;
}

/* The name of a file's set: what is no .et (a prefix that was given) names itself. */
static str name_of(const char *path)
{
    const str name = set_of(str_from(path));
    return name.n > 0 ? name : str_from(path);
}

static int by_set(const void *a, const void *b)
{
    const char *const x = *(const char *const *)a, *const y = *(const char *const *)b;
    const int order = str_cmp(name_of(x), name_of(y));
    return order != 0 ? order : strcmp(x, y);
}

/* Files of one set stand side by side; a file given twice counts once. */
static halley_status group(learn_sets *s, halley_error *err)
{
    size_t n = 0;
    if (s->files.n > 1)
        qsort(s->files.at, s->files.n, sizeof *s->files.at, by_set);
    for (size_t i = 0; i < s->files.n; i++) {
        const char *path = s->files.at[i];
        if (n > 0 && strcmp(s->files.at[n - 1], path) == 0)
            continue;
        const str name = name_of(path);
        learn_found *last = s->list.n > 0 ? &s->list.at[s->list.n - 1] : NULL;
        s->files.at[n++] = path;
        if (last && str_eq(str_from(last->name), name)) {
            last->n++;
            continue;
        }
        const char *copy = arena_copy(&s->memory, name);
        if (!copy || !array_push(&s->list, (learn_found){copy, n - 1, 1}))
            return error_nomem(err);
    }
    s->files.n = n;
    return HALLEY_OK;
}

halley_status learn_sets_find(learn_sets *s, const char *const *from, size_t n_from,
                              halley_error *err)
{
    for (size_t i = 0; i < n_from; i++)
        TRY(file_is_folder(from[i]) ? walk(s, from[i], err)
                                    : add(s, str_from(from[i]), err));
    return group(s, err);
}
