/*
 * serve/folder.h - the files of a server: one folder that requests read and write. Its
 * subfolder "upload" holds what browsers have uploaded; it is removed when the server
 * ends.
 *
 * A server that was killed leaves its uploads. The next server that has the folder
 * exclusively removes them.
 */
#ifndef SERVE_FOLDER_H
#define SERVE_FOLDER_H

#include "base/error.h"
#include "base/str.h"
#include "serve/words.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct serve_folder {
    int fd, lock; /* of the folder, lent by base/file/file_root.h; of its lock file */
    uint64_t most_bytes;  /* of one upload */
    uint64_t total_bytes; /* of all uploads, including those in progress */
    uint32_t n_uploads;
    pthread_mutex_t guard;
} serve_folder;

/* `path` NULL: a folder in the user's state directory (XDG), which is created if
 * necessary. Sets the root of the process. */
halley_status serve_folder_open(serve_folder *f, const char *path, bool read_only,
                                uint64_t most_bytes, halley_error *err);
/* Removes all uploads. */
void serve_folder_close(serve_folder *f);

/* An upload in progress. */
typedef struct serve_upload {
    serve_folder *folder;
    int fd;
    bool is_counted;
    uint64_t n_bytes, n_reserved;
    int reason; /* errno of the first write that failed, E2BIG: too long; 0 = none */
    char path[sizeof "upload//" + SERVE_TOKEN + SERVE_NAME]; /* "upload/RANDOM/NAME" */
} serve_upload;

/* `n_bytes` is the announced length. HALLEY_ELIMIT: it is too long, or there are too
 * many. */
halley_status serve_upload_open(serve_upload **out, serve_folder *f, str name,
                                uint64_t n_bytes, halley_error *err);
void serve_upload_write(serve_upload *u, const void *at, size_t n);
/* Both free `u`. Commit adds the file's path to `path`. */
halley_status serve_upload_commit(serve_upload *u, strbuf *path, halley_error *err);
void serve_upload_abort(serve_upload *u);

/* {"ok": true, "files": [{"path": ..., "bytes": ...}]}: the files in the folder and
 * below. */
halley_status serve_folder_list(strbuf *to, const serve_folder *f, halley_error *err);

#endif
