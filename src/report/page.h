/*
 * report/page.h - a result as one HTML page that needs no network: the JSON that the
 * command prints, and the drawing code of the web pages (web/src/report.ts).
 *
 * The page allows no script and no style but its own, by their hashes
 * (Content-Security-Policy), and names in the result are data, never markup.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/error.h"
#include "base/str.h"

/*
 * The policy of a page that C draws, as an element of its head: one script, by the base64
 * of its SHA-256 (NULL: none), styles within the page, nothing from elsewhere.
 */
void report_policy_add(strbuf *to, const char *script_sha256);

typedef struct report_page {
    const char
        *kind; /* that web/src/report.ts knows: estimate, plan, explore, sim, compare */
    const char *title;
    str json;    /* an object */
    str columns; /* a timeline (report/columns.h); may be empty */
} report_page;

halley_status report_page_save(const char *path, const report_page *page,
                               halley_error *err);

#endif
