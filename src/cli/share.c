/* What the commands share that make traces to hand on. */
#include "cli/share.h"

#include "base/error.h"
#include "base/file.h"
#include "halley/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

halley_status share_check(const halley_trace_set *set, const char *path,
                          const char *groups_path, halley_error *err)
{
    const halley_status status = halley_trace_set_passes(set, groups_path, err);
    if (status == HALLEY_EINVAL)
        error_at_file(err, path);
    return status;
}

halley_status share_fresh(const char *out, halley_error *err)
{
    strbuf first = {0};
    strbuf_printf(&first, "%s.0.et", out);
    if (first.failed)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    if (file_is_folder(out) && !file_folder_is_empty(out))
        status = error_set(err, HALLEY_EINVAL,
                           "the folder is not empty; what is shared should stand alone: "
                           "take another, or --force");
    else if (!file_is_folder(out) && (file_exists(out) || file_exists(first.at)))
        status = error_set(err, HALLEY_EINVAL,
                           "is there already; take another name, or --force");
    strbuf_fini(&first);
    if (status != HALLEY_OK)
        error_at_file(err, out);
    return status;
}

static halley_status make_folder(const char *path, halley_error *err)
{
    const size_t n = strlen(path);
    if (n == 0 || path[n - 1] != '/' || file_is_folder(path) || mkdir(path, 0777) == 0)
        return HALLEY_OK;
    const halley_status status = error_errno(err, "make this folder", errno);
    error_at_file(err, path);
    return status;
}

halley_status share_save(const halley_trace_set *set, const char *out, cli_call *call,
                         share_groups_saver *save_groups, const void *context,
                         halley_error *err)
{
    TRY(make_folder(out, err));
    const size_t n = strlen(out);
    const bool folder = file_is_folder(out);
    const traces_output output = {
        .path = out,
        .form = !folder && str_ends(str_from(out), STR(".gz")) ? TRACES_ET_GZ : TRACES_ET,
        .one = halley_trace_set_count(set) == 1 && traces_is_file(call)};
    TRY(traces_save(set, &output, NULL, call, err));
    if (!save_groups)
        return HALLEY_OK;
    strbuf path = {0};
    strbuf_printf(&path, "%s%scomm_group.json", out,
                  folder ? (out[n - 1] == '/' ? "" : "/") : ".");
    const halley_status status =
        path.failed ? error_nomem(err) : save_groups(context, path.at, err);
    strbuf_fini(&path);
    return status;
}
