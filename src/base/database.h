/*
 * base/database.h - open SQLite files of unknown origin, which may be damaged or
 * malicious.
 *
 * Every SQLite file is opened here: results stores and profiler exports. A file may
 * contain anything: triggers, views over endless queries, huge values, inconsistent
 * pages. A connection therefore trusts no schema and limits the cost of a query. It ends
 * a query when the call of the thread (base/call.h) is cancelled. database_check_plain
 * refuses a file that has more than tables and their indexes.
 */
#ifndef BASE_DATABASE_H
#define BASE_DATABASE_H

#include "base/error.h"
#include "base/str.h"

#include <sqlite3.h>

typedef struct database_options {
    bool writable; /* read and write, created if absent; else read only */
} database_options;

/* Open the file. A read-only connection takes no write lock and creates no file. If the
 * folder is not writable, the file is opened as immutable. That is refused if a journal
 * with newer rows is next to it. On failure *out is NULL. */
halley_status database_open(sqlite3 **out, const char *path, const database_options *o,
                            halley_error *err);
/* Check that there are only tables and indexes. HALLEY_EFORMAT names a trigger, a view or
 * a virtual table. */
halley_status database_check_plain(sqlite3 *db, const char *path, halley_error *err);
/* HALLEY_EFORMAT when pages or rows are damaged (PRAGMA quick_check). */
halley_status database_check_pages(sqlite3 *db, const char *path, halley_error *err);

/* The error for what just failed on the connection, with the file: "cannot <doing>: the
 * disk is full". HALLEY_EFORMAT if the file is no database or is damaged. */
halley_status database_error(sqlite3 *db, const char *path, const char *doing,
                             halley_error *err);
/* sqlite3_exec that reports failures by database_error. */
halley_status database_run(sqlite3 *db, const char *path, const char *sql,
                           const char *doing, halley_error *err);

/* Append the name of a table or column, quoted. */
void database_add_name(strbuf *sql, str name);
/* A text cell; "" where the cell is NULL. Lent until the next step. */
const char *database_text(sqlite3_stmt *q, int column);
/* True if there is a table of that name. */
bool database_has_table(sqlite3 *db, const char *name);

#endif
