/* halley results - show the content of a store without evaluating anything. */
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
     .doc = "number of best designs to show",
     .by_default = "10",
     .example = "20"},
    {.name = "all",
     .kind = REQUEST_FLAG,
     .offset = offsetof(results_options, all),
     .doc = "show every column, not only parameters and main results"},
    {.name = "sql",
     .kind = REQUEST_TEXT,
     .metavar = "QUERY",
     .offset = offsetof(results_options, sql),
     .doc = "run a read-only SQL query on the tables design, refusal and meta",
     .by_default = "none",
     .example = "select count(*) from design"},
    REQUEST_OUTPUT_OPTIONS(results_options, output),
    {0},
};

/* Rows of a query. They go into a table that is made when the columns are known, or into
 * JSON, where each value is a number or a text as in the store. */
typedef struct sheet {
    report_form form;
    report_table *table;
    report_column *columns;
    uint32_t n;
    report_json json;
} sheet;

static bool start_table(sheet *s, const halley_results_row *row)
{
    s->columns = calloc(row->n ? row->n : 1, sizeof *s->columns);
    if (s->columns == NULL)
        return false;
    s->n = row->n;
    for (uint32_t i = 0; i < row->n; i++) {
        char *name = strdup(row->names[i]);
        s->columns[i] = (report_column){name, name, REPORT_WORDS, UNITS_COUNT, 48};
        if (name == NULL)
            return false;
    }
    s->table = report_table_new(s->columns, row->n);
    return s->table != NULL;
}

static bool take_table_row(sheet *s, const halley_results_row *row)
{
    if (s->table == NULL && !start_table(s, row))
        return false;
    for (uint32_t i = 0; i < row->n && row->values != NULL; i++) {
        const str text = str_from(row->values[i]);
        if (row->is_number[i])
            report_table_digits(s->table, text);
        else
            report_table_words(s->table, text);
    }
    return true;
}

static bool take_json_row(sheet *s, const halley_results_row *row)
{
    if (row->values == NULL)
        return true;
    report_json_flat_object(&s->json, NULL);
    for (uint32_t i = 0; i < row->n; i++) {
        if (row->values[i] == NULL)
            continue;
        if (row->is_number[i])
            report_json_raw(&s->json, row->names[i], str_from(row->values[i]));
        else
            report_json_text(&s->json, row->names[i], str_from(row->values[i]));
    }
    report_json_end(&s->json);
    return true;
}

static bool take_row(void *context, const halley_results_row *row)
{
    sheet *s = context;
    return s->form == REPORT_JSON ? take_json_row(s, row) : take_table_row(s, row);
}

static void sheet_fini(sheet *s)
{
    report_table_free(s->table);
    for (uint32_t i = 0; i < s->n; i++)
        free((void *)(uintptr_t)s->columns[i].title);
    free(s->columns);
}

static void write_store_summary(FILE *to, const halley_results_summary *sum)
{
    fprintf(to, "%s: %llu design%s evaluated, %llu feasible%s; best by %s %s\n\n",
            sum->study, (unsigned long long)sum->n_evaluated,
            sum->n_evaluated == 1 ? "" : "s", (unsigned long long)sum->n_feasible,
            sum->complete ? "" : " so far (not finished: explore --resume goes on)",
            sum->maximize ? "greatest" : "least", sum->objective);
}

static halley_status write_results_json(sheet *s, const request_call *call,
                                        const halley_results_opts *opts,
                                        halley_error *err)
{
    halley_results_summary sum;
    request_json_begin(&s->json, call);
    report_json_array(&s->json, opts->sql != NULL ? "records" : "best");
    const halley_status status =
        halley_results_query(&sum, call->args[0], opts, take_row, s, err);
    report_json_end(&s->json);
    if (status == HALLEY_OK) {
        report_json_text(&s->json, "study", str_from(sum.study));
        report_json_array(&s->json, "objectives");
        report_json_flat_object(&s->json, NULL);
        report_json_text(&s->json, sum.maximize ? "maximize" : "minimize",
                         str_from(sum.objective));
        report_json_end(&s->json);
        report_json_end(&s->json);
        report_json_bool(&s->json, "complete", sum.complete);
        report_json_u64(&s->json, "evaluated", sum.n_evaluated);
        report_json_u64(&s->json, "feasible", sum.n_feasible);
    }
    const halley_status ended = request_json_end(&s->json, call, err);
    return status != HALLEY_OK ? status : ended;
}

static halley_status write_results_table(sheet *s, const request_call *call,
                                         const halley_results_opts *opts,
                                         halley_error *err)
{
    halley_results_summary sum;
    TRY(halley_results_query(&sum, call->args[0], opts, take_row, s, err));
    if (s->form == REPORT_TEXT && opts->sql == NULL)
        write_store_summary(call->out, &sum);
    return s->table != NULL ? report_table_write(s->table, s->form, call->out, err)
                            : HALLEY_OK;
}

static halley_status results_run(request_call *call, halley_error *err)
{
    const results_options *o = call->options;
    sheet s = {0};
    TRY(request_output_form(&s.form, call, &o->output, err));
    const halley_results_opts opts = {
        .top = o->top, .sql = o->sql, .all = o->all, .raw = s.form != REPORT_TEXT};
    const halley_status status = s.form == REPORT_JSON
                                     ? write_results_json(&s, call, &opts, err)
                                     : write_results_table(&s, call, &opts, err);
    sheet_fini(&s);
    return status;
}

static const request_example examples[] = {
    {"halley results 1t.db --top 5", "the five best"},
    {"halley results 1t.db --csv --all > best.csv", "with every column"},
    {"halley results 1t.db --sql 'SELECT \"plan.tp\", min(step_s) FROM design GROUP "
     "BY 1'",
     "anything SQLite can answer"},
    {0},
};

static const char *const store_key[] = {"store", NULL};

const request_verb request_verb_results = {
    .name = "results",
    .summary = "show results that explore has stored",
    .arguments = "F.db",
    .arg_keys = store_key,
    .description =

        "Shows the best designs of a store that halley explore wrote, without "
        "evaluating anything. The table design has one row per feasible design: a "
        "column for each varied parameter, objective_1 and so on, and every result "
        "with its unit in the name. The table refusal counts the other designs by "
        "reason. The table meta names the study and the version that wrote it. The "
        "store can be read while it is being written.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(results_options),
    .defaults = &defaults,
    .min_args = 1,
    .max_args = 1,
    .run = results_run,
};
