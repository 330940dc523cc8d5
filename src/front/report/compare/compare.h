/* report/compare/compare.h - a comparison of traces as tables, JSON or CSV. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "halley/compare.h"
#include "report/table.h"

typedef struct report_comparison {
    const halley_comparison *c;
    const char *real, *synth;        /* names that the user gave them */
    const halley_auc *by_scores;     /* result of another attack; NULL = none */
    const halley_auc *by_likelihood; /* HALLEY_N_LIKELIHOODS; NULL = none */
} report_comparison;

/* The membership attacks that were made. */
typedef struct report_attack {
    const char *name, *key;
    const halley_auc *auc;
} report_attack;
enum { REPORT_ATTACKS = 3 + HALLEY_N_LIKELIHOODS };

/* Write as members of an open object; with quantiles, which its page draws. */
void report_compare_json(report_json *j, const report_comparison *r, bool quantiles);
/* Write as text or CSV. */
halley_status report_compare(const report_comparison *r, report_form form, FILE *to,
                             halley_error *err);

#endif
