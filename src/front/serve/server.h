/* serve/server.h - data and functions that the parts of a running server share. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "serve/connections.h"
#include "serve/folder.h"
#include "serve/jobs.h"
#include "serve/library.h"
#include "serve/words.h"

#include <stdatomic.h>

enum {
    SERVE_MAX_BODY = 16 << 20,  /* bytes of a request document */
    SERVE_ALL_BODIES = 64 << 20 /* of all that are being received */
};

typedef struct serve_server {
    char token[SERVE_TOKEN + 1];
    serve_folder folder;
    serve_jobs *jobs;
    serve_connections connections;
    atomic_size_t n_body_bytes; /* of requests that are not complete */
    atomic_bool stopping;
} serve_server;

/* One HTTP request. */
typedef struct serve_exchange serve_exchange;
typedef enum MHD_Result serve_handler(serve_exchange *x);
/* Receive a piece of the body, n > 0 bytes. */
typedef void serve_receiver(serve_exchange *x, const char *at, size_t n);

struct serve_exchange {
    serve_server *server;
    struct MHD_Connection *connection;
    int place;                     /* index in the table of connections */
    const char *method, *url;      /* lent for the duration of a call */
    serve_receiver *receive;       /* NULL: a body is ignored */
    serve_handler *answer;         /* when the request is complete */
    bool is_answered;              /* answered before its body arrived: the body is not
                                      read */
    strbuf body;                   /* of a request document */
    size_t n_counted;              /* part of it that is counted in the server's
                                      n_body_bytes */
    bool is_too_long, is_too_much; /* for one request; for all requests of the server */
    serve_upload *upload;
};

/* Routes of the API; each sets x->answer or answers at once. */
enum MHD_Result serve_request_begin(serve_exchange *x);
enum MHD_Result serve_events_get(serve_exchange *x);
enum MHD_Result serve_events_delete(serve_exchange *x);
enum MHD_Result serve_upload_begin(serve_exchange *x);
enum MHD_Result serve_upload_delete(serve_exchange *x);
enum MHD_Result serve_files_list(serve_exchange *x);
enum MHD_Result serve_file_get(serve_exchange *x);
/* Serve files of the page, which need no token; false, with nothing sent, if the URL is
 * none. */
bool serve_page_find(serve_exchange *x, enum MHD_Result *out);

/* Free the body, which is no longer needed. */
void serve_body_drop(serve_exchange *x);

/* Answers. All have the security headers. */
enum MHD_Result serve_answer_json(serve_exchange *x, unsigned status, str json);
/* {"ok": false, "error": {"code": ..., "message": ...}} */
enum MHD_Result serve_answer_error(serve_exchange *x, unsigned status, const char *code,
                                   const char *message);
/* Answer with the status and code for this error. */
enum MHD_Result serve_answer_failure(serve_exchange *x, const halley_error *err);
/* Send the response with the headers of the API, and release it. */
enum MHD_Result serve_answer_send(serve_exchange *x, unsigned status,
                                  struct MHD_Response *response);
void serve_headers_add(struct MHD_Response *response, bool is_page);
/* The Content-Length of the request; false if it has none, or if it is no number. */
bool serve_length_find(unsigned long long *out, serve_exchange *x);

/* The handler of the HTTP library, and the function that ends a request. */
enum MHD_Result serve_access(void *server, struct MHD_Connection *connection,
                             const char *url, const char *method, const char *version,
                             const char *upload, size_t *n_upload, void **exchange);
void serve_complete(void *server, struct MHD_Connection *connection, void **exchange,
                    enum MHD_RequestTerminationCode code);
void serve_connected(void *server, struct MHD_Connection *connection, void **place,
                     enum MHD_ConnectionNotificationCode code);

#endif
