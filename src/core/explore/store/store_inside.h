/* explore/store/store_inside.h - the internals of a store; only for this folder. */
#ifndef EXPLORE_STORE_INSIDE_H
#define EXPLORE_STORE_INSIDE_H

#include "explore/store/store.h"
#include "explore/store/store_check.h"

/* How much of a resumed store has been checked; see store_audit.c. */
typedef struct store_audit {
    bool is_needed;     /* the store had rows when this process began */
    bool is_done;       /* all of it has been checked */
    uint64_t next;      /* number of the first design that is not checked */
    uint64_t n_seen;    /* rows before it */
    uint64_t n_rows;    /* rows that were in the store */
    uint64_t last;      /* the largest number among them */
    double opened_s;    /* clock when the store was opened */
    bool has_rows;      /* the rows have been checked */
    bool has_pages;     /* the pages have been checked (PRAGMA quick_check) */
    bool is_slow;       /* each row is looked up by its number instead */
    bool is_recordable; /* the file holds all rows, and no more are written */
    uint64_t identity;  /* of the file, while it is recordable */
} store_audit;

struct explore_store {
    sqlite3 *db;
    sqlite3_stmt *insert, *remove; /* remove: while rows are settled */
    const halley_study *study;
    uint64_t n_rows; /* in the table design */
    strbuf state;    /* as it was last committed */
    store_audit audit;
    int lock;
    char *path;
};

halley_status store_error(const explore_store *st, const char *doing, halley_error *err);
halley_status store_run(explore_store *st, const char *sql, const char *doing,
                        halley_error *err);
halley_status store_set_meta(explore_store *st, const char *name, const char *text,
                             halley_error *err);
halley_status store_set_meta_u64(explore_store *st, const char *name, uint64_t value,
                                 halley_error *err);
/* Update the checksum over the current contents of meta and refusal. */
halley_status store_set_sum(explore_store *st, halley_error *err);
/* The checks of a resumed store whose cost does not depend on its size. */
halley_status store_audit_begin(explore_store *st, halley_error *err);
/* Write the parts of the state that have changed; call this inside a transaction. */
halley_status store_write_state(explore_store *st, str state, halley_error *err);
/* Read a row; an error if it is not as it was written. */
halley_status store_read_row(explore_row *out, const explore_store *st, sqlite3_stmt *q,
                             halley_error *err);

#endif
