/*
 * request/sim/jobs.c - `sim` with several jobs: loads their traces and groups, places
 * them, runs them and writes the result.
 *
 * A placement file is a list with one entry per job, which lists the NPUs of its ranks:
 * [[0, 1, 2, 3], "4-7"].
 */
#include "request/sim/jobs.h"

#include "base/array.h"
#include "base/conf/conf.h"
#include "base/str.h"
#include "report/jobs.h"
#include "request/trace/traces.h"

#include <stdlib.h>
#include <string.h>

typedef struct job_list {
    uint32_t n;
    halley_sim_job *jobs;
    halley_trace_set **traces;
    char **groups;
    uint32_t *n_ranks;
    uint32_t *npus;
} job_list;

static void free_jobs(job_list *l)
{
    for (uint32_t i = 0; l->traces != NULL && i < l->n; i++)
        if (l->traces[i] != NULL)
            halley_trace_set_free(l->traces[i]);
    for (uint32_t i = 0; l->groups != NULL && i < l->n; i++)
        free(l->groups[i]);
    free(l->jobs);
    free(l->traces);
    free(l->groups);
    free(l->n_ranks);
    free(l->npus);
}

static halley_status load_jobs(job_list *l, request_texts names, halley_error *err)
{
    const halley_load_opts opts = {.frees_bytes = true};
    l->n = (uint32_t)names.n;
    l->jobs = mem_array_zero(l->n, sizeof *l->jobs);
    l->traces = mem_array_zero(l->n, sizeof(halley_trace_set *));
    l->groups = mem_array_zero(l->n, sizeof(char *));
    l->n_ranks = mem_array_zero(l->n, sizeof *l->n_ranks);
    if (l->jobs == NULL || l->traces == NULL || l->groups == NULL || l->n_ranks == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < l->n; i++) {
        TRY(traces_explain(
            &names.at[i], 1,
            halley_trace_set_load(&l->traces[i], &names.at[i], 1, &opts, err), err));
        l->groups[i] = halley_trace_set_groups(l->traces[i]);
        l->n_ranks[i] = halley_trace_set_count(l->traces[i]);
        l->jobs[i] = (halley_sim_job){names.at[i], l->traces[i], l->groups[i]};
    }
    return HALLEY_OK;
}

/* Placement files. */

typedef ARRAY(uint32_t) npu_list;

static halley_status add_npu_range(npu_list *to, const traces_range *r, halley_error *err)
{
    if (r->last - r->first >= UINT32_MAX || r->last > UINT32_MAX)
        return error_set(err, HALLEY_EINVAL, "NPU %llu is out of range",
                         (unsigned long long)r->last);
    for (uint64_t k = r->first; k <= r->last; k++) {
        if (to->n >= 1 << 24)
            return error_set(err, HALLEY_ELIMIT, "a placement lists too many NPUs");
        if (!array_push(to, (uint32_t)k))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* Read "0-3,8" or a number. */
static halley_status read_npus(npu_list *to, request_call *call, const conf_file *file,
                               const conf_node *node, halley_error *err)
{
    traces_range *ranges;
    size_t n;
    if (node->kind != CONF_SCALAR || node->text.n == 0 || node->text.n > 1000000)
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "a job is a list of NPUs, such as [0, 1, 2] or \"0-3,8\"");
    char *text = strndup(node->text.at, node->text.n);
    if (text == NULL)
        return error_nomem(err);
    halley_status status = traces_parse_ranges(&ranges, &n, call, text, "NPU", err);
    free(text);
    if (status != HALLEY_OK) {
        call->exit_code = 0; /* the file is at fault, not the command line */
        error_at_file(err, file->path);
        return status;
    }
    for (size_t i = 0; i < n && status == HALLEY_OK; i++)
        status = add_npu_range(to, &ranges[i], err);
    free(ranges);
    return status;
}

static halley_status read_job_npus(npu_list *to, request_call *call,
                                   const conf_file *file, const conf_node *node,
                                   const job_list *l, uint32_t job, halley_error *err)
{
    const size_t before = to->n;
    if (node->kind != CONF_LIST)
        TRY(read_npus(to, call, file, node, err));
    for (uint32_t i = 0; node->kind == CONF_LIST && i < node->n; i++)
        TRY(read_npus(to, call, file, node->items[i], err));
    if (to->n - before == l->n_ranks[job])
        return HALLEY_OK;
    return conf_error(file, node, err, HALLEY_EINVAL,
                      "job %s has %u ranks, and %zu NPUs are listed for it",
                      l->jobs[job].name, l->n_ranks[job], to->n - before);
}

static halley_status read_placement(job_list *l, request_call *call, const char *path,
                                    halley_error *err)
{
    conf_file file;
    npu_list npus = {0};
    TRY(conf_load(&file, path, err));
    halley_status status = HALLEY_OK;
    if (file.root->kind != CONF_LIST || file.root->n != l->n)
        status = conf_error(&file, file.root, err, HALLEY_EINVAL,
                            "a placement is a list with an entry for each of the %u jobs",
                            l->n);
    for (uint32_t i = 0; i < l->n && status == HALLEY_OK; i++)
        status = read_job_npus(&npus, call, &file, file.root->items[i], l, i, err);
    conf_fini(&file);
    if (status == HALLEY_OK)
        l->npus = npus.at;
    else
        array_fini(&npus);
    return status;
}

static halley_status place_jobs(job_list *l, request_call *call,
                                const halley_cluster *cluster, const char *word,
                                halley_error *err)
{
    const str text = str_from(word == NULL ? "packed" : word);
    halley_placement kind = HALLEY_PLACEMENT_PACKED;
    uint64_t seed = 0;
    if (str_eq(text, STR("spread")))
        kind = HALLEY_PLACEMENT_SPREAD;
    else if (str_eq(text, STR("random")) || str_starts(text, STR("random:")))
        kind = HALLEY_PLACEMENT_RANDOM;
    else if (!str_eq(text, STR("packed")))
        return read_placement(l, call, word, err);
    if (str_starts(text, STR("random:")) &&
        !str_to_u64((str){text.at + 7, text.n - 7}, &seed))
        return request_usage(call, err,
                             "--placement: expected random:SEED with a whole "
                             "number, is '%s'",
                             word);
    return halley_jobs_place(&l->npus, cluster, l->n_ranks, l->n, kind, seed, err);
}

static halley_status write_jobs(request_call *call, const halley_jobs_result *result,
                                const request_output *output, halley_error *err)
{
    report_form form;
    TRY(request_output_form(&form, call, output, err));
    if (form == REPORT_TEXT)
        return report_jobs_text(result, call->out, err);
    if (form == REPORT_CSV)
        return report_jobs_csv(result, call->out, err);
    report_json j;
    request_json_begin(&j, call);
    const halley_status status = report_jobs_json(&j, result, err);
    const halley_status ended = request_json_end(&j, call, err);
    return status != HALLEY_OK ? status : ended;
}

halley_status request_jobs_run(request_call *call, const halley_cluster *cluster,
                               request_texts jobs, const char *placement,
                               const request_output *output, const halley_sim_opts *opts,
                               halley_error *err)
{
    job_list l = {0};
    halley_jobs_result *result = NULL;
    halley_status status = load_jobs(&l, jobs, err);
    if (status == HALLEY_OK)
        status = place_jobs(&l, call, cluster, placement, err);
    if (status == HALLEY_OK)
        status = halley_jobs_run(&result, l.jobs, l.n, l.npus, cluster, opts, err);
    request_work_end(call);
    if (status == HALLEY_OK) {
        const halley_result *together = halley_jobs_together(result);
        for (uint32_t i = 0; i < halley_result_warning_count(together); i++)
            request_note(call, "warning: %s", halley_result_warning(together, i));
        status = write_jobs(call, result, output, err);
    }
    halley_jobs_result_free(result);
    free_jobs(&l);
    return status;
}
