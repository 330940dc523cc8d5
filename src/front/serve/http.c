/*
 * HTTP requests: access control (Host, Origin, token), routing, and receiving a body in
 * pieces. The library calls serve_access once with the head, then with each piece, and
 * finally with none.
 */
#include "base/array.h"
#include "serve/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct http_route {
    const char *method, *url;
    bool is_prefix;
    serve_handler *begin;
} http_route;

static const http_route routes[] = {
    {"POST", "/api/request", false, serve_request_begin},
    {"GET", "/api/events/", true, serve_events_get},
    {"DELETE", "/api/events/", true, serve_events_delete},
    {"POST", "/api/files", false, serve_upload_begin},
    {"GET", "/api/files", false, serve_files_list},
    {"GET", "/api/files/", true, serve_file_get},
    {"DELETE", "/api/files/", true, serve_upload_delete},
};

static bool is_route_of(const http_route *route, const char *url)
{
    return route->is_prefix ? strncmp(url, route->url, strlen(route->url)) == 0
                            : strcmp(url, route->url) == 0;
}

static enum MHD_Result begin_route(serve_exchange *x)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!is_route_of(&routes[i], x->url))
            continue;
        is_known = true;
        if (strcmp(x->method, routes[i].method) == 0)
            return routes[i].begin(x);
    }
    return is_known ? serve_answer_error(x, MHD_HTTP_METHOD_NOT_ALLOWED, "usage",
                                         "this address has another method")
                    : serve_answer_error(x, MHD_HTTP_NOT_FOUND, "not-found",
                                         "there is no such address");
}

static const char *find_header(const serve_exchange *x, const char *name)
{
    return serve_http.lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* Headers that say where a request ends and who sends it. */
typedef struct header_counts {
    int host, length, encoding, origin, authorization;
} header_counts;

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind,
                                    const char *name, const char *value)
{
    header_counts *const n = context;
    (void)kind;
    (void)value;
    n->host += strcasecmp(name, "Host") == 0;
    n->length += strcasecmp(name, "Content-Length") == 0;
    n->encoding += strcasecmp(name, "Transfer-Encoding") == 0;
    n->origin += strcasecmp(name, "Origin") == 0;
    n->authorization += strcasecmp(name, "Authorization") == 0;
    return MHD_YES;
}

/* Two readers may understand such a request in two ways: a proxy and this server. */
static bool is_ambiguous(const serve_exchange *x)
{
    header_counts n = {0};
    (void)serve_http.get_connection_values(x->connection, MHD_HEADER_KIND, count_header,
                                           &n);
    return n.host > 1 || n.length > 1 || n.encoding > 1 || n.origin > 1 ||
           n.authorization > 1 || (n.length > 0 && n.encoding > 0);
}

/* Pages of other sites, or with a host name that points here, get no answer. */
static bool is_own_page(const serve_exchange *x)
{
    const char *const host = find_header(x, "Host");
    return serve_host_is_literal(host) &&
           serve_origin_is_own(find_header(x, "Origin"), host) &&
           serve_site_is_own(find_header(x, "Sec-Fetch-Site"));
}

/* A link on another site may lead to the page itself, which shows nothing without a
 * token. Everything else must come from halley's own pages. */
static bool is_visit(const serve_exchange *x)
{
    const char *const mode = find_header(x, "Sec-Fetch-Mode");
    return strcmp(x->method, "GET") == 0 && strcmp(x->url, "/") == 0 && mode != NULL &&
           strcmp(mode, "navigate") == 0 && serve_host_is_literal(find_header(x, "Host"));
}

static enum MHD_Result begin_exchange(serve_exchange *x)
{
    enum MHD_Result sent;
    if (is_ambiguous(x))
        return serve_answer_error(
            x, MHD_HTTP_BAD_REQUEST, "usage",
            "the headers contradict each other; send Host and "
            "Content-Length once, and no Transfer-Encoding with it");
    if (!is_own_page(x) && !is_visit(x))
        return serve_answer_error(x, MHD_HTTP_FORBIDDEN, "usage",
                                  "this request comes from another site; open the "
                                  "address that halley serve printed");
    const bool is_read = strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0;
    if (is_read && serve_page_find(x, &sent))
        return sent;
    if (!serve_token_matches(find_header(x, "Authorization"), x->server->token))
        return serve_answer_error(x, MHD_HTTP_UNAUTHORIZED, "usage",
                                  "the token is missing or wrong; it is in the address "
                                  "that halley serve printed");
    serve_connection_trust(&x->server->connections, x->place);
    return begin_route(x);
}

static serve_exchange *open_exchange(serve_server *server,
                                     struct MHD_Connection *connection)
{
    serve_exchange *const x = mem_array_zero(1, sizeof *x);
    if (x == NULL)
        return NULL;
    const union MHD_ConnectionInfo *const info =
        serve_http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->server = server;
    x->connection = connection;
    x->place = info != NULL ? (int)(intptr_t)info->socket_context - 1 : -1;
    return x;
}

enum MHD_Result serve_access(void *server, struct MHD_Connection *connection,
                             const char *url, const char *method, const char *version,
                             const char *upload, size_t *n_upload, void **exchange)
{
    serve_exchange *x = *exchange;
    (void)version;
    if (x == NULL) {
        x = open_exchange(server, connection);
        if (x == NULL)
            return MHD_NO;
        *exchange = x;
        x->url = url;
        x->method = method;
        const enum MHD_Result begun = begin_exchange(x);
        x->is_answered = x->answer == NULL;
        return begun;
    }
    x->url = url;
    x->method = method;
    if (*n_upload > 0) {
        if (x->receive != NULL)
            x->receive(x, upload, *n_upload);
        *n_upload = 0;
        return MHD_YES;
    }
    return x->is_answered ? MHD_NO : x->answer(x);
}

void serve_body_drop(serve_exchange *x)
{
    strbuf_fini(&x->body);
    x->body = (strbuf){0};
    atomic_fetch_sub(&x->server->n_body_bytes, x->n_counted);
    x->n_counted = 0;
}

void serve_complete(void *server, struct MHD_Connection *connection, void **exchange,
                    enum MHD_RequestTerminationCode code)
{
    serve_exchange *const x = *exchange;
    (void)server;
    (void)connection;
    (void)code;
    if (x == NULL)
        return;
    /* The head of the next request, if the connection is kept. */
    serve_connection_expect(&x->server->connections, x->place,
                            (uint64_t)64 * SERVE_LEAST_BPS);
    if (x->upload != NULL)
        serve_upload_abort(x->upload);
    serve_body_drop(x);
    free(x);
    *exchange = NULL;
}

void serve_connected(void *server, struct MHD_Connection *connection, void **place,
                     enum MHD_ConnectionNotificationCode code)
{
    serve_server *const s = server;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        serve_connection_remove(&s->connections, (int)(intptr_t)*place - 1);
        return;
    }
    const union MHD_ConnectionInfo *const info =
        serve_http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int fd = info != NULL ? info->connect_fd : -1;
    /* 0 means that a connection has no index */
    *place =
        (void *)(intptr_t)((fd >= 0 ? serve_connection_add(&s->connections, fd) : -1) +
                           1);
}
