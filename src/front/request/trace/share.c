/* Code for commands that make traces to share with others. */
#include "request/trace/share.h"

#include "base/error.h"
#include "base/file/file.h"
#include "halley/synth.h"

#include <stdlib.h>
#include <string.h>

halley_status share_check(const halley_trace_set *set, const char *path,
                          const char *groups_path, halley_error *err)
{
    const halley_status status = halley_trace_set_passes(set, groups_path, err);
    if (status == HALLEY_EINVAL)
        error_at_file(err, path);
    return status;
}

/* Check that the folder OUT is empty, and that there are no files OUT, OUT.0.et and so
 * on. */
static halley_status is_fresh(const char *out, halley_error *err)
{
    strbuf first = {0};
    strbuf_printf(&first, "%s.0.et", out);
    if (first.failed)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    if (file_is_folder(out) && !file_folder_is_empty(out))
        status = error_set(
            err, HALLEY_EINVAL,
            "the folder is not empty; a shared set should be alone in its folder: "
            "use another folder, or --force");
    else if (!file_is_folder(out) && (file_exists(out) || file_exists(first.at)))
        status =
            error_set(err, HALLEY_EINVAL, "already exists; use another name, or --force");
    strbuf_fini(&first);
    if (status != HALLEY_OK)
        error_at_file(err, out);
    return status;
}

halley_status share_target(request_call *call, const char *out, bool force,
                           halley_error *err)
{
    if (!out)
        return request_usage(call, err, "name the output with --out");
    if (strcmp(out, "-") == 0)
        return request_usage(
            call, err, "standard output carries the report; name a file with --out");
    return force ? HALLEY_OK : is_fresh(out, err);
}

halley_status share_save(const halley_trace_set *set, const char *out, request_call *call,
                         traces_groups_saver *save_groups, const void *groups,
                         const traces_extra *extra, halley_error *err)
{
    if (str_ends(str_from(out), STR("/")))
        TRY(file_folder_make(out, err));
    const bool gz = !file_is_folder(out) && str_ends(str_from(out), STR(".gz"));
    const traces_output output = {.path = out,
                                  .form = gz ? TRACES_ET_GZ : TRACES_ET,
                                  .one = halley_trace_set_count(set) == 1 &&
                                         traces_is_file(call),
                                  .save_groups = save_groups,
                                  .groups = groups,
                                  .extra = extra};
    return traces_save(set, &output, call, err);
}
