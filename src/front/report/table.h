/*
 * report/table.h - rows of cells, written as an aligned text table for people, or as CSV
 * or JSON for programs. People see units ("1.50 us"); programs get plain numbers in the
 * base unit, which the key names ("duration_s").
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/error.h"
#include "base/number/units.h"
#include "base/str.h"
#include "report/json.h"

#include <stdint.h>
#include <stdio.h>

typedef enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_CSV } report_form;

typedef enum report_kind {
    REPORT_WORDS,    /* text; left-aligned */
    REPORT_COUNT,    /* uint64_t; right-aligned, as are all numbers */
    REPORT_NUMBER,   /* double without a unit */
    REPORT_QUANTITY, /* double in the unit of `unit` */
} report_kind;

typedef struct report_column {
    const char *title; /* for people */
    const char *key;   /* for CSV and JSON, with the unit: "size_bytes" */
    report_kind kind;
    units_kind unit;    /* QUANTITY */
    uint32_t max_width; /* WORDS: longer text is cut with "..." for people; 0 = never */
} report_column;

typedef struct report_table report_table;

/* `columns` is lent and must outlive the table. NULL if memory ran out. */
report_table *report_table_new(const report_column *columns, uint32_t n_columns);
void report_table_free(report_table *t);

/*
 * Cells are added from left to right. A row is full when it has n_columns cells, and the
 * next cell starts a new one. The kind must be that of the column. An empty cell is blank
 * in text and in CSV, and absent in JSON. If memory runs out, the write fails.
 */
void report_table_words(report_table *t, str text); /* copied */
/* A number as text, in a column of words: CSV has it unchanged. Copied. */
void report_table_digits(report_table *t, str number);
void report_table_count(report_table *t, uint64_t value);
void report_table_number(report_table *t, double value); /* NUMBER and QUANTITY */
void report_table_empty(report_table *t);
/* The number, or an empty cell if it is not above zero. */
void report_table_number_or_empty(report_table *t, double value);

/* Write the whole table. In JSON it is an array of objects. */
halley_status report_table_write(const report_table *t, report_form form, FILE *to,
                                 halley_error *err);
/* Write it as a member of a larger document. A table that ran out of memory fails the
 * document. */
void report_table_json(const report_table *t, report_json *j, const char *key);
/* The same, and free the table. NULL: there was no memory for it. */
halley_status report_table_member(report_table *t, report_json *j, const char *key,
                                  halley_error *err);

#endif
