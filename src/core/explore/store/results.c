/* Read a store, always read-only: the best designs, or any SQL query. */
#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "explore/metric.h"
#include "explore/store/store_check.h"
#include "halley/explore.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 512 };

static halley_status refuse_query(sqlite3 *db, const char *path, halley_error *err)
{
    const int code = sqlite3_errcode(db) & 0xff;
    if (code == SQLITE_NOMEM)
        return error_nomem(err);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR ||
        code == SQLITE_INTERRUPT)
        return database_error(db, path, "read the store", err);
    if (code == SQLITE_AUTH)
        error_set(err, HALLEY_EINVAL,
                  "the query may only read: SELECT, EXPLAIN or PRAGMA table_info");
    else
        error_set(err, HALLEY_EINVAL, "the query cannot be answered: %s",
                  sqlite3_errmsg(db));
    error_at_file(err, path);
    return HALLEY_EINVAL;
}

static halley_status summarize_store(halley_results_summary *out, sqlite3 *db,
                                     const char *path, halley_error *err)
{
    char text[32];
    const uint64_t n_failures = mem_failure_count();
    *out = (halley_results_summary){.size = sizeof *out};
    TRY(store_check_kind(db, path, err));
    TRY(store_check_pages(db, path, err));
    TRY(store_check_summary(db, path, err));
    TRY(store_check_rows(db, path, err));
    store_meta(db, out->study, sizeof out->study, "study");
    store_meta(db, out->objective, sizeof out->objective, "objective");
    store_meta(db, out->version, sizeof out->version, "version");
    store_meta(db, text, sizeof text, "direction");
    out->maximize = strcmp(text, "maximize") == 0;
    out->n_evaluated = store_meta_u64(db, "evaluated");
    out->n_feasible = store_meta_u64(db, "feasible");
    out->complete = store_meta_u64(db, "complete") == 1;
    return n_failures == mem_failure_count() ? HALLEY_OK : error_nomem(err);
}

/* The columns of the axes follow id and key; then come the objectives and the main
 * results. */
static void best_query(strbuf *sql, sqlite3 *db, const halley_results_summary *sum,
                       const halley_results_opts *o)
{
    assert(o != NULL && sum->objective[0] != '\0');
    static const uint32_t shown[] = {HALLEY_METRIC_STEP_TIME, HALLEY_METRIC_TOKENS_PER_S,
                                     HALLEY_METRIC_MFU, HALLEY_METRIC_MEMORY};
    sqlite3_stmt *q = NULL;
    const uint64_t n_failures = mem_failure_count();
    const uint64_t n = store_meta_u64(db, "axes") + store_meta_u64(db, "objectives");
    strbuf_add(sql, STR("SELECT id"));
    int code = sqlite3_prepare_v2(
        db, "SELECT name FROM pragma_table_info('design') ORDER BY cid", -1, &q, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(q);
    for (uint64_t i = 0; code == SQLITE_ROW; i++, code = sqlite3_step(q)) {
        const str name = str_from(database_text(q, 0));
        if (i < 2 || (!o->all && i >= 2 + n) || str_eq(name, STR("sum")) ||
            str_eq(name, STR("settled")))
            continue;
        strbuf_add(sql, STR(", "));
        database_add_name(sql, name);
    }
    sqlite3_finalize(q);
    if (code != SQLITE_DONE || n_failures != mem_failure_count())
        sql->failed = true; /* a column would be missing */
    for (size_t i = 0; !o->all && i < sizeof shown / sizeof *shown; i++) {
        strbuf_printf(sql, ", \"%s\"", halley_metric_column(shown[i]));
    }
    if (!o->all)
        strbuf_add(sql, STR(", \"schedule_time\""));
    strbuf_printf(sql, " FROM design ORDER BY objective_1 %s, id LIMIT %u",
                  sum->maximize ? "DESC" : "ASC", o->top ? o->top : 10);
}

/* Five digits are enough for people; programs get all digits. */
static const char *print_cell(sqlite3_stmt *q, int i, bool raw, char to[NUMBER_TEXT])
{
    assert(i >= 0);
    if (sqlite3_column_type(q, i) != SQLITE_FLOAT)
        return (const char *)sqlite3_column_text(q, i);
    const double value = sqlite3_column_double(q, i);
    snprintf(to, NUMBER_TEXT, "%s",
             raw ? number_shortest(value).at : number_digits(value, 5).at);
    return to;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

/* What a user's query may do: read tables, compute, and list columns. */
static int allow_reading(void *context, int action, const char *first, const char *second,
                         const char *database, const char *trigger)
{
    (void)context, (void)second, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_PRAGMA:
        return strcmp(first, "table_info") == 0 ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static halley_status answer_query(sqlite3 *db, const char *sql, const char *path,
                                  bool raw,
                                  bool (*seen)(void *, const halley_results_row *),
                                  void *context, halley_error *err)
{
    assert(sql != NULL && seen != NULL);
    sqlite3_stmt *q = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &q, &rest) != SQLITE_OK)
        return refuse_query(db, path, err);
    if (q == NULL || sqlite3_column_count(q) == 0 || !is_blank(rest) ||
        sqlite3_column_count(q) > MOST_COLUMNS) {
        sqlite3_finalize(q);
        return error_set(err, HALLEY_EINVAL,
                         "the query must be one SELECT of at most %d columns",
                         MOST_COLUMNS);
    }
    const char *names[MOST_COLUMNS], *values[MOST_COLUMNS];
    char texts[MOST_COLUMNS][NUMBER_TEXT];
    bool is_number[MOST_COLUMNS] = {false};
    const int n = sqlite3_column_count(q);
    for (int i = 0; i < n; i++)
        names[i] = sqlite3_column_name(q, i);
    halley_results_row row = {(uint32_t)n, names, NULL, is_number};
    bool room = true;
    uint64_t n_rows = 0;
    int code;
    while ((code = sqlite3_step(q)) == SQLITE_ROW && room) {
        for (int i = 0; i < n; i++) {
            const int type = sqlite3_column_type(q, i);
            is_number[i] = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
            values[i] = print_cell(q, i, raw, texts[i]);
        }
        row.values = values;
        room = seen(context, &row);
        n_rows++;
    }
    if (code == SQLITE_DONE && n_rows == 0)
        room = seen(context, &row);
    halley_status status = room ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK && code != SQLITE_DONE)
        status = refuse_query(db, path, err);
    sqlite3_finalize(q);
    return status;
}

static halley_status query_store(halley_results_summary *out, sqlite3 *db,
                                 const char *store, const halley_results_opts *o,
                                 bool (*seen)(void *, const halley_results_row *),
                                 void *context, halley_error *err)
{
    strbuf sql = {0};
    TRY(summarize_store(out, db, store, err));
    if (o->sql)
        sqlite3_set_authorizer(db, allow_reading, NULL);
    else
        best_query(&sql, db, out, o);
    halley_status status = sql.failed ? error_nomem(err)
                                      : answer_query(db, o->sql ? o->sql : sql.at, store,
                                                     o->raw, seen, context, err);
    strbuf_fini(&sql);
    return status;
}

halley_status halley_results_query(halley_results_summary *out, const char *store,
                                   const halley_results_opts *opts,
                                   bool (*seen)(void *context,
                                                const halley_results_row *row),
                                   void *context, halley_error *err)
{
    assert(out != NULL && store != NULL);
    sqlite3 *db = NULL;
    if (!file_exists(store)) {
        error_set(err, HALLEY_ENOTFOUND, "there is no such store");
        error_at_file(err, store);
        return HALLEY_ENOTFOUND;
    }
    TRY(database_open(&db, store, &(database_options){0}, err));
    /* One transaction, so that a store that is being written is read in a consistent
     * state. */
    halley_status status = database_run(db, store, "BEGIN", "read the store", err);
    if (status == HALLEY_OK)
        status = query_store(out, db, store, opts, seen, context, err);
    sqlite3_close(db);
    return status;
}
