/*
 * explore/store/store_check.h - check that a store is what halley wrote.
 *
 * Stores are used for years and copied between machines. So every row of `design` has a
 * checksum of its other columns. `meta` has a checksum of itself, of `refusal` and of
 * `state`, and the number of rows. Readers check all of them before anything is shown. A
 * flipped bit, a deleted row or an edited number is reported as an error instead.
 */
#ifndef EXPLORE_STORE_CHECK_H
#define EXPLORE_STORE_CHECK_H

#include "base/database.h"

enum { STORE_FORMAT = 8 };

/* The checksum of a row, column by column, starting at STORE_SUM_START. NaN is stored as
 * NULL, and -0 as 0. */
#define STORE_SUM_START UINT64_C(0x68616c6c6579)
uint64_t store_sum_u64(uint64_t sum, uint64_t value);
uint64_t store_sum_double(uint64_t sum, double value);
uint64_t store_sum_text(uint64_t sum, const char *text);
/* The same for a row of a query: its first n columns. */
uint64_t store_sum_row(sqlite3_stmt *q, int n);

/* The checksum of meta (without its own row), refusal and the names of columns; false if
 * they cannot be read. */
bool store_sum_meta(uint64_t *out, sqlite3 *db);

/* The value of a name in meta, copied; "" when absent. */
void store_meta(sqlite3 *db, char *to, size_t size, const char *name);
uint64_t store_meta_u64(sqlite3 *db, const char *name);

/* HALLEY_EFORMAT with "the store is damaged: <what>". */
halley_status store_damaged(const char *path, halley_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Check that this is a store of this format with plain tables. */
halley_status store_check_kind(sqlite3 *db, const char *path, halley_error *err);
/* Check that its pages are sound. */
halley_status store_check_pages(sqlite3 *db, const char *path, halley_error *err);
/* Check that its `meta` and `refusal` are as they were written. */
halley_status store_check_summary(sqlite3 *db, const char *path, halley_error *err);
/* Check the checksums of all rows of `design`, and their number. */
halley_status store_check_rows(sqlite3 *db, const char *path, halley_error *err);

#endif
