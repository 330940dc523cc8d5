/* One call of a verb: which options were given, notes, usage errors, the frame of its
 * JSON. */
#include "base/call.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/strbuf_stream.h"
#include "report/facts.h"
#include "request/files.h"
#include "request/spool.h"
#include "request/verb.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool request_given(const request_call *call, const char *name)
{
    request_option o;
    if (!request_option_find(&o, call->verb, str_from(name)))
        return false;
    return call->given[o.index / 64] >> o.index % 64 & 1;
}

halley_status request_usage(request_call *call, halley_error *err, const char *format,
                            ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->exit_code = REQUEST_WRONG_USAGE;
    call->code = REQUEST_CODE_USAGE;
    return error_set(err, HALLEY_EINVAL, "%s", text);
}

halley_status request_fail_as(request_call *call, request_code code, halley_status status)
{
    assert(code < REQUEST_N_CODES);
    if (status != HALLEY_OK)
        call->code = code;
    return status;
}

halley_status request_output_form(report_form *out, request_call *call,
                                  const request_output *output, halley_error *err)
{
    if (output->json && output->csv)
        return request_usage(call, err, "--json and --csv exclude each other");
    *out = output->json ? REPORT_JSON : output->csv ? REPORT_CSV : REPORT_TEXT;
    return HALLEY_OK;
}

static void keep_note(request_notes *notes, const char *text)
{
    if (notes == NULL)
        return;
    if (notes->n == notes->cap) {
        const size_t cap = notes->cap > 0 ? 2 * notes->cap : 8;
        char **at = realloc(notes->at, cap * sizeof *at);
        if (at == NULL) {
            notes->failed = true;
            return;
        }
        notes->at = at;
        notes->cap = cap;
    }
    char *copy = strdup(text);
    if (copy != NULL)
        notes->at[notes->n++] = copy;
    else
        notes->failed = true;
}

void request_note(const request_call *call, const char *format, ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (call->show_note != NULL)
        call->show_note(text);
    keep_note(call->warnings, strncmp(text, "note: ", 6) == 0 ? text + 6 : text);
}

void request_assume(const request_call *call, const request_assumption *what)
{
    if (call->assumed != NULL && !array_push(call->assumed, *what))
        call->assumed->failed = true;
}

void request_assume_default(const request_call *call, const char *key, const char *value,
                            const char *format, ...)
{
    request_assumption a = {.origin = "default"};
    va_list args;
    va_start(args, format);
    vsnprintf(a.text, sizeof a.text, format, args);
    va_end(args);
    snprintf(a.key, sizeof a.key, "%s", key);
    snprintf(a.value, sizeof a.value, "%s", value);
    request_assume(call, &a);
}

static bool is_from_recipe(const request_assumption *a)
{
    return a->recipe[0] != '\0';
}

/* The keys that came from a recipe, under its name. */
static void write_recipe(FILE *to, const request_assumptions *all)
{
    const char *recipe = "", *comma = "";
    for (size_t i = 0; i < all->n; i++) {
        const request_assumption *a = &all->at[i];
        if (!is_from_recipe(a))
            continue;
        if (strcmp(recipe, a->recipe) != 0) {
            fprintf(to, "%sassumed from %s (%s)\n ", *recipe != '\0' ? "\n" : "",
                    a->recipe, a->why);
            comma = "";
        }
        recipe = a->recipe;
        fprintf(to, "%s %s", comma, a->text);
        comma = ",";
    }
    fprintf(to, "%s", *recipe != '\0' ? "\n" : "");
}

void request_write_assumed(const request_call *call)
{
    const request_assumptions *all = call->assumed;
    const char *before = "assumed: ";
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (is_from_recipe(&all->at[i]))
            continue;
        fprintf(call->out, "%s%s", before, all->at[i].text);
        before = ", ";
    }
    if (before[0] == ',')
        fprintf(call->out, "\n");
    if (all != NULL)
        write_recipe(call->out, all);
}

void request_work_end(const request_call *call)
{
    if (call->view != NULL)
        progress_view_fini(call->view);
}

/* Call this before anything is computed or written. */
static halley_status refuse_two_forms(request_call *call, halley_error *err)
{
    return request_given(call, "json") && request_given(call, "csv")
               ? request_usage(call, err, "--json and --csv exclude each other")
               : HALLEY_OK;
}

/* If memory ran out anywhere, the call fails, because something may be missing. The reply
 * is in memory too, and is complete before files are kept. */
static halley_status run_verb(request_call *call, halley_error *err)
{
    const halley_status status = call->verb->run(call, err);
    if (call->out != stdout)
        (void)fflush(call->out);
    TRY(status);
    TRY(call_check(err)); /* its loops may have ended early */
    const bool lost = (call->warnings != NULL && call->warnings->failed) ||
                      (call->assumed != NULL && call->assumed->failed) ||
                      call_failures() != mem_failure_count();
    return lost ? error_nomem(err) : HALLEY_OK;
}

/* The status of a call whose run has returned: also if it did not see that a file could
 * not be looked at, or would be written over. */
static halley_status settle_failure(request_call *call, halley_status status,
                                    halley_error *err)
{
    const halley_status failure = call_failure(err);
    if (failure == HALLEY_EINVAL) {
        call->exit_code = REQUEST_WRONG_USAGE;
        call->code = REQUEST_CODE_USAGE;
    } else if (failure != HALLEY_OK) {
        call->code = REQUEST_CODE_BY_STATUS;
    }
    return failure != HALLEY_OK ? failure : status;
}

/* Files appear only when the report on them is complete. They are also kept if the answer
 * is "no" (infeasible), because that call has a report, too. */
static halley_status run_and_keep_files(request_call *call, halley_error *err)
{
    TRY(file_hold_begin(err));
    const halley_status status = settle_failure(call, run_verb(call, err), err);
    const bool says_no = call->code == REQUEST_CODE_INFEASIBLE && status == HALLEY_EINVAL;
    const halley_status kept = file_hold_end(says_no ? HALLEY_OK : status, err);
    return kept == HALLEY_OK ? status : kept;
}

halley_status request_call_run(request_call *call, halley_error *err)
{
    request_spool spool = {0};
    TRY(call_begin(&call->watch, call->verb->name, err));
    if (call->max_output > 0)
        call_limit_output(call->max_output);
    halley_status status = request_files_check(call, err);
    status = settle_failure(call, status, err);
    if (status == HALLEY_OK)
        status = refuse_two_forms(call, err);
    if (status == HALLEY_OK)
        status = request_spool_fill(&spool, call, err);
    if (status == HALLEY_OK)
        status = run_and_keep_files(call, err);
    call_end();
    request_spool_fini(&spool, err);
    return status;
}

void request_assumptions_fini(request_assumptions *assumed)
{
    array_fini(assumed);
}

void request_notes_fini(request_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        free(notes->at[i]);
    free(notes->at);
    *notes = (request_notes){0};
}

void request_json_begin(report_json *j, const request_call *call)
{
    report_json_init(j, call->out);
    report_json_object(j, NULL);
}

halley_status request_json_end(report_json *j, const request_call *call,
                               halley_error *err)
{
    const request_result_notes notes = {
        .assumed = {call->assumed != NULL ? call->assumed->at : NULL,
                    call->assumed != NULL ? call->assumed->n : 0},
        .warnings = {call->warnings != NULL ? call->warnings->at : NULL,
                     call->warnings != NULL ? call->warnings->n : 0}};
    report_facts_json(j, &request_notes_facts, &notes);
    report_json_end(j);
    return report_json_fini(j, err);
}

static halley_status write_facts_json(const request_call *call, const fact_table *table,
                                      const void *from, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_facts_json(&j, table, from);
    return request_json_end(&j, call, err);
}

halley_status request_facts_write(const request_call *call, report_form form,
                                  const fact_table *table, const void *from,
                                  halley_error *err)
{
    strbuf json = {0};
    assert(form != REPORT_TEXT);
    if (form == REPORT_JSON)
        return write_facts_json(call, table, from, err);
    request_call own = *call;
    own.out = strbuf_stream_open(&json);
    if (own.out == NULL)
        return error_nomem(err);
    halley_status status = write_facts_json(&own, table, from, err);
    if ((fclose(own.out) != 0 || json.failed) && status == HALLEY_OK)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = report_facts_csv(call->out, strbuf_str(&json), err);
    strbuf_fini(&json);
    return status;
}

static halley_status write_table_json(const request_call *call, const report_table *table,
                                      const char *key, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_table_json(table, &j, key);
    return request_json_end(&j, call, err);
}

halley_status request_table_write(const request_call *call, report_table *table,
                                  const char *key, report_form form, halley_error *err)
{
    if (table == NULL)
        return error_nomem(err);
    const halley_status status = form == REPORT_JSON
                                     ? write_table_json(call, table, key, err)
                                     : report_table_write(table, form, call->out, err);
    report_table_free(table);
    return status;
}
