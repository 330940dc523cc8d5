#include "request/sim/sim_output.h"

#include "base/error.h"
#include "base/str.h"
#include "report/columns.h"
#include "request/page.h"
#include "request/sim/sim_astra.h"
#include "request/sim/sim_options.h"

static halley_status write_verdict_json(report_json *j, const halley_result *result,
                                        const report_traces *traces, halley_error *err)
{
    char verdict[REPORT_LOSSES_TEXT];
    TRY(report_sim_verdict(verdict, result, traces, err));
    report_json_text(j, "verdict", str_from(verdict));
    return HALLEY_OK;
}

/* The data for a page that explains the run; `what` is a sim_outcome. */
typedef struct sim_outcome {
    const halley_result *result;
    const report_traces *traces;
} sim_outcome;

static halley_status write_sim_json(const request_call *call, const void *what,
                                    halley_error *err)
{
    const sim_options *o = call->options;
    const sim_outcome *const s = what;
    const bool explains = o->explain || o->report != NULL;
    report_json j;
    request_json_begin(&j, call);
    halley_status status = report_sim_json(&j, s->result, err);
    if (status == HALLEY_OK && explains)
        status = report_sim_explain_json(&j, s->result, s->traces, o->explain, err);
    if (status == HALLEY_OK && explains)
        status = write_verdict_json(&j, s->result, s->traces, err);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

static halley_status write_sim_page(const request_call *call, const sim_outcome *outcome,
                                    const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    strbuf timeline = {0};
    if (o->report == NULL)
        return HALLEY_OK;
    const report_columns_options columns = {
        .page = &timeline, .npus_per_node = halley_cluster_npus_per_node(cluster)};
    halley_status status =
        report_sim_columns(outcome->result, outcome->traces, &columns, NULL, err);
    if (status == HALLEY_OK) {
        const request_page page = {"sim", "A simulation", write_sim_json, outcome,
                                   strbuf_str(&timeline)};
        status = request_page_save(call, o->report, &page, err);
    }
    strbuf_fini(&timeline);
    return status;
}

static halley_status write_sim_output(request_call *call, const sim_outcome *outcome,
                                      const halley_cluster *cluster, halley_error *err)
{
    const sim_options *o = call->options;
    const halley_result *const result = outcome->result;
    char verdict[REPORT_LOSSES_TEXT];
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (o->astra_output)
        return sim_astra_write_log(call->out, result, outcome->traces, cluster,
                                   o->logging_folder, err);
    if (form == REPORT_JSON)
        return write_sim_json(call, outcome, err);
    if (form == REPORT_CSV || o->per_rank)
        return report_sim_ranks(result, call->out, err);
    TRY(report_sim_text(result, call->out, err));
    if (!o->explain)
        return HALLEY_OK;
    TRY(report_sim_verdict(verdict, result, outcome->traces, err));
    fprintf(call->out, "\nVerdict: %s.\n\n", verdict);
    return report_sim_explain(result, outcome->traces, call->out, err);
}

halley_status sim_output_write(request_call *call, const halley_result *result,
                               const report_traces *traces, const halley_cluster *cluster,
                               halley_error *err)
{
    const sim_options *o = call->options;
    const sim_outcome outcome = {result, traces};
    const report_columns_options columns = {.all_ranks = o->all_ranks,
                                            .npus_per_node =
                                                halley_cluster_npus_per_node(cluster)};
    TRY(write_sim_output(call, &outcome, cluster, err));
    if (o->columns != NULL)
        TRY(report_sim_columns(result, traces, &columns, o->columns, err));
    if (o->per_node != NULL)
        TRY(report_sim_nodes(result, traces, o->per_node, err));
    if (o->heat != NULL)
        TRY(report_sim_heat(result, o->heat, err));
    if (o->links != NULL)
        TRY(report_sim_links(result, o->links, err));
    if (o->memory_out != NULL)
        TRY(report_sim_memory(result, o->memory_out, err));
    if (o->timeline != NULL)
        TRY(report_sim_timeline(result, traces, o->timeline, o->expand, err));
    return write_sim_page(call, &outcome, cluster, err);
}
