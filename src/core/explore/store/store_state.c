/*
 * The state of a run in its store: the best rows, the front and the sums by axis, as
 * bytes from explore/state.h. It is written with each wave in parts of equal size; only
 * parts that have changed are written. Parts are never removed, so no page of the file
 * becomes free while a run continues.
 */
#include "base/hash.h"
#include "explore/store/store_inside.h"

#include <assert.h>
#include <string.h>

enum { PART = 4000 }; /* bytes: four in a page */

static str get_part(str state, size_t at)
{
    if (at >= state.n)
        return (str){"", 0};
    return (str){state.at + at, state.n - at < PART ? state.n - at : PART};
}

static bool write_part(sqlite3_stmt *q, size_t at, str part)
{
    char bytes[PART] = {0};
    memcpy(bytes, part.at, part.n);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)(at / PART));
    sqlite3_bind_blob(q, 2, bytes, PART, SQLITE_STATIC);
    const bool ok = sqlite3_step(q) == SQLITE_DONE;
    sqlite3_reset(q);
    return ok;
}

halley_status store_write_state(explore_store *st, str state, halley_error *err)
{
    sqlite3_stmt *q = NULL;
    bool ok = sqlite3_prepare_v2(st->db,
                                 "INSERT OR REPLACE INTO state(part, bytes) VALUES(?, ?)",
                                 -1, &q, NULL) == SQLITE_OK;
    for (size_t at = 0; ok && at < state.n; at += PART) {
        const str part = get_part(state, at);
        if (!str_eq(part, get_part(strbuf_str(&st->state), at)))
            ok = write_part(q, at, part);
    }
    sqlite3_finalize(q);
    if (!ok)
        return store_error(st, "write the store", err);
    TRY(store_set_meta_u64(st, "state_bytes", state.n, err));
    return store_set_meta_u64(st, "state_sum",
                              hash_bytes(state.at, state.n, STORE_SUM_START), err);
}

/* Parts 0, 1, … of PART bytes each, up to n bytes. */
static halley_status read_state_parts(strbuf *out, explore_store *st, uint64_t n,
                                      halley_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(st->db, "SELECT part, bytes FROM state ORDER BY part", -1, &q,
                           NULL) != SQLITE_OK)
        return store_error(st, "read the store", err);
    int code = SQLITE_ROW;
    while (out->n < n && !out->failed && (code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *bytes = sqlite3_column_blob(q, 1);
        if (bytes == NULL || sqlite3_column_bytes(q, 1) != PART ||
            (uint64_t)sqlite3_column_int64(q, 0) != out->n / PART)
            break;
        strbuf_add(out, (str){bytes, n - out->n < PART ? (size_t)(n - out->n) : PART});
    }
    sqlite3_finalize(q);
    if (out->failed)
        return error_nomem(err);
    return code == SQLITE_ROW || code == SQLITE_DONE
               ? HALLEY_OK
               : store_error(st, "read the store", err);
}

halley_status explore_store_state(str *out, explore_store *store, halley_error *err)
{
    assert(store->state.n == 0);
    const uint64_t n = store_meta_u64(store->db, "state_bytes");
    TRY(read_state_parts(&store->state, store, n, err));
    const str state = strbuf_str(&store->state);
    if (state.n != n || (n > 0 && hash_bytes(state.at, state.n, STORE_SUM_START) !=
                                      store_meta_u64(store->db, "state_sum")))
        return store_damaged(store->path, err, "the checksum of its state is wrong");
    *out = state;
    return HALLEY_OK;
}
