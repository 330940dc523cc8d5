/*
 * serve/serve.h - halley as a web page on this machine: libmicrohttpd, the pages of web/,
 * and requests over HTTP (doc/reference/serve.md).
 *
 * Each connection has a thread. Workers (jobs.h) carry out requests, so that a few
 * clients cannot block the others. Everything that a client can use is limited.
 * connections.h limits the number and speed of connections; base/file/file_root.h and
 * confine.h limit the files. The length of bodies, the number of jobs and their time are
 * limited as well.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct serve_options {
    const char *listen; /* an address; NULL = 127.0.0.1 */
    uint32_t port;      /* 0 = SERVE_PORT, or any port if that is in use */
    const char *folder; /* for files; NULL = in the user's state directory */
    bool open;          /* open a browser on the page */
    bool read_only;
    uint64_t max_upload; /* bytes; 0 = 2 GB */
    uint64_t max_output; /* bytes that a request may write; 0 = 2 GB */
    double most_s;       /* of a request; 0 = an hour */
} serve_options;

enum { SERVE_PORT = 7425 };

/* Serve until SIGINT, SIGTERM or SIGHUP. The first line written to `to` is the address
 * with its token. The process cannot be used for other purposes afterwards, because its
 * working directory and the files that it may open have changed. */
halley_status serve_run(const serve_options *o, FILE *to, halley_error *err);

#endif
