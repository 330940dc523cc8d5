/* report/web_files.h - the drawing code and the style of web/, made into text by
 * tools/embed; reports carry them, and the server sends them. */
#ifndef REPORT_WEB_FILES_H
#define REPORT_WEB_FILES_H

extern const char web_report_js[];
extern const char web_app_css[];

#endif
