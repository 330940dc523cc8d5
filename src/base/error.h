/* base/error.h - how internal code writes a halley_error. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "halley/error.h"

/* Return early on failure: the only macro that hides a return. */
#define TRY(call)                                                                        \
    do {                                                                                 \
        const halley_status try_status_ = (call);                                        \
        if (try_status_ != HALLEY_OK)                                                    \
            return try_status_;                                                          \
    } while (0)

/*
 * Write the sentence (printf form) and forget any earlier place. Each returns its code,
 * so that `return error_set(err, HALLEY_EINVAL, "...")` reads well. `err` may be NULL
 * everywhere. Control characters from the input are shown as \xNN.
 */
halley_status error_set(halley_error *err, halley_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
halley_status error_nomem(halley_error *err);
/* "cannot <doing>: <strerror(errno)>", of ENOENT what to do; HALLEY_ENOMEM when errno
 * says so, else HALLEY_EIO.
 */
halley_status error_errno(halley_error *err, const char *doing, int errno_value);

/* Add a place to an error already written; a place that is already known is kept. */
void error_at_file(halley_error *err, const char *path);
void error_at_line(halley_error *err, uint32_t line, uint32_t column);
void error_at_offset(halley_error *err, uint64_t offset);
void error_at_node(halley_error *err, uint64_t node);
/* Put words before the sentence: error_prefix(err, "rank %u", 3) gives "rank 3:
 * <sentence>"; a format that ends in a space joins without the colon. */
void error_prefix(halley_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Where the error names the file `from`, let it name `to`: the user knows no temporary
 * names. */
void error_rename_file(halley_error *err, const char *from, const char *to);

#endif
