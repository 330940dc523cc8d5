/* report/explore/explore_files.h - style and script of the page, made into text by
 * tools/embed.
 */
#ifndef REPORT_EXPLORE_FILES_H
#define REPORT_EXPLORE_FILES_H

extern const char explore_css[];
extern const char explore_page_css[];
extern const char explore_js[], explore_js_sha256[];

#endif
