/* base/error.h - how internal code writes a halley_error. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "halley/error.h"

/* Return on failure. This is the only macro that hides a return. */
#define TRY(call)                                                                        \
    do {                                                                                 \
        const halley_status try_status_ = (call);                                        \
        if (try_status_ != HALLEY_OK)                                                    \
            return try_status_;                                                          \
    } while (0)

/* Write the sentence (printf format) and clear any earlier place. Each function returns
 * its code, for `return error_set(err, HALLEY_EINVAL, "...")`. `err` may always be NULL.
 * Control characters from the input are shown as \xNN. */
halley_status error_set(halley_error *err, halley_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
halley_status error_nomem(halley_error *err);
/* "cannot <doing>: <strerror(errno)>", with a hint for ENOENT. Returns HALLEY_ENOMEM if
 * errno says so, else HALLEY_EIO. */
halley_status error_errno(halley_error *err, const char *doing, int errno_value);

/* Add a place to an error that was written before; a place that is already set is
 * kept. */
void error_at_file(halley_error *err, const char *path);
void error_at_line(halley_error *err, uint32_t line, uint32_t column);
void error_at_offset(halley_error *err, uint64_t offset);
void error_at_node(halley_error *err, uint64_t node);
/* Put words before the sentence: error_prefix(err, "rank %u", 3) gives "rank 3:
 * <sentence>". A format that ends in a space is joined without the colon. */
void error_prefix(halley_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* If the error names the file `from`, name `to` instead: users do not know temporary
 * names. */
void error_rename_file(halley_error *err, const char *from, const char *to);

#endif
