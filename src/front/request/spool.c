/* Copies pipes into memory files, which have a path while they are open. */
#include "request/spool.h"

#include "base/error.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/limit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_pipe(const char *path)
{
    struct stat about;
    return file_look(path, &about) == 0 && !S_ISREG(about.st_mode) &&
           !S_ISDIR(about.st_mode);
}

/* If *path names a pipe, replace it with the path of a copy of at most `most` bytes. 0 =
 * the limit of memory applies. */
static halley_status spool_path(request_spool *spool, const char **path, uint64_t most,
                                halley_error *err)
{
    if (*path == NULL || !is_pipe(*path))
        return HALLEY_OK;
    if (spool->n == REQUEST_MAX_SPOOLED)
        return error_set(err, HALLEY_ELIMIT, "at most %d files may be pipes",
                         REQUEST_MAX_SPOOLED);
    file_input in;
    TRY(most == 0 ? file_input_open(&in, *path, err)
                  : file_input_open_most(&in, *path, most, err));
    const int fd = memfd_create("halley", MFD_CLOEXEC);
    const int reason = fd < 0 ? errno : file_write(fd, in.at, in.n);
    file_input_close(&in);
    if (fd >= 0) {
        request_spooled *const s = &spool->at[spool->n++];
        *s = (request_spooled){.fd = fd, .name = *path};
        snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", fd);
    }
    if (reason != 0) {
        error_errno(err, "copy the pipe into memory", reason);
        error_at_file(err, *path);
        return HALLEY_EIO;
    }
    *path = spool->at[spool->n - 1].path;
    return HALLEY_OK;
}

halley_status request_spool_fill(request_spool *spool, request_call *call,
                                 halley_error *err)
{
    const request_verb *const verb = call->verb;
    for (request_option_walk w = {.verb = verb}; request_option_next(&w);) {
        const request_option *const o = &w.option;
        if (!o->is_document || o->kind != REQUEST_TEXT)
            continue;
        const char **const value =
            (const char **)((char *)(uintptr_t)call->options + o->offset);
        TRY(spool_path(spool, value, LIMIT_CONFIGURATION, err));
    }
    const char **const args = (const char **)(uintptr_t)call->args;
    for (size_t i = 0; verb->args_are_documents && i < call->n_args; i++)
        TRY(spool_path(spool, &args[i], LIMIT_CONFIGURATION, err));
    if (verb->recognises_first && call->n_args > 0)
        TRY(spool_path(spool, &args[0], 0, err));
    return HALLEY_OK;
}

void request_spool_fini(request_spool *spool, halley_error *err)
{
    for (size_t i = 0; i < spool->n; i++) {
        close(spool->at[i].fd);
        if (err != NULL)
            error_rename_file(err, spool->at[i].path, spool->at[i].name);
    }
    spool->n = 0;
}
