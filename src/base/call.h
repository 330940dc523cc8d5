/*
 * base/call.h - the call that a thread works for: one verb, from its options to its last
 * file.
 *
 * The threads of a pool belong to the call of the thread that started them. So code at
 * any depth can ask whether its call was cancelled. No file that a call reads can be
 * replaced by the same call, however the file was named. Outside a call (in programs
 * that use the library's functions one by one) nothing is cancelled or compared.
 */
#ifndef BASE_CALL_H
#define BASE_CALL_H

#include "base/error.h"
#include "halley/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct call_state call_state;

/*
 * Begin a call of a verb on this thread. `what` is its name, lent until the end.
 * *watch, which may be NULL, is replaced by a watch for all parts of the call. They may
 * look at the same time, and the given watch is still asked once at a time. Calls may
 * nest: the inner ones are parts of the outermost.
 */
halley_status call_begin(const halley_watch **watch, const char *what, halley_error *err);
void call_end(void);
/* The call of this thread, NULL = none; and work for a call on another thread. */
call_state *call_current(void);
void call_join(call_state *c);

/* False if the call of this thread was cancelled. It asks the call's watch every 20 ms.
 * Cheap enough for loops whose turns take a microsecond. */
bool call_goes_on(void);
/* HALLEY_ECANCELED with a sentence if the call was cancelled. */
halley_status call_check(halley_error *err);
/* The number of failed allocations (base/array.h) when the call began; the current number
 * outside a call. */
uint64_t call_failures(void);

/*
 * Files of the call, by device and inode. A file that is read and a file that is written
 * over must be different. All readers call call_reads with what they have opened, all
 * writers call_writes before they replace a file. Whichever comes second fails:
 * HALLEY_EINVAL, "--report would write over this file, which the command reads".
 */
halley_status call_reads(const struct stat *about, const char *path, halley_error *err);
/* `words` say what writes: "--report"; copied. NULL: an output without an option. */
halley_status call_writes(const struct stat *about, const char *words, const char *path,
                          halley_error *err);
/* What users can do instead of choosing another name: ", or add --force"; lent. */
void call_set_remedy(const char *remedy);
/* From now on, files may be written over (--force). */
void call_allow_replacing(void);
/* Bound the bytes that the call writes into files (--max-output); 0 = any number. */
void call_limit_output(uint64_t most_bytes);
/* Writers announce bytes before they write them. False: too many, the call fails with
 * HALLEY_ELIMIT. */
bool call_may_write(uint64_t n_bytes);
/* The bytes that are left, UINT64_MAX without a limit. */
uint64_t call_output_left(void);
/* "cannot <doing>: <strerror>" of a file: its answer was needed, so the call fails, also
 * if the code that asked goes on. */
void call_fault(const char *doing, const char *path, int reason);
/* The first failure of these kinds, even if a later error hides it; HALLEY_OK if
 * there was none. */
halley_status call_failure(halley_error *err);

#endif
