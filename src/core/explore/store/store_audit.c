/*
 * Check that every row of a resumed store is as it was written.
 *
 * Reading all rows of a large store may take longer than a run is allowed to take. A
 * batch queue that ends runs after half a second would never get past it. So a run
 * continues after checks whose cost does not depend on the number of rows
 * (store_audit_begin), from the state that was stored with the last wave (store_state.c).
 * All rows are checked later, but before anything is reported. Existing rows are read
 * during the evaluation, once it has lasted for a second; the rest is read when it ends.
 * Until then rows are only added and none is replaced, so that no damage is overwritten.
 *
 * The check, too, continues where a killed one stopped. When all rows are in the file
 * itself (the log is empty) and no more are written, `meta` records the progress of the
 * check. The record is in the log, with the identity of the file: inode, size, and the
 * times of its last change. The kernel sets these times, so a file with the same identity
 * holds the rows that were checked. For any other file the check starts again. A record
 * is made only if the file is older than the clock's tick, because a change within one
 * tick would not be visible.
 *
 * PRAGMA quick_check cannot be resumed. It comes last if rows are read during the
 * evaluation, and first otherwise. If it was started and killed, every row is looked up
 * by its number instead. This finds inconsistent pages in everything that can be read
 * from the table.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "explore/store/store_inside.h"

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

enum {
    ROWS_AT_END = 64,         /* rows at the end that are checked before the first is
                                 added */
    ROWS_BETWEEN_LOOKS = 256, /* between checks of the clock and of the watch */
    MANY_ROWS = 100000        /* a check of fewer is not worth a record */
};
static const double begin_after_s = 1, record_every_s = 0.1, tick_s = 0.02;

/* CPU time: on a busy machine a run may have used less than a second when a second has
 * passed. */
static double clock_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Check the last rows, where new ones are added, and the largest number. */
static halley_status check_end(explore_store *st, halley_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(st->db, "SELECT * FROM design ORDER BY id DESC LIMIT ?", -1,
                           &q, NULL) != SQLITE_OK)
        return store_error(st, "read the store", err);
    sqlite3_bind_int(q, 1, ROWS_AT_END);
    halley_status status = HALLEY_OK;
    uint64_t n = 0;
    int code = SQLITE_ROW;
    while (status == HALLEY_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        explore_row row;
        status = store_read_row(&row, st, q, err);
        if (status == HALLEY_OK && n++ == 0)
            st->audit.last = row.id;
    }
    if (status == HALLEY_OK && code != SQLITE_DONE)
        status = store_error(st, "read the store", err);
    sqlite3_finalize(q);
    if (status == HALLEY_OK && n < ROWS_AT_END && n != st->n_rows)
        status = store_damaged(st->path, err, "designs are missing");
    return status;
}

static int64_t read_pragma(const explore_store *st, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(st->db, sql, -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return value;
}

halley_status store_audit_begin(explore_store *st, halley_error *err)
{
    assert(!st->audit.is_needed);
    st->audit =
        (store_audit){.is_needed = true, .n_rows = st->n_rows, .opened_s = clock_s()};
    /* A run frees no pages before it settles designs. Free pages will be overwritten, so
     * they must be sound. */
    if (read_pragma(st, "PRAGMA freelist_count") != 0) {
        TRY(store_check_pages(st->db, st->path, err));
        st->audit.has_pages = true;
    }
    return check_end(st, err);
}

/* Inode, size and times of the file, as one number; 0: they do not identify it. */
static uint64_t identify_file(const explore_store *st)
{
    struct stat info;
    if (fstat(st->lock, &info) != 0 || info.st_ctim.tv_nsec == 0)
        return 0; /* a file system that counts whole seconds */
    uint64_t sum = hash_u64((uint64_t)info.st_ino ^ hash_u64((uint64_t)info.st_dev));
    sum = store_sum_u64(sum, (uint64_t)info.st_size);
    sum = store_sum_u64(sum, (uint64_t)info.st_mtim.tv_sec);
    sum = store_sum_u64(sum, (uint64_t)info.st_mtim.tv_nsec);
    sum = store_sum_u64(sum, (uint64_t)info.st_ctim.tv_sec);
    sum = store_sum_u64(sum, (uint64_t)info.st_ctim.tv_nsec);
    return sum == 0 ? 1 : sum;
}

/* Wait until a change of the file would get another time. */
static void await_tick(const explore_store *st)
{
    struct stat info;
    struct timespec now;
    if (fstat(st->lock, &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return;
    const double age_s = (double)(now.tv_sec - info.st_ctim.tv_sec) +
                         1e-9 * (double)(now.tv_nsec - info.st_ctim.tv_nsec);
    if (age_s < tick_s) {
        const struct timespec pause = {.tv_nsec = (long)(1e9 * tick_s)};
        nanosleep(&pause, NULL);
    }
}

/* "identity next seen pages slow done" */
static halley_status record_audit(explore_store *st, halley_error *err)
{
    store_audit *a = &st->audit;
    char text[128];
    if (!a->is_recordable)
        return HALLEY_OK;
    await_tick(st);
    if (identify_file(st) != a->identity) { /* another process has just changed it */
        a->is_recordable = false;
        return HALLEY_OK;
    }
    snprintf(text, sizeof text, "%llu %llu %llu %d %d %d",
             (unsigned long long)a->identity, (unsigned long long)a->next,
             (unsigned long long)a->n_seen, a->has_pages, a->is_slow, a->is_done);
    TRY(store_run(st, "BEGIN IMMEDIATE", "check the store", err));
    halley_status status = store_set_meta(st, "audit", text, err);
    if (status == HALLEY_OK)
        status = store_set_sum(st, err);
    if (status == HALLEY_OK)
        status = store_run(st, "COMMIT", "check the store", err);
    if (status != HALLEY_OK)
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    /* If the run is cancelled the log stays, because removing it would change the
     * file. */
    sqlite3_db_config(st->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return status;
}

/* Read what an earlier process recorded about the file in its current state. */
static bool recall_audit(explore_store *st)
{
    store_audit *a = &st->audit;
    char text[128];
    unsigned long long identity, next, n_seen;
    int has_pages, is_slow, is_done;
    store_meta(st->db, text, sizeof text, "audit");
    const uint64_t now = identify_file(st);
    if (now == 0 || sscanf(text, "%llu %llu %llu %d %d %d", &identity, &next, &n_seen,
                           &has_pages, &is_slow, &is_done) != 6)
        return false;
    if (identity != now || n_seen > st->n_rows)
        return false;
    a->identity = now;
    a->is_recordable = true;
    a->has_pages = has_pages != 0;
    a->is_slow = !a->has_pages;
    a->is_done = is_done != 0;
    /* Rows that were checked quickly count only if the pages were checked. */
    if (a->has_pages || is_slow) {
        a->next = next;
        a->n_seen = n_seen;
    }
    return true;
}

/* Everything is evaluated: from now on only the log changes, not the file. */
static halley_status freeze_file(explore_store *st, halley_error *err)
{
    store_audit *a = &st->audit;
    TRY(store_run(st, "PRAGMA wal_autocheckpoint=0", "check the store", err));
    if (recall_audit(st) || st->n_rows < MANY_ROWS)
        return HALLEY_OK;
    const int code =
        sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    a->identity = code == SQLITE_OK ? identify_file(st) : 0;
    a->is_recordable = a->identity != 0; /* else a reader still uses an older state of
                                            it */
    return record_audit(st, err); /* the check of pages begins, and may be killed */
}

static halley_status look_up_row(explore_store *st, sqlite3_stmt *find, uint64_t id,
                                 halley_error *err)
{
    sqlite3_bind_int64(find, 1, (sqlite3_int64)id);
    const int code = sqlite3_step(find);
    sqlite3_reset(find);
    if (code == SQLITE_ROW)
        return HALLEY_OK;
    if (code != SQLITE_DONE)
        return store_error(st, "read the store", err);
    return store_damaged(st->path, err, "its pages contradict each other");
}

typedef struct row_walk {
    sqlite3_stmt *rows, *find;
} row_walk;

static halley_status check_row(explore_store *st, const row_walk *walk, halley_error *err)
{
    store_audit *a = &st->audit;
    explore_row row;
    TRY(store_read_row(&row, st, walk->rows, err));
    if (row.id < a->next)
        return store_damaged(st->path, err, "its designs are not in order");
    if (a->is_slow)
        TRY(look_up_row(st, walk->find, row.id, err));
    a->next = row.id + 1;
    a->n_seen++;
    return HALLEY_OK;
}

/* Check rows up to number `last`, for that many seconds. *at_end: the last row was
 * reached. */
static halley_status check_rows(bool *at_end, explore_store *st, uint64_t last,
                                double most_s, const watcher *look, halley_error *err)
{
    const double start = clock_s();
    row_walk walk = {NULL, NULL};
    halley_status status = HALLEY_OK;
    int code = SQLITE_ROW;
    *at_end = false;
    if (sqlite3_prepare_v2(st->db,
                           "SELECT * FROM design WHERE id >= ? AND id <= ? ORDER BY id",
                           -1, &walk.rows, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(st->db, "SELECT 1 FROM design WHERE id = ?", -1, &walk.find,
                           NULL) != SQLITE_OK) {
        status = store_error(st, "read the store", err);
    } else {
        sqlite3_bind_int64(walk.rows, 1, (sqlite3_int64)st->audit.next);
        sqlite3_bind_int64(walk.rows, 2, (sqlite3_int64)last);
    }
    for (uint64_t n = 1; status == HALLEY_OK; n++) {
        code = sqlite3_step(walk.rows);
        if (code != SQLITE_ROW)
            break;
        status = check_row(st, &walk, err);
        if (status == HALLEY_OK && n % ROWS_BETWEEN_LOOKS == 0) {
            if (watcher_is_cancelled(look))
                status = watcher_error(look, err);
            else if (clock_s() - start > most_s)
                break;
        }
    }
    if (status == HALLEY_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        status = store_error(st, "read the store", err);
    *at_end = code == SQLITE_DONE;
    sqlite3_finalize(walk.rows);
    sqlite3_finalize(walk.find);
    return status;
}

static halley_status compare_count(explore_store *st, uint64_t n_rows, halley_error *err)
{
    st->audit.has_rows = st->audit.n_seen == n_rows;
    if (st->audit.has_rows)
        return HALLEY_OK;
    return store_damaged(
        st->path, err, "it holds %llu designs, not the %llu that were written",
        (unsigned long long)st->audit.n_seen, (unsigned long long)n_rows);
}

halley_status explore_store_check_some(explore_store *store, double most_s,
                                       const watcher *look, halley_error *err)
{
    const store_audit *a = &store->audit;
    if (!a->is_needed || a->has_rows || clock_s() - a->opened_s < begin_after_s ||
        clock_cpu_s() < begin_after_s)
        return HALLEY_OK;
    bool at_end;
    TRY(check_rows(&at_end, store, a->last, most_s, look, err));
    return at_end ? compare_count(store, a->n_rows, err) : HALLEY_OK;
}

static halley_status check_rest(explore_store *st, watcher *look, halley_error *err)
{
    store_audit *a = &st->audit;
    if (!a->has_pages && !a->is_slow) {
        TRY(store_check_pages(st->db, st->path, err));
        a->has_pages = true;
        TRY(record_audit(st, err));
    }
    for (bool at_end = a->has_rows; !at_end;) {
        TRY(check_rows(&at_end, st, INT64_MAX, record_every_s, look, err));
        if (!watcher_add(look, 0))
            return watcher_error(look, err);
        if (!at_end)
            TRY(record_audit(st, err));
    }
    if (!a->has_rows)
        TRY(compare_count(st, st->n_rows, err));
    a->is_done = true;
    return record_audit(st, err);
}

halley_status explore_store_check_all(explore_store *store, watcher *look,
                                      halley_error *err)
{
    store_audit *a = &store->audit;
    if (!a->is_needed || a->is_done)
        return HALLEY_OK;
    TRY(freeze_file(store, err));
    if (a->is_done)
        return HALLEY_OK;
    const halley_status status = check_rest(store, look, err);
    if (status != HALLEY_OK && status != HALLEY_ECANCELED)
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return status;
}
