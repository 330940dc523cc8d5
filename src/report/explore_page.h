/* report/explore_page.h - an exploration as one HTML page, or as SVG figures. */
#ifndef REPORT_EXPLORE_PAGE_H
#define REPORT_EXPLORE_PAGE_H

#include "halley/explore.h"

/* One self-contained page: no network, light and dark, narrow and wide. */
halley_status report_explore_page(const char *path, const halley_study *study,
                                  const halley_exploration *e, const char *version,
                                  halley_error *err);
/* Each figure as a file of its own in `folder`, which is made if absent. */
halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err);

#endif
