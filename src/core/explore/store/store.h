/*
 * explore/store/store.h - an exploration on disk: SQLite in WAL mode, one writer.
 *
 * Table `design` holds every feasible design, and `refusal` counts the others by reason.
 * `state` holds what the run keeps of them in memory. `meta` says which study and version
 * wrote the store, and how far it came. A wave of designs is one transaction together
 * with the state, the counts and the progress. So after a kill the store is exactly that
 * of some earlier wave.
 */
#ifndef EXPLORE_STORE_H
#define EXPLORE_STORE_H

#include "base/watch.h"
#include "explore/collect.h"

typedef struct explore_store explore_store;

/* The progress of a run. */
typedef struct explore_reached {
    uint64_t next;    /* first design (or piece of one, or step of a search) that is not
                         complete */
    uint64_t pending; /* number of the best plan so far of an incomplete design, plus
                         one; 0: none */
    uint64_t n_evaluated, n_feasible;
    explore_reasons reasons;
} explore_reached;

/*
 * Create a store, or with `resume` continue one: *reached is then its progress. A store
 * of another study, of a changed study or of another version is refused. Its rows have
 * not been read yet. Call explore_store_read or explore_store_check_all before reporting
 * anything that comes from the store.
 */
halley_status explore_store_open(explore_store **out, explore_reached *reached,
                                 const char *path, bool resume, const halley_study *s,
                                 halley_error *err);
/* A wave of blocks of rows, and the progress of the run with them. */
typedef struct explore_wave {
    const explore_row *const *rows;
    const uint32_t *n_rows;
    uint32_t n_blocks;
    const explore_reached *reached;
    str state; /* explore/state.h; empty for searches that read all rows */
} explore_wave;
/* Write a wave in one transaction. */
halley_status explore_store_write(explore_store *store, const explore_wave *wave,
                                  const watcher *look, halley_error *err);
/* The last state written, lent until the next wave; empty if there is none. */
halley_status explore_store_state(str *out, explore_store *store, halley_error *err);
/* The largest number of a row that was in the store when it was opened. */
uint64_t explore_store_last(const explore_store *store);
/* Check rows that were in the store when it was opened, for about that many seconds. Does
 * nothing in the first second. Rows are added in the order of their numbers. */
halley_status explore_store_check_some(explore_store *store, double most_s,
                                       const watcher *look, halley_error *err);
/* Check the rest of a resumed store, when everything is evaluated. */
halley_status explore_store_check_all(explore_store *store, watcher *look,
                                      halley_error *err);
/* Read every stored row in the order of its number; this checks all of them. */
typedef bool explore_row_seen(void *context, const explore_row *row);
halley_status explore_store_read(explore_store *store, explore_row_seen *seen,
                                 void *context, halley_error *err);
/* Replace rows that the search wrote (explore/settle.h), in one transaction. The last
 * call commits it, or rolls it back if `status` is not HALLEY_OK. */
halley_status explore_store_settle_begin(explore_store *store, halley_error *err);
halley_status explore_store_settle(explore_store *store, uint64_t id,
                                   const explore_row *row, halley_error *err);
halley_status explore_store_settle_end(explore_store *store, halley_status status,
                                       halley_error *err);
/* Mark the store as complete: everything is evaluated. */
halley_status explore_store_complete(explore_store *store, halley_error *err);
halley_status explore_store_close(explore_store *store, halley_error *err);

#endif
