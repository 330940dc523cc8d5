#include "request/sim/sim_usage.h"

#include "base/error.h"
#include "request/sim/sim_astra.h"
#include "request/sim/sim_options.h"

#include <string.h>

void sim_usage_warn(const request_call *call)
{
    const sim_options *o = call->options;
    static const char *const without_effect[] = {"comm-scale", "compute-scale"};
    for (size_t i = 0; i < 2; i++)
        if (request_given(call, without_effect[i]) && !sim_astra_has_text(o->workload))
            request_note(call, "warning: --%s has no effect", without_effect[i]);
    for (size_t i = 0; i < call->n_unknown; i++)
        request_note(call, "warning: %s is not an option; ignored, as ASTRA-sim does",
                     call->unknown[i]);
    for (size_t i = 0; o->workload != NULL && i < call->n_args; i++)
        request_note(call, "warning: '%s' is ignored, as ASTRA-sim does%s", call->args[i],
                     request_given(call, "rendezvous-protocol")
                         ? "; a value of "
                           "--rendezvous-protocol needs '='"
                         : "");
}

/* Refuse options that do not apply to several jobs. */
static halley_status check_jobs_usage(request_call *call, halley_error *err)
{
    static const char *const others[] = {
        "per-rank", "per-node", "columns", "timeline", "heat",        "links",
        "memory",   "explain",  "stop-at", "replay",   "astra-output"};
    const sim_options *o = call->options;
    if (o->jobs.n == 0)
        return o->placement == NULL ? HALLEY_OK
                                    : request_usage(call, err, "--placement needs --job");
    if (call->n_args > 0 || o->workload != NULL || o->group != NULL)
        return request_usage(call, err,
                             "--job replaces TRACE; each job's groups are in the file "
                             "next to its traces");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (request_given(call, others[i]))
            return request_usage(call, err, "--%s and --job exclude each other",
                                 others[i]);
    return HALLEY_OK;
}

halley_status sim_usage_check_plan(request_call *call, halley_error *err)
{
    static const char *const of_traces[] = {"replay",
                                            "recorded-on",
                                            "workload-configuration",
                                            "system-configuration",
                                            "network-configuration",
                                            "remote-memory-configuration",
                                            "comm-group-configuration",
                                            "write-cluster",
                                            "astra-output",
                                            "memory",
                                            "stop-at",
                                            "job",
                                            "placement"};
    const sim_options *o = call->options;
    bool of_plan = false;
    if (o->design.model != NULL) {
        if (call->n_args > 0)
            return request_usage(call, err, "give traces or --model, not both");
        for (size_t i = 0; i < sizeof of_traces / sizeof *of_traces; i++)
            if (request_given(call, of_traces[i]))
                return request_usage(call, err, "--%s is for traces, not for --model",
                                     of_traces[i]);
        if (call->n_unknown > 0)
            return request_usage(call, err, "unknown option %s", call->unknown[0]);
        return HALLEY_OK;
    }
    for (request_option_walk w = {.verb = call->verb}; request_option_next(&w);) {
        const request_option *const it = &w.option;
        of_plan |= strcmp(it->name, "plan") == 0;
        const bool of_design = of_plan || strcmp(it->name, "stack") == 0 ||
                               strcmp(it->name, "set") == 0 ||
                               strcmp(it->name, "vocab") == 0;
        if (of_design && request_given(call, it->name))
            return request_usage(call, err, "--%s needs --model", it->name);
    }
    return HALLEY_OK;
}

halley_status sim_usage_check(request_call *call, halley_error *err)
{
    const sim_options *o = call->options;
    const bool astra = o->system != NULL || o->network != NULL || o->memory != NULL;
    if (o->design.cluster != NULL && astra)
        return request_usage(call, err,
                             "--cluster and ASTRA-sim's files exclude each other");
    if (o->astra_output && o->output.json)
        return request_usage(call, err, "--astra-output and --json exclude each other");
    if (o->replay && (o->design.cluster != NULL || astra))
        return request_usage(call, err, "--replay needs no cluster");
    TRY(check_jobs_usage(call, err));
    const bool has_traces = call->n_args > 0 || o->workload != NULL || o->jobs.n > 0;
    if (!o->replay && o->design.cluster == NULL && o->system == NULL &&
        o->network != NULL)
        return request_usage(call, err, "--system-configuration is missing");
    if (!o->replay && o->design.cluster == NULL && o->system != NULL &&
        o->network == NULL)
        return request_usage(call, err, "--network-configuration is missing");
    if (!o->replay && o->design.cluster == NULL && o->system == NULL)
        return request_usage(call, err,
                             "%s needed: --cluster, or --system-configuration and "
                             "--network-configuration; or --replay",
                             has_traces ? "a cluster is" : "a trace and a cluster are");
    if (call->n_args > 0 && o->workload != NULL && !astra)
        return request_usage(call, err, "traces are named twice");
    if (!has_traces && o->write_cluster == NULL)
        return request_usage(call, err,
                             "traces are needed: TRACE, or --workload-configuration; or "
                             "a model and a plan: --model");
    if (call->n_unknown > 0 && (o->design.cluster != NULL || o->replay))
        return request_usage(call, err, "unknown option %s", call->unknown[0]);
    return HALLEY_OK;
}
