/*
 * Read rocprofv3's CSV files: PREFIX_kernel_trace.csv, PREFIX_memory_copy_trace.csv,
 * PREFIX_hip_api_trace.csv, PREFIX_marker_api_trace.csv.
 *
 * Files with the same prefix are one recording: naming any of them reads all. Columns are
 * found by name.
 */
#include "base/file/file.h"
#include "recording/record/read.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 64 };

typedef enum csv_column {
    CSV_NAME, /* Kernel_Name, Direction or Function */
    CSV_AGENT,
    CSV_SOURCE,
    CSV_QUEUE,
    CSV_THREAD,
    CSV_PROCESS,
    CSV_CORRELATION,
    CSV_BEGIN,
    CSV_END,
    CSV_N_COLUMNS
} csv_column;

typedef enum csv_content { CSV_KERNELS, CSV_COPIES, CSV_CALLS, CSV_RANGES } csv_content;

typedef struct csv_reader {
    record *rec;
    csv_content content;
    str rest;                      /* the rest of the file */
    uint32_t line;                 /* from 1 */
    uint32_t place[CSV_N_COLUMNS]; /* index in the line; MAX_COLUMNS = absent */
    str cells[MAX_COLUMNS];
    uint32_t n_cells;
} csv_reader;

/* Read the next cell of the line. *end is set if it is the last. */
static bool read_cell(csv_reader *r, str *out, bool *end)
{
    str *const s = &r->rest;
    const bool quoted = s->n > 0 && *s->at == '"';
    if (quoted)
        s->at++, s->n--;
    const char *const from = s->at;
    while (s->n > 0) {
        const bool closes = quoted && *s->at == '"' && (s->n < 2 || s->at[1] != '"');
        if (closes || (!quoted && (*s->at == ',' || *s->at == '\n')))
            break;
        const size_t step = quoted && *s->at == '"' ? 2 : 1;
        s->at += step, s->n -= step;
    }
    *out = (str){from, (size_t)(s->at - from)};
    if (quoted && s->n == 0)
        return false; /* no closing quote */
    if (quoted)
        s->at++, s->n--;
    if (!quoted && out->n > 0 && out->at[out->n - 1] == '\r')
        out->n--;
    while (s->n > 0 && *s->at == '\r')
        s->at++, s->n--;
    *end = s->n == 0 || *s->at == '\n';
    if (s->n > 0)
        s->at++, s->n--;
    return true;
}

static halley_status read_csv_line(csv_reader *r, halley_error *err)
{
    bool end = false;
    r->n_cells = 0;
    r->line++;
    while (!end) {
        str cell;
        if (!read_cell(r, &cell, &end)) {
            error_set(err, HALLEY_EFORMAT, "a quoted cell does not end; the file is cut");
            error_at_line(err, r->line, 1);
            return HALLEY_EFORMAT;
        }
        if (r->n_cells < MAX_COLUMNS)
            r->cells[r->n_cells++] = cell;
    }
    return HALLEY_OK;
}

static bool is_column(csv_column column, str name)
{
    static const char *const names[CSV_N_COLUMNS][3] = {
        [CSV_NAME] = {"Kernel_Name", "Direction", "Function"},
        [CSV_AGENT] = {"Agent_Id", "Destination_Agent_Id", NULL},
        [CSV_SOURCE] = {"Source_Agent_Id", NULL, NULL},
        [CSV_QUEUE] = {"Queue_Id", NULL, NULL},
        [CSV_THREAD] = {"Thread_Id", NULL, NULL},
        [CSV_PROCESS] = {"Process_Id", NULL, NULL},
        [CSV_CORRELATION] = {"Correlation_Id", NULL, NULL},
        [CSV_BEGIN] = {"Start_Timestamp", NULL, NULL},
        [CSV_END] = {"End_Timestamp", NULL, NULL},
    };
    for (size_t i = 0; i < 3 && names[column][i] != NULL; i++)
        if (str_eq(name, str_from(names[column][i])))
            return true;
    return false;
}

static halley_status read_csv_header(csv_reader *r, halley_error *err)
{
    TRY(read_csv_line(r, err));
    bool copies = false, calls = false;
    for (size_t c = 0; c < CSV_N_COLUMNS; c++)
        r->place[c] = MAX_COLUMNS;
    for (uint32_t i = 0; i < r->n_cells; i++) {
        copies |= str_eq(r->cells[i], STR("Direction"));
        calls |= str_eq(r->cells[i], STR("Function"));
        for (csv_column c = 0; c < CSV_N_COLUMNS; c++)
            if (r->place[c] == MAX_COLUMNS && is_column(c, r->cells[i]))
                r->place[c] = i;
    }
    r->content = copies ? CSV_COPIES : calls ? CSV_CALLS : CSV_KERNELS;
    if (r->place[CSV_NAME] < MAX_COLUMNS && r->place[CSV_BEGIN] < MAX_COLUMNS &&
        r->place[CSV_END] < MAX_COLUMNS)
        return HALLEY_OK;
    error_set(err, HALLEY_EFORMAT,
              "rocprofv3's CSV needs the columns Start_Timestamp, End_Timestamp and one "
              "of Kernel_Name, Direction or Function");
    error_at_line(err, 1, 1);
    return HALLEY_EFORMAT;
}

static str get_cell(const csv_reader *r, csv_column column)
{
    return r->place[column] < r->n_cells ? r->cells[r->place[column]] : STR("");
}

static uint64_t get_number(const csv_reader *r, csv_column column)
{
    uint64_t value;
    return str_to_u64(str_trim(get_cell(r, column)), &value) ? value : REC_NO_ID;
}

/* "Agent 4" and 4 are device 4. A copy to the host is work of the source device. */
static uint64_t get_agent(const csv_reader *r)
{
    const bool to_host = r->content == CSV_COPIES &&
                         str_contains(get_cell(r, CSV_NAME), STR("DEVICE_TO_HOST"));
    str text = get_cell(r, to_host ? CSV_SOURCE : CSV_AGENT);
    uint64_t value;
    if (str_starts(text, STR("Agent ")))
        text.at += 6, text.n -= 6;
    return str_to_u64(str_trim(text), &value) ? value : 0;
}

static bool add_csv_work(csv_reader *r, uint32_t name, int64_t begin, int64_t end)
{
    record *const t = r->rec;
    const bool copies = r->content == CSV_COPIES;
    const uint64_t queue = get_number(r, CSV_QUEUE);
    const rec_work work = {
        .begin_ns = begin,
        .end_ns = end,
        .correlation = get_number(r, CSV_CORRELATION),
        .n_bytes = REC_NO_ID,
        .name = name,
        .row = rec_add_row(t, get_agent(r),
                           copies || queue > INT64_MAX ? -1 : (int64_t)queue,
                           copies ? STR("copies") : STR("")),
        .comm = REC_NONE,
        .hint = REC_NONE,
        .kind = copies ? REC_COPY : REC_KERNEL,
    };
    return rec_add_work(t, &work);
}

static bool add_csv_host(csv_reader *r, uint32_t name, int64_t begin, int64_t end)
{
    record *const t = r->rec;
    const bool calls = r->content == CSV_CALLS;
    rec_host event = {.begin_ns = begin,
                      .end_ns = end,
                      .detail = REC_NONE,
                      .kind = calls ? REC_CALL : REC_ANNOTATION};
    if (calls)
        event.correlation = get_number(r, CSV_CORRELATION);
    return rec_add_host(
        t, event, name,
        rec_add_thread(t, get_cell(r, CSV_PROCESS), get_cell(r, CSV_THREAD)));
}

static halley_status add_csv_row(csv_reader *r, halley_error *err)
{
    record *const t = r->rec;
    const uint64_t begin = get_number(r, CSV_BEGIN), end = get_number(r, CSV_END);
    if (r->n_cells <= 1)
        return HALLEY_OK; /* an empty line */
    t->n_events++;
    if (begin > INT64_MAX || end > INT64_MAX || end < begin) {
        t->n_bad_times++;
        return HALLEY_OK;
    }
    const uint32_t name = intern_add(&t->texts, get_cell(r, CSV_NAME));
    const bool device = r->content == CSV_KERNELS || r->content == CSV_COPIES;
    const bool ok = name != HASH_NONE &&
                    (device ? add_csv_work(r, name, (int64_t)begin, (int64_t)end)
                            : add_csv_host(r, name, (int64_t)begin, (int64_t)end));
    return ok ? HALLEY_OK : error_nomem(err);
}

halley_status rec_read_csv(record *rec, str text, bool has_ranges, halley_error *err)
{
    csv_reader r = {.rec = rec, .rest = text};
    TRY(read_csv_header(&r, err));
    if (has_ranges && r.content == CSV_CALLS)
        r.content = CSV_RANGES;
    while (r.rest.n > 0) {
        TRY(read_csv_line(&r, err));
        TRY(add_csv_row(&r, err));
    }
    return HALLEY_OK;
}

static halley_status read_csv_file(record *rec, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status = rec_read_csv(rec, (str){(const char *)in.at, in.n},
                                              strstr(path, "marker_api") != NULL, err);
    file_input_close(&in);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

static const char *const csv_endings[] = {"kernel_trace.csv", "memory_copy_trace.csv",
                                          "hip_api_trace.csv", "marker_api_trace.csv",
                                          "rccl_api_trace.csv"};

/* The length of a path without rocprofv3's suffix; 0 = it has none. */
static size_t measure_prefix(const char *path)
{
    const str s = str_from(path);
    for (size_t i = 0; i < sizeof csv_endings / sizeof *csv_endings; i++)
        if (str_ends(s, str_from(csv_endings[i])))
            return s.n - strlen(csv_endings[i]);
    return 0;
}

halley_status rec_read_rocprof_csv(rec_list *list, const char *path, halley_error *err)
{
    record *const rec = rec_list_add(list, REC_ROCPROF_CSV);
    if (rec == NULL)
        return error_nomem(err);
    const size_t n = measure_prefix(path);
    if (n == 0)
        return read_csv_file(rec, path, err);
    halley_status status = HALLEY_OK;
    for (size_t i = 0;
         status == HALLEY_OK && i < sizeof csv_endings / sizeof *csv_endings; i++) {
        strbuf other = {0};
        strbuf_add(&other, (str){path, n});
        strbuf_add(&other, str_from(csv_endings[i]));
        if (other.failed)
            status = error_nomem(err);
        else if (file_exists(other.at))
            status = read_csv_file(rec, other.at, err);
        strbuf_fini(&other);
    }
    return status;
}
