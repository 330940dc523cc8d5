/* Tables of what became slower between two recordings. */
#include "request/trace/recording_diff.h"

#include "base/error.h"
#include "base/number/number.h"

#include <inttypes.h>
#include <string.h>

enum { N_SHOWN = 20 };

static double to_s(int64_t ns)
{
    return (double)ns / 1e9;
}

static int64_t get_change(const halley_run_sum *a, const halley_run_sum *b)
{
    return b->host_ns - a->host_ns + b->device_ns - a->device_ns;
}

static const report_column columns[] = {
    {"Operator", "operator", REPORT_WORDS, UNITS_COUNT, 0},
    {"In B", "operator_b", REPORT_WORDS, UNITS_COUNT, 0},
    {"Runs A", "n_a", REPORT_COUNT, UNITS_COUNT, 0},
    {"Runs B", "n_b", REPORT_COUNT, UNITS_COUNT, 0},
    {"Host A", "host_a_s", REPORT_QUANTITY, UNITS_TIME, 3},
    {"Host B", "host_b_s", REPORT_QUANTITY, UNITS_TIME, 3},
    {"Device A", "device_a_s", REPORT_QUANTITY, UNITS_TIME, 3},
    {"Device B", "device_b_s", REPORT_QUANTITY, UNITS_TIME, 3},
    {"B - A", "difference_s", REPORT_QUANTITY, UNITS_TIME, 3},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void write_sums_json(report_json *j, const halley_run_sum *a,
                            const halley_run_sum *b)
{
    report_json_u64(j, "n_a", a->n);
    report_json_u64(j, "n_b", b->n);
    report_json_double(j, "host_a_s", to_s(a->host_ns));
    report_json_double(j, "host_b_s", to_s(b->host_ns));
    report_json_double(j, "device_a_s", to_s(a->device_ns));
    report_json_double(j, "device_b_s", to_s(b->device_ns));
    report_json_double(j, "difference_s", to_s(get_change(a, b)));
}

static halley_status write_recordings_json(const request_call *call,
                                           const halley_recording_diff *d, size_t n_shown,
                                           halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "a", str_from(call->args[0]));
    report_json_text(&j, "b", str_from(call->args[1]));
    report_json_bool(&j, "equal", d->equal);
    write_sums_json(&j, &d->a, &d->b);
    report_json_u64(&j, "nodes_aligned", d->n_aligned);
    report_json_u64(&j, "nodes_only_a", d->n_only_a);
    report_json_u64(&j, "nodes_only_b", d->n_only_b);
    report_json_array(&j, "by_operator");
    for (size_t i = 0; i < n_shown; i++) {
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "operator", str_from(d->operators[i].name_a));
        report_json_text(&j, "operator_b", str_from(d->operators[i].name_b));
        write_sums_json(&j, &d->operators[i].a, &d->operators[i].b);
        report_json_end(&j);
    }
    report_json_end(&j);
    report_json_array(&j, "by_class");
    for (size_t i = 0; i < d->n_classes; i++) {
        report_json_flat_object(&j, NULL);
        report_json_text(&j, "class", str_from(d->classes[i].name));
        write_sums_json(&j, &d->classes[i].a, &d->classes[i].b);
        report_json_end(&j);
    }
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static void add_diff_sums(report_table *t, const halley_run_sum *a,
                          const halley_run_sum *b)
{
    report_table_count(t, a->n);
    report_table_count(t, b->n);
    report_table_number(t, to_s(a->host_ns));
    report_table_number(t, to_s(b->host_ns));
    report_table_number(t, to_s(a->device_ns));
    report_table_number(t, to_s(b->device_ns));
    report_table_number(t, to_s(get_change(a, b)));
}

static str shorten_operator(const char *name, report_form form)
{
    const str s = str_from(name);
    return form == REPORT_TEXT && s.n > 48 ? (str){s.at, 48} : s;
}

static halley_status write_operators(const request_call *call,
                                     const halley_recording_diff *d, size_t n_shown,
                                     report_form form, halley_error *err)
{
    report_table *const t = report_table_new(columns, N_COLUMNS);
    for (size_t i = 0; t != NULL && i < n_shown; i++) {
        const halley_operator_row *const row = &d->operators[i];
        const bool same = strcmp(row->name_a, row->name_b) == 0;
        report_table_words(t, row->name_a[0] == '\0'
                                  ? STR("(not there)")
                                  : shorten_operator(row->name_a, form));
        report_table_words(t, row->name_b[0] == '\0' ? STR("(not there)")
                              : same && form == REPORT_TEXT
                                  ? STR("same")
                                  : shorten_operator(row->name_b, form));
        add_diff_sums(t, &row->a, &row->b);
    }
    return request_table_write(call, t, "by_operator", form, err);
}

static halley_status write_diff_classes(const request_call *call,
                                        const halley_recording_diff *d, halley_error *err)
{
    static const report_column class_columns[] = {
        {"Class", "class", REPORT_WORDS, UNITS_COUNT, 0},
        {"Kernels A", "n_a", REPORT_COUNT, UNITS_COUNT, 0},
        {"Kernels B", "n_b", REPORT_COUNT, UNITS_COUNT, 0},
        {"Device A", "device_a_s", REPORT_QUANTITY, UNITS_TIME, 3},
        {"Device B", "device_b_s", REPORT_QUANTITY, UNITS_TIME, 3},
        {"B - A", "difference_s", REPORT_QUANTITY, UNITS_TIME, 3},
    };
    report_table *const t =
        report_table_new(class_columns, sizeof class_columns / sizeof *class_columns);
    for (size_t i = 0; t != NULL && i < d->n_classes; i++) {
        const halley_class_row *const row = &d->classes[i];
        report_table_words(t, str_from(row->name));
        report_table_count(t, row->a.n);
        report_table_count(t, row->b.n);
        report_table_number(t, to_s(row->a.device_ns));
        report_table_number(t, to_s(row->b.device_ns));
        report_table_number(t, to_s(get_change(&row->a, &row->b)));
    }
    return request_table_write(call, t, "by_class", REPORT_TEXT, err);
}

static halley_status write_recordings_text(const request_call *call,
                                           const halley_recording_diff *d, size_t n_shown,
                                           halley_error *err)
{
    if (d->equal) {
        fprintf(call->out, "no differences in %" PRIu64 " operators and kernels\n",
                d->n_aligned);
        return HALLEY_OK;
    }
    if (n_shown > 0)
        TRY(write_operators(call, d, n_shown, REPORT_TEXT, err));
    else
        fprintf(call->out, "no operator took longer or shorter\n");
    if (n_shown > 0 && n_shown < d->n_operators)
        fprintf(call->out,
                "... %zu more operators, which differ less; --all lists them\n",
                d->n_operators - n_shown);
    fputc('\n', call->out);
    TRY(write_diff_classes(call, d, err));
    fprintf(call->out,
            "\nDevice %s%s ms, host %s%s ms from A to B; %" PRIu64
            " operators and kernels aligned, %" PRIu64 " only in A, %" PRIu64
            " only in B.\n",
            d->b.device_ns >= d->a.device_ns ? "+" : "",
            number_digits(to_s(d->b.device_ns - d->a.device_ns) * 1e3, 6).at,
            d->b.host_ns >= d->a.host_ns ? "+" : "",
            number_digits(to_s(d->b.host_ns - d->a.host_ns) * 1e3, 6).at, d->n_aligned,
            d->n_only_a, d->n_only_b);
    return HALLEY_OK;
}

halley_status recording_diff_write(const request_call *call,
                                   const halley_recording_diff *d, report_form form,
                                   bool all, halley_error *err)
{
    size_t n_shown = 0; /* changed ones come first */
    while (n_shown < d->n_operators &&
           (all || (n_shown < N_SHOWN &&
                    get_change(&d->operators[n_shown].a, &d->operators[n_shown].b) != 0)))
        n_shown++;
    if (form == REPORT_JSON)
        return write_recordings_json(call, d, d->n_operators, err);
    if (form == REPORT_CSV)
        return write_operators(call, d, d->n_operators, form, err);
    return write_recordings_text(call, d, n_shown, err);
}
