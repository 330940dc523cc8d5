/* halley trace check - finds errors in traces, and repairs them. */
#include "base/array.h"
#include "base/call.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "halley/trace_check.h"
#include "halley/trace_edit.h"
#include "request/files.h"
#include "request/trace/roles.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_options {
    bool all, notes, fix, self;
    const char *groups, *out;
    request_output output;
} check_options;

static const request_option options[] = {
    {.name = "all",
     .letter = 'a',
     .kind = REQUEST_FLAG,
     .offset = offsetof(check_options, all),
     .doc = "list every finding, not only the first 10 of each code"},
    {.name = "notes",
     .kind = REQUEST_FLAG,
     .offset = offsetof(check_options, notes),
     .doc = "also list notes: what is unusual but harmless for most readers"},
    REQUEST_GROUPS_OPTION(check_options, groups),
    {.name = "fix",
     .kind = REQUEST_FLAG,
     .offset = offsetof(check_options, fix),
     .doc = "drop dangling dependencies, in place or into --out"},
    {.name = "self",
     .kind = REQUEST_FLAG,
     .offset = offsetof(check_options, self),
     .doc = "with --fix: also drop dependencies of a node on itself"},
    REQUEST_OUT_OPTION(check_options, out, "OUT",
                       "with --fix: write all ranks to the file, prefix or folder OUT",
                       "in place", "fixed"),
    REQUEST_OUTPUT_OPTIONS(check_options, output),
    {0},
};

/* What --fix did. */
typedef struct mended {
    halley_fix_counts counts; /* over all ranks */
    uint32_t n_ranks;         /* changed */
} mended;

typedef struct checked {
    request_call *call;
    const check_options *o;
    const halley_check_report *report;
    uint32_t n_ranks;
    const mended *mended; /* NULL without --fix */
} checked;

static bool is_mended(const checked *c, const char *code)
{
    return c->mended != NULL && (strcmp(code, "dangling-dep") == 0 ||
                                 (c->o->self && strcmp(code, "self-dep") == 0));
}

/* The number of errors that remain. */
static uint64_t errors_left(const checked *c)
{
    uint64_t n = c->report->n[HALLEY_ERROR];
    for (size_t i = 0; i < c->report->n_codes; i++)
        if (is_mended(c, c->report->codes[i].code))
            n -= c->report->codes[i].n;
    return n;
}

static bool is_finding_shown(const checked *c, const halley_finding *f)
{
    return (f->severity != HALLEY_NOTE || c->o->notes) && !is_mended(c, f->code);
}

static void write_finding(FILE *to, const halley_finding *f)
{
    char text[2048];
    fprintf(to, "%s: %s [%s]", halley_severity_name(f->severity),
            halley_finding_format(f, text, sizeof text), f->code);
    if (f->n_ranks > 1)
        fprintf(to, " (and %" PRIu32 " equal rank%s)", f->n_ranks - 1,
                f->n_ranks == 2 ? "" : "s");
    fputc('\n', to);
}

/* After the last listed finding of a code, write how many more there are. */
static void write_more_of_code(FILE *to, const halley_check_report *r, size_t i)
{
    for (size_t j = i + 1; j < r->n_findings; j++)
        if (strcmp(r->findings[j].code, r->findings[i].code) == 0)
            return;
    for (size_t j = 0; j < r->n_codes; j++)
        if (strcmp(r->codes[j].code, r->findings[i].code) == 0 &&
            r->codes[j].n > r->codes[j].n_listed)
            fprintf(to, "... %" PRIu64 " more %s; --all lists them\n",
                    r->codes[j].n - r->codes[j].n_listed, r->codes[j].code);
}

static void write_finding_count(FILE *to, uint64_t n, const char *word)
{
    fprintf(to, ", %" PRIu64 " %s%s", n, word, n == 1 ? "" : "s");
}

static void write_check_text(const checked *c)
{
    FILE *to = c->call->out;
    const halley_check_report *r = c->report;
    for (size_t i = 0; i < r->n_findings; i++) {
        if (!is_finding_shown(c, &r->findings[i]))
            continue;
        write_finding(to, &r->findings[i]);
        write_more_of_code(to, r, i);
    }
    if (c->mended != NULL) {
        fprintf(to, "dropped %" PRIu64 " dangling dependenc%s",
                c->mended->counts.n_dangling,
                c->mended->counts.n_dangling == 1 ? "y" : "ies");
        if (c->o->self)
            fprintf(to, " and %" PRIu64 " of nodes on themselves",
                    c->mended->counts.n_self);
        fprintf(to, " on %" PRIu32 " of %" PRIu32 " rank%s\n", c->mended->n_ranks,
                c->n_ranks, c->n_ranks == 1 ? "" : "s");
    }
    fprintf(to, "%s", c->call->args[0]);
    if (c->n_ranks > 0)
        fprintf(to, ": %" PRIu32 " rank%s", c->n_ranks, c->n_ranks == 1 ? "" : "s");
    else
        fprintf(to, ": unreadable");
    write_finding_count(to, errors_left(c), "error");
    write_finding_count(to, r->n[HALLEY_WARNING], "warning");
    write_finding_count(to, r->n[HALLEY_NOTE], "note");
    if (r->n[HALLEY_NOTE] > 0 && !c->o->notes)
        fprintf(to, " (--notes lists them)");
    fprintf(to,
            c->n_ranks == 1 ? "; one rank alone, nothing to compare it with\n" : "\n");
}

static void json_finding(report_json *j, const halley_finding *f)
{
    report_json_flat_object(j, NULL);
    report_json_text(j, "severity", str_from(halley_severity_name(f->severity)));
    report_json_text(j, "code", str_from(f->code));
    report_json_u64(j, "rank", f->rank);
    report_json_u64(j, "n_ranks", f->n_ranks);
    report_json_text(j, "file", str_from(f->file));
    if (f->node != HALLEY_NO_NODE) {
        report_json_u64(j, "node", f->id);
        report_json_text(j, "name", str_from(f->name));
    }
    if (f->has_offset)
        report_json_u64(j, "offset", f->offset);
    report_json_text(j, "sentence", str_from(f->sentence));
    report_json_text(j, "remedy", str_from(f->remedy));
    report_json_end(j);
}

static halley_status write_check_json(const checked *c, halley_error *err)
{
    const halley_check_report *r = c->report;
    report_json j;
    request_json_begin(&j, c->call);
    report_json_text(&j, "trace", str_from(c->call->args[0]));
    report_json_u64(&j, "n_ranks", c->n_ranks);
    report_json_bool(&j, "compared_ranks", r->compared_ranks);
    report_json_u64(&j, "n_errors", errors_left(c));
    report_json_u64(&j, "n_warnings", r->n[HALLEY_WARNING]);
    report_json_u64(&j, "n_notes", r->n[HALLEY_NOTE]);
    if (c->mended != NULL) {
        report_json_object(&j, "dropped");
        report_json_u64(&j, "dangling", c->mended->counts.n_dangling);
        report_json_u64(&j, "self", c->mended->counts.n_self);
        report_json_u64(&j, "n_ranks", c->mended->n_ranks);
        report_json_end(&j);
    }
    report_json_array(&j, "codes");
    for (size_t i = 0; i < r->n_codes; i++) {
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "code", str_from(r->codes[i].code));
        report_json_text(&j, "severity",
                         str_from(halley_severity_name(r->codes[i].severity)));
        report_json_u64(&j, "count", r->codes[i].n);
        report_json_u64(&j, "listed", r->codes[i].n_listed);
        report_json_end(&j);
    }
    report_json_end(&j);
    report_json_array(&j, "findings");
    for (size_t i = 0; i < r->n_findings; i++)
        if (!is_mended(c, r->findings[i].code))
            json_finding(&j, &r->findings[i]);
    report_json_end(&j);
    return request_json_end(&j, c->call, err);
}

static const report_column columns[] = {
    {"Severity", "severity", REPORT_WORDS, UNITS_COUNT, 0},
    {"Code", "code", REPORT_WORDS, UNITS_COUNT, 0},
    {"Rank", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"Ranks", "n_ranks", REPORT_COUNT, UNITS_COUNT, 0},
    {"File", "file", REPORT_WORDS, UNITS_COUNT, 0},
    {"Node", "node", REPORT_COUNT, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 0},
    {"Byte", "offset", REPORT_COUNT, UNITS_COUNT, 0},
    {"Finding", "sentence", REPORT_WORDS, UNITS_COUNT, 0},
    {"Remedy", "remedy", REPORT_WORDS, UNITS_COUNT, 0},
};

static void csv_finding(report_table *t, const halley_finding *f)
{
    report_table_words(t, str_from(halley_severity_name(f->severity)));
    report_table_words(t, str_from(f->code));
    report_table_count(t, f->rank);
    report_table_count(t, f->n_ranks);
    report_table_words(t, str_from(f->file));
    if (f->node != HALLEY_NO_NODE)
        report_table_count(t, f->id);
    else
        report_table_empty(t);
    report_table_words(t, str_from(f->name));
    if (f->has_offset)
        report_table_count(t, f->offset);
    else
        report_table_empty(t);
    report_table_words(t, str_from(f->sentence));
    report_table_words(t, str_from(f->remedy));
}

static halley_status write_check_csv(const checked *c, halley_error *err)
{
    report_table *t = report_table_new(columns, 10);
    if (t == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < c->report->n_findings; i++)
        if (!is_mended(c, c->report->findings[i].code))
            csv_finding(t, &c->report->findings[i]);
    const halley_status status = report_table_write(t, REPORT_CSV, c->call->out, err);
    report_table_free(t);
    return status;
}

static halley_status write_check_report(const checked *c, report_form form,
                                        halley_error *err)
{
    if (errors_left(c) > 0)
        c->call->exit_code = REQUEST_FAILED;
    if (form == REPORT_JSON)
        return write_check_json(c, err);
    if (form == REPORT_CSV)
        return write_check_csv(c, err);
    write_check_text(c);
    return HALLEY_OK;
}

/* Save in the form of the file `path`, under the name `to`. */
static halley_status save_form(const halley_trace *fixed, const halley_trace *was,
                               const char *path, const char *to, halley_error *err)
{
    switch (halley_trace_form_of(was)) {
    case HALLEY_FORM_ET:
        return halley_trace_save_et(fixed, to, err);
    case HALLEY_FORM_JSON: {
        const str name = str_from(path);
        const bool lines =
            str_ends(name, STR(".jsonl")) || str_ends(name, STR(".jsonl.gz"));
        return halley_trace_save_json(fixed, to,
                                      lines ? HALLEY_JSON_LINES : HALLEY_JSON_DOCUMENT,
                                      false, NULL, err);
    }
    default:
        error_set(err, HALLEY_EINVAL, "%s is read, not written; --out takes a new file",
                  halley_trace_form_name(halley_trace_form_of(was)));
        error_at_file(err, path);
        return HALLEY_EINVAL;
    }
}

static halley_status save_back(file_set *files, const halley_trace *fixed,
                               const halley_trace *was, const char *path,
                               halley_error *err)
{
    const char *name;
    TRY(file_set_add(files, &name, path, false, err));
    const halley_status status = save_form(fixed, was, path, name, err);
    if (status != HALLEY_OK)
        error_rename_file(err, name, path);
    return status;
}

/* traces[rank]: the repaired trace, or NULL if there was nothing to repair. Equal ranks
 * are repaired once and each is counted. */
static halley_status mend_set(mended *m, halley_trace **traces,
                              const halley_trace_set *set, bool self, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    halley_fix_counts *counts = mem_array_zero(n, sizeof *counts);
    if (counts == NULL)
        return error_nomem(err);
    map64 seen = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; status == HALLEY_OK && rank < n; rank++) {
        const halley_trace *trace = halley_trace_set_get(set, rank);
        uint32_t first = rank;
        bool fresh = false;
        if (!map64_put(&seen, (uint64_t)(uintptr_t)trace, &first, &fresh)) {
            status = error_nomem(err);
            break;
        }
        if (fresh)
            status = halley_trace_fix(&traces[rank], trace, self, &counts[rank], err);
        else if (traces[first] != NULL)
            traces[rank] = halley_trace_keep(traces[first]);
        m->n_ranks += status == HALLEY_OK && traces[rank] != NULL;
        m->counts.n_dangling += counts[first].n_dangling;
        m->counts.n_self += counts[first].n_self;
    }
    free(counts);
    map64_fini(&seen);
    return status;
}

static halley_status save_mended(request_call *call, const halley_trace_set *set,
                                 halley_trace **traces, halley_error *err)
{
    const check_options *o = call->options;
    const uint32_t n = halley_trace_set_count(set);
    for (uint32_t rank = 0; rank < n; rank++)
        if (traces[rank] == NULL)
            traces[rank] =
                halley_trace_keep((halley_trace *)halley_trace_set_get(set, rank));
    halley_trace_set *fixed = NULL;
    TRY(halley_trace_set_new(&fixed, traces, n, err));
    char *stem = traces_stem(halley_trace_set_path(set, 0));
    const traces_output output = {
        .path = o->out, .one = n == 1 && traces_is_file(call), .stem = stem};
    const halley_status status = traces_save(fixed, &output, call, err);
    free(stem);
    for (uint32_t rank = 0; rank < n; rank++)
        traces[rank] = NULL; /* the set's */
    halley_trace_set_free(fixed);
    return status;
}

static halley_status save_in_place(const halley_trace_set *set,
                                   halley_trace *const *traces, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    file_set *files;
    TRY(file_set_open(&files, err));
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; status == HALLEY_OK && rank < n; rank++)
        if (traces[rank] != NULL)
            status = save_back(files, traces[rank], halley_trace_set_get(set, rank),
                               halley_trace_set_path(set, rank), err);
    if (status == HALLEY_OK)
        return file_set_commit(files, err);
    file_set_abort(files);
    return status;
}

static halley_status fix_set(mended *m, request_call *call, const halley_trace_set *set,
                             halley_error *err)
{
    const check_options *o = call->options;
    const uint32_t n = halley_trace_set_count(set);
    halley_trace **traces = mem_array_zero(n, sizeof *traces);
    if (traces == NULL)
        return error_nomem(err);
    halley_status status = mend_set(m, traces, set, o->self, err);
    if (status == HALLEY_OK)
        status = o->out != NULL ? save_mended(call, set, traces, err)
                                : save_in_place(set, traces, err);
    for (uint32_t rank = 0; rank < n; rank++)
        halley_trace_free(traces[rank]);
    free((void *)traces);
    return status;
}

static halley_status check_set(request_call *call, report_form form,
                               const halley_trace_set *set, const char *groups,
                               halley_error *err)
{
    const check_options *o = call->options;
    halley_check_report *report = NULL;
    TRY(halley_trace_check(&report, set,
                           &(halley_check_opts){.max_per_code = o->all ? UINT32_MAX : 0,
                                                .groups_path = groups},
                           err));
    mended m = {0};
    halley_status status = o->fix ? fix_set(&m, call, set, err) : HALLEY_OK;
    const checked c = {call, o, report, halley_trace_set_count(set), o->fix ? &m : NULL};
    if (status == HALLEY_OK)
        status = write_check_report(&c, form, err);
    halley_check_report_free(report);
    return status;
}

/* A file that cannot be read is a finding like others. */
static halley_status report_unreadable(request_call *call, report_form form,
                                       const halley_error *why, halley_error *err)
{
    const check_options *o = call->options;
    const halley_check_opts opts = {.max_per_code = o->all ? UINT32_MAX : 0};
    halley_check_report *report = NULL;
    halley_error *each = NULL;
    uint32_t n = 0;
    bool again = call->n_args > 1 || !traces_is_file(call); /* several files */
    for (size_t i = 0; i < call->n_args; i++)
        again &= strcmp(call->args[i], "-") != 0; /* stdin is read only once */
    if (again)
        TRY(halley_trace_set_errors(&each, &n, call->args, call->n_args, NULL, err));
    halley_status status =
        halley_check_load_errors(&report, n ? each : why, n ? n : 1, &opts, err);
    free(each);
    TRY(status);
    const checked c = {call, o, report, 0, NULL};
    status = write_check_report(&c, form, err);
    halley_check_report_free(report);
    return status;
}

static halley_status trace_check_run(request_call *call, halley_error *err)
{
    const check_options *o = call->options;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if ((o->self || o->out != NULL) && !o->fix)
        return request_usage(call, err, "--self and --out go with --fix");
    if (o->fix && o->out == NULL)
        call_allow_replacing(); /* in place */
    char *index = roles_find(call);
    if (index != NULL) {
        const halley_status done =
            o->fix ? request_usage(call, err, "--fix needs a trace per rank")
                   : roles_check(call, index, form, err);
        free(index);
        return done;
    }
    halley_trace_set *set = NULL;
    halley_error why = {0};
    const halley_status loaded = traces_load_any(&set, call, 0, call->n_args, NULL, &why);
    if (loaded == HALLEY_EFORMAT)
        return report_unreadable(call, form, &why, err);
    if (loaded != HALLEY_OK) {
        *err = why;
        return loaded;
    }
    char *beside = o->groups == NULL ? halley_trace_set_groups(set) : NULL;
    const halley_status status =
        check_set(call, form, set, o->groups == NULL ? beside : o->groups, err);
    free(beside);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace check gpt", "the set gpt.0.et, gpt.1.et, ..."},
    {"halley trace check -g comm_group.json gpt", NULL},
    {"halley trace check --fix -o mended chakra.0.et",
     "without its dangling dependencies"},
    {0},
};

const request_verb request_verb_trace_check = {
    .name = "trace check",
    .summary = "find what is wrong with traces, and repair it",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Looks for defects in each trace and, if there are several ranks, between "
        "them. Every finding is one line: severity, file, node id and name, byte of "
        "the file, problem, remedy, and a code in brackets. The exit status is 1 if "
        "there are errors; warnings and notes leave it 0.\n\n"
        "Errors in one trace:\n"
        " duplicate-id      two nodes have one id\n"
        " dangling-dep      a dependency on a missing node\n"
        " self-dep          a dependency of a node on itself\n"
        " cycle             a cycle of dependencies, printed node by node\n"
        " missing-attr      a node lacks an attribute that it needs\n"
        " attr-type         an attribute has the wrong class\n"
        " attr-value        an attribute has an impossible value\n"
        " node-type         unknown node type\n"
        " time-overflow     times do not fit into 64 bits\n"
        " unreadable        the bytes are not a trace\n"
        "Warnings:\n"
        " empty             there is nothing to do\n"
        " zero-size         communication of no bytes\n"
        " bad-utf8          text that is not UTF-8\n"
        " not-a-number      NaN\n"
        " attr-twice        an attribute occurs twice\n"
        "Notes: zero-id, attr-kind (an unusual integer kind), invalid-node, "
        "no-metadata.\n\n"
        "Between ranks:\n"
        " unmatched-send, unmatched-recv    no partner by source, destination, tag "
        "and size\n"
        " send-recv-size, send-recv-tag     partners differ only in size or tag\n"
        " peer-range, self-send, wrong-rank    wrong ranks\n"
        " coll-count, coll-type, coll-size, coll-order    collectives of a group "
        "differ\n"
        " group-member, group-range, group-unknown, group-conflict, group-alone\n"
        "                   ranks that are not in the group\n"
        " deadlock          ranks wait for each other in a cycle\n\n"
        "Collectives are compared in the order of their ids. If dependencies do not "
        "force that order on both ranks, the finding is a warning "
        "(coll-order-unsure). Deadlocks are only looked for if everything else is "
        "correct. A pg_name that is absent, empty or 0 means all ranks.\n\n"
        "--fix drops dangling dependencies, and with --self those of a node on "
        "itself, and reports how many. Files are replaced as a whole or not at all, "
        "and only if something changed. With --out a new set of all ranks is written "
        "and the old one is kept. What was dropped no longer counts as an error.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(check_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_check_run,
};
