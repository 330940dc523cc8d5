/* report/explore/explore_files.h - the style of the figures, embedded by
 * tools/build/embed. */
#ifndef REPORT_EXPLORE_FILES_H
#define REPORT_EXPLORE_FILES_H

extern const char explore_css[];

#endif
