/*
 * base/database.c - open SQLite files of unknown origin, which may be damaged or
 * malicious.
 *
 * The connection disables triggers and views (they run what their author wrote),
 * functions and virtual tables in schemas (trusted_schema), and writing to the schema
 * (defensive mode). It also disables attached files and memory mapping (a file that
 * shrinks would kill the process). The length of values and statements, the depth of
 * expressions and the size of a compiled query are limited. cell_size_check finds damaged
 * pages when they are read. The progress handler ends a query when its call is
 * cancelled.
 */
#include "base/database.h"

#include "base/call.h"
#include "base/file/file_look.h"
#include "base/file/file_root.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_EVERY = 20000, /* instructions of SQLite's virtual machine between two checks */
    BUSY_MS = 2000,
    MAX_VALUE_BYTES = 1 << 26,
    MAX_SQL_BYTES = 1 << 20,
    MAX_COLUMNS = 2000,
    MAX_PATH_BYTES = 512,
};

halley_status database_error(sqlite3 *db, const char *path, const char *doing,
                             halley_error *err)
{
    assert(path != NULL && doing != NULL);
    const int code = sqlite3_errcode(db) & 0xff;
    halley_status status = HALLEY_EIO;
    if (code == SQLITE_NOMEM)
        return error_nomem(err);
    if (code == SQLITE_NOTADB)
        status = error_set(err, HALLEY_EFORMAT, "this is not a SQLite file");
    else if (code == SQLITE_CORRUPT)
        status =
            error_set(err, HALLEY_EFORMAT, "the file is damaged: %s", sqlite3_errmsg(db));
    else if (code == SQLITE_INTERRUPT)
        status = error_set(err, HALLEY_ECANCELED, "reading the file was cancelled");
    else if (code == SQLITE_FULL)
        error_set(err, status, "cannot %s: the disk is full", doing);
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        error_set(err, status, "cannot %s: another process has locked the file", doing);
    else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
        error_set(err, status, "cannot %s: %s", doing,
                  strerror(sqlite3_system_errno(db)));
    else
        error_set(err, status, "cannot %s: %s", doing, sqlite3_errmsg(db));
    error_at_file(err, path);
    return status;
}

halley_status database_run(sqlite3 *db, const char *path, const char *sql,
                           const char *doing, halley_error *err)
{
    assert(sql != NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return HALLEY_OK;
    return database_error(db, path, doing, err);
}

/* Write the path as a URI: all but letters, digits and a few marks become %XX. */
static void add_uri(strbuf *to, const char *path)
{
    assert(path[0] != '\0');
    strbuf_add(to, STR("file:"));
    for (const char *c = path; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || strchr("/._-", byte) != NULL;
        if (plain)
            strbuf_add(to, (str){c, 1});
        else
            strbuf_printf(to, "%%%02X", byte);
    }
}

static bool is_folder_writable(const char *path)
{
    strbuf folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        strbuf_add(&folder, STR("."));
    else
        strbuf_add(&folder, (str){path, slash == path ? 1 : (size_t)(slash - path)});
    const bool writable = !folder.failed && access(folder.at, W_OK) == 0;
    strbuf_fini(&folder);
    return writable;
}

/* True if there is a write-ahead log with rows that are not in the file yet. */
static bool has_journal(const char *path)
{
    strbuf name = {0};
    struct stat info;
    strbuf_printf(&name, "%s-wal", path);
    const bool has = !name.failed && file_look(name.at, &info) == 0 && info.st_size > 0;
    strbuf_fini(&name);
    return has;
}

static int look_at_call(void *unused)
{
    (void)unused;
    return call_goes_on() ? 0 : 1;
}

static void bound_costs(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_COLUMN, MAX_COLUMNS);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 20);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 250000);
    sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 16);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static bool distrust_schema(sqlite3 *db)
{
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL) ==
               SQLITE_OK;
}

static halley_status guard_connection(sqlite3 *db, const char *path,
                                      const database_options *o, halley_error *err)
{
    assert(db != NULL && o != NULL);
    bound_costs(db);
    if (!distrust_schema(db))
        return database_error(db, path, "open the file safely", err);
    sqlite3_busy_timeout(db, BUSY_MS);
    sqlite3_progress_handler(db, LOOK_EVERY, look_at_call, NULL);
    TRY(database_run(db, path,
                     "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; "
                     "PRAGMA temp_store=MEMORY;",
                     "open the file", err));
    if (o->writable)
        return HALLEY_OK;
    return database_run(db, path, "PRAGMA query_only=ON", "open the file", err);
}

static halley_status open_connection(sqlite3 **db, const char *path,
                                     const database_options *o, halley_error *err)
{
    strbuf uri = {0};
    const bool immutable = !o->writable && !is_folder_writable(path);
    if (immutable && has_journal(path)) {
        error_set(err, HALLEY_EIO,
                  "the file was not closed (its -wal file holds newer rows) and its "
                  "folder cannot be written: copy both to a folder that can");
        error_at_file(err, path);
        return HALLEY_EIO;
    }
    add_uri(&uri, path);
    strbuf_printf(&uri, "?mode=%s%s", o->writable ? "rwc" : "ro",
                  immutable ? "&immutable=1" : "");
    if (uri.failed) {
        strbuf_fini(&uri);
        return error_nomem(err);
    }
    const int flags =
        SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
        (o->writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    const int code = sqlite3_open_v2(uri.at, db, flags, NULL);
    strbuf_fini(&uri);
    if (*db == NULL)
        return error_nomem(err);
    return code == SQLITE_OK ? guard_connection(*db, path, o, err)
                             : database_error(*db, path, "open the file", err);
}

/* SQLite stores the absolute path, and that of its journal, in 512 bytes. */
static halley_status check_path_length(const char *path, halley_error *err)
{
    char folder[PATH_MAX];
    const bool is_absolute = path[0] == '/';
    const size_t n_folder =
        !is_absolute && getcwd(folder, sizeof folder) != NULL ? strlen(folder) + 1 : 0;
    if (n_folder + strlen(path) + sizeof "-journal" <= MAX_PATH_BYTES)
        return HALLEY_OK;
    error_set(
        err, HALLEY_ELIMIT,
        "the absolute path of a SQLite file has at most %d bytes, this one has %zu; "
        "use a shorter path",
        MAX_PATH_BYTES - (int)sizeof "-journal", n_folder + strlen(path));
    error_at_file(err, path);
    return HALLEY_ELIMIT;
}

/* A store that is resumed is read, too; but it is meant to change. */
static halley_status note_database(const char *path, const database_options *o,
                                   halley_error *err)
{
    struct stat about;
    if (file_look(path, &about) != 0)
        return HALLEY_OK; /* it is new, or opening it reports the error */
    return o->writable ? call_writes(&about, "--store", path, err)
                       : call_reads(&about, path, err);
}

halley_status database_open(sqlite3 **out, const char *path, const database_options *o,
                            halley_error *err)
{
    assert(out != NULL && path != NULL);
    sqlite3 *db = NULL;
    const int refused = o->writable ? file_root_check_write(path) : 0;
    if (refused == EROFS)
        return error_errno(err, "write the file", refused);
    halley_status status = file_root_allows(path) ? check_path_length(path, err)
                                                  : file_root_refuse(path, err);
    if (status == HALLEY_OK)
        status = note_database(path, o, err);
    if (status == HALLEY_OK)
        status = open_connection(&db, path, o, err);
    if (status != HALLEY_OK) {
        sqlite3_close(db);
        db = NULL;
    }
    *out = db;
    return status;
}

halley_status database_check_plain(sqlite3 *db, const char *path, halley_error *err)
{
    assert(db != NULL);
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db,
                           "SELECT type, name FROM sqlite_schema WHERE type NOT IN "
                           "('table', 'index') OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1",
                           -1, &q, NULL) != SQLITE_OK)
        return database_error(db, path, "read the file", err);
    halley_status status = HALLEY_OK;
    const int code = sqlite3_step(q);
    if (code == SQLITE_ROW) {
        const char *type = database_text(q, 0);
        status = error_set(err, HALLEY_EFORMAT,
                           "the file holds the %s \"%.80s\"; only plain tables are read",
                           strcmp(type, "table") == 0 ? "virtual table" : type,
                           database_text(q, 1));
        error_at_file(err, path);
    } else if (code != SQLITE_DONE) {
        status = database_error(db, path, "read the file", err);
    }
    sqlite3_finalize(q);
    return status;
}

halley_status database_check_pages(sqlite3 *db, const char *path, halley_error *err)
{
    assert(db != NULL);
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &q, NULL) != SQLITE_OK)
        return database_error(db, path, "check the file", err);
    halley_status status = HALLEY_OK;
    if (sqlite3_step(q) != SQLITE_ROW) {
        status = database_error(db, path, "check the file", err);
    } else if (strcmp(database_text(q, 0), "ok") != 0) {
        status = error_set(err, HALLEY_EFORMAT, "the file is damaged: %.200s",
                           database_text(q, 0));
        error_at_file(err, path);
    }
    sqlite3_finalize(q);
    return status;
}

void database_add_name(strbuf *sql, str name)
{
    assert(name.n > 0);
    strbuf_add(sql, STR("\""));
    for (size_t i = 0; i < name.n; i++) {
        if (name.at[i] == '"')
            strbuf_add(sql, STR("\""));
        strbuf_add(sql, (str){name.at + i, 1});
    }
    strbuf_add(sql, STR("\""));
}

const char *database_text(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text != NULL ? text : "";
}

bool database_has_table(sqlite3 *db, const char *name)
{
    assert(name != NULL);
    sqlite3_stmt *q = NULL;
    bool has = false;
    if (sqlite3_prepare_v2(
            db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", -1, &q,
            NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
        has = sqlite3_step(q) == SQLITE_ROW;
    }
    sqlite3_finalize(q);
    return has;
}
