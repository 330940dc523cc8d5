/* Adds the sets of a folder to a profile, one by one. */
#include "base/error.h"
#include "base/file/file.h"
#include "compare/compare.h"
#include "trace/core/set_files.h"

#include <stdlib.h>

/* Adds the i-th of the sets found. */
static halley_status add_set(halley_profile *p, const trace_found *found, size_t i,
                             halley_error *err)
{
    halley_trace_set *set;
    const char *const name = found->list.at[i].name;
    TRY(trace_found_load(&set, found, i, 0, err));
    char *const beside = halley_trace_set_groups(set);
    halley_status status = halley_trace_set_passes(set, beside, err);
    if (status == HALLEY_OK)
        status = halley_profile_add(p, set, name, beside, err);
    if (status != HALLEY_OK)
        error_at_file(err, name);
    free(beside);
    halley_trace_set_free(set);
    return status;
}

/* Adds all sets. A folder without a valid set is an error. */
static halley_status profile_found_sets(halley_profile *p, const trace_found *found,
                                        bool strict, halley_left_out *out,
                                        halley_error *err)
{
    for (size_t i = 0; i < found->list.n; i++) {
        halley_error why = {0};
        if (add_set(p, found, i, &why) == HALLEY_OK)
            continue;
        if (strict || why.code == HALLEY_ENOMEM) {
            if (err)
                *err = why;
            return why.code;
        }
        if (out->n_sets++ == 0)
            (void)halley_error_format(&why, out->first_set, sizeof out->first_set);
    }
    if (found->list.n == 0)
        return error_set(err, HALLEY_ENOTFOUND,
                         "no trace in this folder; traces are called NAME.RANK.et");
    if (out->n_sets == found->list.n)
        return error_set(err, HALLEY_EINVAL,
                         "none of the %zu sets in this folder passes 'halley trace "
                         "check', the first: %s",
                         found->list.n, out->first_set);
    return HALLEY_OK;
}

halley_status halley_profile_add_path(halley_profile *p, const char *path, bool strict,
                                      halley_left_out *left_out, halley_error *err)
{
    trace_found found = {0};
    halley_left_out out = {.size = sizeof out};
    const bool folder = file_is_folder(path);
    halley_status status = trace_find(&found, &path, 1, strict, err);
    if (status == HALLEY_OK) {
        out.n_folders = found.n_unreadable;
        if (found.n_unreadable > 0)
            (void)halley_error_format(&found.why, out.first_folder,
                                      sizeof out.first_folder);
        status = profile_found_sets(p, &found, strict || !folder, &out, err);
        if (status != HALLEY_OK && folder)
            error_at_file(err, path);
    }
    trace_found_fini(&found);
    if (left_out)
        *left_out = out;
    return status;
}
