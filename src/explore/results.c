/* Reading a store: the best designs, or whatever is asked in SQL. Read-only throughout.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "explore/metric.h"
#include "halley/explore.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 512 };

static halley_status fail(sqlite3 *db, const char *path, halley_error *err)
{
    const int code = sqlite3_errcode(db);
    const halley_status status = code == SQLITE_NOMEM ? HALLEY_ENOMEM : HALLEY_EINVAL;
    if (code == SQLITE_NOTADB)
        error_set(err, HALLEY_EFORMAT, "this is no store of halley's");
    else
        error_set(err, status, "the query cannot be answered: %s", sqlite3_errmsg(db));
    error_at_file(err, path);
    return code == SQLITE_NOTADB ? HALLEY_EFORMAT : status;
}

static void meta(sqlite3 *db, char *to, size_t size, const char *name)
{
    sqlite3_stmt *q = NULL;
    to[0] = '\0';
    if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE name = ?", -1, &q, NULL) ==
        SQLITE_OK) {
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW)
            snprintf(to, size, "%s", (const char *)sqlite3_column_text(q, 0));
    }
    sqlite3_finalize(q);
}

static uint64_t meta_u64(sqlite3 *db, const char *name)
{
    char text[32];
    uint64_t value = 0;
    meta(db, text, sizeof text, name);
    return str_to_u64(str_from(text), &value) ? value : 0;
}

static halley_status summarize(halley_results_summary *out, sqlite3 *db, const char *path,
                               halley_error *err)
{
    char text[32];
    *out = (halley_results_summary){0};
    meta(db, out->study, sizeof out->study, "study");
    if (sqlite3_errcode(db) == SQLITE_NOTADB || !out->study[0]) {
        error_set(err, HALLEY_EFORMAT, "this is no store of halley's");
        error_at_file(err, path);
        return HALLEY_EFORMAT;
    }
    meta(db, out->objective, sizeof out->objective, "objective");
    meta(db, out->version, sizeof out->version, "version");
    meta(db, text, sizeof text, "direction");
    out->maximize = strcmp(text, "maximize") == 0;
    out->n_evaluated = meta_u64(db, "evaluated");
    out->n_feasible = meta_u64(db, "feasible");
    out->complete = meta_u64(db, "complete") == 1;
    return HALLEY_OK;
}

/* Axis columns stand behind id and key; then the objectives and the main results. */
static void best_query(strbuf *sql, sqlite3 *db, const halley_results_summary *sum,
                       const halley_results_opts *o)
{
    static const uint32_t shown[] = {HALLEY_METRIC_STEP_TIME, HALLEY_METRIC_TOKENS_PER_S,
                                     HALLEY_METRIC_MFU, HALLEY_METRIC_MEMORY};
    sqlite3_stmt *q = NULL;
    const uint64_t n = meta_u64(db, "axes") + meta_u64(db, "objectives");
    strbuf_add(sql, STR("SELECT id"));
    if (sqlite3_prepare_v2(db,
                           "SELECT name FROM pragma_table_info('design') ORDER BY cid",
                           -1, &q, NULL) == SQLITE_OK) {
        for (uint64_t i = 0; sqlite3_step(q) == SQLITE_ROW; i++) {
            if (i >= 2 && (o->all || i < 2 + n))
                strbuf_printf(sql, ", \"%s\"", (const char *)sqlite3_column_text(q, 0));
        }
    }
    sqlite3_finalize(q);
    for (size_t i = 0; !o->all && i < sizeof shown / sizeof *shown; i++) {
        strbuf_printf(sql, ", \"%s\"", halley_metric_column(shown[i]));
    }
    strbuf_printf(sql, " FROM design ORDER BY objective_1 %s, id LIMIT %u",
                  sum->maximize ? "DESC" : "ASC", o->top ? o->top : 10);
}

/* Five digits are enough for people; programs get all of them. */
static const char *print_cell(sqlite3_stmt *q, int i, bool raw, char to[NUMBER_TEXT])
{
    if (sqlite3_column_type(q, i) != SQLITE_FLOAT)
        return (const char *)sqlite3_column_text(q, i);
    const double value = sqlite3_column_double(q, i);
    snprintf(to, NUMBER_TEXT, "%s",
             raw ? number_shortest(value).at : number_digits(value, 5).at);
    return to;
}

static halley_status answer(sqlite3 *db, const char *sql, const char *path, bool raw,
                            bool (*seen)(void *, const halley_results_row *),
                            void *context, halley_error *err)
{
    sqlite3_stmt *q = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &q, &rest) != SQLITE_OK || !q)
        return q ? HALLEY_OK : fail(db, path, err);
    const char *names[MOST_COLUMNS], *values[MOST_COLUMNS];
    char texts[MOST_COLUMNS][NUMBER_TEXT];
    bool is_number[MOST_COLUMNS] = {false};
    const int n =
        sqlite3_column_count(q) < MOST_COLUMNS ? sqlite3_column_count(q) : MOST_COLUMNS;
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
        status = fail(db, path, err);
    sqlite3_finalize(q);
    return status;
}

static halley_status query(halley_results_summary *out, sqlite3 *db, const char *store,
                           const halley_results_opts *o,
                           bool (*seen)(void *, const halley_results_row *),
                           void *context, halley_error *err)
{
    strbuf sql = {0};
    TRY(summarize(out, db, store, err));
    if (!o->sql)
        best_query(&sql, db, out, o);
    halley_status status = sql.failed ? error_nomem(err)
                                      : answer(db, o->sql ? o->sql : sql.at, store,
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
    sqlite3 *db = NULL;
    if (!file_exists(store)) {
        error_set(err, HALLEY_ENOTFOUND, "there is no such store");
        error_at_file(err, store);
        return HALLEY_ENOTFOUND;
    }
    halley_status status;
    if (sqlite3_open_v2(store, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        status = fail(db, store, err);
    } else {
        sqlite3_busy_timeout(db, 2000);
        sqlite3_exec(db, "PRAGMA query_only=1", NULL, NULL, NULL);
        status = query(out, db, store, opts, seen, context, err);
    }
    sqlite3_close(db);
    return status;
}
