/* The kernel table of a recording: classes, idle time, steps, longest kernels. */
#include "report/kernels.h"

#include "base/json.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { TOP_SHOWN = 15 };

/* Copy the value whose first token was read, as a member of the document. */
static bool copy_json(report_json *j, json_reader *r, const char *key, json_token token)
{
    int64_t whole;
    double number;
    char name[128];
    switch (token) {
    case JSON_OBJECT:
        report_json_flat_object(j, key);
        while ((token = json_next(r)) == JSON_KEY) {
            snprintf(name, sizeof name, "%.*s", STR_ARG(r->text));
            if (!copy_json(j, r, name, json_next(r)))
                return false;
        }
        report_json_end(j);
        return token == JSON_OBJECT_END;
    case JSON_ARRAY:
        report_json_flat_array(j, key);
        while ((token = json_next(r)) != JSON_ARRAY_END)
            if (!copy_json(j, r, NULL, token))
                return false;
        report_json_end(j);
        return true;
    case JSON_STRING:
        report_json_text(j, key, r->text);
        return true;
    case JSON_NUMBER:
        if (str_to_i64(r->text, &whole)) {
            report_json_i64(j, key, whole);
            return true;
        }
        if (!number_read(r->text, &number))
            return false;
        report_json_double(j, key, number);
        return true;
    case JSON_NULL:
        report_json_null(j, key);
        return true;
    default:
        return false;
    }
}

/* Copy the member `key` of the facts, if there is one. */
static void copy_fact(report_json *j, const char *facts, const char *key)
{
    json_reader r;
    json_open(&r, str_from(facts));
    if (json_next(&r) != JSON_OBJECT)
        return;
    while (json_next(&r) == JSON_KEY) {
        const bool found = str_eq(r.text, str_from(key));
        const json_token token = json_next(&r);
        if (found) {
            (void)copy_json(j, &r, key, token);
            return;
        }
        if (!json_skip(&r, token))
            return;
    }
}

static void write_id_or_null(report_json *j, const char *key, int64_t value)
{
    if (value < 0)
        report_json_null(j, key);
    else
        report_json_i64(j, key, value);
}

static void write_text_or_null(report_json *j, const char *key, const char *text)
{
    if (text[0] == '\0')
        report_json_null(j, key);
    else
        report_json_text(j, key, str_from(text));
}

static void write_rate(report_json *j, const char *key, double amount, double s)
{
    if (amount > 0 && s > 0)
        report_json_double(j, key, amount / s);
    else
        report_json_null(j, key);
}

static void write_kernel_classes(report_json *j, const halley_kernels *k)
{
    report_json_object(j, "classes");
    for (size_t i = 0; i < k->n_classes; i++) {
        const halley_kernel_class *const c = &k->classes[i];
        report_json_flat_object(j, c->name);
        report_json_u64(j, "n", c->n);
        report_json_double(j, "s", c->s);
        report_json_double(j, "share", c->share);
        write_rate(j, "flops_per_s", c->flops, c->flops_s);
        write_rate(j, "bytes_per_s", c->bytes, c->bytes_s);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_object(j, "collectives_device");
    for (size_t i = 0; i < k->n_classes; i++) {
        const halley_kernel_class *const c = &k->classes[i];
        if (strncmp(c->name, "comm.", 5) != 0)
            continue;
        report_json_flat_object(j, c->name + 5);
        report_json_u64(j, "n", c->n);
        report_json_double(j, "s", c->s);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_step_rows(report_json *j, const halley_kernels *k)
{
    report_json_array(j, "steps");
    for (size_t i = 0; i < k->n_steps; i++) {
        const halley_step_row *const s = &k->steps[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(s->name));
        report_json_i64(j, "number", s->number);
        report_json_double(j, "s", s->s);
        report_json_u64(j, "device_events_launched", s->device_events);
        report_json_double(j, "device_s_launched", s->device_s);
        report_json_double(j, "device_tail_s", s->tail_s);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_top(report_json *j, const halley_kernels *k, bool all)
{
    report_json_array(j, "top");
    for (size_t i = 0; i < k->n_top && (all || i < TOP_SHOWN); i++) {
        const halley_kernel_row *const t = &k->top[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(t->name));
        report_json_text(j, "class", str_from(t->class_name));
        report_json_u64(j, "n", t->n);
        report_json_double(j, "s", t->s);
        write_text_or_null(j, "operator", t->operator_name);
        write_text_or_null(j, "shapes", t->shapes);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_idle(report_json *j, const halley_kernels *k)
{
    report_json_flat_object(j, "idle");
    report_json_double(j, "s", k->idle.s);
    report_json_double(j, "host", k->idle.host);
    report_json_double(j, "communication", k->idle.communication);
    report_json_double(j, "synchronisation", k->idle.synchronisation);
    report_json_double(j, "launch_latency", k->idle.launch_latency);
    report_json_double(j, "nothing", k->idle.nothing);
    report_json_end(j);
    if (k->comm_busy_s > 0)
        report_json_double(j, "overlap", k->overlap);
    else
        report_json_null(j, "overlap");
    report_json_flat_object(j, "launch");
    report_json_u64(j, "n", k->n_launches);
    report_json_double(j, "mean_call_s", k->mean_call_s);
    report_json_double(j, "mean_to_device_s", k->mean_to_device_s);
    report_json_end(j);
}

static void write_causes(report_json *j, const halley_causes *c)
{
    report_json_flat_object(j, "causes");
    report_json_double(j, "mean_queue", c->mean_queue);
    report_json_double(j, "median_kernel_s", c->median_kernel_s);
    report_json_double(j, "median_call_s", c->median_call_s);
    report_json_double(j, "shorter_than_call", c->shorter_than_call);
    report_json_double(j, "loading_share", c->loading_share);
    report_json_double(j, "loading_idle", c->loading_idle);
    report_json_double(j, "layout_share", c->layout_share);
    report_json_end(j);
}

void report_kernels_json(report_json *j, const halley_kernels *k,
                         const report_kernels_opts *opts)
{
    report_json_text(j, "kind", str_from(k->kind));
    write_text_or_null(j, "device", k->device);
    write_text_or_null(j, "schema", k->schema);
    write_id_or_null(j, "rank", k->rank);
    write_id_or_null(j, "world", k->world);
    report_json_u64(j, "device_events", k->device_events);
    report_json_double(j, "device_s", k->device_s);
    report_json_u64(j, "devices", k->n_devices);
    report_json_u64(j, "streams", k->n_streams);
    report_json_double(j, "device_span_s", k->span_s);
    report_json_double(j, "device_busy_s", k->busy_s);
    report_json_u64(j, "launch_in_window", k->launch_in_window);
    report_json_u64(j, "from_graphs", k->from_graphs);
    write_kernel_classes(j, k);
    write_step_rows(j, k);
    copy_fact(j, k->facts, "collectives_host");
    copy_fact(j, k->facts, "groups");
    write_top(j, k, opts->all);
    write_idle(j, k);
    report_json_double(j, "recorded_s", k->recorded_s);
    report_json_double(j, "replayed_s", k->replayed_s);
    report_json_double(j, "late_share", k->late_share);
    write_causes(j, &k->causes);
    report_json_text(j, "verdict", str_from(k->verdict));
    if (opts->as_hta)
        copy_fact(j, k->facts, "hta");
}

static const report_column class_columns[] = {
    {.title = "Class", .key = "class", .kind = REPORT_WORDS},
    {.title = "Kernels", .key = "n", .kind = REPORT_COUNT},
    {.title = "Time", .key = "s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Share", .key = "share", .kind = REPORT_QUANTITY, .unit = UNITS_SHARE},
    {.title = "Rate", .key = "flops_per_s", .kind = REPORT_QUANTITY, .unit = UNITS_FLOPS},
    {.title = "Memory",
     .key = "bytes_per_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_BANDWIDTH},
};

static halley_status write_class_table(const halley_kernels *k, report_form form,
                                       FILE *to, halley_error *err)
{
    report_table *const t =
        report_table_new(class_columns, sizeof class_columns / sizeof *class_columns);
    if (t == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < k->n_classes; i++) {
        const halley_kernel_class *const c = &k->classes[i];
        report_table_words(t, str_from(c->name));
        report_table_count(t, c->n);
        report_table_number(t, c->s);
        report_table_number(t, c->share);
        if (c->flops > 0 && c->flops_s > 0)
            report_table_number(t, c->flops / c->flops_s);
        else
            report_table_empty(t);
        if (c->bytes > 0 && c->bytes_s > 0)
            report_table_number(t, c->bytes / c->bytes_s);
        else
            report_table_empty(t);
    }
    const halley_status status = report_table_write(t, form, to, err);
    report_table_free(t);
    return status;
}

static const report_column top_columns[] = {
    {.title = "Kernel", .key = "name", .kind = REPORT_WORDS, .max_width = 60},
    {.title = "Class", .key = "class", .kind = REPORT_WORDS},
    {.title = "Runs", .key = "n", .kind = REPORT_COUNT},
    {.title = "Time", .key = "s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Operator", .key = "operator", .kind = REPORT_WORDS, .max_width = 30},
};

static halley_status write_top_table(const halley_kernels *k, bool all, FILE *to,
                                     halley_error *err)
{
    report_table *const t =
        report_table_new(top_columns, sizeof top_columns / sizeof *top_columns);
    if (t == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < k->n_top && (all || i < TOP_SHOWN); i++) {
        report_table_words(t, str_from(k->top[i].name));
        report_table_words(t, str_from(k->top[i].class_name));
        report_table_count(t, k->top[i].n);
        report_table_number(t, k->top[i].s);
        report_table_words(t, str_from(k->top[i].operator_name));
    }
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    return status;
}

static void write_time_line(FILE *to, const char *label, double s, double whole)
{
    char text[64];
    if (s <= 0)
        return;
    units_format(text, sizeof text, s, UNITS_TIME);
    fprintf(to, "  %-34s %12s  %5s %%\n", label, text,
            number_fixed(whole > 0 ? 100 * s / whole : 0, 1).at);
}

static void write_summary(const halley_kernels *k, FILE *to)
{
    char time[64], span[64];
    units_format(time, sizeof time, k->device_s, UNITS_TIME);
    units_format(span, sizeof span, k->span_s, UNITS_TIME);
    fprintf(to, "%s recording", k->kind);
    if (k->device[0] != '\0')
        fprintf(to, " on %s", k->device);
    if (k->n_ranks > 1)
        fprintf(to, ", %" PRIu32 " ranks", k->n_ranks);
    else if (k->rank >= 0 && k->world > 1)
        fprintf(to, ", rank %" PRId64 " of %" PRId64, k->rank, k->world);
    fprintf(to, "\n%" PRIu64 " device events, %s of device time in %s", k->device_events,
            time, span);
    fprintf(to, "; %" PRIu64 " launched in the window", k->launch_in_window);
    if (k->from_graphs > 0)
        fprintf(to, ", %" PRIu64 " from graphs", k->from_graphs);
    fprintf(to, "\n\nVerdict: %s.\n\n", k->verdict);
}

static void write_idle_lines(const halley_kernels *k, FILE *to)
{
    fprintf(to, "\nOf the device's span\n");
    write_time_line(to, "busy", k->busy_s, k->span_s);
    write_time_line(to, "communication not hidden", k->exposed_comm_s, k->span_s);
    write_time_line(to, "idle: the host launched late", k->idle.host, k->span_s);
    write_time_line(to, "idle: after the host waited", k->idle.synchronisation,
                    k->span_s);
    write_time_line(to, "idle: after a collective", k->idle.communication, k->span_s);
    write_time_line(to, "idle: launch latency", k->idle.launch_latency, k->span_s);
    write_time_line(to, "idle: nothing to do", k->idle.nothing, k->span_s);
    if (k->comm_busy_s > 0)
        fprintf(to, "  Compute hides %s %% of the communication.\n",
                number_fixed(100 * k->overlap, 1).at);
    for (size_t i = 0; i < k->n_steps; i++) {
        char time[64], device[64];
        units_format(time, sizeof time, k->steps[i].s, UNITS_TIME);
        units_format(device, sizeof device, k->steps[i].device_s, UNITS_TIME);
        fprintf(to, "%s%-24s %12s, launches %" PRIu64 " device events of %s\n",
                i == 0 ? "\nSteps\n  " : "  ", k->steps[i].name, time,
                k->steps[i].device_events, device);
    }
    fprintf(to, "\n");
}

halley_status report_kernels_write(const halley_kernels *k,
                                   const report_kernels_opts *opts, report_form form,
                                   FILE *to, halley_error *err)
{
    assert(form != REPORT_JSON);
    if (form == REPORT_CSV)
        return write_class_table(k, form, to, err);
    write_summary(k, to);
    TRY(write_class_table(k, form, to, err));
    write_idle_lines(k, to);
    return write_top_table(k, opts->all, to, err);
}
