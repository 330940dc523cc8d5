/* report/view/view_files.h - view.css and view.js, embedded by tools/build/embed. */
#ifndef REPORT_VIEW_FILES_H
#define REPORT_VIEW_FILES_H

extern const char view_css[];
extern const char view_js[], view_js_sha256[];
extern const char view_page_css[];

#endif
