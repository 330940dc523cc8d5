/* halley trace info - describe traces: nodes, work, depth, critical path, problems. */
#include "base/array.h"
#include "base/error.h"
#include "halley/trace_check.h"
#include "halley/trace_stats.h"
#include "report/job.h"
#include "report/kernels.h"
#include "request/trace/roles.h"
#include "request/trace/traces.h"
#include "request/verbs.h"

#include <inttypes.h>
#include <stdarg.h>

typedef struct info_options {
    bool attrs, path, all, kernels, job, as_hta, partial;
    const char *rules, *recorded_on;
    request_output output;
} info_options;

static const request_option options[] = {
    {.name = "attrs",
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, attrs),
     .doc = "list the attributes that occur, with kind and count"},
    {.name = "path",
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, path),
     .doc = "list every node of the critical path"},
    {.name = "all",
     .letter = 'a',
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, all),
     .doc = "list all rows of long tables"},
    {.name = "kernels",
     .letter = 'k',
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, kernels),
     .doc = "recordings: report device time by kernel class, idle time and its causes, "
            "steps, the longest kernels, and a verdict"},
    {.name = "job",
     .letter = 'j',
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, job),
     .doc = "recordings of several ranks: match collectives over the ranks, tell waiting "
            "from transfer, and name ranks that the others wait for"},
    {.name = "as-hta",
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, as_hta),
     .doc = "with --kernels --json: also write the breakdown that Holistic Trace "
            "Analysis gives"},
    {.name = "rules",
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(info_options, rules),
     .doc = "kernel rules (JSON) that take precedence over the built-in ones",
     .by_default = "none",
     .example = "rules.json"},
    {.name = "recorded-on",
     .kind = REQUEST_TEXT,
     .metavar = "DEVICE",
     .offset = offsetof(info_options, recorded_on),
     .doc = "device of a recording that does not name it",
     .by_default = "as recorded",
     .example = "h100-sxm-80gb"},
    {.name = "partial",
     .kind = REQUEST_FLAG,
     .offset = offsetof(info_options, partial),
     .doc = "read the complete events of a recording that is cut off"},
    REQUEST_OUTPUT_OPTIONS(info_options, output),
    {0},
};

enum { ROWS_SHOWN = 20, HEAVIEST_SHOWN = 5, PROBLEMS_SHOWN = 5 };

/* Everything that the command reports. */
typedef struct info {
    const info_options *o;
    const request_call *call;
    const halley_trace_set *set;
    const halley_set_stats *stats;
    const halley_check_report *problems;
    uint32_t *heaviest; /* nodes of the critical path by duration, longest first */
    uint32_t n_heaviest;
} info;

static const halley_trace *critical_trace(const info *x)
{
    return halley_trace_set_get(x->set, x->stats->total->critical_rank);
}

/* Find the few longest nodes of the path; the earlier one comes first among equals. */
static halley_status find_heaviest(info *x, halley_error *err)
{
    const halley_trace_stats *t = x->stats->total;
    x->heaviest = mem_array(HEAVIEST_SHOWN + 1, sizeof *x->heaviest);
    if (x->heaviest == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < t->n_critical; i++) {
        const halley_trace *trace = critical_trace(x);
        const uint64_t duration = halley_node_duration_us(trace, t->critical_path[i]);
        uint32_t at = x->n_heaviest;
        if (duration == 0)
            continue;
        for (; at > 0 && halley_node_duration_us(trace, x->heaviest[at - 1]) < duration;
             at--)
            x->heaviest[at] = x->heaviest[at - 1];
        x->heaviest[at] = t->critical_path[i];
        if (x->n_heaviest < HEAVIEST_SHOWN)
            x->n_heaviest++;
    }
    return HALLEY_OK;
}

static void write_info_line(FILE *to, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_info_line(FILE *to, const char *label, const char *format, ...)
{
    fprintf(to, "%-14s", label);
    va_list args;
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
}

typedef struct amount {
    double value;
    units_kind unit;
    const char *word;
} amount;

/* Write the amounts that are not zero; the label precedes the first. */
static void line_amounts(FILE *to, const char *label, const amount *amounts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[64];
        if (amounts[i].value <= 0)
            continue;
        units_format(text, sizeof text, amounts[i].value, amounts[i].unit);
        write_info_line(to, label, "%s %s", text, amounts[i].word);
        label = "";
    }
}

static void line_nodes(FILE *to, const char *label, uint64_t n)
{
    write_info_line(to, label, "%" PRIu64 " node%s", n, n == 1 ? "" : "s");
}

static void write_head(const info *x)
{
    FILE *to = x->call->out;
    const halley_trace *first = halley_trace_set_get(x->set, 0);
    const halley_bytes version = halley_trace_version(first);
    fprintf(to, "%s: ", x->call->args[0]);
    if (x->stats->n_ranks > 1)
        fprintf(to, "%" PRIu32 " ranks, %" PRIu32 " different; ", x->stats->n_ranks,
                x->stats->n_distinct);
    fprintf(to, "%s", halley_trace_form_name(halley_trace_form_of(first)));
    strbuf quoted = {0};
    strbuf_json(&quoted, (str){version.at, version.n});
    if (version.n > 0 && !quoted.failed)
        fprintf(to, ", version %s", quoted.at);
    strbuf_fini(&quoted);
    fprintf(to, "\n\n");
}

static void write_work(FILE *to, const halley_trace_stats *t)
{
    const amount compute[] = {{t->flops, UNITS_COUNT, "operations"},
                              {t->tensor_bytes, UNITS_BYTES, "moved by compute"}};
    const amount memory[] = {{t->load_bytes, UNITS_BYTES, "loaded"},
                             {t->store_bytes, UNITS_BYTES, "stored"}};
    const amount comm[] = {{t->coll_bytes, UNITS_BYTES, "in collectives"},
                           {t->send_bytes, UNITS_BYTES, "sent"},
                           {t->recv_bytes, UNITS_BYTES, "received"}};
    line_amounts(to, "compute", compute, 2);
    line_amounts(to, "memory", memory, 2);
    line_amounts(to, "communication", comm, 3);
}

/* Traces of a plan state how they give the prices of a stack. */
static void write_prices(const info *x)
{
    const halley_trace *first = halley_trace_set_get(x->set, 0);
    for (uint32_t i = 0; i < halley_trace_metadata_count(first); i++) {
        const halley_attr attr = halley_trace_metadata(first, i);
        const str name = {attr.name.at, attr.name.n};
        if (str_eq(name, STR(HALLEY_ATTR_NAME_PRICES)) && attr.kind == HALLEY_ATTR_STRING)
            write_info_line(x->call->out, "prices", "%.*s", (int)attr.bytes.n,
                            attr.bytes.at);
    }
}

static void write_sums(const info *x)
{
    FILE *to = x->call->out;
    const halley_trace_stats *t = x->stats->total;
    char a[64], b[64];
    write_info_line(to, "dependencies", "%" PRIu64 " data, %" PRIu64 " control",
                    t->n_data_deps, t->n_ctrl_deps);
    if (t->n_dangling > 0)
        write_info_line(to, "", "%" PRIu64 " of them dangling: no node has that id",
                        t->n_dangling);
    if (t->n_cyclic > 0)
        write_info_line(to, "",
                        "%" PRIu64 " nodes in or after cycles, which can never start",
                        t->n_cyclic);
    write_work(to, t);
    write_prices(x);
    write_info_line(
        to, "busy", "%s on CPUs (%" PRIu64 " nodes), %s on devices (%" PRIu64 " nodes)",
        units_format(a, sizeof a, (double)t->cpu_us * 1e-6, UNITS_TIME), t->n_cpu,
        units_format(b, sizeof b, (double)t->device_us * 1e-6, UNITS_TIME), t->n_device);
    if (t->first_start_us > 0)
        write_info_line(to, "recorded", "%s from first start to last end",
                        units_format(a, sizeof a,
                                     (double)(t->last_end_us - t->first_start_us) * 1e-6,
                                     UNITS_TIME));
    line_nodes(to, "depth", t->depth);
    line_nodes(to, "width", t->width);
    write_info_line(to, "critical path", "%s over %" PRIu32 " node%s",
                    units_format(a, sizeof a, (double)t->critical_us * 1e-6, UNITS_TIME),
                    t->n_critical, t->n_critical == 1 ? "" : "s");
    if (x->stats->n_distinct > 1)
        write_info_line(to, "", "on rank %" PRIu32 ", where it is longest",
                        t->critical_rank);
}

static const report_column type_columns[] = {
    {"Type", "type", REPORT_WORDS, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Time", "time_s", REPORT_QUANTITY, UNITS_TIME, 0},
};

static report_table *make_types(const halley_trace_stats *t)
{
    report_table *table = report_table_new(type_columns, 3);
    for (uint32_t type = 0; table != NULL && type < HALLEY_N_NODE_TYPES; type++) {
        if (t->n_by_type[type] == 0)
            continue;
        report_table_words(table, str_from(halley_node_type_name(type)));
        report_table_count(table, t->n_by_type[type]);
        report_table_number(table, (double)t->time_by_type_us[type] * 1e-6);
    }
    if (table != NULL && t->n_other_type > 0) {
        report_table_words(table, STR("(unknown)"));
        report_table_count(table, t->n_other_type);
        report_table_empty(table);
    }
    return table;
}

static const report_column coll_columns[] = {
    {"Collective", "type", REPORT_WORDS, UNITS_COUNT, 0},
    {"Group", "group", REPORT_WORDS, UNITS_COUNT, 24},
    {"Size", "size_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Total", "total_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
};

static report_table *make_colls(const halley_trace_stats *t, uint32_t n, bool people)
{
    report_table *table = report_table_new(coll_columns, 5);
    for (uint32_t i = 0; table != NULL && i < n; i++) {
        const halley_coll_stats *c = &t->colls[i];
        const bool sized = c->size_bytes < HALLEY_SIZE_OTHER;
        report_table_words(table, c->type == HALLEY_COLL_UNTYPED
                                      ? STR("(no type)")
                                      : str_from(halley_coll_type_name(c->type)));
        report_table_words(table, c->group.n == 0 && people
                                      ? STR("all")
                                      : (str){c->group.at, c->group.n});
        if (sized) {
            report_table_number(table, (double)c->size_bytes);
            report_table_number(table, (double)c->size_bytes * (double)c->n);
        } else {
            report_table_empty(table);
            report_table_empty(table);
        }
        report_table_count(table, c->n);
    }
    return table;
}

static const report_column attr_columns[] = {
    {"Attribute", "name", REPORT_WORDS, UNITS_COUNT, 40},
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Count", "count", REPORT_COUNT, UNITS_COUNT, 0},
};

static report_table *make_attrs(const halley_trace_stats *t, uint32_t n)
{
    report_table *table = report_table_new(attr_columns, 3);
    for (uint32_t i = 0; table != NULL && i < n; i++) {
        report_table_words(table, (str){t->attrs[i].name.at, t->attrs[i].name.n});
        report_table_words(table, str_from(halley_attr_kind_name(t->attrs[i].kind)));
        report_table_count(table, t->attrs[i].n);
    }
    return table;
}

static const report_column rank_columns[] = {
    {"Ranks", "ranks", REPORT_WORDS, UNITS_COUNT, 24},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Compute", "comp_nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Collectives", "coll_nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Sends", "send_nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Receives", "recv_nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Depth", "depth", REPORT_COUNT, UNITS_COUNT, 0},
    {"Width", "width", REPORT_COUNT, UNITS_COUNT, 0},
    {"Critical", "critical_s", REPORT_QUANTITY, UNITS_TIME, 0},
};

static report_table *make_ranks(const halley_set_stats *s, uint32_t n)
{
    report_table *table = report_table_new(rank_columns, 9);
    for (uint32_t i = 0; table != NULL && i < n; i++) {
        const halley_trace_stats *t = s->distinct[i];
        strbuf ranks = {0};
        traces_ranks(&ranks, s->which, s->n_ranks, i);
        report_table_words(table, strbuf_str(&ranks));
        strbuf_fini(&ranks);
        report_table_count(table, t->n_nodes);
        report_table_count(table, t->n_by_type[HALLEY_NODE_COMP]);
        report_table_count(table, t->n_by_type[HALLEY_NODE_COLL]);
        report_table_count(table, t->n_by_type[HALLEY_NODE_SEND]);
        report_table_count(table, t->n_by_type[HALLEY_NODE_RECV]);
        report_table_count(table, t->depth);
        report_table_count(table, t->width);
        report_table_number(table, (double)t->critical_us * 1e-6);
    }
    return table;
}

static const report_column node_columns[] = {
    {"Node", "id", REPORT_COUNT, UNITS_COUNT, 0},
    {"Type", "type", REPORT_WORDS, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 50},
    {"Duration", "duration_s", REPORT_QUANTITY, UNITS_TIME, 0},
};

static report_table *make_nodes(const halley_trace *trace, const uint32_t *nodes,
                                uint32_t n)
{
    report_table *table = report_table_new(node_columns, 4);
    for (uint32_t i = 0; table != NULL && i < n; i++) {
        const halley_bytes name = halley_node_name(trace, nodes[i]);
        const uint32_t type = halley_node_type_of(trace, nodes[i]);
        report_table_count(table, halley_node_id(trace, nodes[i]));
        report_table_words(table, str_from(halley_node_type_name(type)));
        report_table_words(table, (str){name.at, name.n});
        report_table_number(table,
                            (double)halley_node_duration_us(trace, nodes[i]) * 1e-6);
    }
    return table;
}

/* Write a table for people, and how many rows are not shown. */
static halley_status write_shown_table(FILE *to, report_table *table, uint32_t n_shown,
                                       uint32_t n, halley_error *err)
{
    if (table == NULL)
        return error_nomem(err);
    fputc('\n', to);
    const halley_status status = report_table_write(table, REPORT_TEXT, to, err);
    report_table_free(table);
    if (status == HALLEY_OK && n_shown < n)
        fprintf(to, "... %" PRIu32 " more; --all lists them\n", n - n_shown);
    return status;
}

static uint32_t count_shown(const info *x, uint32_t n)
{
    return x->o->all || n < ROWS_SHOWN ? n : ROWS_SHOWN;
}

static void write_problems(const info *x)
{
    FILE *to = x->call->out;
    const halley_check_report *r = x->problems;
    uint32_t n = 0;
    if (r->n[HALLEY_ERROR] + r->n[HALLEY_WARNING] == 0)
        return;
    fprintf(to, "\nproblems: %" PRIu64 " error%s, %" PRIu64 " warning%s; the first:\n",
            r->n[HALLEY_ERROR], r->n[HALLEY_ERROR] == 1 ? "" : "s", r->n[HALLEY_WARNING],
            r->n[HALLEY_WARNING] == 1 ? "" : "s");
    for (int severity = HALLEY_ERROR; severity > HALLEY_NOTE; severity--)
        for (size_t i = 0; i < r->n_findings && n < PROBLEMS_SHOWN; i++) {
            char text[2048];
            if ((int)r->findings[i].severity != severity)
                continue;
            n++;
            fprintf(to, "  %s: %s\n", halley_severity_name(r->findings[i].severity),
                    halley_finding_format(&r->findings[i], text, sizeof text));
        }
    fprintf(to, "halley trace check lists them\n");
}

static halley_status write_info_text(const info *x, halley_error *err)
{
    FILE *to = x->call->out;
    const halley_trace_stats *t = x->stats->total;
    write_head(x);
    write_sums(x);
    TRY(write_shown_table(to, make_types(t), 0, 0, err));
    if (t->n_colls > 0)
        TRY(write_shown_table(to, make_colls(t, count_shown(x, t->n_colls), true),
                              count_shown(x, t->n_colls), t->n_colls, err));
    const uint32_t n = x->stats->n_distinct;
    if (n > 1)
        TRY(write_shown_table(to, make_ranks(x->stats, count_shown(x, n)),
                              count_shown(x, n), n, err));
    if (x->o->attrs)
        TRY(write_shown_table(to, make_attrs(t, count_shown(x, t->n_attrs)),
                              count_shown(x, t->n_attrs), t->n_attrs, err));
    if (x->o->path) {
        fprintf(to, "\ncritical path, in order:");
        TRY(write_shown_table(
            to, make_nodes(critical_trace(x), t->critical_path, t->n_critical), 0, 0,
            err));
    } else if (x->n_heaviest > 0) {
        fprintf(to, "\nlongest on the critical path:");
        TRY(write_shown_table(
            to, make_nodes(critical_trace(x), x->heaviest, x->n_heaviest), 0, 0, err));
    }
    write_problems(x);
    return HALLEY_OK;
}

static void json_table(report_json *j, const char *key, report_table *table, bool *failed)
{
    if (table == NULL) {
        *failed = true;
        report_json_null(j, key);
        return;
    }
    report_table_json(table, j, key);
    report_table_free(table);
}

static void json_sums(report_json *j, const halley_trace_stats *t)
{
    report_json_u64(j, "nodes", t->n_nodes);
    report_json_u64(j, "data_dependencies", t->n_data_deps);
    report_json_u64(j, "control_dependencies", t->n_ctrl_deps);
    report_json_u64(j, "dangling_dependencies", t->n_dangling);
    report_json_u64(j, "cyclic_nodes", t->n_cyclic);
    report_json_double(j, "compute_operations", t->flops);
    report_json_double(j, "compute_bytes", t->tensor_bytes);
    report_json_double(j, "load_bytes", t->load_bytes);
    report_json_double(j, "store_bytes", t->store_bytes);
    report_json_double(j, "collective_bytes", t->coll_bytes);
    report_json_double(j, "send_bytes", t->send_bytes);
    report_json_double(j, "receive_bytes", t->recv_bytes);
    report_json_u64(j, "cpu_nodes", t->n_cpu);
    report_json_u64(j, "device_nodes", t->n_device);
    report_json_double(j, "cpu_s", (double)t->cpu_us * 1e-6);
    report_json_double(j, "device_s", (double)t->device_us * 1e-6);
    report_json_double(j, "first_start_s", (double)t->first_start_us * 1e-6);
    report_json_double(j, "last_end_s", (double)t->last_end_us * 1e-6);
    report_json_u64(j, "depth", t->depth);
    report_json_u64(j, "width", t->width);
    report_json_double(j, "critical_path_s", (double)t->critical_us * 1e-6);
    report_json_u64(j, "critical_path_nodes", t->n_critical);
}

static void json_metadata(report_json *j, const halley_trace *trace)
{
    const halley_bytes version = halley_trace_version(trace);
    report_json_text(j, "form",
                     str_from(halley_trace_form_name(halley_trace_form_of(trace))));
    report_json_text(j, "version", (str){version.at, version.n});
    report_json_array(j, "metadata");
    const uint32_t n = halley_trace_metadata_count(trace);
    for (uint32_t i = 0; i < n; i++) {
        const halley_attr attr = halley_trace_metadata(trace, i);
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", (str){attr.name.at, attr.name.n});
        report_json_text(j, "kind", str_from(halley_attr_kind_name(attr.kind)));
        report_json_end(j);
    }
    report_json_end(j);
}

static void json_problems(report_json *j, const halley_check_report *r)
{
    report_json_object(j, "problems");
    for (int s = HALLEY_ERROR; s >= HALLEY_NOTE; s--)
        report_json_u64(j,
                        s == HALLEY_ERROR ? "n_errors"
                        : s               ? "n_warnings"
                                          : "n_notes",
                        r->n[s]);
    report_json_array(j, "first");
    uint32_t n = 0;
    for (size_t i = 0; i < r->n_findings && n < PROBLEMS_SHOWN; i++) {
        char text[2048];
        if (r->findings[i].severity == HALLEY_NOTE)
            continue;
        n++;
        report_json_text(
            j, NULL, str_from(halley_finding_format(&r->findings[i], text, sizeof text)));
    }
    report_json_end(j);
    report_json_end(j);
}

static halley_status write_info_json(const info *x, halley_error *err)
{
    const halley_trace_stats *t = x->stats->total;
    bool failed = false;
    report_json j;
    request_json_begin(&j, x->call);
    report_json_text(&j, "trace", str_from(x->call->args[0]));
    report_json_u64(&j, "n_ranks", x->stats->n_ranks);
    report_json_u64(&j, "n_distinct", x->stats->n_distinct);
    json_metadata(&j, halley_trace_set_get(x->set, 0));
    json_sums(&j, t);
    json_table(&j, "types", make_types(t), &failed);
    json_table(&j, "collectives", make_colls(t, t->n_colls, false), &failed);
    json_table(&j, "attributes", make_attrs(t, t->n_attrs), &failed);
    report_json_object(&j, "critical_path");
    report_json_u64(&j, "rank", t->critical_rank);
    report_json_u64(&j, "steps", t->n_critical);
    if (x->o->path)
        json_table(&j, "path",
                   make_nodes(critical_trace(x), t->critical_path, t->n_critical),
                   &failed);
    else
        json_table(&j, "longest",
                   make_nodes(critical_trace(x), x->heaviest, x->n_heaviest), &failed);
    report_json_end(&j);
    report_json_array(&j, "traces");
    for (uint32_t i = 0; i < x->stats->n_distinct; i++) {
        report_json_object(&j, NULL);
        const char *path = halley_trace_set_path(x->set, x->stats->first_rank[i]);
        strbuf ranks = {0};
        traces_ranks(&ranks, x->stats->which, x->stats->n_ranks, i);
        failed |= ranks.failed;
        report_json_text(&j, "file", str_from(path));
        report_json_text(&j, "rank_list", strbuf_str(&ranks));
        strbuf_fini(&ranks);
        json_sums(&j, x->stats->distinct[i]);
        json_table(&j, "types", make_types(x->stats->distinct[i]), &failed);
        report_json_end(&j);
    }
    report_json_end(&j);
    json_problems(&j, x->problems);
    const halley_status status = request_json_end(&j, x->call, err);
    return status == HALLEY_OK && failed ? error_nomem(err) : status;
}

static halley_status write_info_csv(const info *x, halley_error *err)
{
    report_table *table = x->o->attrs
                              ? make_attrs(x->stats->total, x->stats->total->n_attrs)
                              : make_ranks(x->stats, x->stats->n_distinct);
    if (table == NULL)
        return error_nomem(err);
    const halley_status status = report_table_write(table, REPORT_CSV, x->call->out, err);
    report_table_free(table);
    return status;
}

static halley_status describe_traces(info *x, report_form form, halley_error *err)
{
    TRY(find_heaviest(x, err));
    if (form == REPORT_JSON)
        return write_info_json(x, err);
    return form == REPORT_CSV ? write_info_csv(x, err) : write_info_text(x, err);
}

static halley_status load_set(halley_trace_set **set, const request_call *call,
                              const info_options *o, halley_error *err)
{
    const halley_recording_opts opts = {
        .rules = o->rules, .recorded_on = o->recorded_on, .partial = o->partial};
    return traces_load_any(set, call, 0, call->n_args, &opts, err);
}

static halley_status write_kernels(const request_call *call, const halley_kernels *k,
                                   const report_kernels_opts *opts, report_form form,
                                   halley_error *err)
{
    if (form != REPORT_JSON)
        return report_kernels_write(k, opts, form, call->out, err);
    report_json j;
    request_json_begin(&j, call);
    report_kernels_json(&j, k, opts);
    if (k->n_warnings == 0) { /* programs always find the key, even if there are none */
        report_json_flat_array(&j, "warnings");
        report_json_end(&j);
    }
    return request_json_end(&j, call, err);
}

static halley_status describe_kernels(const request_call *call, const info_options *o,
                                      report_form form, halley_error *err)
{
    halley_trace_set *set = NULL;
    TRY(load_set(&set, call, o, err));
    halley_kernels *kernels = NULL;
    halley_status status = halley_kernels_count(&kernels, set, err);
    if (status == HALLEY_OK) {
        const report_kernels_opts opts = {.as_hta = o->as_hta, .all = o->all};
        for (size_t i = 0; i < kernels->n_warnings; i++)
            request_note(call, "%s", kernels->warnings[i]);
        status = write_kernels(call, kernels, &opts, form, err);
    }
    halley_kernels_free(kernels);
    halley_trace_set_free(set);
    return status;
}

static halley_status describe_job(const request_call *call, const info_options *o,
                                  report_form form, halley_error *err)
{
    halley_trace_set *set = NULL;
    halley_job *job = NULL;
    TRY(load_set(&set, call, o, err));
    halley_status status = halley_job_analyse(&job, set, err);
    if (status == HALLEY_OK && form != REPORT_JSON) {
        status = report_job_write(job, o->all, form, call->out, err);
    } else if (status == HALLEY_OK) {
        report_json j;
        request_json_begin(&j, call);
        report_job_json(&j, job);
        status = request_json_end(&j, call, err);
    }
    halley_job_free(job);
    halley_trace_set_free(set);
    return status;
}

static halley_status trace_info_run(request_call *call, halley_error *err)
{
    info x = {.o = call->options, .call = call};
    report_form form;
    TRY(request_output_form(&form, call, &x.o->output, err));
    if (x.o->as_hta && (!x.o->kernels || form != REPORT_JSON))
        return request_usage(call, err, "--as-hta needs --kernels and --json");
    if (x.o->kernels && x.o->job)
        return request_usage(call, err, "--kernels and --job exclude each other");
    if (x.o->kernels)
        return describe_kernels(call, x.o, form, err);
    if (x.o->job)
        return describe_job(call, x.o, form, err);
    char *index = roles_find(call);
    if (index != NULL) {
        const halley_status done = roles_describe(call, index, form, err);
        free(index);
        return done;
    }
    halley_trace_set *set = NULL;
    TRY(load_set(&set, call, x.o, err));
    halley_set_stats *stats = NULL;
    halley_check_report *problems = NULL;
    halley_status status = halley_set_stats_new(&stats, set, 0, err);
    char *groups = halley_trace_set_groups(set);
    if (status == HALLEY_OK)
        status = halley_trace_check(
            &problems, set,
            &(halley_check_opts){.max_per_code = 2, .groups_path = groups}, err);
    free(groups);
    x.set = set;
    x.stats = stats;
    x.problems = problems;
    if (status == HALLEY_OK)
        status = describe_traces(&x, form, err);
    free(x.heaviest);
    halley_check_report_free(problems);
    halley_set_stats_free(stats);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace info gpt", "the set gpt.0.et, gpt.1.et, ..."},
    {"halley trace info --attrs chakra.0.et", NULL},
    {"halley trace info --json --path gpt", "everything, for programs"},
    {"halley trace info --kernels kineto.json.gz",
     "where the device's time goes in a recording"},
    {"halley trace info --job recordings/", "which rank the others wait for"},
    {0},
};

const request_verb request_verb_trace_info = {
    .name = "trace info",
    .summary = "describe traces",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Describes traces: nodes by type, collectives by type, group and size, "
        "operations and bytes, time on CPUs and devices, depth, width and the "
        "critical path. Also lists the first problems that halley trace check finds.\n\n"
        "TRACE is a prefix (dir/name for dir/name.0.et and so on), a folder that "
        "holds one set, or files, one per rank. It may also be a recording of a "
        "profiler, which is linked in memory as with halley trace link.\n\n"
        "Depth is the number of nodes in the longest chain of dependencies. Width is "
        "the largest number of nodes at the same distance from the start. The "
        "critical path is the chain with the largest sum of durations. Sums count "
        "every rank, equal or not. Dangling dependencies count as met. Nodes in or "
        "after cycles are left out of depth, width and critical path.\n\n"
        "A node runs on the CPU if its attribute is_cpu_op is true, otherwise on the "
        "device. In JSON, critical_path lists the longest nodes of the path, or with "
        "--path all of them in order. With --csv there is one row per different "
        "trace; --csv --attrs lists the attributes instead.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(info_options),
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_info_run,
};
