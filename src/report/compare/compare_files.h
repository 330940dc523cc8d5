/* report/compare/compare_files.h - style of the page, made into text by tools/embed. */
#ifndef REPORT_COMPARE_FILES_H
#define REPORT_COMPARE_FILES_H

extern const char compare_css[];

#endif
