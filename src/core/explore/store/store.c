/*
 * The store. A row's `key` is the hash of its canonical design (explore_design_key),
 * which is the same in every store and study. Rows also have their design's number in the
 * space and are appended in the order of these numbers. Inserting 0.9 million rows at
 * random places of a B-tree takes 3.6 times as long, and the cost per row grows.
 *
 * While a study runs, the number identifies a design instead of the key; a resumed run
 * knows the first number that is not complete. The index by key is made once, when all
 * rows are there. The fingerprint is computed from the results of a few designs. A store
 * written by another estimator or with other presets has another fingerprint.
 *
 * Only one process writes. It holds an flock on the file, which, unlike SQLite's locks,
 * lets others read at any time. store_audit.c checks a resumed store; store_state.c makes
 * resuming cheap.
 */
#include "explore/store/store.h"

#include "base/call.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "explore/metric.h"
#include "explore/store/store_inside.h"
#include "halley/version.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FINGERPRINTS = 24, STORE_PAGE = 16384 };

halley_status store_error(const explore_store *st, const char *doing, halley_error *err)
{
    assert(doing != NULL);
    if ((sqlite3_errcode(st->db) & 0xff) != SQLITE_FULL)
        return database_error(st->db, st->path, doing, err);
    error_set(err, HALLEY_EIO, "cannot %s: the disk is full; make room and use --resume",
              doing);
    error_at_file(err, st->path);
    return HALLEY_EIO;
}

halley_status store_run(explore_store *st, const char *sql, const char *doing,
                        halley_error *err)
{
    assert(st->db != NULL && sql != NULL);
    if (sqlite3_exec(st->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return HALLEY_OK;
    return store_error(st, doing, err);
}

static void add_axis_columns(strbuf *sql, const halley_study *s, bool types)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        strbuf_add(sql, STR(", "));
        database_add_name(sql, str_from(s->axes[i].seen.name));
        if (types)
            strbuf_printf(sql, "%s", s->axes[i].seen.numbers ? " REAL" : " TEXT");
    }
    for (uint32_t i = 0; i < s->n_goals; i++)
        strbuf_printf(sql, ", \"objective_%u\"%s", i + 1, types ? " REAL" : "");
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++) {
        strbuf_printf(sql, ", \"%s\"%s", halley_metric_column(i), types ? " REAL" : "");
    }
    strbuf_printf(sql, ", \"schedule_time\"%s, \"settled\"%s, \"sum\"%s",
                  types ? " TEXT" : "", types ? " INTEGER" : "", types ? " INTEGER" : "");
}

static halley_status fingerprint_study(uint64_t *out, const halley_study *s,
                                       halley_error *err)
{
    const uint64_t n_failures = mem_failure_count();
    explore_worker *w = mem_array(1, sizeof *w);
    uint64_t h = 11;
    if (!w)
        return error_nomem(err);
    explore_worker_init(w, s);
    for (uint32_t i = 0; i < FINGERPRINTS; i++) {
        explore_row row = {0};
        explore_worker_move(w, (uint64_t)(s->size * i / FINGERPRINTS));
        if (explore_worker_try(w, &row))
            h = hash_bytes(row.metrics, sizeof row.metrics, h);
    }
    free(w);
    *out = h;
    return n_failures == mem_failure_count() ? HALLEY_OK : error_nomem(err);
}

halley_status store_set_meta(explore_store *st, const char *name, const char *text,
                             halley_error *err)
{
    assert(name != NULL && text != NULL);
    sqlite3_stmt *q = NULL;
    bool ok = sqlite3_prepare_v2(st->db,
                                 "INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)",
                                 -1, &q, NULL) == SQLITE_OK;
    if (ok) {
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 2, text, -1, SQLITE_STATIC);
        ok = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return ok ? HALLEY_OK : store_error(st, "write the store", err);
}

halley_status store_set_meta_u64(explore_store *st, const char *name, uint64_t value,
                                 halley_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return store_set_meta(st, name, text, err);
}

/* Update the checksum over the current contents of meta and refusal. */
halley_status store_set_sum(explore_store *st, halley_error *err)
{
    uint64_t sum;
    if (!store_sum_meta(&sum, st->db))
        return store_error(st, "write the store", err);
    return store_set_meta_u64(st, "sum", sum, err);
}

static halley_status create_tables(explore_store *st, halley_error *err)
{
    assert(st->db != NULL);
    const halley_study *s = st->study;
    uint64_t fingerprint = 0;
    TRY(fingerprint_study(&fingerprint, s, err));
    strbuf sql = {0};
    strbuf_printf(&sql,
                  "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
                  "CREATE TABLE refusal(reason TEXT PRIMARY KEY, designs INTEGER) "
                  "WITHOUT ROWID;"
                  "CREATE TABLE state(part INTEGER PRIMARY KEY, bytes BLOB);"
                  "CREATE TABLE design(id INTEGER PRIMARY KEY, key INTEGER");
    add_axis_columns(&sql, s, true);
    strbuf_printf(&sql, ");");
    halley_status status =
        sql.failed ? error_nomem(err) : store_run(st, sql.at, "create the store", err);
    strbuf_fini(&sql);
    if (status != HALLEY_OK)
        return status;
    TRY(store_set_meta_u64(st, "format", STORE_FORMAT, err));
    TRY(store_set_meta(st, "version", HALLEY_VERSION, err));
    TRY(store_set_meta(st, "study", s->name, err));
    TRY(store_set_meta(st, "text", s->text, err));
    TRY(store_set_meta(st, "objective", s->goals[0].seen.text, err));
    TRY(store_set_meta(st, "direction",
                       s->goals[0].seen.maximize ? "maximize" : "minimize", err));
    TRY(store_set_meta_u64(st, "axes", s->n_axes, err));
    TRY(store_set_meta_u64(st, "objectives", s->n_goals, err));
    TRY(store_set_meta_u64(st, "study_hash", s->hash, err));
    TRY(store_set_meta_u64(st, "fingerprint", fingerprint, err));
    return store_set_sum(st, err);
}

static halley_status refuse_store(explore_store *st, halley_error *err, const char *why)
{
    error_set(err, HALLEY_EINVAL, "%s", why);
    error_at_file(err, st->path);
    return HALLEY_EINVAL;
}

static halley_status check_same(explore_store *st, halley_error *err)
{
    char text[256];
    uint64_t fingerprint = 0;
    TRY(fingerprint_study(&fingerprint, st->study, err));
    store_meta(st->db, text, sizeof text, "version");
    if (strcmp(text, HALLEY_VERSION) != 0) {
        error_set(err, HALLEY_EINVAL,
                  "the store was written by halley %s, this is %s: start a new one", text,
                  HALLEY_VERSION);
        error_at_file(err, st->path);
        return HALLEY_EINVAL;
    }
    store_meta(st->db, text, sizeof text, "study");
    if (strcmp(text, st->study->name) != 0) {
        error_set(err, HALLEY_EINVAL,
                  "the store belongs to the study \"%s\", not to \"%s\"", text,
                  st->study->name);
        error_at_file(err, st->path);
        return HALLEY_EINVAL;
    }
    if (store_meta_u64(st->db, "study_hash") != st->study->hash)
        return refuse_store(st, err,
                            "the study has changed since the store was written: start "
                            "a new store, or give the old study back");
    if (store_meta_u64(st->db, "fingerprint") != fingerprint)
        return refuse_store(st, err,
                            "presets or estimator have changed since the store was "
                            "written: start a new one");
    return HALLEY_OK;
}

/* Check that the columns are exactly those that this study writes, in their order. */
static halley_status check_columns(explore_store *st, halley_error *err)
{
    strbuf wanted = {0}, found = {0};
    sqlite3_stmt *q = NULL;
    strbuf_add(&wanted, STR("\"id\", \"key\""));
    add_axis_columns(&wanted, st->study, false);
    const bool ok = sqlite3_prepare_v2(st->db,
                                       "SELECT name FROM pragma_table_info('design') "
                                       "ORDER BY cid",
                                       -1, &q, NULL) == SQLITE_OK;
    for (uint32_t i = 0; ok && sqlite3_step(q) == SQLITE_ROW; i++) {
        strbuf_add(&found, str_from(i > 0 ? ", " : ""));
        database_add_name(&found, str_from(database_text(q, 0)));
    }
    sqlite3_finalize(q);
    halley_status status = HALLEY_OK;
    if (wanted.failed || found.failed)
        status = error_nomem(err);
    else if (!str_eq(strbuf_str(&wanted), strbuf_str(&found)))
        status = store_damaged(st->path, err,
                               "the table design has other columns than the study");
    strbuf_fini(&wanted);
    strbuf_fini(&found);
    return status;
}

static halley_status check_store(explore_store *st, halley_error *err)
{
    TRY(store_check_kind(st->db, st->path, err));
    TRY(check_same(st, err));
    TRY(store_check_summary(st->db, st->path, err));
    TRY(check_columns(st, err));
    st->n_rows = store_meta_u64(st->db, "rows");
    return store_audit_begin(st, err);
}

static halley_status read_reached(explore_store *st, explore_reached *out,
                                  halley_error *err)
{
    assert(out != NULL);
    const uint64_t n_failures = mem_failure_count();
    sqlite3_stmt *q = NULL;
    out->next = store_meta_u64(st->db, "next");
    out->pending = store_meta_u64(st->db, "pending");
    out->n_evaluated = store_meta_u64(st->db, "evaluated");
    out->n_feasible = store_meta_u64(st->db, "feasible");
    if (n_failures != mem_failure_count())
        return error_nomem(err);
    if (sqlite3_prepare_v2(st->db, "SELECT reason, designs FROM refusal ORDER BY reason",
                           -1, &q, NULL) != SQLITE_OK)
        return store_error(st, "read the store", err);
    int code;
    while ((code = sqlite3_step(q)) == SQLITE_ROW)
        explore_reasons_add(&out->reasons, database_text(q, 0),
                            (uint64_t)sqlite3_column_int64(q, 1));
    const halley_status status =
        code == SQLITE_DONE ? HALLEY_OK : store_error(st, "read the store", err);
    sqlite3_finalize(q);
    return status;
}

static halley_status prepare_insert(explore_store *st, halley_error *err)
{
    strbuf sql = {0};
    strbuf_printf(&sql, "INSERT OR IGNORE INTO design(id, key");
    add_axis_columns(&sql, st->study, false);
    strbuf_printf(&sql, ") VALUES(?, ?, ?, ?, ?");
    for (uint32_t i = 0; i < st->study->n_axes + st->study->n_goals + HALLEY_N_METRICS;
         i++)
        strbuf_printf(&sql, ", ?");
    strbuf_printf(&sql, ")");
    halley_status status = HALLEY_OK;
    if (sql.failed)
        status = error_nomem(err);
    else if (sqlite3_prepare_v2(st->db, sql.at, -1, &st->insert, NULL) != SQLITE_OK)
        status = store_error(st, "write the store", err);
    strbuf_fini(&sql);
    return status;
}

static halley_status take_lock(explore_store *st, halley_error *err)
{
    st->lock = open(st->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (st->lock < 0) {
        error_errno(err, "open the store", errno);
        error_at_file(err, st->path);
        return HALLEY_EIO;
    }
    if (flock(st->lock, LOCK_EX | LOCK_NB) == 0)
        return HALLEY_OK;
    error_set(err, HALLEY_EIO, "another process is writing this store");
    error_at_file(err, st->path);
    return HALLEY_EIO;
}

/* True if the database is empty. This happens if its creator was killed before the tables
 * were made. */
static bool is_blank(explore_store *st)
{
    sqlite3_stmt *q = NULL;
    const bool blank = sqlite3_prepare_v2(st->db, "SELECT 1 FROM sqlite_master LIMIT 1",
                                          -1, &q, NULL) == SQLITE_OK &&
                       sqlite3_step(q) == SQLITE_DONE;
    sqlite3_finalize(q);
    return blank;
}

/* A store grows by no more than what the call may write. */
static halley_status limit_store(explore_store *st, halley_error *err)
{
    char sql[64];
    const uint64_t left = call_output_left();
    if (left == UINT64_MAX)
        return HALLEY_OK;
    const off_t size = lseek(st->lock, 0, SEEK_END);
    const uint64_t most = (size > 0 ? (uint64_t)size : 0) + left;
    snprintf(sql, sizeof sql, "PRAGMA max_page_count=%llu",
             (unsigned long long)(most / STORE_PAGE + 1));
    return store_run(st, sql, "open the store", err);
}

static halley_status open_store(explore_store *st, explore_reached *reached, bool resume,
                                halley_error *err)
{
    const bool there = lseek(st->lock, 0, SEEK_END) > 0;
    if (there && !resume)
        return refuse_store(st, err,
                            "the store exists: continue it with --resume, or remove it");
    TRY(database_open(&st->db, st->path, &(database_options){.writable = true}, err));
    TRY(store_run(
        st,
        "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;",
        "open the store", err));
    TRY(limit_store(st, err));
    TRY(store_run(st, "BEGIN IMMEDIATE", "open the store", err));
    const bool fresh = is_blank(st);
    halley_status status = fresh ? create_tables(st, err) : check_store(st, err);
    if (status == HALLEY_OK && !fresh)
        status = read_reached(st, reached, err);
    if (status == HALLEY_OK)
        return store_run(st, "COMMIT", "create the store", err);
    sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

halley_status explore_store_open(explore_store **out, explore_reached *reached,
                                 const char *path, bool resume, const halley_study *s,
                                 halley_error *err)
{
    assert(path != NULL && s != NULL);
    explore_store *st = mem_array_zero(1, sizeof *st);
    if (!st)
        return error_nomem(err);
    st->study = s;
    st->lock = -1;
    st->path = strdup(path);
    halley_status status = st->path != NULL ? take_lock(st, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = open_store(st, reached, resume, err);
    if (status == HALLEY_OK)
        status = prepare_insert(st, err);
    if (status == HALLEY_OK)
        *out = st;
    else
        explore_store_close(st, NULL);
    return status;
}

static void bind_number(sqlite3_stmt *q, int at, double value, uint64_t *sum)
{
    sqlite3_bind_double(q, at, value);
    *sum = store_sum_double(*sum, value);
}

/* Bind the values of the axes from column `at` on; returns the column after them. */
static int bind_axes(explore_store *st, const explore_row *row, int at, uint64_t *sum)
{
    assert((double)row->id < st->study->size);
    const halley_study *s = st->study;
    uint32_t digits[HALLEY_MAX_AXES];
    explore_digits(digits, s, row->id);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        const halley_axis *a = &s->axes[i].seen;
        if (a->numbers) {
            bind_number(st->insert, at++, a->numbers[digits[i]], sum);
        } else {
            sqlite3_bind_text(st->insert, at++, a->texts[digits[i]], -1, SQLITE_STATIC);
            *sum = store_sum_text(*sum, a->texts[digits[i]]);
        }
    }
    return at;
}

/* How the time of a schedule was computed. */
static const char *const time_words[2] = {"form", "walk"};

static bool write_row(explore_store *st, const explore_row *row)
{
    assert(st->insert != NULL);
    const halley_study *s = st->study;
    sqlite3_stmt *q = st->insert;
    uint64_t sum = store_sum_u64(STORE_SUM_START, row->id);
    sum = store_sum_u64(sum, row->key);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)row->key);
    int at = bind_axes(st, row, 3, &sum);
    for (uint32_t i = 0; i < s->n_goals; i++)
        bind_number(q, at++, row->objective[i], &sum);
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++)
        bind_number(q, at++, row->metrics[i], &sum);
    sqlite3_bind_text(q, at++, time_words[row->walked], -1, SQLITE_STATIC);
    sum = store_sum_text(sum, time_words[row->walked]);
    sqlite3_bind_int64(q, at++, row->settled);
    sum = store_sum_u64(sum, row->settled);
    sqlite3_bind_int64(q, at, (sqlite3_int64)sum);
    const bool ok = sqlite3_step(q) == SQLITE_DONE;
    if (ok)
        st->n_rows += (uint64_t)sqlite3_changes(st->db);
    sqlite3_reset(q);
    return ok;
}

static halley_status write_reached(explore_store *st, const explore_reached *r,
                                   halley_error *err)
{
    assert(r->n_feasible <= r->n_evaluated);
    sqlite3_stmt *q = NULL;
    TRY(store_set_meta_u64(st, "next", r->next, err));
    TRY(store_set_meta_u64(st, "pending", r->pending, err));
    TRY(store_set_meta_u64(st, "evaluated", r->n_evaluated, err));
    TRY(store_set_meta_u64(st, "feasible", r->n_feasible, err));
    TRY(store_set_meta_u64(st, "rows", st->n_rows, err));
    bool ok = sqlite3_prepare_v2(
                  st->db, "INSERT OR REPLACE INTO refusal(reason, designs) VALUES(?, ?)",
                  -1, &q, NULL) == SQLITE_OK;
    for (uint32_t i = 0; ok && i < r->reasons.n; i++) {
        sqlite3_bind_text(q, 1, r->reasons.at[i].seen.reason, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)r->reasons.at[i].seen.designs);
        ok = sqlite3_step(q) == SQLITE_DONE;
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return ok ? store_set_sum(st, err) : store_error(st, "write the store", err);
}

static halley_status write_wave_rows(explore_store *st, const explore_wave *wave,
                                     const watcher *look, halley_error *err)
{
    for (uint32_t b = 0; b < wave->n_blocks; b++) {
        for (uint32_t i = 0; i < wave->n_rows[b]; i++) {
            if (!write_row(st, &wave->rows[b][i]))
                return store_error(st, "write the store", err);
            if (watcher_is_cancelled(look))
                return watcher_error(look, err);
        }
    }
    return HALLEY_OK;
}

halley_status explore_store_write(explore_store *store, const explore_wave *wave,
                                  const watcher *look, halley_error *err)
{
    assert(wave->rows != NULL || wave->n_blocks == 0);
    assert(wave->reached->n_feasible <= wave->reached->n_evaluated);
    const uint64_t n_before = store->n_rows;
    TRY(store_run(store, "BEGIN IMMEDIATE", "write the store", err));
    halley_status status = write_wave_rows(store, wave, look, err);
    if (status == HALLEY_OK && wave->state.n > 0)
        status = store_write_state(store, wave->state, err);
    if (status == HALLEY_OK)
        status = write_reached(store, wave->reached, err);
    if (status == HALLEY_OK)
        status = store_run(store, "COMMIT", "write the store", err);
    if (status != HALLEY_OK) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        store->n_rows = n_before;
        return status;
    }
    store->state.n = 0;
    strbuf_add(&store->state, wave->state);
    return store->state.failed ? error_nomem(err) : HALLEY_OK;
}

halley_status store_read_row(explore_row *out, const explore_store *st, sqlite3_stmt *q,
                             halley_error *err)
{
    const halley_study *s = st->study;
    const int n = sqlite3_column_count(q);
    int at = 2 + (int)s->n_axes;
    *out = (explore_row){.id = (uint64_t)sqlite3_column_int64(q, 0),
                         .key = (uint64_t)sqlite3_column_int64(q, 1)};
    if (store_sum_row(q, n - 1) != (uint64_t)sqlite3_column_int64(q, n - 1) ||
        (double)out->id >= s->size)
        return store_damaged(st->path, err, "the checksum of design %llu is wrong",
                             (unsigned long long)out->id);
    for (uint32_t i = 0; i < s->n_goals; i++)
        out->objective[i] = sqlite3_column_double(q, at++);
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++)
        out->metrics[i] = sqlite3_column_double(q, at++);
    out->walked = strcmp(database_text(q, at++), time_words[1]) == 0;
    out->settled = sqlite3_column_int64(q, at) != 0;
    return HALLEY_OK;
}

halley_status explore_store_read(explore_store *store, explore_row_seen *seen,
                                 void *context, halley_error *err)
{
    assert(seen != NULL);
    sqlite3_stmt *q = NULL;
    if (store->audit.is_needed)
        TRY(store_check_pages(store->db, store->path, err));
    if (sqlite3_prepare_v2(store->db, "SELECT * FROM design ORDER BY id", -1, &q, NULL) !=
        SQLITE_OK)
        return store_error(store, "read the store", err);
    int code = SQLITE_ROW;
    uint64_t n = 0;
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        explore_row row;
        status = store_read_row(&row, store, q, err);
        if (status == HALLEY_OK && !seen(context, &row))
            status = error_nomem(err);
        n++;
    }
    sqlite3_finalize(q);
    TRY(status);
    if (code != SQLITE_DONE)
        return store_error(store, "read the store", err);
    if (n != store->n_rows)
        return store_damaged(store->path, err,
                             "it holds %llu designs, not the %llu that were written",
                             (unsigned long long)n, (unsigned long long)store->n_rows);
    store->audit.is_done = true;
    return HALLEY_OK;
}

uint64_t explore_store_last(const explore_store *store)
{
    return store->audit.last;
}

halley_status explore_store_settle_begin(explore_store *store, halley_error *err)
{
    TRY(store_run(store, "BEGIN IMMEDIATE", "settle the store", err));
    if (sqlite3_prepare_v2(store->db, "DELETE FROM design WHERE id = ?", -1,
                           &store->remove, NULL) == SQLITE_OK)
        return HALLEY_OK;
    const halley_status status = store_error(store, "settle the store", err);
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

halley_status explore_store_settle(explore_store *store, uint64_t id,
                                   const explore_row *row, halley_error *err)
{
    sqlite3_stmt *q = store->remove;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    const bool removed = sqlite3_step(q) == SQLITE_DONE;
    const uint64_t n = removed ? (uint64_t)sqlite3_changes(store->db) : 0;
    sqlite3_reset(q);
    assert(n <= 1 && n <= store->n_rows);
    store->n_rows -= n;
    /* If a search found a row twice, it is no longer there, because it was settled
     * before. */
    return removed && (n == 0 || write_row(store, row))
               ? HALLEY_OK
               : store_error(store, "settle the store", err);
}

halley_status explore_store_settle_end(explore_store *store, halley_status status,
                                       halley_error *err)
{
    sqlite3_finalize(store->remove);
    store->remove = NULL;
    if (status == HALLEY_OK)
        status = store_set_meta_u64(store, "rows", store->n_rows, err);
    if (status == HALLEY_OK)
        status = store_set_sum(store, err);
    if (status == HALLEY_OK)
        status = store_run(store, "COMMIT", "settle the store", err);
    if (status != HALLEY_OK)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Move all rows into the file itself and remove the log, so that the store can be read
 * from a read-only folder. A concurrent reader may keep the log alive; nothing is
 * lost. */
static halley_status leave_log(explore_store *st, halley_error *err)
{
    static const char *const steps[] = {"PRAGMA wal_checkpoint(TRUNCATE)",
                                        "PRAGMA journal_mode=DELETE"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const int code = sqlite3_exec(st->db, steps[i], NULL, NULL, NULL) & 0xff;
        if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
            return HALLEY_OK;
        if (code != SQLITE_OK)
            return store_error(st, "finish the store", err);
    }
    return HALLEY_OK;
}

/* Set meta `name` = value in its own transaction. */
static halley_status commit_meta(explore_store *st, const char *name, uint64_t value,
                                 halley_error *err)
{
    TRY(store_run(st, "BEGIN IMMEDIATE", "finish the store", err));
    halley_status status = store_set_meta_u64(st, name, value, err);
    if (status == HALLEY_OK)
        status = store_set_sum(st, err);
    if (status == HALLEY_OK)
        status = store_run(st, "COMMIT", "finish the store", err);
    if (status != HALLEY_OK)
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static bool has_index(explore_store *st)
{
    sqlite3_stmt *q = NULL;
    const bool has = sqlite3_prepare_v2(
                         st->db, "SELECT 1 FROM sqlite_schema WHERE name = 'design_key'",
                         -1, &q, NULL) == SQLITE_OK &&
                     sqlite3_step(q) == SQLITE_ROW;
    sqlite3_finalize(q);
    return has;
}

/* Making the index takes a second per million rows and cannot be resumed. If a run is
 * killed while it makes the index, the next run skips it, and the run after that tries
 * again. So a result is reached however short the runs are. */
static halley_status make_index(explore_store *st, halley_error *err)
{
    if (has_index(st))
        return HALLEY_OK;
    const bool was_killed = store_meta_u64(st->db, "indexing") == 1;
    TRY(commit_meta(st, "indexing", was_killed ? 0 : 1, err));
    if (was_killed)
        return HALLEY_OK;
    TRY(store_run(st, "CREATE INDEX IF NOT EXISTS design_key ON design(key)",
                  "index the store", err));
    return commit_meta(st, "indexing", 0, err);
}

halley_status explore_store_complete(explore_store *store, halley_error *err)
{
    assert(store != NULL);
    assert(store->audit.is_done || !store->audit.is_needed);
    TRY(commit_meta(store, "complete", 1, err));
    TRY(make_index(store, err));
    return leave_log(store, err);
}

halley_status explore_store_close(explore_store *store, halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (!store)
        return HALLEY_OK;
    sqlite3_finalize(store->insert);
    sqlite3_finalize(store->remove);
    if (store->db && sqlite3_close(store->db) != SQLITE_OK)
        status = store_error(store, "close the store", err);
    if (store->lock >= 0)
        close(store->lock);
    strbuf_fini(&store->state);
    free(store->path);
    free(store);
    return status;
}
