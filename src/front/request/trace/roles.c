/* Describes a set of roles, and checks that its traces and rules fit together. */
#include "request/trace/roles.h"

#include "base/error.h"
#include "base/file/file.h"
#include "halley/trace_check.h"
#include "halley/trace_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *roles_find(const request_call *call)
{
    strbuf first = {0};
    if (call->n_args != 1 || strcmp(call->args[0], "-") == 0)
        return NULL;
    strbuf_printf(&first, "%s.0.et", call->args[0]);
    const bool has_ranks = !first.failed && file_exists(first.at);
    strbuf_fini(&first);
    return has_ranks ? NULL : halley_template_find(call->args[0]);
}

static const report_column columns[] = {
    {"Role", "role", REPORT_COUNT, UNITS_COUNT, 0},
    {"Ranks", "n_ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"First rank", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"File", "file", REPORT_WORDS, UNITS_COUNT, 0},
};

/* How many ranks a role has, and the first of them. */
typedef struct role_use {
    uint32_t n, first;
} role_use;

static role_use *count_ranks(const halley_template *t)
{
    const uint32_t n = halley_template_roles(t);
    role_use *use = calloc(n > 0 ? n : 1, sizeof *use);
    for (uint32_t r = 0; use != NULL && r < halley_template_ranks(t); r++) {
        role_use *u = &use[halley_template_role_of(t, r)];
        if (u->n++ == 0)
            u->first = r;
    }
    return use;
}

static report_table *make_roles_table(const halley_template *t)
{
    report_table *table = report_table_new(columns, 5);
    role_use *use = count_ranks(t);
    for (uint32_t i = 0; table != NULL && use != NULL && i < halley_template_roles(t);
         i++) {
        const halley_trace *trace = halley_template_trace(t, i);
        report_table_count(table, i);
        report_table_count(table, use[i].n);
        report_table_count(table, use[i].first);
        report_table_count(table, halley_trace_count(trace));
        report_table_words(table, str_from(halley_trace_path(trace)));
    }
    if (use == NULL) {
        report_table_free(table);
        table = NULL;
    }
    free(use);
    return table;
}

halley_status roles_describe(request_call *call, const char *index, report_form form,
                             halley_error *err)
{
    halley_template *t;
    TRY(halley_template_load(&t, index, err));
    report_table *table = make_roles_table(t);
    const uint32_t n_ranks = halley_template_ranks(t), n = halley_template_roles(t);
    halley_template_free(t);
    if (table == NULL)
        return error_nomem(err);
    if (form == REPORT_TEXT)
        fprintf(call->out, "%s: %u ranks in %u role%s\n\n", index, n_ranks, n,
                n == 1 ? "" : "s");
    return request_table_write(call, table, "roles", form, err);
}

/* Count the errors inside the trace of one rank. */
static halley_status check_rank(uint64_t *n, request_call *call, const halley_template *t,
                                uint32_t rank, bool print, halley_error *err)
{
    halley_trace *one = NULL;
    halley_trace_set *set = NULL;
    halley_check_report *report = NULL;
    TRY(halley_template_expand(&one, t, rank, err));
    halley_status status = halley_trace_set_new(&set, &one, 1, err);
    if (status != HALLEY_OK) {
        halley_trace_free(one);
        return status;
    }
    status = halley_trace_check(&report, set, NULL, err);
    for (size_t k = 0; status == HALLEY_OK && print && k < report->n_findings; k++) {
        char text[2048];
        if (report->findings[k].severity == HALLEY_ERROR)
            fprintf(call->out, "error: %s [%s]\n",
                    halley_finding_format(&report->findings[k], text, sizeof text),
                    report->findings[k].code);
    }
    *n += status == HALLEY_OK ? report->n[HALLEY_ERROR] : 0;
    halley_check_report_free(report);
    halley_trace_set_free(set);
    return status;
}

/* The first rank of every role represents the others. */
static halley_status count_errors(uint64_t *out, request_call *call,
                                  const halley_template *t, bool print, halley_error *err)
{
    role_use *use = count_ranks(t);
    halley_status status = use != NULL ? HALLEY_OK : error_nomem(err);
    *out = 0;
    for (uint32_t i = 0; i < halley_template_roles(t) && status == HALLEY_OK; i++)
        if (use[i].n > 0)
            status = check_rank(out, call, t, use[i].first, print, err);
    free(use);
    return status;
}

static halley_status write_check(request_call *call, const char *index,
                                 const halley_template *t, uint64_t n_errors,
                                 report_form form, halley_error *err)
{
    report_json j;
    if (n_errors > 0)
        call->exit_code = REQUEST_FAILED;
    if (form != REPORT_JSON) {
        fprintf(call->out, "%s: %u ranks in %u roles, %llu errors\n", index,
                halley_template_ranks(t), halley_template_roles(t),
                (unsigned long long)n_errors);
        return HALLEY_OK;
    }
    request_json_begin(&j, call);
    report_json_text(&j, "trace", str_from(call->args[0]));
    report_json_u64(&j, "n_ranks", halley_template_ranks(t));
    report_json_u64(&j, "n_roles", halley_template_roles(t));
    report_json_u64(&j, "n_errors", n_errors);
    return request_json_end(&j, call, err);
}

halley_status roles_check(request_call *call, const char *index, report_form form,
                          halley_error *err)
{
    halley_template *t;
    uint64_t n_errors = 0;
    TRY(halley_template_load(&t, index, err));
    halley_status status = halley_template_check(t, err);
    if (status == HALLEY_OK)
        status = count_errors(&n_errors, call, t, form == REPORT_TEXT, err);
    if (status == HALLEY_OK)
        status = write_check(call, index, t, n_errors, form, err);
    halley_template_free(t);
    return status;
}
