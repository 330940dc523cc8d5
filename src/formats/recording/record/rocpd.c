/*
 * Read rocpd, the SQLite database that rocprofv3 writes by default since ROCm 7.
 *
 * The names of its tables end in an id of the process: rocpd_region_<id>. Several ids in
 * one file are several processes, and each is a rank. Correlation ids may be 0
 * everywhere. A kernel and the call that launched it then have the same stack id. Views
 * are not used, because they differ between versions.
 */
#include "recording/record/read.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SUFFIX = 80, MOST_SQL = 2048 };
#define KERNELS "rocpd_kernel_dispatch"

typedef struct rocpd_reader {
    sqlite3 *db;
    record *rec;
    const char *suffix; /* of the tables of a process */
    halley_error *err;
} rocpd_reader;

static halley_status fail_rocpd(const rocpd_reader *x, int code)
{
    if (code == SQLITE_NOMEM)
        return error_nomem(x->err);
    return error_set(x->err, HALLEY_EFORMAT, "cannot read the rocpd database: %s",
                     sqlite3_errmsg(x->db));
}

typedef bool rocpd_taker(rocpd_reader *x, sqlite3_stmt *q); /* false: no memory */

/* Run a query in which each %s is the suffix. */
static halley_status read_rocpd_rows(rocpd_reader *x, const char *sql, rocpd_taker *take)
{
    char text[MOST_SQL];
    size_t n = 0;
    for (const char *at = sql; *at != '\0' && n + MOST_SUFFIX < sizeof text; at++) {
        const bool is_suffix = at[0] == '%' && at[1] == 's';
        if (is_suffix)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", x->suffix);
        else
            text[n++] = *at;
        at += is_suffix;
    }
    text[n] = '\0';
    sqlite3_stmt *q = NULL;
    int code = sqlite3_prepare_v2(x->db, text, -1, &q, NULL);
    bool ok = true;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(q);
        if (code == SQLITE_ROW && !(ok = take(x, q)))
            break;
    }
    const halley_status status = !ok                   ? error_nomem(x->err)
                                 : code == SQLITE_DONE ? HALLEY_OK
                                                       : fail_rocpd(x, code);
    sqlite3_finalize(q);
    return status;
}

/* The columns of an event: begin, end, name, process, thread, stack and correlation. */
enum {
    COLUMN_BEGIN,
    COLUMN_END,
    COLUMN_NAME,
    COLUMN_PID,
    COLUMN_TID,
    COLUMN_STACK,
    COLUMN_CORRELATION,
    COLUMN_OTHER
};
#define EVENT_COLUMNS "e.stack_id, e.correlation_id"

static str get_rocpd_text(sqlite3_stmt *q, int column)
{
    const char *const text = (const char *)sqlite3_column_text(q, column);
    return text == NULL ? STR("") : str_from(text);
}

static bool read_times(rocpd_reader *x, int64_t *begin, int64_t *end, sqlite3_stmt *q)
{
    *begin = sqlite3_column_int64(q, COLUMN_BEGIN);
    *end = sqlite3_column_int64(q, COLUMN_END);
    x->rec->n_events++;
    if (sqlite3_column_type(q, COLUMN_BEGIN) == SQLITE_INTEGER &&
        sqlite3_column_type(q, COLUMN_END) == SQLITE_INTEGER && *begin >= 0 &&
        *end >= *begin)
        return true;
    x->rec->n_bad_times++;
    return false;
}

static uint64_t read_cause(sqlite3_stmt *q)
{
    const int64_t stack = sqlite3_column_int64(q, COLUMN_STACK);
    const int64_t correlation = sqlite3_column_int64(q, COLUMN_CORRELATION);
    return stack > 0         ? (uint64_t)stack
           : correlation > 0 ? (uint64_t)correlation
                             : REC_NO_ID;
}

static uint32_t read_rocpd_name(rocpd_reader *x, sqlite3_stmt *q)
{
    return intern_add(&x->rec->texts, get_rocpd_text(q, COLUMN_NAME));
}

static bool take_rocpd_region(rocpd_reader *x, sqlite3_stmt *q)
{
    int64_t begin, end;
    if (!read_times(x, &begin, &end, q))
        return true;
    const bool is_range = str_contains(get_rocpd_text(q, COLUMN_OTHER), STR("MARKER"));
    const uint32_t name = read_rocpd_name(x, q);
    char pid[24], tid[24];
    snprintf(pid, sizeof pid, "%lld", (long long)sqlite3_column_int64(q, COLUMN_PID));
    snprintf(tid, sizeof tid, "%lld", (long long)sqlite3_column_int64(q, COLUMN_TID));
    rec_host event = {.begin_ns = begin,
                      .end_ns = end,
                      .detail = REC_NONE,
                      .kind = is_range ? REC_ANNOTATION : REC_CALL};
    if (!is_range)
        event.correlation = read_cause(q);
    return name != HASH_NONE &&
           rec_add_host(x->rec, event, name,
                        rec_add_thread(x->rec, str_from(pid), str_from(tid)));
}

static bool add_rocpd_work(rocpd_reader *x, sqlite3_stmt *q, rec_work work, int device,
                           int stream)
{
    if (!read_times(x, &work.begin_ns, &work.end_ns, q))
        return true;
    const int64_t agent = sqlite3_column_int64(q, device);
    work.correlation = read_cause(q);
    work.name = read_rocpd_name(x, q);
    work.row = rec_add_row(x->rec, agent > 0 ? (uint64_t)agent : 0,
                           sqlite3_column_int64(q, stream), STR(""));
    work.comm = work.hint = REC_NONE;
    return work.name != HASH_NONE && rec_add_work(x->rec, &work);
}

static bool take_rocpd_kernel(rocpd_reader *x, sqlite3_stmt *q)
{
    return add_rocpd_work(x, q, (rec_work){.n_bytes = REC_NO_ID, .kind = REC_KERNEL},
                          COLUMN_OTHER, COLUMN_OTHER + 1);
}

/* A copy to the host is work of the device that it comes from. */
static bool take_rocpd_copy(rocpd_reader *x, sqlite3_stmt *q)
{
    const bool to_host =
        str_contains(get_rocpd_text(q, COLUMN_NAME), STR("DEVICE_TO_HOST"));
    const int64_t size = sqlite3_column_int64(q, COLUMN_OTHER + 3);
    const rec_work work = {.n_bytes = size >= 0 ? (uint64_t)size : REC_NO_ID,
                           .kind = REC_COPY};
    return add_rocpd_work(x, q, work, to_host ? COLUMN_OTHER + 1 : COLUMN_OTHER,
                          COLUMN_OTHER + 2);
}

static bool take_rocpd_agent(rocpd_reader *x, sqlite3_stmt *q)
{
    x->rec->n_devices++;
    if (x->rec->device_name == REC_NONE)
        x->rec->device_name = intern_add(&x->rec->texts, get_rocpd_text(q, 0));
    return x->rec->device_name != HASH_NONE;
}

static bool take_rocpd_schema(rocpd_reader *x, sqlite3_stmt *q)
{
    x->rec->schema = intern_add(&x->rec->texts, get_rocpd_text(q, 0));
    return x->rec->schema != HASH_NONE;
}

static halley_status read_rocpd_process(rocpd_reader *x)
{
    TRY(read_rocpd_rows(x,
                        "select value from rocpd_metadata%s where tag = 'schema_version'",
                        take_rocpd_schema));
    TRY(read_rocpd_rows(x,
                        "select product_name from rocpd_info_agent%s where type = 'GPU' "
                        "order by id",
                        take_rocpd_agent));
    TRY(read_rocpd_rows(
        x,
        "select r.start, r.\"end\", n.string, r.pid, r.tid, " EVENT_COLUMNS
        ", c.string from rocpd_region%s r left join rocpd_string%s n on n.id = r.name_id "
        "left join rocpd_event%s e on e.id = r.event_id left join rocpd_string%s c on "
        "c.id = e.category_id",
        take_rocpd_region));
    TRY(read_rocpd_rows(
        x,
        "select k.start, k.\"end\", s.display_name, k.pid, k.tid, " EVENT_COLUMNS
        ", k.agent_id, k.stream_id from " KERNELS "%s k left join "
        "rocpd_info_kernel_symbol%s s on s.id = k.kernel_id left join rocpd_event%s e on "
        "e.id = k.event_id",
        take_rocpd_kernel));
    return read_rocpd_rows(
        x,
        "select m.start, m.\"end\", n.string, m.pid, m.tid, " EVENT_COLUMNS
        ", m.dst_agent_id, m.src_agent_id, m.stream_id, m.size from rocpd_memory_copy%s "
        "m "
        "left join rocpd_string%s n on n.id = m.name_id left join rocpd_event%s e on "
        "e.id "
        "= m.event_id",
        take_rocpd_copy);
}

/* Suffixes are put into queries, so only letters, digits and underscores are accepted. */
static bool is_plain(str suffix)
{
    for (size_t i = 0; i < suffix.n; i++) {
        const char c = suffix.at[i];
        const bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '_';
        if (!fine)
            return false;
    }
    return suffix.n < MOST_SUFFIX;
}

typedef ARRAY(uint32_t) suffix_ids;

static halley_status list_suffixes(intern *texts, suffix_ids *ids, sqlite3 *db,
                                   halley_error *err)
{
    const rocpd_reader x = {.db = db, .err = err};
    sqlite3_stmt *q = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "select name from sqlite_master where type = 'table' and name like "
        "'rocpd!_kernel!_dispatch%' escape '!' order by name",
        -1, &q, NULL);
    bool ok = true;
    while (ok && (code == SQLITE_OK || code == SQLITE_ROW)) {
        code = sqlite3_step(q);
        str name = code == SQLITE_ROW ? get_rocpd_text(q, 0) : STR("");
        if (name.n < strlen(KERNELS))
            continue;
        name = (str){name.at + strlen(KERNELS), name.n - strlen(KERNELS)};
        const uint32_t id = is_plain(name) ? intern_add(texts, name) : 0;
        ok = !is_plain(name) || (id != HASH_NONE && array_push(ids, id));
    }
    sqlite3_finalize(q);
    if (!ok)
        return error_nomem(err);
    return code == SQLITE_DONE ? HALLEY_OK : fail_rocpd(&x, code);
}

halley_status rec_read_rocpd(rec_list *list, struct sqlite3 *db, halley_error *err)
{
    intern texts = {0};
    suffix_ids ids = {0};
    halley_status status = list_suffixes(&texts, &ids, db, err);
    for (size_t i = 0; status == HALLEY_OK && i < ids.n; i++) {
        char suffix[MOST_SUFFIX];
        const str text = intern_text(&texts, ids.at[i]);
        snprintf(suffix, sizeof suffix, "%.*s", STR_ARG(text));
        rocpd_reader x = {.db = db, .suffix = suffix, .err = err};
        x.rec = rec_list_add(list, REC_ROCPD);
        status = x.rec == NULL ? error_nomem(err) : read_rocpd_process(&x);
    }
    if (status == HALLEY_OK && ids.n == 0)
        status = error_set(err, HALLEY_EINVAL,
                           "this rocpd database has no table of kernels; record with "
                           "`rocprofv3 --kernel-trace`");
    intern_fini(&texts);
    array_fini(&ids);
    return status;
}
