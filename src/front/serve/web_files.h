/* serve/web_files.h - the page of web/, embedded as text by tools/build/embed. */
#ifndef SERVE_WEB_FILES_H
#define SERVE_WEB_FILES_H

extern const char web_index_html[];
extern const char web_app_js[];

#endif
