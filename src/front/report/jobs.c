/* report/jobs.c - several jobs on one cluster as tables, JSON and CSV. */
#include "report/jobs.h"

#include "report/sim.h"
#include "report/table.h"

static const report_column job_columns[] = {
    {"Job", "job", REPORT_WORDS, UNITS_COUNT, 32},
    {"NPUs", "npus", REPORT_COUNT, UNITS_COUNT, 0},
    {"On", "placed_on", REPORT_WORDS, UNITS_COUNT, 24},
    {"Alone", "alone_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Together", "together_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Slow-down", "slowdown", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Shared links", "shared_links", REPORT_COUNT, UNITS_COUNT, 0},
    {"Busiest of them", "busiest_shared_link", REPORT_WORDS, UNITS_COUNT, 0},
    {"Use", "use", REPORT_QUANTITY, UNITS_SHARE, 0},
};

/* Write "0-3,8": the NPUs in the order of the ranks. */
static void print_npus(strbuf *to, const halley_job_result *job)
{
    for (uint32_t i = 0; i < job->n_ranks; i++) {
        const uint32_t first = i;
        while (i + 1 < job->n_ranks && job->npus[i + 1] == job->npus[i] + 1)
            i++;
        strbuf_printf(to, "%s%u", first == 0 ? "" : ",", job->npus[first]);
        if (i > first)
            strbuf_printf(to, "-%u", job->npus[i]);
    }
}

static report_table *make_jobs_table(const halley_jobs_result *jobs)
{
    report_table *t = report_table_new(job_columns, 9);
    for (uint32_t i = 0; t != NULL && i < halley_jobs_count(jobs); i++) {
        const halley_job_result job = halley_jobs_get(jobs, i);
        strbuf npus = {0};
        print_npus(&npus, &job);
        report_table_words(t, str_from(job.name));
        report_table_count(t, job.n_ranks);
        report_table_words(t, strbuf_str(&npus));
        report_table_number(t, job.alone_s);
        report_table_number(t, job.together_s);
        report_table_number(t, job.slowdown);
        report_table_count(t, job.n_shared_links);
        strbuf_fini(&npus);
        if (job.busiest_shared == NULL) {
            report_table_empty(t);
            report_table_empty(t);
            continue;
        }
        report_table_words(t, str_from(job.busiest_shared));
        report_table_number(t, job.busiest_use);
    }
    return t;
}

static halley_status write_jobs_table(const halley_jobs_result *jobs, report_form form,
                                      FILE *to, halley_error *err)
{
    report_table *t = make_jobs_table(jobs);
    if (t == NULL)
        return error_nomem(err);
    const halley_status status = report_table_write(t, form, to, err);
    report_table_free(t);
    return status;
}

halley_status report_jobs_text(const halley_jobs_result *jobs, FILE *to,
                               halley_error *err)
{
    TRY(write_jobs_table(jobs, REPORT_TEXT, to, err));
    return report_sim_network(halley_jobs_together(jobs), to, err);
}

halley_status report_jobs_csv(const halley_jobs_result *jobs, FILE *to, halley_error *err)
{
    return write_jobs_table(jobs, REPORT_CSV, to, err);
}

halley_status report_jobs_json(report_json *j, const halley_jobs_result *jobs,
                               halley_error *err)
{
    report_table *t = make_jobs_table(jobs);
    if (t == NULL)
        return error_nomem(err);
    report_table_json(t, j, "jobs");
    report_table_free(t);
    return report_sim_json(j, halley_jobs_together(jobs), err);
}
