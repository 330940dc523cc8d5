/* request/page.h - a result of a verb as a page (report/page.h), which draws its JSON. */
#ifndef REQUEST_PAGE_H
#define REQUEST_PAGE_H

#include "request/verb.h"

/* The option of verbs that have a page. */
#define REQUEST_REPORT_OPTION(type, member)                                              \
    {                                                                                    \
        .name = "report", .kind = REQUEST_TEXT, .writes = true, .metavar = "FILE",       \
        .offset = offsetof(type, member),                                                \
        .doc = "write one self-contained HTML page with all figures",                    \
        .by_default = "none", .example = "report.html"                                   \
    }

/* A function that writes the result of `what` as JSON to call->out. */
typedef halley_status request_json_writer(const request_call *call, const void *what,
                                          halley_error *err);

typedef struct request_page {
    const char *kind, *title; /* as in report/page.h */
    request_json_writer *write;
    const void *what;
    str columns; /* of a timeline; may be empty */
} request_page;

/* Does nothing if `path` is NULL. */
halley_status request_page_save(const request_call *call, const char *path,
                                const request_page *page, halley_error *err);

#endif
