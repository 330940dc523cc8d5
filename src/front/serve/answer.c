/*
 * Answers and their headers. Everything that an attacker could use is refused by default.
 * Pages run only halley's own script file, cannot be framed, and types are not guessed.
 * API answers are not cached, and addresses (which contain a token) are not sent
 * elsewhere.
 */
#include "request/verb.h"
#include "serve/server.h"

#include <assert.h>
#include <string.h>

static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";
static const char data_policy[] = "default-src 'none'; frame-ancestors 'none'; sandbox";

void serve_headers_add(struct MHD_Response *response, bool is_page)
{
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Security-Policy", is_page ? page_policy : data_policy},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", is_page ? "no-cache" : "no-store"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        (void)serve_http.add_response_header(response, headers[i].name, headers[i].value);
}

enum MHD_Result serve_answer_send(serve_exchange *x, unsigned status,
                                  struct MHD_Response *response)
{
    serve_headers_add(response, false);
    const enum MHD_Result sent =
        serve_http.queue_response(x->connection, status, response);
    serve_http.destroy_response(response);
    return sent;
}

enum MHD_Result serve_answer_json(serve_exchange *x, unsigned status, str json)
{
    struct MHD_Response *const response = serve_http.create_response_from_buffer(
        json.n, (void *)(uintptr_t)json.at, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO; /* out of memory: the connection ends */
    (void)serve_http.add_response_header(response, "Content-Type", "application/json");
    if (status == MHD_HTTP_UNAUTHORIZED)
        (void)serve_http.add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_BAD_REQUEST) /* where its body ends is not known */
        (void)serve_http.add_response_header(response, "Connection", "close");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        (void)serve_http.add_response_header(response, "Retry-After", "1");
    serve_connection_expect(&x->server->connections, x->place, json.n);
    return serve_answer_send(x, status, response);
}

enum MHD_Result serve_answer_error(serve_exchange *x, unsigned status, const char *code,
                                   const char *message)
{
    strbuf text = {0};
    strbuf_printf(&text,
                  "{\"ok\": false, \"error\": {\"code\": \"%s\", \"message\": ", code);
    strbuf_json(&text, str_from(message));
    strbuf_add(&text, STR("}}\n"));
    const enum MHD_Result sent =
        text.failed ? MHD_NO : serve_answer_json(x, status, strbuf_str(&text));
    strbuf_fini(&text);
    return sent;
}

enum MHD_Result serve_answer_failure(serve_exchange *x, const halley_error *err)
{
    char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE + 128];
    const char *const sentence = halley_error_format(err, text, sizeof text);
    switch (err->code) {
    case HALLEY_ELIMIT:
    case HALLEY_ENOMEM:
        return serve_answer_error(x, MHD_HTTP_SERVICE_UNAVAILABLE,
                                  request_code_word(REQUEST_CODE_LIMIT), sentence);
    case HALLEY_ENOTFOUND:
        return serve_answer_error(x, MHD_HTTP_NOT_FOUND,
                                  request_code_word(REQUEST_CODE_NOT_FOUND), sentence);
    default:
        return serve_answer_error(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                  request_code_word(REQUEST_CODE_BAD_FILE), sentence);
    }
}

bool serve_length_find(unsigned long long *out, serve_exchange *x)
{
    const char *const text = serve_http.lookup_connection_value(
        x->connection, MHD_HEADER_KIND, "Content-Length");
    return text != NULL && serve_length_read(out, text);
}
