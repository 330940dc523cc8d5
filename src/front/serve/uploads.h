/*
 * serve/uploads.h - files that browsers have sent. They are in ".halley-serve/RANDOM/" in
 * the server's folder, which is created for the first of them. A journal there lists
 * them. At the end the server removes what its journal lists, and nothing else. A server
 * that was killed holds no lock on its journal any more: the next server in the folder
 * removes what that one lists.
 */
#ifndef SERVE_UPLOADS_H
#define SERVE_UPLOADS_H

#include "base/error.h"
#include "base/str.h"
#include "serve/words.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct serve_uploads {
    int root;             /* the server's folder, lent */
    bool read_only;       /* nothing is created or removed */
    char path[64];        /* ".halley-serve/RANDOM/" */
    int journal;          /* -1: nothing was uploaded yet */
    uint64_t most_bytes;  /* of one upload */
    uint64_t total_bytes; /* of all uploads, including those in progress */
    uint32_t n;
    pthread_mutex_t guard;
} serve_uploads;

/* Also removes what killed servers have left. */
halley_status serve_uploads_open(serve_uploads *u, int root, bool read_only,
                                 uint64_t most_bytes, halley_error *err);
void serve_uploads_close(serve_uploads *u);

/* An upload in progress. */
typedef struct serve_upload {
    serve_uploads *all;
    int fd;
    bool is_counted;
    uint64_t n_bytes, n_reserved;
    int reason; /* errno of the first write that failed, E2BIG: too long; 0 = none */
    char path[64 + SERVE_TOKEN + 1 + SERVE_NAME + 1]; /* ".halley-serve/…/RANDOM/NAME" */
} serve_upload;

/* `n_bytes` is the announced length. HALLEY_ELIMIT: it is too long, or there are too
 * many. HALLEY_EINVAL: the server is read-only. */
halley_status serve_upload_open(serve_upload **out, serve_uploads *all, str name,
                                uint64_t n_bytes, halley_error *err);
void serve_upload_write(serve_upload *u, const void *at, size_t n);
/* Both free `u`. Commit adds the file's path to `path`. */
halley_status serve_upload_commit(serve_upload *u, strbuf *path, halley_error *err);
void serve_upload_abort(serve_upload *u);
/* Remove one that is complete; false if there is none of that path. */
bool serve_upload_remove(serve_uploads *all, const char *path);

#endif
