/*
 * base/watch.h - the library's side of a halley_watch: count progress, call `look` at
 * intervals, stop.
 */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include "base/error.h"
#include "halley/watch.h"

#include <stdatomic.h>

typedef struct watcher {
    const halley_watch *watch; /* lent; NULL = none */
    const char *what, *noun;
    double total;
    atomic_uint_least64_t done;
    atomic_uint_least64_t next_ms; /* time of the next call of `look` */
    atomic_flag busy;              /* a thread is calling `look` */
    atomic_bool cancelled;
} watcher;

/* Call `look` now; false = cancel. `watch` may be NULL. */
bool watch_look(const halley_watch *watch, const char *what, const char *noun,
                uint64_t done, double total);

/* Also calls `look` for the first time. `what` and `noun` are as in halley_progress. */
void watcher_init(watcher *w, const halley_watch *watch, const char *what,
                  const char *noun, double total);
/* Report progress; calls `look` when it is due. Returns false if cancelled. Cheap (it
 * reads the clock once), and safe from any thread. */
bool watcher_at(watcher *w, uint64_t done);
bool watcher_add(watcher *w, uint64_t n);
/* True if cancelled; does not count and does not call `look`. */
bool watcher_is_cancelled(const watcher *w);
/* HALLEY_ECANCELED with a sentence: "exploring was cancelled". */
halley_status watcher_error(const watcher *w, halley_error *err);

#endif
