/* /api/files: files that browsers upload, and files that requests have written. */
#include "base/file/file_beneath.h"
#include "serve/server.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void receive_file(serve_exchange *x, const char *at, size_t n)
{
    assert(x->upload != NULL);
    serve_upload_write(x->upload, at, n);
}

/* Answer why a file could not be stored: it is too long, or there is no room for it. */
static enum MHD_Result refuse_upload(serve_exchange *x, const halley_error *err)
{
    if (err->code == HALLEY_EINVAL)
        return serve_answer_error(x, MHD_HTTP_FORBIDDEN, "unsupported", err->text);
    if (err->code == HALLEY_ELIMIT)
        return serve_answer_error(x, MHD_HTTP_CONTENT_TOO_LARGE, "limit", err->text);
    return serve_answer_error(x, MHD_HTTP_INSUFFICIENT_STORAGE, "limit", err->text);
}

static enum MHD_Result answer_upload(serve_exchange *x)
{
    strbuf path = {0}, reply = {0};
    halley_error err = {0};
    serve_upload *const upload = x->upload;
    x->upload = NULL;
    const halley_status status = serve_upload_commit(upload, &path, &err);
    if (status != HALLEY_OK) {
        strbuf_fini(&path);
        return refuse_upload(x, &err);
    }
    strbuf_add(&reply, STR("{\"ok\": true, \"path\": "));
    strbuf_json(&reply, strbuf_str(&path));
    strbuf_add(&reply, STR("}\n"));
    const enum MHD_Result sent =
        reply.failed ? MHD_NO
                     : serve_answer_json(x, MHD_HTTP_CREATED, strbuf_str(&reply));
    strbuf_fini(&path);
    strbuf_fini(&reply);
    return sent;
}

/* The name in the query, with %XX decoded. */
static bool find_upload_name(str *out, serve_exchange *x)
{
    const char *name = NULL;
    size_t n = 0;
    if (serve_http.lookup_connection_value_n(x->connection, MHD_GET_ARGUMENT_KIND, "name",
                                             4, &name, &n) != MHD_YES)
        return false;
    *out = (str){name, n};
    return name != NULL && serve_name_is_fit(name, n);
}

enum MHD_Result serve_upload_begin(serve_exchange *x)
{
    str name;
    halley_error err = {0};
    unsigned long long n = 0;
    const bool has_length = serve_length_find(&n, x);
    if (!find_upload_name(&name, x))
        return serve_answer_error(x, MHD_HTTP_BAD_REQUEST, "usage",
                                  "?name= is the name of the file: at most 200 bytes, "
                                  "without '/', not beginning with '.'");
    if (serve_upload_open(&x->upload, &x->server->folder.uploads, name,
                          has_length ? n : 0, &err) != HALLEY_OK)
        return refuse_upload(x, &err);
    serve_connection_expect(&x->server->connections, x->place,
                            has_length ? n : x->server->folder.uploads.most_bytes);
    x->receive = receive_file;
    x->answer = answer_upload;
    return MHD_YES;
}

static enum MHD_Result answer_list(serve_exchange *x)
{
    strbuf text = {0};
    halley_error err = {0};
    const halley_status status = serve_folder_list(&text, &x->server->folder, &err);
    const enum MHD_Result sent =
        status == HALLEY_OK ? serve_answer_json(x, MHD_HTTP_OK, strbuf_str(&text))
                            : serve_answer_failure(x, &err);
    strbuf_fini(&text);
    return sent;
}

enum MHD_Result serve_files_list(serve_exchange *x)
{
    x->answer = answer_list;
    return MHD_YES;
}

static enum MHD_Result refuse_file(serve_exchange *x)
{
    return serve_answer_error(x, MHD_HTTP_NOT_FOUND, "not-found",
                              "there is no such file in the folder of this server");
}

static enum MHD_Result send_descriptor(serve_exchange *x, int fd, uint64_t n,
                                       const char *path)
{
    char name[64], disposition[96];
    struct MHD_Response *const response = serve_http.create_response_from_fd64(n, fd);
    if (response == NULL) {
        close(fd);
        return MHD_NO;
    }
    serve_name_plain(name, sizeof name, path);
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", name);
    (void)serve_http.add_response_header(response, "Content-Type",
                                         "application/octet-stream");
    (void)serve_http.add_response_header(response, "Content-Disposition", disposition);
    serve_connection_expect(&x->server->connections, x->place, n);
    return serve_answer_send(x, MHD_HTTP_OK, response);
}

static enum MHD_Result answer_file(serve_exchange *x)
{
    const char *const path = x->url + strlen("/api/files/");
    struct stat about;
    int fd;
    if (!serve_path_is_visible(path) ||
        file_open_beneath(&fd, x->server->folder.fd, path, NULL) != HALLEY_OK)
        return refuse_file(x);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(fd);
        return refuse_file(x);
    }
    return send_descriptor(x, fd, (uint64_t)about.st_size, path);
}

static enum MHD_Result answer_removal(serve_exchange *x)
{
    const char *const path = x->url + strlen("/api/files/");
    return serve_upload_remove(&x->server->folder.uploads, path)
               ? serve_answer_json(x, MHD_HTTP_OK, STR("{\"ok\": true}\n"))
               : refuse_file(x);
}

enum MHD_Result serve_upload_delete(serve_exchange *x)
{
    x->answer = answer_removal;
    return MHD_YES;
}

enum MHD_Result serve_file_get(serve_exchange *x)
{
    x->answer = answer_file;
    return MHD_YES;
}
