#include "report/job.h"

#include "base/error.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>

enum { COLLECTIVES_SHOWN = 15 };

static void write_job_ranks(report_json *j, const halley_job *job)
{
    report_json_array(j, "ranks");
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        const halley_job_rank *const row = &job->ranks[r];
        report_json_flat_object(j, NULL);
        report_json_u64(j, "rank", r);
        report_json_double(j, "offset_s", row->offset_s);
        report_json_double(j, "own_s", row->own_s);
        report_json_double(j, "wait_s", row->wait_s);
        report_json_double(j, "transfer_s", row->transfer_s);
        report_json_u64(j, "last", row->n_last);
        report_json_double(j, "cost_s", row->cost_s);
        report_json_double(j, "compute_s", row->compute_s);
        report_json_double(j, "copies_s", row->copies_s);
        report_json_double(j, "host_s", row->host_s);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_number_or_null(report_json *j, const char *key, double value)
{
    if (value > 0)
        report_json_double(j, key, value);
    else
        report_json_null(j, key);
}

static void write_job_collectives(report_json *j, const halley_job *job)
{
    report_json_array(j, "collectives");
    for (size_t i = 0; i < job->n_collectives; i++) {
        const halley_job_collective *const c = &job->collectives[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "group", str_from(c->group));
        report_json_u64(j, "index", c->index);
        report_json_text(j, "type", str_from(c->type));
        report_json_u64(j, "n_ranks", c->n_ranks);
        write_number_or_null(j, "bytes", c->bytes);
        report_json_double(j, "transfer_s", c->transfer_s);
        report_json_double(j, "wait_s", c->wait_s);
        report_json_u64(j, "last_rank", c->last_rank);
        report_json_double(j, "late_s", c->late_s);
        write_number_or_null(j, "busbw", c->busbw_Bps);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_job_steps(report_json *j, const halley_job *job)
{
    report_json_array(j, "steps");
    for (size_t i = 0; i < job->n_steps; i++) {
        report_json_flat_object(j, NULL);
        report_json_i64(j, "number", job->steps[i].number);
        report_json_double(j, "median_s", job->steps[i].median_s);
        report_json_double(j, "longest_s", job->steps[i].longest_s);
        report_json_u64(j, "slowest_rank", job->steps[i].slowest_rank);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_job_stragglers(report_json *j, const halley_job *job)
{
    report_json_array(j, "stragglers");
    for (size_t i = 0; i < job->n_stragglers; i++) {
        report_json_flat_object(j, NULL);
        report_json_u64(j, "rank", job->stragglers[i].rank);
        report_json_double(j, "cost_s", job->stragglers[i].cost_s);
        report_json_text(j, "class", str_from(job->stragglers[i].class_name));
        report_json_double(j, "excess_s", job->stragglers[i].excess_s);
        report_json_end(j);
    }
    report_json_end(j);
}

void report_job_json(report_json *j, const halley_job *job)
{
    write_job_ranks(j, job);
    write_job_collectives(j, job);
    write_job_steps(j, job);
    write_job_stragglers(j, job);
    report_json_u64(j, "unmatched", job->n_unmatched);
    report_json_double(j, "window_s", job->window_s);
    report_json_double(j, "wait_share", job->wait_share);
    report_json_double(j, "transfer_share", job->transfer_share);
    report_json_double(j, "as_recorded_s", job->as_recorded_s);
    report_json_u64(j, "typical_rank", job->typical_rank);
    report_json_bool(j, "clocks_agree", job->has_clocks);
    report_json_text(j, "verdict", str_from(job->verdict));
}

static const report_column rank_columns[] = {
    {.title = "Rank", .key = "rank", .kind = REPORT_COUNT},
    {.title = "Own work", .key = "own_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Waiting", .key = "wait_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Transfer",
     .key = "transfer_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_TIME},
    {.title = "Last", .key = "last", .kind = REPORT_COUNT},
    {.title = "Cost", .key = "cost_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Clock ahead",
     .key = "offset_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_TIME},
};

static halley_status write_rank_table(const halley_job *job, report_form form, FILE *to,
                                      halley_error *err)
{
    report_table *const t =
        report_table_new(rank_columns, sizeof rank_columns / sizeof *rank_columns);
    if (t == NULL)
        return error_nomem(err);
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        report_table_count(t, r);
        report_table_number(t, job->ranks[r].own_s);
        report_table_number(t, job->ranks[r].wait_s);
        report_table_number(t, job->ranks[r].transfer_s);
        report_table_count(t, job->ranks[r].n_last);
        report_table_number(t, job->ranks[r].cost_s);
        report_table_number(t, job->ranks[r].offset_s);
    }
    const halley_status status = report_table_write(t, form, to, err);
    report_table_free(t);
    return status;
}

static const report_column collective_columns[] = {
    {.title = "Collective", .key = "type", .kind = REPORT_WORDS, .max_width = 20},
    {.title = "Group", .key = "group", .kind = REPORT_WORDS, .max_width = 16},
    {.title = "Ranks", .key = "n_ranks", .kind = REPORT_COUNT},
    {.title = "Size", .key = "bytes", .kind = REPORT_QUANTITY, .unit = UNITS_BYTES},
    {.title = "Transfer",
     .key = "transfer_s",
     .kind = REPORT_QUANTITY,
     .unit = UNITS_TIME},
    {.title = "Waiting", .key = "wait_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Last", .key = "last_rank", .kind = REPORT_COUNT},
    {.title = "Late by", .key = "late_s", .kind = REPORT_QUANTITY, .unit = UNITS_TIME},
    {.title = "Bus", .key = "busbw", .kind = REPORT_QUANTITY, .unit = UNITS_BANDWIDTH},
};

static void put_positive(report_table *t, double value)
{
    if (value > 0)
        report_table_number(t, value);
    else
        report_table_empty(t);
}

static halley_status write_collective_table(const halley_job *job, bool all, FILE *to,
                                            halley_error *err)
{
    report_table *const t = report_table_new(
        collective_columns, sizeof collective_columns / sizeof *collective_columns);
    if (t == NULL)
        return error_nomem(err);
    const size_t n = all || job->n_collectives < COLLECTIVES_SHOWN ? job->n_collectives
                                                                   : COLLECTIVES_SHOWN;
    for (size_t i = 0; i < n; i++) {
        const halley_job_collective *const c = &job->collectives[i];
        report_table_words(t, str_from(c->type));
        report_table_words(t, str_from(c->group));
        report_table_count(t, c->n_ranks);
        put_positive(t, c->bytes);
        report_table_number(t, c->transfer_s);
        report_table_number(t, c->wait_s);
        report_table_count(t, c->last_rank);
        report_table_number(t, c->late_s);
        put_positive(t, c->busbw_Bps);
    }
    const halley_status status = report_table_write(t, REPORT_TEXT, to, err);
    report_table_free(t);
    if (status == HALLEY_OK && n < job->n_collectives)
        fprintf(to, "... %zu more; --all lists them\n", job->n_collectives - n);
    return status;
}

static void write_job_summary(const halley_job *job, FILE *to)
{
    char window[64];
    units_format(window, sizeof window, job->window_s, UNITS_TIME);
    fprintf(to, "%u ranks, %s recorded on average, %zu collectives matched", job->n_ranks,
            window, job->n_collectives);
    if (job->n_unmatched > 0)
        fprintf(to, ", %" PRIu64 " kernels of communication without a match",
                job->n_unmatched);
    fprintf(to, "\n\nVerdict: %s.\n\n", job->verdict);
}

static void write_job_steps_text(const halley_job *job, FILE *to)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        char median[64], longest[64];
        units_format(median, sizeof median, job->steps[i].median_s, UNITS_TIME);
        units_format(longest, sizeof longest, job->steps[i].longest_s, UNITS_TIME);
        fprintf(to, "%sstep %" PRId64 ": %s on the median rank, %s on rank %u\n",
                i == 0 ? "\n" : "", job->steps[i].number, median, longest,
                job->steps[i].slowest_rank);
    }
}

halley_status report_job_write(const halley_job *job, bool all, report_form form,
                               FILE *to, halley_error *err)
{
    assert(form != REPORT_JSON);
    if (form == REPORT_CSV)
        return write_rank_table(job, form, to, err);
    write_job_summary(job, to);
    TRY(write_rank_table(job, form, to, err));
    fputc('\n', to);
    TRY(write_collective_table(job, all, to, err));
    write_job_steps_text(job, to);
    return HALLEY_OK;
}
