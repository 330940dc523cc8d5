/*
 * base/database.h - SQLite files that somebody else may have made, damaged or planted.
 *
 * Every SQLite file is opened here and nowhere else: results stores, profiler exports.
 * The file may hold anything: triggers, views over endless queries, huge values, pages
 * that contradict each other. A connection therefore trusts no schema, bounds what a
 * query may cost, can be cancelled, and database_check_plain refuses a file that has more
 * than tables and their indexes.
 */
#ifndef BASE_DATABASE_H
#define BASE_DATABASE_H

#include "base/error.h"
#include "base/str.h"
#include "base/watch.h"

#include <sqlite3.h>

typedef struct database_options {
    bool writable;       /* read and write, created if absent; else read only */
    const watcher *look; /* a query ends when it says so; lent; NULL = never */
} database_options;

/*
 * Open the file. A read-only connection takes no write lock and leaves no file behind:
 * where the folder cannot be written, the file is taken as one that nobody changes, which
 * is refused when a journal with newer rows is next to it. On failure *out is NULL.
 */
halley_status database_open(sqlite3 **out, const char *path, const database_options *o,
                            halley_error *err);
/* Only tables and indexes: HALLEY_EFORMAT names a trigger, a view or a virtual table. */
halley_status database_check_plain(sqlite3 *db, const char *path, halley_error *err);
/* HALLEY_EFORMAT when pages or rows are damaged (PRAGMA quick_check). */
halley_status database_check_pages(sqlite3 *db, const char *path, halley_error *err);

/* The sentence for what just failed on the connection, with the file: "cannot <doing>:
 * the disk is full". HALLEY_EFORMAT for a file that is no database or is damaged. */
halley_status database_error(sqlite3 *db, const char *path, const char *doing,
                             halley_error *err);
/* sqlite3_exec with that sentence. */
halley_status database_run(sqlite3 *db, const char *path, const char *sql,
                           const char *doing, halley_error *err);

/* A name of a table or column, quoted. */
void database_add_name(strbuf *sql, str name);
/* A text cell; "" where the cell is NULL. Lent until the next step. */
const char *database_text(sqlite3_stmt *q, int column);
/* Is there a table of that name? */
bool database_has_table(sqlite3 *db, const char *name);

#endif
