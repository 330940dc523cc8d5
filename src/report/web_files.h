/* report/web_files.h - the drawing code and the style of web/, made into text by
 * tools/build/embed; reports carry them, and the server sends them. */
#ifndef REPORT_WEB_FILES_H
#define REPORT_WEB_FILES_H

extern const char web_report_js[], web_report_js_sha256[];
extern const char web_app_css[], web_app_css_sha256[];
/* What starts the drawing in a report. */
extern const char report_page_js[], report_page_js_sha256[];

#endif
