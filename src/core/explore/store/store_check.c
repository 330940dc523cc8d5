/* explore/store/store_check.c - checksums of a store, and the checks of its format. */
#include "explore/store/store_check.h"

#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces a value that is absent. */
static const uint64_t null_mark = UINT64_C(0x9e3779b97f4a7c15);

uint64_t store_sum_u64(uint64_t sum, uint64_t value)
{
    return hash_u64(sum ^ hash_u64(value));
}

uint64_t store_sum_double(uint64_t sum, double value)
{
    uint64_t bits;
    const double stored = value + 0.0; /* -0 becomes 0 */
    if (isnan(value))
        return store_sum_u64(sum, null_mark);
    memcpy(&bits, &stored, sizeof bits);
    return store_sum_u64(sum, bits);
}

uint64_t store_sum_text(uint64_t sum, const char *text)
{
    return store_sum_u64(sum, hash_bytes(text, strlen(text), sum));
}

static uint64_t sum_cell(uint64_t sum, sqlite3_stmt *q, int i)
{
    assert(i >= 0);
    switch (sqlite3_column_type(q, i)) {
    case SQLITE_INTEGER:
        return store_sum_u64(sum, (uint64_t)sqlite3_column_int64(q, i));
    case SQLITE_FLOAT:
        return store_sum_double(sum, sqlite3_column_double(q, i));
    case SQLITE_NULL:
        return store_sum_u64(sum, null_mark);
    default:
        return store_sum_text(sum, database_text(q, i));
    }
}

uint64_t store_sum_row(sqlite3_stmt *q, int n)
{
    assert(n > 0);
    uint64_t sum = STORE_SUM_START;
    for (int i = 0; i < n; i++)
        sum = sum_cell(sum, q, i);
    return sum;
}

static bool sum_query(uint64_t *sum, sqlite3 *db, const char *sql)
{
    assert(sql != NULL);
    sqlite3_stmt *q = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(q);
        if (code == SQLITE_ROW)
            *sum = store_sum_u64(*sum, store_sum_row(q, 2));
    }
    sqlite3_finalize(q);
    return code == SQLITE_DONE;
}

bool store_sum_meta(uint64_t *out, sqlite3 *db)
{
    uint64_t sum = STORE_SUM_START;
    if (!sum_query(&sum, db,
                   "SELECT name, value FROM meta WHERE name <> 'sum' ORDER BY name") ||
        !sum_query(&sum, db, "SELECT reason, designs FROM refusal ORDER BY reason") ||
        !sum_query(&sum, db,
                   "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND "
                   "name IN ('design', 'meta', 'refusal', 'state') ORDER BY name"))
        return false;
    *out = sum;
    return true;
}

void store_meta(sqlite3 *db, char *to, size_t size, const char *name)
{
    assert(size > 0);
    sqlite3_stmt *q = NULL;
    to[0] = '\0';
    int code =
        sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE name = ?", -1, &q, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(q);
    if (code == SQLITE_ROW)
        snprintf(to, size, "%s", database_text(q, 0));
    if (code == SQLITE_NOMEM)
        mem_failure_note(); /* missing data must not be read as the store's content */
    sqlite3_finalize(q);
}

uint64_t store_meta_u64(sqlite3 *db, const char *name)
{
    char text[32];
    uint64_t value = 0;
    store_meta(db, text, sizeof text, name);
    return str_to_u64(str_from(text), &value) ? value : 0;
}

halley_status store_damaged(const char *path, halley_error *err, const char *format, ...)
{
    assert(format != NULL);
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    error_set(err, HALLEY_EFORMAT,
              "the store is damaged: %s; take a copy of it, or "
              "explore the study again into a new store",
              what);
    error_at_file(err, path);
    return HALLEY_EFORMAT;
}

static halley_status refuse_stranger(const char *path, halley_error *err)
{
    error_set(err, HALLEY_EFORMAT, "this is not a store of halley explore");
    error_at_file(err, path);
    return HALLEY_EFORMAT;
}

static halley_status check_tables(sqlite3 *db, const char *path, halley_error *err)
{
    assert(db != NULL && path != NULL);
    sqlite3_stmt *q = NULL;
    if (!database_has_table(db, "meta") || !database_has_table(db, "refusal") ||
        !database_has_table(db, "design"))
        return refuse_stranger(path, err);
    TRY(database_check_plain(db, path, err));
    if (sqlite3_prepare_v2(db,
                           "SELECT name FROM sqlite_schema WHERE name NOT IN ('meta', "
                           "'refusal', 'design', 'state', 'design_key') AND "
                           "name NOT LIKE 'sqlite\\_%' ESCAPE '\\' LIMIT 1",
                           -1, &q, NULL) != SQLITE_OK)
        return database_error(db, path, "read the store", err);
    halley_status status = HALLEY_OK;
    if (sqlite3_step(q) == SQLITE_ROW)
        status =
            store_damaged(path, err, "it holds \"%.80s\", which halley did not write",
                          database_text(q, 0));
    sqlite3_finalize(q);
    return status;
}

static halley_status check_format(sqlite3 *db, const char *path, halley_error *err)
{
    char text[32];
    store_meta(db, text, sizeof text, "format");
    if (text[0] == '\0')
        return refuse_stranger(path, err);
    if (store_meta_u64(db, "format") == STORE_FORMAT)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "the store has format %.20s, this version of halley reads format %d: use "
              "the version that wrote it",
              text, STORE_FORMAT);
    error_at_file(err, path);
    return HALLEY_EINVAL;
}

/* The number of refused designs, over all reasons; false if a row is not valid. */
static bool sum_refused(uint64_t *out, sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    int code =
        sqlite3_prepare_v2(db, "SELECT reason, designs FROM refusal", -1, &q, NULL);
    bool ok = true;
    *out = 0;
    while (ok && (code == SQLITE_OK || code == SQLITE_ROW)) {
        code = sqlite3_step(q);
        if (code != SQLITE_ROW)
            break;
        const sqlite3_int64 n = sqlite3_column_int64(q, 1);
        ok = sqlite3_column_type(q, 0) == SQLITE_TEXT && n >= 0 &&
             !__builtin_add_overflow(*out, (uint64_t)n, out);
    }
    sqlite3_finalize(q);
    return ok && code == SQLITE_DONE;
}

halley_status store_check_kind(sqlite3 *db, const char *path, halley_error *err)
{
    TRY(check_tables(db, path, err));
    return check_format(db, path, err);
}

halley_status store_check_pages(sqlite3 *db, const char *path, halley_error *err)
{
    const halley_status status = database_check_pages(db, path, err);
    if (status == HALLEY_EFORMAT)
        return store_damaged(path, err, "its pages contradict each other");
    return status;
}

halley_status store_check_summary(sqlite3 *db, const char *path, halley_error *err)
{
    uint64_t sum, refused;
    if (!store_sum_meta(&sum, db) || sum != store_meta_u64(db, "sum"))
        return store_damaged(path, err, "the checksum of its summary is wrong");
    if (!sum_refused(&refused, db) ||
        store_meta_u64(db, "feasible") + refused != store_meta_u64(db, "evaluated"))
        return store_damaged(path, err,
                             "feasible and refused designs do not add up to those "
                             "that were evaluated");
    return HALLEY_OK;
}

halley_status store_check_rows(sqlite3 *db, const char *path, halley_error *err)
{
    sqlite3_stmt *q = NULL;
    const uint64_t n_rows = store_meta_u64(db, "rows");
    if (sqlite3_prepare_v2(db, "SELECT * FROM design", -1, &q, NULL) != SQLITE_OK)
        return database_error(db, path, "read the store", err);
    const int n = sqlite3_column_count(q);
    uint64_t seen = 0;
    int code;
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        seen++;
        if (store_sum_row(q, n - 1) != (uint64_t)sqlite3_column_int64(q, n - 1))
            status = store_damaged(path, err, "the checksum of design %lld is wrong",
                                   (long long)sqlite3_column_int64(q, 0));
    }
    if (status == HALLEY_OK && code != SQLITE_DONE)
        status = database_error(db, path, "read the store", err);
    sqlite3_finalize(q);
    if (status == HALLEY_OK && seen != n_rows)
        status = store_damaged(path, err,
                               "it holds %llu designs, not the %llu that were "
                               "written",
                               (unsigned long long)seen, (unsigned long long)n_rows);
    return status;
}
