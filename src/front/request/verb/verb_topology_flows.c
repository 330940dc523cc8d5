/* halley topology flows - run the flows of a file under exact max-min sharing. */
#include "base/error.h"
#include "halley/topology.h"
#include "request/verbs.h"

#include <inttypes.h>

typedef struct flows_options {
    request_output output;
} flows_options;

static const request_option options[] = {
    REQUEST_OUTPUT_OPTIONS(flows_options, output),
    {0},
};

static const request_example examples[] = {
    {"halley topology flows flows.json",
     "when the last flow of every case arrives, and the mean over its flows"},
    {"halley topology flows flows.json.gz --json",
     "arrival and first rate of every flow"},
    {0},
};

static void write_values(report_json *j, const char *key, const double *values,
                         uint32_t n)
{
    report_json_flat_array(j, key);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] < 0)
            report_json_null(j, NULL);
        else
            report_json_double(j, NULL, values[i]);
    }
    report_json_end(j);
}

static halley_status write_flows_json(const request_call *call, halley_flows *flows,
                                      halley_error *err)
{
    report_json j;
    halley_status status = HALLEY_OK;
    request_json_begin(&j, call);
    report_json_array(&j, "cases");
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_flows_count(flows); i++) {
        halley_flows_result r;
        status = halley_flows_run(&r, flows, i, err);
        if (status != HALLEY_OK)
            break;
        report_json_object(&j, NULL);
        report_json_text(&j, "id", str_from(r.id));
        write_values(&j, "finish_s", r.finish_s, r.n_flows);
        write_values(&j, "rate_Bps", r.rate_Bps, r.n_flows);
        report_json_end(&j);
    }
    report_json_end(&j);
    const halley_status end =
        request_json_end(&j, call, status == HALLEY_OK ? err : NULL);
    return status != HALLEY_OK ? status : end;
}

static const report_column columns[] = {
    {"case", "case", REPORT_WORDS, 0, 0},
    {"flows", "flows", REPORT_COUNT, 0, 0},
    {"last", "last_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"mean", "mean_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"never end", "never_end", REPORT_COUNT, 0, 0},
    {"stated", "stated", REPORT_COUNT, 0, 0},
    {"differ", "differ", REPORT_COUNT, 0, 0},
};

static void add_flows_row(report_table *t, const halley_flows_result *r)
{
    double last = 0, sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_flows; i++) {
        if (r->finish_s[i] < 0)
            continue;
        n++;
        sum += r->finish_s[i];
        last = r->finish_s[i] > last ? r->finish_s[i] : last;
    }
    report_table_words(t, str_from(r->id));
    report_table_count(t, r->n_flows);
    report_table_number(t, last);
    report_table_number(t, n > 0 ? sum / n : 0);
    report_table_count(t, r->n_flows - n);
    report_table_count(t, r->n_stated);
    report_table_count(t, r->n_differ);
}

static halley_status write_flows_table(const request_call *call, halley_flows *flows,
                                       report_form form, halley_error *err)
{
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    if (t == NULL)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_flows_count(flows); i++) {
        halley_flows_result r;
        status = halley_flows_run(&r, flows, i, err);
        if (status == HALLEY_OK)
            add_flows_row(t, &r);
    }
    if (status == HALLEY_OK)
        status = report_table_write(t, form, call->out, err);
    report_table_free(t);
    return status;
}

static halley_status flows_run(request_call *call, halley_error *err)
{
    const flows_options *o = call->options;
    report_form form;
    halley_flows *flows;
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(halley_flows_load(&flows, call->args[0], err));
    const halley_status status = form == REPORT_JSON
                                     ? write_flows_json(call, flows, err)
                                     : write_flows_table(call, flows, form, err);
    halley_flows_free(flows);
    return status;
}

static const char *const flows_key[] = {"flows", NULL};

const request_verb request_verb_topology_flows = {
    .name = "topology flows",
    .summary = "run flows that share links, exactly",
    .arguments = "FILE",
    .arg_keys = flows_key,
    .description =

        "Runs every case of a flow file with the solver of the network model flow. At"
        " every instant the rates are max-min fair: no rate can be raised without "
        "lowering one that is not higher. Times are exact to one tick of 1 ps per "
        "event.\n\n"
        "FILE is JSON, plain or gzip: {\"cases\": [{\"id\": TEXT, \"links\": [[from, "
        "to, B/s, s], ...], \"flows\": [{\"start\": s, \"bytes\": N, \"route\": "
        "[LINK, ...], \"cap\": B/s, \"latency\": s}, ...], \"changes\": [[s, LINK, "
        "B/s], ...]}, ...]}. LINK is the position in links, from 0. A route entry "
        "[LINK, num, den] loads that link with num/den of the flow's rate. A flow "
        "takes bandwidth from its start until its bytes have left, and arrives its "
        "latency later. At one instant flows end first, then others start, then "
        "capacities change.\n\n"
        "Where the file states rate, finish and events of a flow, the table counts "
        "the flows that differ by more than 1e-9 and one tick per event. With --json,"
        " the output is {\"cases\": [{\"id\", \"finish_s\": [...], \"rate_Bps\": "
        "[...]}]}. It has null for flows that never end and for rates of flows "
        "without bytes.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(flows_options),
    .min_args = 1,
    .max_args = 1,
    .run = flows_run,
};
