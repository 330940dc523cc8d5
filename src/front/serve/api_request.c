/* POST /api/request: takes a request document; answers with its reply or a job id. */
#include "serve/server.h"

#include <stdio.h>
#include <string.h>

static void receive_body(serve_exchange *x, const char *at, size_t n)
{
    if (x->is_too_long || x->is_too_much)
        return;
    if (x->body.n + n > SERVE_MAX_BODY) {
        x->is_too_long = true;
    } else if (atomic_fetch_add(&x->server->n_body_bytes, n) + n > SERVE_ALL_BODIES) {
        atomic_fetch_sub(&x->server->n_body_bytes, n);
        x->is_too_much = true;
    } else {
        x->n_counted += n;
        strbuf_add(&x->body, (str){at, n});
    }
    if (x->is_too_long || x->is_too_much)
        serve_body_drop(x);
}

static enum MHD_Result refuse_length(serve_exchange *x)
{
    return serve_answer_error(x, MHD_HTTP_CONTENT_TOO_LARGE, "limit",
                              "a request has at most 16 MiB; upload large files with "
                              "POST /api/files");
}

static enum MHD_Result send_id(serve_exchange *x, const serve_job *job)
{
    char text[64 + SERVE_TOKEN];
    snprintf(text, sizeof text, "{\"ok\": true, \"id\": \"%s\"}\n", serve_job_id(job));
    return serve_answer_json(x, MHD_HTTP_ACCEPTED, str_from(text));
}

static enum MHD_Result answer_request(serve_exchange *x)
{
    serve_job *job;
    halley_error err = {0};
    if (x->is_too_long)
        return refuse_length(x);
    if (x->is_too_much)
        return serve_answer_error(x, MHD_HTTP_SERVICE_UNAVAILABLE, "limit",
                                  "the server is receiving too much at a time; try "
                                  "again later");
    if (x->body.failed)
        return serve_answer_error(x, MHD_HTTP_SERVICE_UNAVAILABLE, "limit",
                                  "out of memory");
    if (x->body.n == 0 || memchr(x->body.at, '\0', x->body.n) != NULL)
        return serve_answer_error(x, MHD_HTTP_BAD_REQUEST, "usage",
                                  "the body of the request is a JSON document, such as "
                                  "{\"do\": \"version\"}");
    if (serve_job_start(&job, x->server->jobs, x->body.at, &err) != HALLEY_OK)
        return serve_answer_failure(x, &err);
    serve_body_drop(x);
    serve_connection_release(&x->server->connections, x->place);
    const char *const reply = serve_job_wait(job, SERVE_WAIT_S);
    if (reply == NULL) {
        const enum MHD_Result sent = send_id(x, job);
        serve_job_release(job);
        return sent;
    }
    const enum MHD_Result sent = serve_answer_json(x, MHD_HTTP_OK, str_from(reply));
    serve_job_forget(job);
    return sent;
}

enum MHD_Result serve_request_begin(serve_exchange *x)
{
    unsigned long long n = 0;
    const bool has_length = serve_length_find(&n, x);
    if (has_length && n > SERVE_MAX_BODY)
        return refuse_length(x);
    serve_connection_expect(&x->server->connections, x->place,
                            has_length ? n : SERVE_MAX_BODY);
    x->receive = receive_body;
    x->answer = answer_request;
    return MHD_YES;
}
