/*
 * halley/watch.h - progress and cancellation of everything that takes long: simulating,
 * exploring, linking, learning, making sets of traces.
 */
#ifndef HALLEY_WATCH_H
#define HALLEY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The progress of an operation. */
typedef struct halley_progress {
    const char *what; /* "simulating"; lent */
    const char *noun; /* what is counted, in the plural: "nodes"; lent */
    uint64_t done;
    double total; /* 0 = not known */
} halley_progress;

/*
 * Callback of a running operation. `look` is called at the start and about every 20 ms,
 * but not at the end. Any thread of the operation may call it, but never two at a time.
 * If it returns false, the operation ends soon with HALLEY_ECANCELED. Then nothing is
 * returned and no file is left half-written. An exploration with a store, and learning,
 * can be resumed from what was saved. `look` must not call back into the operation.
 * Another thread may set a flag that `look` checks.
 */
typedef struct halley_watch {
    bool (*look)(void *context, const halley_progress *progress);
    void *context;
} halley_watch;

#ifdef __cplusplus
}
#endif
#endif
