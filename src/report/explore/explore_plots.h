/* report/explore/explore_plots.h - the figures of an exploration as SVG files. */
#ifndef REPORT_EXPLORE_PLOTS_H
#define REPORT_EXPLORE_PLOTS_H

#include "halley/explore.h"

/* Each figure as a file of its own in `folder`, which is made if absent. */
halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err);

#endif
