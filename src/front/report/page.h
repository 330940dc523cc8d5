/*
 * report/page.h - a result as one HTML page that needs no network. It contains the JSON
 * that the command prints, and the drawing code of the web pages (web/src/report.ts).
 *
 * The Content-Security-Policy allows only the page's own scripts and styles, by their
 * hashes. Names in the result are data, never markup.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/error.h"
#include "base/str.h"

/*
 * Add the policy of a page that C draws, as an element of its head. It allows one script,
 * by the base64 of its SHA-256 (NULL: none), and styles within the page. Nothing is
 * loaded from elsewhere.
 */
void report_policy_add(strbuf *to, const char *script_sha256);

typedef struct report_page {
    const char *kind; /* one that web/src/report.ts draws: estimate, plan, explore, sim,
                         compare */
    const char *title;
    str json;    /* an object */
    str columns; /* a timeline (report/columns.h); may be empty */
} report_page;

halley_status report_page_save(const char *path, const report_page *page,
                               halley_error *err);

#endif
