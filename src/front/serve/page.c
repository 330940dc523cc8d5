/* The files of the page, which are built into the program. */
#include "report/web_files.h"
#include "serve/server.h"
#include "serve/web_files.h"

#include <string.h>

typedef struct page_file {
    const char *url, *type, *text;
} page_file;

static const page_file files[] = {
    {"/", "text/html; charset=utf-8", web_index_html},
    {"/index.html", "text/html; charset=utf-8", web_index_html},
    {"/app.js", "text/javascript; charset=utf-8", web_app_js},
    {"/app.css", "text/css; charset=utf-8", web_app_css},
    {"/report.js", "text/javascript; charset=utf-8", web_report_js},
};

static enum MHD_Result send_file(serve_exchange *x, const page_file *file)
{
    const size_t n = strlen(file->text);
    struct MHD_Response *const response = serve_http.create_response_from_buffer(
        n, (void *)(uintptr_t)file->text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    (void)serve_http.add_response_header(response, "Content-Type", file->type);
    serve_headers_add(response, true);
    serve_connection_expect(&x->server->connections, x->place, n);
    const enum MHD_Result sent =
        serve_http.queue_response(x->connection, MHD_HTTP_OK, response);
    serve_http.destroy_response(response);
    return sent;
}

bool serve_page_find(serve_exchange *x, enum MHD_Result *out)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(x->url, files[i].url) != 0)
            continue;
        *out = send_file(x, &files[i]);
        return true;
    }
    return false;
}
