/* report/numbers.h - numbers that people compare and error bars, as text. */
#ifndef REPORT_NUMBERS_H
#define REPORT_NUMBERS_H

#include "halley/error_bar.h"
#include "halley/numbers.h"

#include <stdio.h>

/* "8.03 B", "675 M". */
const char *report_print_params(char to[48], double params);
/* Write parameters and rates, one per line. */
void report_numbers_rates(FILE *to, const halley_numbers *n, const halley_estimate *e,
                          const halley_plan *plan, const halley_npu *npu);
/* Write days, accelerator-hours, money and power of the whole run. */
void report_numbers_run(FILE *to, const halley_numbers *n, const halley_estimate *e,
                        const halley_npu *npu);

/* Write the bar in words, with the class of runs that it is based on. */
void report_error_bar_text(FILE *to, const halley_error_bar *bar);

#endif
