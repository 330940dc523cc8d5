/*
 * Read SQLite exports of Nsight Systems.
 *
 * Columns are found by name, because their set and order change between versions. Tables
 * exist only if they have rows. Correlation ids are unique only per process. So each
 * process with GPU rows is a rank, and events are joined on (process, correlation).
 */
#include "base/database.h"
#include "base/file/file.h"
#include "base/file/unpack.h"
#include "recording/record/read.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_SCHEMA_MAJOR = 3, NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"
#define COPIES "CUPTI_ACTIVITY_KIND_MEMCPY"
#define SETS "CUPTI_ACTIVITY_KIND_MEMSET"
#define GRAPHS "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define SYNCS "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"

typedef struct nsys_reader {
    sqlite3 *db;
    rec_list *list;
    map64 rank_of; /* process -> rank */
    intern texts;  /* of StringIds */
    map64 text_of; /* its id -> text */
    bool no_memory;
    bool has_graphs;
    int failure; /* SQLite's code of the first query that failed */
    halley_error *err;
} nsys_reader;

static halley_status fail_nsys(nsys_reader *x, const char *doing)
{
    const int code = sqlite3_errcode(x->db);
    if (code == SQLITE_NOMEM)
        return error_nomem(x->err);
    return error_set(x->err, HALLEY_EFORMAT, "cannot %s: %s", doing,
                     sqlite3_errmsg(x->db));
}

/* Does the query return a row? If the query itself fails, that is not a missing table:
 * the reader fails at the end. */
static bool has_row(nsys_reader *x, const char *sql, const char *first,
                    const char *second)
{
    sqlite3_stmt *q = NULL;
    int code = sqlite3_prepare_v2(x->db, sql, -1, &q, NULL);
    if (code == SQLITE_OK && first != NULL)
        code = sqlite3_bind_text(q, 1, first, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && second != NULL)
        code = sqlite3_bind_text(q, 2, second, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(q);
    if (code != SQLITE_ROW && code != SQLITE_DONE && x->failure == SQLITE_OK)
        x->failure = code;
    sqlite3_finalize(q);
    return code == SQLITE_ROW;
}

static bool has_table(nsys_reader *x, const char *table)
{
    return has_row(x,
                   "select 1 from sqlite_master where type in ('table', 'view') "
                   "and name = ?1",
                   table, NULL);
}

/* Is it rocpd, the default output of rocprofv3 since ROCm 7? Its table names end in an id
 * of the run. */
static bool is_rocpd(nsys_reader *x)
{
    return has_row(x, "select 1 from sqlite_master where name like 'rocpd!_%' escape '!'",
                   NULL, NULL);
}

static bool has_column(nsys_reader *x, const char *table, const char *column)
{
    return has_row(x, "select 1 from pragma_table_info(?1) where name = ?2", table,
                   column);
}

/* Run "select a, b, null from table". A column that this version lacks is null. */
static halley_status open_query(nsys_reader *x, sqlite3_stmt **q, const char *table,
                                const char *const *columns, size_t n)
{
    strbuf sql = {0};
    strbuf_add(&sql, STR("select "));
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&sql, "%s%s%s%s", i > 0 ? ", " : "",
                      has_column(x, table, columns[i]) ? "\"" : "",
                      has_column(x, table, columns[i]) ? columns[i] : "null",
                      has_column(x, table, columns[i]) ? "\"" : "");
    strbuf_printf(&sql, " from %s", table);
    halley_status status = HALLEY_OK;
    if (sql.failed)
        status = error_nomem(x->err);
    else if (sqlite3_prepare_v2(x->db, sql.at, -1, q, NULL) != SQLITE_OK)
        status = fail_nsys(x, "read the export");
    strbuf_fini(&sql);
    return status;
}

typedef void row_taker(nsys_reader *x, sqlite3_stmt *q);
static halley_status read_rows(nsys_reader *x, const char *table,
                               const char *const *columns, size_t n, row_taker *take)
{
    sqlite3_stmt *q = NULL;
    if (!has_table(x, table))
        return HALLEY_OK;
    TRY(open_query(x, &q, table, columns, n));
    int code;
    while ((code = sqlite3_step(q)) == SQLITE_ROW && !x->no_memory)
        take(x, q);
    halley_status status = HALLEY_OK;
    if (x->no_memory)
        status = error_nomem(x->err);
    else if (code != SQLITE_DONE)
        status = fail_nsys(x, "read the export");
    sqlite3_finalize(q);
    return status;
}
#define READ_ROWS(x, table, take, ...)                                                   \
    read_rows(x, table, (const char *const[]){__VA_ARGS__},                              \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), take)

static uint64_t get_nsys_id(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL
               ? REC_NO_ID
               : (uint64_t)sqlite3_column_int64(q, column);
}

static str read_nsys_text(nsys_reader *x, sqlite3_stmt *q, int column)
{
    const bool is_null = sqlite3_column_type(q, column) == SQLITE_NULL;
    const char *const text = (const char *)sqlite3_column_text(q, column);
    x->no_memory |= text == NULL && !is_null;
    return str_from(text);
}

static void take_nsys_string(nsys_reader *x, sqlite3_stmt *q)
{
    const str text = read_nsys_text(x, q, 1);
    const uint32_t id = intern_add(&x->texts, text);
    x->no_memory |= id == HASH_NONE ||
                    !map64_set(&x->text_of, (uint64_t)sqlite3_column_int64(q, 0), id);
}

/* A text column: an id of StringIds, or the text itself. */
static str get_nsys_text(nsys_reader *x, sqlite3_stmt *q, int column)
{
    if (sqlite3_column_type(q, column) == SQLITE_TEXT)
        return read_nsys_text(x, q, column);
    if (sqlite3_column_type(q, column) != SQLITE_INTEGER)
        return STR("");
    const uint32_t id =
        map64_find(&x->text_of, (uint64_t)sqlite3_column_int64(q, column));
    return id == HASH_NONE ? STR("") : intern_text(&x->texts, id);
}

static uint64_t find_process(uint64_t global)
{
    return (global >> 24) & 0xffffff;
}

/* The rank of a process. NULL: it has no GPU rows, or was not selected. */
static record *find_rank(nsys_reader *x, uint64_t global)
{
    const uint32_t rank =
        map64_find(&x->rank_of, global == REC_NO_ID ? REC_NO_ID : find_process(global));
    return rank == HASH_NONE ? NULL : &x->list->ranks.at[rank];
}

static bool take_nsys_times(record *r, sqlite3_stmt *q, int64_t *begin_ns,
                            int64_t *end_ns)
{
    r->n_events++;
    *begin_ns = sqlite3_column_int64(q, 0);
    *end_ns = sqlite3_column_int64(q, 1);
    const bool has_both = sqlite3_column_type(q, 0) == SQLITE_INTEGER &&
                          sqlite3_column_type(q, 1) == SQLITE_INTEGER;
    if (!has_both || *begin_ns < INT64_MIN / 4 || *end_ns > INT64_MAX / 4) {
        r->n_bad_times++;
        return false;
    }
    if (*end_ns >= *begin_ns)
        return true;
    if (r->n_negative++ == 0) {
        r->first_negative = r->n_events;
        r->negative_ns = *end_ns - *begin_ns;
    }
    return false;
}

/* Columns: start, end, deviceId, streamId, correlationId, globalPid, then those specific
 * to the table. */
static void add_nsys_work(nsys_reader *x, sqlite3_stmt *q, str name, rec_work_kind kind,
                          uint64_t n_bytes)
{
    record *const r = find_rank(x, get_nsys_id(q, 5));
    rec_work w = {.correlation = get_nsys_id(q, 4),
                  .n_bytes = n_bytes,
                  .comm = REC_NONE,
                  .hint = REC_NONE,
                  .kind = (uint16_t)kind};
    if (r == NULL || !take_nsys_times(r, q, &w.begin_ns, &w.end_ns))
        return;
    w.name = intern_add(&r->texts, name);
    w.row = rec_add_row(r, get_nsys_id(q, 2), sqlite3_column_int64(q, 3), STR(""));
    x->no_memory |= !rec_add_work(r, &w);
}

static void take_kernel(nsys_reader *x, sqlite3_stmt *q)
{
    str name = get_nsys_text(x, q, 6);
    if (name.n == 0)
        name = get_nsys_text(x, q, 7);
    add_nsys_work(x, q, name, REC_KERNEL, REC_NO_ID);
}

static void take_nsys_copy(nsys_reader *x, sqlite3_stmt *q)
{
    const int64_t kind = sqlite3_column_int64(q, 7);
    const char *const name = kind == 1 || kind == 11   ? "Memcpy HtoD"
                             : kind == 2 || kind == 12 ? "Memcpy DtoH"
                             : kind == 10              ? "Memcpy PtoP"
                                                       : "Memcpy DtoD";
    add_nsys_work(x, q, str_from(name), REC_COPY, get_nsys_id(q, 6));
}

static void take_nsys_set(nsys_reader *x, sqlite3_stmt *q)
{
    add_nsys_work(x, q, STR("Memset"), REC_SET, get_nsys_id(q, 6));
}

static void take_graph(nsys_reader *x, sqlite3_stmt *q)
{
    char name[48];
    const int n = snprintf(name, sizeof name, "CUDA graph %lld",
                           (long long)sqlite3_column_int64(q, 6));
    x->has_graphs = true;
    add_nsys_work(x, q, (str){name, (size_t)n}, REC_KERNEL, REC_NO_ID);
}

/* Cut the version: "cudaLaunchKernel_v7000" becomes cudaLaunchKernel. */
static str cut_version(str name)
{
    for (size_t i = name.n; i > 2; i--)
        if (name.at[i - 2] == '_' && name.at[i - 1] == 'v')
            return (str){name.at, i - 2};
    return name;
}

static uint32_t find_nsys_thread(record *r, uint64_t global)
{
    char pid[24], tid[24];
    const int n =
        snprintf(pid, sizeof pid, "%llu", (unsigned long long)find_process(global));
    const int m =
        snprintf(tid, sizeof tid, "%llu", (unsigned long long)(global & 0xffffff));
    return rec_add_thread(r, (str){pid, (size_t)n}, (str){tid, (size_t)m});
}

static void take_nsys_call(nsys_reader *x, sqlite3_stmt *q)
{
    const uint64_t global = get_nsys_id(q, 2);
    record *const r = find_rank(x, global);
    rec_host event = {.correlation = get_nsys_id(q, 3), .kind = REC_CALL};
    if (r == NULL || !take_nsys_times(r, q, &event.begin_ns, &event.end_ns))
        return;
    const uint32_t name = intern_add(&r->texts, cut_version(get_nsys_text(x, q, 4)));
    x->no_memory |= !rec_add_host(r, event, name, find_nsys_thread(r, global));
}

/* Split a range of PyTorch's emit_nvtx: "aten::mm, seq = 5, sizes = [[64, 64], [64,
 * 64]]". */
static bool split_operator(str text, str *name, uint64_t *seq, str *sizes)
{
    size_t at = 0;
    while (at + 8 < text.n && memcmp(text.at + at, ", seq = ", 8) != 0)
        at++;
    if (at + 8 >= text.n)
        return false;
    *name = (str){text.at, at};
    str rest = {text.at + at + 8, text.n - at - 8}, number;
    *sizes = STR("");
    (void)str_next(&rest, ',', &number);
    if (!str_to_u64(str_trim(number), seq))
        return false;
    if (str_starts(rest, STR(" sizes = ")))
        *sizes = (str){rest.at + 9, rest.n - 9};
    return true;
}

static void take_range_row(nsys_reader *x, sqlite3_stmt *q)
{
    const uint64_t global = get_nsys_id(q, 2);
    const int64_t type = sqlite3_column_int64(q, 3);
    record *const r = find_rank(x, global);
    rec_host event = {.detail = REC_NONE, .kind = REC_ANNOTATION};
    if (r == NULL || (type != NVTX_PUSH_POP && type != NVTX_START_END) ||
        sqlite3_column_type(q, 1) == SQLITE_NULL ||
        !take_nsys_times(r, q, &event.begin_ns, &event.end_ns))
        return;
    str text = get_nsys_text(x, q, 4), name, sizes;
    if (text.n == 0)
        text = get_nsys_text(x, q, 5);
    uint64_t seq;
    const uint32_t thread = type == NVTX_PUSH_POP
                                ? find_nsys_thread(r, global)
                                : rec_add_thread(r, STR("ranges"), STR("0"));
    if (split_operator(text, &name, &seq, &sizes)) {
        const rec_detail d = {.dims =
                                  sizes.n > 0 ? intern_add(&r->texts, sizes) : REC_NONE,
                              .types = REC_NONE,
                              .comm = REC_NONE,
                              .stream = -1,
                              .sequence = seq,
                              .forward_tid = REC_NO_ID};
        event.kind = REC_OP;
        event.detail = (uint32_t)r->details.n;
        x->no_memory |= !array_push(&r->details, d);
        text = name;
    }
    if (text.n > 0)
        x->no_memory |= !rec_add_host(r, event, intern_add(&r->texts, text), thread);
}

static void take_sync_row(nsys_reader *x, sqlite3_stmt *q)
{
    record *const r = find_rank(x, get_nsys_id(q, 4));
    rec_sync sync = {.correlation = get_nsys_id(q, 3),
                     .record = REC_NO_ID,
                     .stream = sqlite3_column_int64(q, 2),
                     .waited_on = -1};
    if (r == NULL || !take_nsys_times(r, q, &sync.begin_ns, &sync.end_ns))
        return;
    const int64_t type = sqlite3_column_int64(q, 5);
    sync.kind = type == 1   ? REC_SYNC_EVENT
                : type == 2 ? REC_SYNC_STREAM_WAIT
                : type == 3 ? REC_SYNC_STREAM
                            : REC_SYNC_CONTEXT;
    sync.name = intern_add(&r->texts, STR("Synchronization"));
    x->no_memory |= sync.name == HASH_NONE || !array_push(&r->syncs, sync);
}

/* Take device names by id. A rank takes the name of the first device it uses. */
static void take_gpu(nsys_reader *x, sqlite3_stmt *q)
{
    const str name = get_nsys_text(x, q, 1);
    for (size_t i = 0; i < x->list->ranks.n && name.n > 0; i++) {
        record *const r = &x->list->ranks.at[i];
        const bool uses = r->rows.n > 0 && r->rows.at[0].device == get_nsys_id(q, 0);
        if (r->device_name != REC_NONE && !uses)
            continue;
        r->device_name = intern_add(&r->texts, name);
        x->no_memory |= r->device_name == HASH_NONE;
    }
}

/* Add a rank for every process with GPU rows, in order of their ids. */
static halley_status find_processes(nsys_reader *x, uint64_t wanted)
{
    ARRAY(uint64_t) pids = {0};
    static const char *const tables[] = {KERNELS, COPIES, SETS, GRAPHS};
    halley_status status = HALLEY_OK;
    for (size_t i = 0; status == HALLEY_OK && i < sizeof tables / sizeof *tables; i++) {
        static const char *const column[] = {"globalPid"};
        sqlite3_stmt *q = NULL;
        if (!has_table(x, tables[i]))
            continue;
        status = open_query(x, &q, tables[i], column, 1);
        int code = SQLITE_DONE;
        while (status == HALLEY_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
            const uint64_t global = get_nsys_id(q, 0);
            const uint64_t pid = global == REC_NO_ID ? REC_NO_ID : find_process(global);
            uint32_t value = 0;
            bool fresh;
            if ((wanted != 0 && pid != wanted) || map64_find(&x->rank_of, pid) == 0)
                continue;
            if (!map64_put(&x->rank_of, pid, &value, &fresh) || !array_push(&pids, pid))
                status = error_nomem(x->err);
        }
        if (status == HALLEY_OK && code != SQLITE_DONE)
            status = fail_nsys(x, "read the export");
        sqlite3_finalize(q);
    }
    mem_sort_u64(pids.at, pids.n);
    for (uint32_t i = 0; status == HALLEY_OK && i < pids.n; i++) {
        record *const r = rec_list_add(x->list, REC_NSYS);
        if (r == NULL || !map64_set(&x->rank_of, pids.at[i], i)) {
            status = error_nomem(x->err);
            break;
        }
        r->pid = pids.at[i];
    }
    array_fini(&pids);
    return status;
}

static halley_status read_schema(nsys_reader *x)
{
    sqlite3_stmt *q = NULL;
    if (!has_table(x, "META_DATA_EXPORT"))
        return HALLEY_OK;
    const char *const sql = "select value from META_DATA_EXPORT where name in "
                            "('EXPORT_SCHEMA_VERSION', 'EXPORT_SCHEMA_VERSION_MAJOR')";
    if (sqlite3_prepare_v2(x->db, sql, -1, &q, NULL) != SQLITE_OK)
        return fail_nsys(x, "read the version of the export");
    const int code = sqlite3_step(q);
    if (code == SQLITE_ROW) {
        const str version = read_nsys_text(x, q, 0);
        for (size_t i = 0; i < x->list->ranks.n; i++) {
            record *const r = &x->list->ranks.at[i];
            r->schema = intern_add(&r->texts, version);
            x->no_memory |= r->schema == HASH_NONE;
            if (i == 0 && version.at != NULL && atoi(version.at) > KNOWN_SCHEMA_MAJOR)
                rec_remark(r,
                           "the export's schema %.*s is newer than the one halley knows "
                           "(%d); the columns it needs are there",
                           STR_ARG(version), KNOWN_SCHEMA_MAJOR);
        }
    }
    halley_status status = x->no_memory ? error_nomem(x->err) : HALLEY_OK;
    if (status == HALLEY_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        status = fail_nsys(x, "read the version of the export");
    sqlite3_finalize(q);
    return status;
}

static halley_status refuse_nsys(nsys_reader *x, uint64_t wanted)
{
    if (!has_table(x, "StringIds"))
        return error_set(x->err, HALLEY_EINVAL,
                         "SQLite, but not an nsys export: no table "
                         "CUPTI_ACTIVITY_KIND_KERNEL");
    if (wanted != 0)
        return error_set(x->err, HALLEY_EINVAL,
                         "no process %llu with GPU activity in this nsys export",
                         (unsigned long long)wanted);
    return error_set(x->err, HALLEY_EINVAL, "an nsys export without GPU activity: %s",
                     has_table(x, "CUPTI_ACTIVITY_KIND_RUNTIME")
                         ? "CUDA calls were recorded, but no kernel and no copy"
                         : "it was recorded without --trace=cuda");
}

/* Refuse a version that lacks required columns. */
static halley_status check_nsys_columns(nsys_reader *x)
{
    static const char *const needed[] = {"start", "end", "deviceId", "streamId",
                                         "correlationId"};
    if (!has_table(x, KERNELS))
        return HALLEY_OK;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!has_column(x, KERNELS, needed[i]))
            return error_set(x->err, HALLEY_EINVAL,
                             "an nsys export of a schema version that halley does not "
                             "know: " KERNELS " has no column %s",
                             needed[i]);
    return HALLEY_OK;
}

static void remark_on_nsys(nsys_reader *x)
{
    if (x->list->ranks.n == 0)
        return;
    record *const first = &x->list->ranks.at[0];
    if (x->list->ranks.n > 1)
        rec_remark(first, "%zu processes: each is a rank of its own; name one with --pid",
                   x->list->ranks.n);
    if (x->has_graphs)
        rec_remark(first, "graph launches were recorded whole; record with "
                          "--cuda-graph-trace=node to see their kernels");
}

static halley_status read_export(nsys_reader *x, uint64_t wanted)
{
    if (!has_table(x, "StringIds") && is_rocpd(x))
        return rec_read_rocpd(x->list, x->db, x->err);
    if (!has_table(x, "StringIds"))
        return refuse_nsys(x, wanted);
    TRY(check_nsys_columns(x));
    TRY(find_processes(x, wanted));
    if (x->list->ranks.n == 0)
        return refuse_nsys(x, wanted);
    TRY(READ_ROWS(x, "StringIds", take_nsys_string, "id", "value"));
    TRY(read_schema(x));
#define PLACE "start", "end", "deviceId", "streamId", "correlationId", "globalPid"
    TRY(READ_ROWS(x, KERNELS, take_kernel, PLACE, "demangledName", "shortName"));
    TRY(READ_ROWS(x, COPIES, take_nsys_copy, PLACE, "bytes", "copyKind"));
    TRY(READ_ROWS(x, SETS, take_nsys_set, PLACE, "bytes"));
    TRY(READ_ROWS(x, GRAPHS, take_graph, PLACE, "graphId"));
#undef PLACE
    TRY(READ_ROWS(x, CALLS, take_nsys_call, "start", "end", "globalTid", "correlationId",
                  "nameId"));
    TRY(READ_ROWS(x, "NVTX_EVENTS", take_range_row, "start", "end", "globalTid",
                  "eventType", "text", "textId"));
    TRY(READ_ROWS(x, SYNCS, take_sync_row, "start", "end", "streamId", "correlationId",
                  "globalPid", "syncType"));
    TRY(READ_ROWS(x, "TARGET_INFO_GPU", take_gpu, "id", "name"));
    remark_on_nsys(x);
    return HALLEY_OK;
}

static halley_status read_nsys(nsys_reader *x, uint64_t wanted)
{
    const halley_status status = read_export(x, wanted);
    if (x->failure == SQLITE_OK)
        return status;
    if (x->failure == SQLITE_NOMEM)
        return error_nomem(x->err);
    return error_set(x->err, HALLEY_EFORMAT, "cannot read the export: %s",
                     sqlite3_errstr(x->failure));
}

static void fini_nsys(nsys_reader *x)
{
    sqlite3_close(x->db);
    map64_fini(&x->rank_of);
    map64_fini(&x->text_of);
    intern_fini(&x->texts);
}

static halley_status read_nsys_memory(rec_list *list, const uint8_t *at, size_t n,
                                      uint64_t pid, halley_error *err)
{
    nsys_reader x = {.list = list, .err = err};
    halley_status status = HALLEY_OK;
    if (sqlite3_open_v2(":memory:", &x.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_deserialize(x.db, "main", (uint8_t *)(uintptr_t)at, (sqlite3_int64)n,
                            (sqlite3_int64)n, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        status = fail_nsys(&x, "open the export");
    else
        status = read_nsys(&x, pid);
    fini_nsys(&x);
    return status;
}

/* A compressed export is unpacked in memory. */
static halley_status read_packed_nsys(rec_list *list, const char *path, uint64_t pid,
                                      halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status = read_nsys_memory(list, in.at, in.n, pid, err);
    file_input_close(&in);
    return status;
}

static uint64_t read_big_endian(const uint8_t *at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

/* Refuse a truncated file. SQLite's header has the number of pages, unless an old version
 * wrote it. */
static halley_status refuse_cut_database(const uint8_t *head, FILE *file,
                                         halley_error *err)
{
    const uint64_t said = read_big_endian(head + 16, 2), n = said == 1 ? 65536 : said;
    const uint64_t whole = n * read_big_endian(head + 28, 4);
    const bool is_known = memcmp(head + 24, head + 92, 4) == 0;
    const off_t size = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : 0;
    if (!is_known || size <= 0 || (uint64_t)size >= whole)
        return HALLEY_OK;
    return error_set(err, HALLEY_EFORMAT,
                     "the SQLite file is cut: %llu of its %llu bytes are there; copy or "
                     "export it again",
                     (unsigned long long)size, (unsigned long long)whole);
}

/* Is the file compressed? A truncated file is refused. */
static halley_status look_at_database(bool *is_packed, const char *path,
                                      halley_error *err)
{
    uint8_t head[100] = {0};
    FILE *const file = fopen(path, "re");
    *is_packed = false;
    if (file == NULL)
        return HALLEY_OK; /* opening it reports the error */
    const size_t n = fread(head, 1, sizeof head, file);
    *is_packed = unpack_find(head, n) != NULL;
    const halley_status status =
        *is_packed || n < sizeof head ? HALLEY_OK : refuse_cut_database(head, file, err);
    fclose(file);
    return status;
}

halley_status rec_read_nsys(rec_list *list, const char *path, const rec_read_opts *opts,
                            halley_error *err)
{
    bool is_packed = false;
    TRY(look_at_database(&is_packed, path, err));
    if (is_packed)
        return read_packed_nsys(list, path, opts->pid, err);
    nsys_reader x = {.list = list, .err = err};
    halley_status status = database_open(&x.db, path, &(database_options){0}, err);
    if (status == HALLEY_OK)
        status = read_nsys(&x, opts->pid);
    fini_nsys(&x);
    return status;
}

halley_status rec_read_nsys_bytes(rec_list *list, const uint8_t *at, size_t n,
                                  halley_error *err)
{
    return read_nsys_memory(list, at, n, 0, err);
}
