/* report/numbers.h - numbers that people compare and error bars, as text and JSON. */
#ifndef REPORT_NUMBERS_H
#define REPORT_NUMBERS_H

#include "halley/error_bar.h"
#include "halley/numbers.h"
#include "report/json.h"

#include <stdio.h>

/* "8.03 B", "675 M". */
const char *report_print_params(char to[48], double params);
/* Parameters and rates, each on a line. */
void report_numbers_rates(FILE *to, const halley_numbers *n, const halley_estimate *e,
                          const halley_plan *plan, const halley_npu *npu);
/* Days, accelerator-hours, money and power of the whole run. */
void report_numbers_run(FILE *to, const halley_numbers *n, const halley_estimate *e,
                        const halley_npu *npu);
/* The members of both into the object that is open. */
void report_numbers_json(report_json *j, const halley_numbers *n);

/* The bar in words, with what kind of runs it rests on. */
void report_error_bar_text(FILE *to, const halley_error_bar *bar);
/* "error_bar": {"typical": 0.08, "bound": 0.15, ...} */
void report_error_bar_json(report_json *j, const halley_error_bar *bar);

#endif
