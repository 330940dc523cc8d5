/* report/web_files.h - the drawing code and the style of web/, embedded by
 * tools/build/embed. Reports contain them, and the server sends them. */
#ifndef REPORT_WEB_FILES_H
#define REPORT_WEB_FILES_H

extern const char web_report_js[], web_report_js_sha256[];
extern const char web_app_css[], web_app_css_sha256[];
/* The script that starts the drawing in a report. */
extern const char report_page_js[], report_page_js_sha256[];

#endif
