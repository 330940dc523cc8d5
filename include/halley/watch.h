/*
 * halley/watch.h - progress and cancellation, the same for everything that takes long:
 * simulating, exploring, linking, learning, making sets of traces.
 */
#ifndef HALLEY_WATCH_H
#define HALLEY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far a piece of work is. */
typedef struct halley_progress {
    const char *what; /* "simulating"; lent */
    const char *noun; /* what is counted, in the plural: "nodes"; lent */
    uint64_t done;
    double total; /* 0 = not known */
} halley_progress;

/*
 * Looks at a piece of work while it runs. `look` is called at the start, about every
 * 20 ms, and not at the end; from any thread of the work, but never twice at a time. When
 * it returns false the work ends soon with HALLEY_ECANCELED: nothing is given back and no
 * file is left half-written. An exploration with a store, and learning, can be resumed
 * from what was saved. It may set a flag of its own from another thread and be asked for
 * it here; it must not call back into the run.
 */
typedef struct halley_watch {
    bool (*look)(void *context, const halley_progress *progress);
    void *context;
} halley_watch;

#ifdef __cplusplus
}
#endif
#endif
