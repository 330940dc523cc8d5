/* Results as pages. */
#include "request/page.h"

#include "base/error.h"
#include "base/strbuf_stream.h"
#include "report/page.h"

halley_status request_page_save(const request_call *call, const char *path,
                                const request_page *page, halley_error *err)
{
    strbuf json = {0};
    if (path == NULL)
        return HALLEY_OK;
    request_call own = *call;
    own.out = strbuf_stream_open(&json);
    if (own.out == NULL)
        return error_nomem(err);
    halley_status status = page->write(&own, page->what, err);
    if ((fclose(own.out) != 0 || json.failed) && status == HALLEY_OK)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = report_page_save(path,
                                  &(report_page){.kind = page->kind,
                                                 .title = page->title,
                                                 .json = strbuf_str(&json),
                                                 .columns = page->columns},
                                  err);
    strbuf_fini(&json);
    return status;
}
