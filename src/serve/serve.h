/*
 * serve/serve.h - halley as a web page on this machine: libmicrohttpd, the pages of web/,
 * and requests over HTTP (doc/reference/serve.md).
 *
 * A connection has a thread; requests are carried out by workers (jobs.h) so that a few
 * clients cannot keep the others waiting. What a client may do is bounded: the number and
 * speed of connections (connections.h), the length of bodies, the files it can name
 * (base/file/file_root.h, confine.h), the number of jobs and their time.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct serve_options {
    const char *listen; /* an address; NULL = 127.0.0.1 */
    uint32_t port;      /* 0 = SERVE_PORT, or any when that is taken */
    const char *folder; /* for files; NULL = of the user's state */
    bool open;          /* a browser on the page */
    bool read_only;
    uint64_t max_upload; /* bytes; 0 = 2 GB */
    double most_s;       /* of a request; 0 = an hour */
} serve_options;

enum { SERVE_PORT = 7425 };

/*
 * Serve until SIGINT, SIGTERM or SIGHUP. The address with its token is the first line of
 * `to`. The process cannot be used for other things afterwards: its working directory and
 * the files it may open have changed.
 */
halley_status serve_run(const serve_options *o, FILE *to, halley_error *err);

#endif
