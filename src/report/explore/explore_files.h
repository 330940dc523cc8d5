/* report/explore/explore_files.h - style of the figures, made into text by
 * tools/build/embed.
 */
#ifndef REPORT_EXPLORE_FILES_H
#define REPORT_EXPLORE_FILES_H

extern const char explore_css[];

#endif
