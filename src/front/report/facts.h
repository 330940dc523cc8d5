/* report/facts.h - a struct that rows describe (base/fact.h) as JSON, CSV and tables. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "base/fact.h"
#include "report/json.h"

#include <stdio.h>

/* Write the rows as members of the open object, without what is absent. */
void report_facts_json(report_json *j, const fact_table *t, const void *from);
/* The same as an object of its own, on one line if `flat`. */
void report_facts_object(report_json *j, const char *key, bool flat, const fact_table *t,
                         const void *from);
/* Write the numbers with a title as lines of text: title, amount and, if total > 0, the
 * share of the total. Numbers that are at most 1e-9 of the total are left out. */
void report_facts_text(FILE *to, const fact_table *t, const void *from, double total);

/* Write a list as CSV: one column per value of an item ("memory_bytes.weights"), one line
 * per item. Absent values are empty; several words of one value are joined by +. Lists of
 * structs are no columns. */
halley_status report_facts_list_csv(FILE *to, const fact_table *of, fact_list list,
                                    halley_error *err);

/*
 * Write a result as CSV with the columns key and value, one row for each leaf of its
 * JSON: "parts_s.bubble", "stages.0.device_bytes". HALLEY_EINVAL: `json` is not valid.
 */
halley_status report_facts_csv(FILE *to, str json, halley_error *err);

#endif
