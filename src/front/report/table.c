/*
 * Cells are kept as values and formatted when written. The text form must know the widest
 * cell of a column before it prints the first.
 */
#include "report/table.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

typedef struct cell {
    bool empty;
    bool is_digits; /* the text is a number */
    uint64_t count;
    double number;
    str words;
} cell;

struct report_table {
    const report_column *columns;
    uint32_t n_columns;
    ARRAY(cell) cells; /* row by row */
    arena memory;      /* the words */
    bool failed;
};

report_table *report_table_new(const report_column *columns, uint32_t n_columns)
{
    assert(n_columns > 0);
    report_table *t = mem_array_zero(1, sizeof *t);
    if (t) {
        t->columns = columns;
        t->n_columns = n_columns;
    }
    return t;
}

void report_table_free(report_table *t)
{
    if (!t)
        return;
    array_fini(&t->cells);
    arena_fini(&t->memory);
    free(t);
}

/* `as_words`, `as_count`: the kind that the caller expects of the column; neither: a
 * number. */
static void add_cell(report_table *t, cell c, bool as_words, bool as_count)
{
    const report_kind kind = t->columns[t->cells.n % t->n_columns].kind;
    const bool fits = c.empty || (as_words == (kind == REPORT_WORDS) &&
                                  as_count == (kind == REPORT_COUNT));
    assert(t->failed || fits);
    if (!fits || !array_push(&t->cells, c))
        t->failed = true;
}

static void add_text_cell(report_table *t, str text, bool is_digits)
{
    const char *copy = arena_copy(&t->memory, text);
    if (copy)
        add_cell(t, (cell){.words = {copy, text.n}, .is_digits = is_digits}, true, false);
    else
        t->failed = true;
}

void report_table_words(report_table *t, str text)
{
    add_text_cell(t, text, false);
}

void report_table_digits(report_table *t, str number)
{
    add_text_cell(t, number, true);
}

void report_table_count(report_table *t, uint64_t value)
{
    add_cell(t, (cell){.count = value}, false, true);
}

void report_table_number(report_table *t, double value)
{
    add_cell(t, (cell){.number = value}, false, false);
}

void report_table_empty(report_table *t)
{
    add_cell(t, (cell){.empty = true}, false, false);
}

void report_table_number_or_empty(report_table *t, double value)
{
    if (value > 0)
        report_table_number(t, value);
    else
        report_table_empty(t);
}

/* Width in code points, which is the width on a terminal for the text we print. */
static size_t measure_width(str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.at[i] & 0xC0) != 0x80;
    return n;
}

/* The first n code points of a text. */
static str cut_text(str text, size_t n)
{
    size_t i = 0;
    for (size_t seen = 0; i < text.n; i++) {
        seen += ((unsigned char)text.at[i] & 0xC0) != 0x80;
        if (seen > n)
            break;
    }
    return (str){text.at, i};
}

/* Escape control characters, and cut text that is too wide. */
static void add_words(strbuf *to, str text, uint32_t max_width)
{
    const bool cut = max_width > 3 && measure_width(text) > max_width;
    strbuf_visible(to, cut ? cut_text(text, max_width - 3) : text);
    if (cut)
        strbuf_add(to, STR("..."));
}

static void add_for_people(strbuf *to, const report_column *column, const cell *c)
{
    char text[64];
    if (c->empty)
        return;
    switch (column->kind) {
    case REPORT_WORDS:
        add_words(to, c->words, column->max_width);
        break;
    case REPORT_COUNT:
        strbuf_printf(to, "%" PRIu64, c->count);
        break;
    case REPORT_NUMBER:
        strbuf_printf(to, "%s", number_digits(c->number, 4).at);
        break;
    case REPORT_QUANTITY:
        strbuf_add(to,
                   str_from(units_format(text, sizeof text, c->number, column->unit)));
        break;
    }
}

/* Print one line. `texts` are the cells, padded to `widths`, except for the last if it is
 * text. */
static void print_table_line(FILE *to, const report_table *t, const str *texts,
                             const size_t *widths)
{
    for (uint32_t i = 0; i < t->n_columns; i++) {
        const int pad = (int)(widths[i] - measure_width(texts[i]));
        const bool left = t->columns[i].kind == REPORT_WORDS;
        const bool last = i + 1 == t->n_columns;
        fprintf(to, "%s%*s%.*s%*s", i ? "  " : "", left ? 0 : pad, "", (int)texts[i].n,
                texts[i].at, left && !last ? pad : 0, "");
    }
    fputc('\n', to);
}

/* Format all cells into one buffer; cell i ends at ends[i]. */
static bool format_cells(const report_table *t, strbuf *all, size_t *ends)
{
    for (size_t i = 0; i < t->cells.n; i++) {
        add_for_people(all, &t->columns[i % t->n_columns], &t->cells.at[i]);
        ends[i] = all->n;
    }
    return !all->failed;
}

static void print_lines(const report_table *t, FILE *to, const strbuf *all,
                        const size_t *ends, str *texts, size_t *widths)
{
    const uint32_t n = t->n_columns;
    for (uint32_t i = 0; i < n; i++) {
        texts[i] = str_from(t->columns[i].title);
        widths[i] = measure_width(texts[i]);
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        const size_t from = i ? ends[i - 1] : 0;
        const size_t w = measure_width((str){all->at + from, ends[i] - from});
        widths[i % n] = w > widths[i % n] ? w : widths[i % n];
    }
    print_table_line(to, t, texts, widths);
    for (size_t i = 0; i + n <= t->cells.n; i += n) {
        for (uint32_t k = 0; k < n; k++) {
            const size_t from = i + k ? ends[i + k - 1] : 0;
            texts[k] = (str){all->n ? all->at + from : "", ends[i + k] - from};
        }
        print_table_line(to, t, texts, widths);
    }
}

static halley_status write_aligned_table(const report_table *t, FILE *to,
                                         halley_error *err)
{
    strbuf all = {0};
    size_t *ends = mem_array(t->cells.n, sizeof *ends);
    str *texts = mem_array(t->n_columns, sizeof *texts);
    size_t *widths = mem_array(t->n_columns, sizeof *widths);
    const bool ok = ends && texts && widths && format_cells(t, &all, ends);
    if (ok)
        print_lines(t, to, &all, ends, texts, widths);
    strbuf_fini(&all);
    free(ends);
    free(texts);
    free(widths);
    return ok ? HALLEY_OK : error_nomem(err);
}

static void add_csv_cell(strbuf *to, const report_column *column, const cell *c)
{
    if (c->empty)
        return;
    if (c->is_digits)
        strbuf_add(to, c->words); /* a minus sign does not make it a formula */
    else if (column->kind == REPORT_WORDS)
        strbuf_csv(to, c->words);
    else if (column->kind == REPORT_COUNT)
        strbuf_printf(to, "%" PRIu64, c->count);
    else
        strbuf_double(to, c->number);
}

static halley_status write_csv_table(const report_table *t, FILE *to, halley_error *err)
{
    strbuf b = {0};
    for (uint32_t i = 0; i < t->n_columns; i++) {
        strbuf_add(&b, str_from(i ? "," : ""));
        strbuf_csv(&b, str_from(t->columns[i].key)); /* keys of a query may be anything */
    }
    strbuf_add_char(&b, '\n');
    if (!b.failed)
        fwrite(b.at, 1, b.n, to);
    b.n = 0;
    for (size_t i = 0; i < t->cells.n; i++) {
        add_csv_cell(&b, &t->columns[i % t->n_columns], &t->cells.at[i]);
        strbuf_add_char(&b, (i + 1) % t->n_columns ? ',' : '\n');
        if ((i + 1) % t->n_columns || b.failed)
            continue;
        fwrite(b.at, 1, b.n, to);
        b.n = 0;
    }
    const bool failed = b.failed;
    strbuf_fini(&b);
    return failed ? error_nomem(err) : HALLEY_OK;
}

void report_table_json(const report_table *t, report_json *j, const char *key)
{
    if (t->failed) { /* rows may be incomplete */
        j->scratch.failed = true;
        report_json_null(j, key);
        return;
    }
    report_json_array(j, key);
    for (size_t i = 0; i < t->cells.n; i++) {
        const report_column *column = &t->columns[i % t->n_columns];
        const cell *c = &t->cells.at[i];
        if (i % t->n_columns == 0)
            report_json_flat_object(j, NULL);
        if (c->empty)
            ; /* absent */
        else if (column->kind == REPORT_WORDS)
            report_json_text(j, column->key, c->words);
        else if (column->kind == REPORT_COUNT)
            report_json_u64(j, column->key, c->count);
        else
            report_json_double(j, column->key, c->number);
        if ((i + 1) % t->n_columns == 0)
            report_json_end(j);
    }
    report_json_end(j);
}

static halley_status write_json_table_alone(const report_table *t, FILE *to,
                                            halley_error *err)
{
    report_json j;
    report_json_init(&j, to);
    report_table_json(t, &j, NULL);
    return report_json_fini(&j, err);
}

halley_status report_table_write(const report_table *t, report_form form, FILE *to,
                                 halley_error *err)
{
    if (t->failed)
        return error_nomem(err);
    assert(t->cells.n % t->n_columns == 0);
    switch (form) {
    case REPORT_TEXT:
        return write_aligned_table(t, to, err);
    case REPORT_JSON:
        return write_json_table_alone(t, to, err);
    case REPORT_CSV:
        return write_csv_table(t, to, err);
    }
    return HALLEY_OK;
}

halley_status report_table_member(report_table *t, report_json *j, const char *key,
                                  halley_error *err)
{
    if (t == NULL)
        return error_nomem(err);
    report_table_json(t, j, key);
    report_table_free(t);
    return HALLEY_OK;
}
