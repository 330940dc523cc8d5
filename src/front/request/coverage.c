#include "request/coverage.h"

#include "base/error.h"
#include "base/number/number.h"

#include <math.h>

static const report_column covered[] = {
    {"Source", "source", REPORT_WORDS, UNITS_COUNT, 0},
    {"Runs", "runs", REPORT_COUNT, UNITS_COUNT, 0},
    {"Predicted with", "predicted_with", REPORT_WORDS, UNITS_COUNT, 0},
    {"Within typical", "within_typical", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Within bound", "within_bound", REPORT_NUMBER, UNITS_COUNT, 0},
};

static double round_share(double x)
{
    return round(1000 * x) / 1000;
}

static void write_summary(FILE *to, const halley_error_coverage *c)
{
    fprintf(
        to,
        "%u runs of %u sources, each predicted without its source\n"
        "mean over sources: %s %% within the typical error, %s %% within the bound\n"
        "all runs:          %s %% within the typical error, %s %% within the bound\n\n",
        c->n_runs, c->n_sources, number_fixed(100 * c->typical, 0).at,
        number_fixed(100 * c->bound, 0).at, number_fixed(100 * c->rows_typical, 0).at,
        number_fixed(100 * c->rows_bound, 0).at);
}

halley_status request_write_coverage(request_call *call, const halley_error_coverage *c,
                                     report_form form, halley_error *err)
{
    report_table *t = report_table_new(covered, sizeof covered / sizeof *covered);
    if (t == NULL)
        return error_nomem(err);
    if (form == REPORT_TEXT)
        write_summary(call->out, c);
    for (uint32_t i = 0; i < c->n_covered; i++) {
        const halley_source_coverage *s = &c->covered[i];
        report_table_words(t, str_from(s->source));
        report_table_count(t, s->n_runs);
        report_table_words(t, s->fitted ? STR("other sources") : STR("defaults"));
        report_table_number(t, round_share(s->typical));
        report_table_number(t, round_share(s->bound));
    }
    return request_table_write(call, t, "coverage", form, err);
}
