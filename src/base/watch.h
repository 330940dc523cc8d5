/* base/watch.h - the library's end of a halley_watch: count, look now and then, stop. */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include "base/error.h"
#include "halley/watch.h"

#include <stdatomic.h>

typedef struct watcher {
    const halley_watch *watch; /* lent; NULL = nobody looks */
    const char *what, *noun;
    double total;
    atomic_uint_least64_t done;
    atomic_uint_least64_t next_ms; /* time of the next look */
    atomic_flag busy;              /* a look is under way */
    atomic_bool cancelled;
} watcher;

/* One look, now: false = cancel. `watch` may be NULL. */
bool watch_look(const halley_watch *watch, const char *what, const char *noun,
                uint64_t done, double total);

/* Also takes the first look. `what` and `noun` as in halley_progress. */
void watcher_init(watcher *w, const halley_watch *watch, const char *what,
                  const char *noun, double total);
/* So much is done; looks when it is time. False: cancelled. Cheap (one clock), and safe
 * from any thread. */
bool watcher_at(watcher *w, uint64_t done);
bool watcher_add(watcher *w, uint64_t n);
/* The same without a count, and without a look. */
bool watcher_is_cancelled(const watcher *w);
/* HALLEY_ECANCELED with a sentence: "exploring was cancelled". */
halley_status watcher_error(const watcher *w, halley_error *err);

#endif
