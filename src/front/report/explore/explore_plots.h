/* report/explore/explore_plots.h - the figures of an exploration as SVG files. */
#ifndef REPORT_EXPLORE_PLOTS_H
#define REPORT_EXPLORE_PLOTS_H

#include "halley/explore.h"

/* Write each figure to its own file in `folder`, which is created if missing. */
halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err);

#endif
