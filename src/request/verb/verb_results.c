/* halley results - look at a store again without evaluating anything. */
#include "base/error.h"
#include "halley/explore.h"
#include "request/verbs.h"

#include <stdlib.h>
#include <string.h>

typedef struct results_options {
    uint32_t top;
    const char *sql;
    bool all;
    request_output output;
} results_options;

static const results_options defaults = {.top = 10};

static const request_option options[] = {
    {.name = "top",
     .letter = 'n',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 1e9,
     .metavar = "N",
     .offset = offsetof(results_options, top),
     .doc = "how many of the best to show (default: 10)"},
    {.name = "all",
     .kind = REQUEST_FLAG,
     .offset = offsetof(results_options, all),
     .doc = "every column, not only parameters and main results"},
    {.name = "sql",
     .kind = REQUEST_TEXT,
     .metavar = "QUERY",
     .offset = offsetof(results_options, sql),
     .doc = "any query on the tables design, refusal and meta; only reading"},
    REQUEST_OUTPUT_OPTIONS(results_options, output),
    {0},
};

/* Rows of a query, into a table made when the columns are known. */
typedef struct sheet {
    report_form form;
    report_table *table;
    report_column *columns;
    uint32_t n;
    bool failed;
} sheet;

static bool take_row(void *context, const halley_results_row *row)
{
    sheet *s = context;
    if (!s->table) {
        s->columns = calloc(row->n ? row->n : 1, sizeof *s->columns);
        if (!s->columns)
            return false;
        s->n = row->n;
        for (uint32_t i = 0; i < row->n; i++) {
            char *name = strdup(row->names[i]);
            s->columns[i] = (report_column){name, name, REPORT_WORDS, UNITS_COUNT, 48};
            if (!name)
                return false;
        }
        s->table = report_table_new(s->columns, row->n);
        if (!s->table)
            return false;
    }
    for (uint32_t i = 0; i < row->n && row->values; i++)
        report_table_words(s->table, str_from(row->values[i] ? row->values[i] : ""));
    return true;
}

static void sheet_fini(sheet *s)
{
    report_table_free(s->table);
    for (uint32_t i = 0; i < s->n; i++)
        free((void *)(uintptr_t)s->columns[i].title);
    free(s->columns);
}

static halley_status run(request_call *call, halley_error *err)
{
    const results_options *o = call->options;
    sheet s = {0};
    TRY(request_output_form(&s.form, call, &o->output, err));
    const halley_results_opts opts = {
        .top = o->top, .sql = o->sql, .all = o->all, .raw = s.form != REPORT_TEXT};
    halley_results_summary sum;
    halley_status status =
        halley_results_query(&sum, call->args[0], &opts, take_row, &s, err);
    if (status == HALLEY_OK && s.form == REPORT_TEXT && !o->sql) {
        printf("%s: %llu designs evaluated, %llu feasible%s; best by %s %s\n\n",
               sum.study, (unsigned long long)sum.n_evaluated,
               (unsigned long long)sum.n_feasible,
               sum.complete ? "" : " so far (not finished: explore --resume goes on)",
               sum.maximize ? "greatest" : "least", sum.objective);
    }
    if (status == HALLEY_OK && s.table)
        status = report_table_write(s.table, s.form, stdout, err);
    sheet_fini(&s);
    return status;
}

static const request_example examples[] = {
    {"halley results 1t.db --top 5", "the five best"},
    {"halley results 1t.db --csv --all > best.csv", "with every column"},
    {"halley results 1t.db --sql 'SELECT \"plan.tp\", min(step_time_s) FROM design GROUP "
     "BY 1'",
     "anything SQLite can answer"},
    {0},
};

const request_verb request_verb_results = {
    .name = "results",
    .summary = "look at a store of explore again",
    .arguments = "F.db",
    .description =
        "Shows the best designs of a store that halley explore wrote, without evaluating "
        "anything. The table design has a row for every feasible design: a column for "
        "each parameter that varies, objective_1 and so on, and every result with its "
        "unit in its name; refusal counts the others by reason; meta says which study "
        "and version wrote it. The store may be looked at while it is being written.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(results_options),
    .defaults = &defaults,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
