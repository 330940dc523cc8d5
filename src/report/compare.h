/* report/compare.h - a comparison of traces as tables, JSON, CSV, or a page. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "halley/compare.h"
#include "report/table.h"

typedef struct report_comparison {
    const halley_comparison *c;
    const char *real, *synth;    /* what the user calls them */
    const halley_auc *by_scores; /* of another attack; NULL = none */
} report_comparison;

halley_status report_compare(const report_comparison *r, report_form form, FILE *to,
                             halley_error *err);
/* One file without anything from outside. */
halley_status report_compare_html(const report_comparison *r, const char *path,
                                  halley_error *err);

#endif
