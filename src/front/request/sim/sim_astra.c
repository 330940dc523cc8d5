/*
 * request/sim/sim_astra.c - ASTRA-sim's files for `halley sim`: those of its analytical
 * back end, of its packet back ends, and of version 1.0.
 */
#include "request/sim/sim_astra.h"

#include "base/error.h"
#include "base/str.h"
#include "halley/astra.h"
#include "halley/ingest.h"

#include <stdlib.h>
#include <string.h>

bool sim_astra_has_text(const char *workload)
{
    return workload != NULL && halley_text_recognise(workload);
}

halley_status sim_astra_load_text(halley_trace_set **out, const sim_astra_files *files,
                                  halley_cluster *cluster, halley_error *err)
{
    const halley_text_opts text = {.n_npus = halley_cluster_npus(cluster),
                                   .n_passes = files->passes,
                                   .comm_scale = files->comm_scale,
                                   .compute_scale = files->compute_scale,
                                   .no_metadata = true};
    char *groups = NULL;
    halley_cluster_read_ns(cluster);
    halley_status status = halley_text_groups(&groups, files->workload, &text, err);
    if (status == HALLEY_OK && groups != NULL && !halley_cluster_has_groups(cluster))
        status = halley_cluster_parse_groups(cluster, groups, strlen(groups),
                                             files->workload, err);
    free(groups);
    return status == HALLEY_OK ? halley_text_load(out, files->workload, &text, err)
                               : status;
}

/* ASTRA-sim takes any name that contains "empty" as "no groups"; that is its default. */
static const char *find_group_file(const sim_astra_files *files)
{
    const bool none =
        files->group == NULL || str_contains(str_from(files->group), STR("empty"));
    return none ? NULL : files->group;
}

/* Read true and false as ASTRA-sim's parser does. */
static halley_status read_truth(bool *out, request_call *call, const char *text,
                                halley_error *err)
{
    static const char *const yes[] = {"true", "True", "t", "T", "1"};
    static const char *const no[] = {"false", "False", "f", "F", "0"};
    *out = false;
    for (int i = 0; i < 5 && text != NULL; i++) {
        if (strcmp(text, yes[i]) == 0) {
            *out = true;
            return HALLEY_OK;
        }
        if (strcmp(text, no[i]) == 0)
            return HALLEY_OK;
    }
    if (text == NULL)
        return HALLEY_OK;
    return request_usage(call, err,
                         "--rendezvous-protocol must be true or false, is '%s'", text);
}

/* Note which model replaces packets, and how accurate it is;
 * doc/reference/astra-differences.md. */
static void note_packets(const request_call *call, const char *program)
{
    request_note(
        call,
        "note: packets of %s are not simulated; the flow model answers, which is "
        "within 6 %% of packets in 29 of 30 contention scenarios and 22 %% off in "
        "one; congestion control, pauses, losses and headers are left out",
        program);
}

halley_status sim_astra_load_cluster(halley_cluster **out, request_call *call,
                                     const sim_astra_files *files, halley_error *err)
{
    bool rendezvous;
    TRY(read_truth(&rendezvous, call, files->rendezvous, err));
    const halley_astra_files own = {
        .network = files->network,
        .system = files->system,
        .memory = files->memory,
        .comm_group = find_group_file(files),
        .queues_per_dim = files->queues,
        .injection_scale = files->injection,
        .rendezvous = rendezvous,
        .logical_topology = files->logical_topology,
        .packet_topology = files->htsim_topology,
    };
    TRY(halley_cluster_load_astra(out, &own, err));
    if (files->logical_topology != NULL || files->htsim_topology != NULL)
        note_packets(call, files->htsim_topology != NULL ? "HTSim" : "ns-3");
    return HALLEY_OK;
}

halley_status sim_astra_write_log(FILE *to, const halley_result *result,
                                  const report_traces *traces,
                                  const halley_cluster *cluster, const char *folder,
                                  halley_error *err)
{
    halley_trace_set *made = NULL;
    if (traces->roles != NULL)
        TRY(halley_template_traces(&made, traces->roles, err));
    const halley_status status = halley_astra_log_write(
        to, result, traces->roles != NULL ? made : traces->set, cluster, folder, err);
    halley_trace_set_free(made);
    return status;
}
