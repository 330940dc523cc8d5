/* halley trace diff - what differs between two traces or sets. */
#include "base/error.h"
#include "halley/recording_diff.h"
#include "halley/trace_diff.h"
#include "request/trace/recording_diff.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <string.h>

typedef struct diff_options {
    bool all, quiet, by_id;
    request_texts ignore;
    request_output output;
} diff_options;

static const request_option options[] = {
    {.name = "ignore",
     .letter = 'i',
     .kind = REQUEST_TEXTS,
     .metavar = "KIND[,KIND]",
     .offset = offsetof(diff_options, ignore),
     .doc = "ignore differences in ranks, metadata, nodes, order, type, name, time, "
            "deps, attrs, io or unknown",
     .by_default = "none",
     .example = "name,time"},
    {.name = "all",
     .letter = 'a',
     .kind = REQUEST_FLAG,
     .offset = offsetof(diff_options, all),
     .doc = "list every difference, not only the first 10 of each kind"},
    {.name = "quiet",
     .letter = 'q',
     .kind = REQUEST_FLAG,
     .offset = offsetof(diff_options, quiet),
     .doc = "print nothing; the exit status says whether they differ"},
    {.name = "by-id",
     .kind = REQUEST_FLAG,
     .offset = offsetof(diff_options, by_id),
     .doc = "match nodes by id, also in recordings, which are matched by call tree "
            "otherwise"},
    REQUEST_OUTPUT_OPTIONS(diff_options, output),
    {0},
};

static halley_status parse_ignore(uint32_t *bits, request_call *call,
                                  const request_texts *texts, halley_error *err)
{
    const char *names[HALLEY_N_DIFF_KINDS];
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++)
        names[kind] = halley_diff_kind_name((halley_diff_kind)kind);
    for (size_t i = 0; i < texts->n; i++) {
        str rest = str_from(texts->at[i]), word = {0};
        while (str_next(&rest, ',', &word)) {
            int kind = 0;
            while (kind < HALLEY_N_DIFF_KINDS && !str_eq(word, str_from(names[kind])))
                kind++;
            if (kind == HALLEY_N_DIFF_KINDS) {
                const char *near = str_nearest(word, names, HALLEY_N_DIFF_KINDS);
                return request_usage(call, err, "--ignore knows no '%.*s'%s%s%s",
                                     STR_ARG(word), near ? ", did you mean '" : "",
                                     near ? near : "", near ? "'?" : "");
            }
            *bits |= UINT32_C(1) << kind;
        }
    }
    return HALLEY_OK;
}

static void write_difference(FILE *to, const halley_difference *d, bool ranks)
{
    if (ranks)
        fprintf(to, "rank %" PRIu32 ": ", d->rank);
    if (d->has_node)
        fprintf(to, "node %" PRIu64 ": ", d->id);
    fprintf(to, "%s\n", d->sentence);
}

/* After the last listed difference of a kind, write how many more there are. */
static void write_more_of_kind(FILE *to, const halley_diff_report *r, size_t i)
{
    const halley_diff_kind kind = r->list[i].kind;
    uint64_t n_listed = 0;
    for (size_t j = 0; j < r->n_listed; j++) {
        if (r->list[j].kind != kind)
            continue;
        if (j > i)
            return;
        n_listed++;
    }
    if (r->n_once[kind] > n_listed)
        fprintf(to, "... %" PRIu64 " more in %s; --all lists them\n",
                r->n_once[kind] - n_listed, halley_diff_kind_name(kind));
}

static void write_diff_text(FILE *to, const halley_diff_report *r, bool ranks)
{
    for (size_t i = 0; i < r->n_listed; i++) {
        write_difference(to, &r->list[i], ranks && r->list[i].kind != HALLEY_DIFF_RANKS);
        write_more_of_kind(to, r, i);
    }
    if (r->n_total == 0) {
        fprintf(to, "no differences in %" PRIu64 " nodes\n", r->n_nodes_same);
        return;
    }
    fprintf(to, "%" PRIu64 " difference%s", r->n_total, r->n_total == 1 ? "" : "s");
    if (ranks)
        fprintf(to, " on %" PRIu64 " of %" PRIu64 " ranks", r->n_ranks_changed,
                r->n_ranks_changed + r->n_ranks_same);
    fputc(':', to);
    const char *comma = "";
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++) {
        if (r->n[kind] == 0)
            continue;
        fprintf(to, "%s %s %" PRIu64, comma,
                halley_diff_kind_name((halley_diff_kind)kind), r->n[kind]);
        comma = ",";
    }
    fprintf(to,
            "; nodes: %" PRIu64 " changed, %" PRIu64 " gone, %" PRIu64 " new, %" PRIu64
            " the same\n",
            r->n_nodes_changed, r->n_nodes_removed, r->n_nodes_added, r->n_nodes_same);
}

static halley_status write_diff_json(const request_call *call,
                                     const halley_diff_report *r, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "a", str_from(call->args[0]));
    report_json_text(&j, "b", str_from(call->args[1]));
    report_json_bool(&j, "equal", r->n_total == 0);
    report_json_u64(&j, "differences", r->n_total);
    report_json_object(&j, "by_kind");
    for (int kind = 0; kind < HALLEY_N_DIFF_KINDS; kind++)
        report_json_u64(&j, halley_diff_kind_name((halley_diff_kind)kind), r->n[kind]);
    report_json_end(&j);
    report_json_u64(&j, "nodes_same", r->n_nodes_same);
    report_json_u64(&j, "nodes_changed", r->n_nodes_changed);
    report_json_u64(&j, "nodes_gone", r->n_nodes_removed);
    report_json_u64(&j, "nodes_new", r->n_nodes_added);
    report_json_u64(&j, "ranks_same", r->n_ranks_same);
    report_json_u64(&j, "ranks_changed", r->n_ranks_changed);
    report_json_array(&j, "findings");
    for (size_t i = 0; i < r->n_listed; i++) {
        const halley_difference *d = &r->list[i];
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "kind", str_from(halley_diff_kind_name(d->kind)));
        report_json_u64(&j, "rank", d->rank);
        if (d->has_node)
            report_json_u64(&j, "node", d->id);
        report_json_text(&j, "sentence", str_from(d->sentence));
        report_json_end(&j);
    }
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static const report_column columns[] = {
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Rank", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"Node", "node", REPORT_COUNT, UNITS_COUNT, 0},
    {"Difference", "sentence", REPORT_WORDS, UNITS_COUNT, 0},
};

static halley_status write_diff_csv(const request_call *call, const halley_diff_report *r,
                                    halley_error *err)
{
    report_table *t = report_table_new(columns, 4);
    if (t == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < r->n_listed; i++) {
        const halley_difference *d = &r->list[i];
        report_table_words(t, str_from(halley_diff_kind_name(d->kind)));
        report_table_count(t, d->rank);
        if (d->has_node)
            report_table_count(t, d->id);
        else
            report_table_empty(t);
        report_table_words(t, str_from(d->sentence));
    }
    const halley_status status = report_table_write(t, REPORT_CSV, call->out, err);
    report_table_free(t);
    return status;
}

static halley_status compare_sets(request_call *call, report_form form,
                                  const halley_trace_set *const sets[2], uint32_t ignore,
                                  halley_error *err)
{
    const diff_options *o = call->options;
    halley_diff_report *r = NULL;
    TRY(halley_trace_diff(
        &r, sets[0], sets[1],
        &(halley_diff_opts){.ignore = ignore, .max_per_kind = o->all ? UINT32_MAX : 0},
        err));
    call->exit_code = r->n_total == 0 ? REQUEST_DONE : REQUEST_FAILED;
    halley_status status = HALLEY_OK;
    if (o->quiet && form != REPORT_JSON)
        status = HALLEY_OK;
    else if (form == REPORT_JSON)
        status = write_diff_json(call, r, err);
    else if (form == REPORT_CSV)
        status = write_diff_csv(call, r, err);
    else
        write_diff_text(call->out, r, halley_trace_set_count(sets[0]) > 1);
    halley_diff_report_free(r);
    return status;
}

/* For recordings, ids of two runs are not comparable; the useful answer is what became
 * slower. */
static halley_status compare_recordings(request_call *call, report_form form,
                                        const halley_trace_set *const sets[2],
                                        halley_error *err)
{
    const diff_options *o = call->options;
    halley_recording_diff *d = NULL;
    TRY(halley_recordings_diff(&d, sets[0], sets[1], err));
    call->exit_code = d->equal ? REQUEST_DONE : REQUEST_FAILED;
    halley_status status = HALLEY_OK;
    if (!o->quiet || form == REPORT_JSON)
        status = recording_diff_write(call, d, form, o->all, err);
    halley_recording_diff_free(d);
    return status;
}

static halley_status trace_diff_run(request_call *call, halley_error *err)
{
    const diff_options *o = call->options;
    report_form form;
    uint32_t ignore = 0;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(parse_ignore(&ignore, call, &o->ignore, err));
    halley_trace_set *a = NULL, *b = NULL;
    halley_status status = traces_load_any(&a, call, 0, 1, NULL, err);
    if (status == HALLEY_OK)
        status = traces_load_any(&b, call, 1, 1, NULL, err);
    const halley_trace_set *const sets[2] = {a, b};
    const bool aligns = status == HALLEY_OK && !o->by_id && o->ignore.n == 0 &&
                        halley_recordings_can_align(a, b);
    if (status == HALLEY_OK)
        status = aligns ? compare_recordings(call, form, sets, err)
                        : compare_sets(call, form, sets, ignore, err);
    halley_trace_set_free(a);
    halley_trace_set_free(b);
    return status;
}

static const request_example examples[] = {
    {"halley trace diff before.0.et after.0.et", NULL},
    {"halley trace diff -i time,name gpt gpt-again", "whatever the names and times"},
    {"halley trace diff before.json.gz after.json.gz", "which operators got slower"},
    {"halley trace diff -q -i order a.et b.json && echo same", NULL},
    {0},
};

static const char *const diff_keys[] = {"a", "b", NULL};

const request_verb request_verb_trace_diff = {
    .name = "trace diff",
    .summary = "compare two traces or sets",
    .arguments = "A B",
    .arg_keys = diff_keys,
    .description =

        "Reports the differences between A and B, each a file, a prefix or a folder: "
        "metadata, nodes, types, names, times, dependencies, attributes, inputs and "
        "outputs. Ranks are compared one by one, and nodes are matched by id. There "
        "is one line per difference, with counts at the end. Differences that equal "
        "ranks share are listed for the first of them and counted for all. The exit "
        "status is 0 if there are none, 1 if there are differences or something "
        "failed, and 2 for wrong usage.\n\n"
        "Formats are compared by content: a trace and its conversion have no "
        "differences. --ignore order ignores the order of nodes, dependencies and "
        "attributes.\n\n"
        "Two recordings of profilers (raw or linked) are compared by what got slower."
        " Their call trees (threads, ranges, operators, kernels) are aligned by names"
        " and shapes, and hip is read as cuda. The host time and the time of launched"
        " kernels are summed by operator and by kernel class. The rows add up exactly"
        " to the difference. --by-id or --ignore compares nodes instead.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(diff_options),
    .min_args = 2,
    .max_args = 2,
    .run = trace_diff_run,
};
