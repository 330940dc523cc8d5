/* Files and folders with recordings. The content of a file determines what it is. */
#include "request/trace/recordings.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Files to link, sorted by their type. */
typedef struct link_files {
    ARRAY(char *) hosts, recordings; /* owned paths */
    uint64_t n_skipped;
} link_files;

static void fini_files(link_files *f)
{
    for (size_t i = 0; i < f->hosts.n; i++)
        free(f->hosts.at[i]);
    for (size_t i = 0; i < f->recordings.n; i++)
        free(f->recordings.at[i]);
    array_fini(&f->hosts);
    array_fini(&f->recordings);
}

static halley_status add_recording_file(link_files *f, const char *path, bool in_folder,
                                        halley_error *err)
{
    const halley_file_kind kind = halley_file_recognise(path);
    if (in_folder && kind != HALLEY_FILE_RECORDING &&
        kind != HALLEY_FILE_EXECUTION_TRACE) {
        f->n_skipped++;
        return HALLEY_OK;
    }
    char *const copy = strdup(path);
    const bool ok = copy != NULL && (kind == HALLEY_FILE_EXECUTION_TRACE
                                         ? array_push(&f->hosts, copy)
                                         : array_push(&f->recordings, copy));
    if (!ok)
        free(copy);
    return ok ? HALLEY_OK : error_nomem(err);
}

static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static halley_status add_folder(link_files *f, const char *folder, halley_error *err)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, keep_visible, versionsort);
    if (n < 0) {
        error_errno(err, "read the folder", errno);
        error_at_file(err, folder);
        return HALLEY_EIO;
    }
    halley_status status = HALLEY_OK;
    for (int i = 0; i < n; i++) {
        strbuf path = {0};
        strbuf_printf(&path, "%s/%s", folder, entries[i]->d_name);
        if (path.failed)
            status = error_nomem(err);
        else if (status == HALLEY_OK && !file_is_folder(path.at))
            status = add_recording_file(f, path.at, true, err);
        strbuf_fini(&path);
        free(entries[i]);
    }
    free(entries);
    if (status == HALLEY_OK && f->hosts.n + f->recordings.n == 0) {
        status = error_set(err, HALLEY_EINVAL, "the folder holds no recording");
        error_at_file(err, folder);
    }
    return status;
}

/* Keep one of several CSV files of one rocprofv3 run. */
static void drop_csv_siblings(link_files *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->recordings.n; i++) {
        const char *const path = f->recordings.at[i];
        const char *const mark = strstr(path, "_trace.csv");
        bool again = false;
        for (size_t k = 0; mark != NULL && k < kept && !again; k++) {
            const char *const other = f->recordings.at[k];
            size_t n = 0;
            while (path[n] != '\0' && path[n] == other[n])
                n++;
            while (n > 0 && path[n - 1] != '_' && path[n - 1] != '/')
                n--;
            static const char *const kinds[] = {
                "kernel_trace.csv", "memory_copy_trace.csv", "hip_api_trace.csv",
                "marker_api_trace.csv", "rccl_api_trace.csv"};
            bool mine = false, theirs = false;
            for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
                mine |= strcmp(path + n, kinds[j]) == 0;
                theirs |= strcmp(other + n, kinds[j]) == 0;
            }
            again = mine && theirs;
        }
        if (again)
            free(f->recordings.at[i]);
        else
            f->recordings.at[kept++] = f->recordings.at[i];
    }
    f->recordings.n = kept;
}

/* How many ranks after a missing one are tried, so that an error can name the missing
 * one. */
enum { RANKS_AHEAD = 1024 };

/* Add the files of a pattern, from rank 0 on. A missing rank in the middle is an error.
 */
static halley_status add_pattern(link_files *f, const char *pattern, halley_error *err)
{
    const char *const at = strstr(pattern, "%d");
    uint32_t missing = UINT32_MAX;
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; status == HALLEY_OK; rank++) {
        strbuf path = {0};
        strbuf_printf(&path, "%.*s%u%s", (int)(at - pattern), pattern, rank, at + 2);
        if (path.failed)
            status = error_nomem(err);
        else if (!file_exists(path.at))
            missing = rank < missing ? rank : missing;
        else if (missing != UINT32_MAX)
            status = error_set(err, HALLEY_EINVAL,
                               "rank %u is missing: there is a file of rank %u (%s)",
                               missing, rank, path.at);
        else
            status = add_recording_file(f, path.at, false, err);
        strbuf_fini(&path);
        if (missing != UINT32_MAX && rank > missing + RANKS_AHEAD)
            break;
    }
    return status;
}

static halley_status collect_files(link_files *f, const recordings_input *in,
                                   halley_error *err)
{
    for (size_t i = 0; i < in->n_paths; i++)
        TRY(file_is_folder(in->paths[i])
                ? add_folder(f, in->paths[i], err)
                : add_recording_file(f, in->paths[i], false, err));
    drop_csv_siblings(f);
    return HALLEY_OK;
}

static halley_status link_one_pair(halley_trace_set **out, halley_link_report **reports,
                                   const link_files *f, const halley_link_opts *opts,
                                   halley_error *err)
{
    const char *const device = f->recordings.n > 0 ? f->recordings.at[0] : NULL;
    halley_link_report *const report = calloc(1, sizeof *report);
    if (!report)
        return error_nomem(err);
    halley_trace *trace = NULL;
    halley_status status =
        halley_trace_link(&trace, report, f->hosts.at[0], device, opts, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, &trace, 1, err);
    if (status != HALLEY_OK) {
        halley_trace_free(trace);
        free(report);
        return status;
    }
    *reports = report;
    return HALLEY_OK;
}

static halley_status link_by_kind(halley_trace_set **set, halley_link_report **reports,
                                  const link_files *f, const recordings_input *in,
                                  halley_error *err)
{
    if (f->hosts.n == 0)
        return halley_recordings_link(set, reports, (const char *const *)f->recordings.at,
                                      f->recordings.n, in->alone, err);
    if (f->hosts.n == 1 && f->recordings.n <= 1)
        return link_one_pair(set, reports, f, in->pairs, err);
    if (f->recordings.n > 0 && f->hosts.n != f->recordings.n)
        return error_set(err, HALLEY_EINVAL,
                         "there are %zu execution traces and %zu recordings of devices: "
                         "each execution trace needs the recording of its rank",
                         f->hosts.n, f->recordings.n);
    return halley_trace_link_pairs(
        set, reports, (const char *const *)f->hosts.at,
        f->recordings.n > 0 ? (const char *const *)f->recordings.at : NULL,
        (uint32_t)f->hosts.n, in->pairs, err);
}

/* True if the pattern names recordings that need no execution trace. */
static bool names_recordings(const recordings_input *in)
{
    const char *const at = strstr(in->paths[0], "%d");
    if (in->n_paths != 1 || at == NULL)
        return false;
    strbuf path = {0};
    strbuf_printf(&path, "%.*s0%s", (int)(at - in->paths[0]), in->paths[0], at + 2);
    const bool is = !path.failed && file_exists(path.at) &&
                    halley_file_recognise(path.at) == HALLEY_FILE_RECORDING;
    strbuf_fini(&path);
    return is;
}

halley_status recordings_link(halley_trace_set **set, halley_link_report **reports,
                              const recordings_input *in, halley_error *err)
{
    if (in->is_pattern && !names_recordings(in))
        return halley_trace_link_ranks(set, reports, in->paths[0],
                                       in->n_paths > 1 ? in->paths[1] : NULL, in->pairs,
                                       err);
    link_files files = {0};
    halley_status status = in->is_pattern ? add_pattern(&files, in->paths[0], err)
                                          : collect_files(&files, in, err);
    if (status == HALLEY_OK)
        status = link_by_kind(set, reports, &files, in, err);
    fini_files(&files);
    return status;
}
