/* Results as pages. */
#include "request/page.h"

#include "base/error.h"
#include "base/strbuf_stream.h"
#include "report/page.h"

halley_status request_page_save(const request_call *call, const char *path,
                                const char *kind, const char *title,
                                request_json_writer *write, const void *what,
                                halley_error *err)
{
    strbuf json = {0};
    if (path == NULL)
        return HALLEY_OK;
    request_call own = *call;
    own.out = strbuf_stream_open(&json);
    if (own.out == NULL)
        return error_nomem(err);
    halley_status status = write(&own, what, err);
    if ((fclose(own.out) != 0 || json.failed) && status == HALLEY_OK)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = report_page_save(path, kind, title, strbuf_str(&json), err);
    strbuf_fini(&json);
    return status;
}
