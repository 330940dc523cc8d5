/*
 * All threads of an operation share one watcher. The first thread to report after the
 * interval calls `look`; the others continue. They see the cancel flag at their next
 * report, so all stop within one interval.
 */
#include "base/watch.h"

#include "base/clock.h"

#include <assert.h>

enum { INTERVAL_MS = 20 };

static uint64_t read_clock_ms(void)
{
    return (uint64_t)(clock_s() * 1e3);
}

bool watch_look(const halley_watch *watch, const char *what, const char *noun,
                uint64_t done, double total)
{
    assert(what != NULL && noun != NULL);
    const halley_progress now = {what, noun, done, total};
    return watch == NULL || watch->look == NULL || watch->look(watch->context, &now);
}

static void take_look(watcher *w)
{
    if (atomic_flag_test_and_set(&w->busy))
        return;
    if (!atomic_load(&w->cancelled) &&
        !watch_look(w->watch, w->what, w->noun, atomic_load(&w->done), w->total))
        atomic_store(&w->cancelled, true);
    atomic_store(&w->next_ms, read_clock_ms() + INTERVAL_MS);
    atomic_flag_clear(&w->busy);
}

void watcher_init(watcher *w, const halley_watch *watch, const char *what,
                  const char *noun, double total)
{
    assert(what != NULL && noun != NULL);
    assert(total >= 0);
    w->watch = watch != NULL && watch->look != NULL ? watch : NULL;
    w->what = what;
    w->noun = noun;
    w->total = total;
    atomic_init(&w->done, 0);
    atomic_init(&w->next_ms, 0);
    atomic_init(&w->cancelled, false);
    atomic_flag_clear(&w->busy);
    if (w->watch != NULL)
        take_look(w);
}

static bool look_when_due(watcher *w)
{
    if (w->watch == NULL)
        return true;
    if (read_clock_ms() >= atomic_load_explicit(&w->next_ms, memory_order_relaxed))
        take_look(w);
    return !atomic_load_explicit(&w->cancelled, memory_order_relaxed);
}

bool watcher_at(watcher *w, uint64_t done)
{
    assert(w != NULL);
    if (w->watch == NULL)
        return true;
    atomic_store_explicit(&w->done, done, memory_order_relaxed);
    return look_when_due(w);
}

bool watcher_add(watcher *w, uint64_t n)
{
    if (w->watch == NULL)
        return true;
    atomic_fetch_add_explicit(&w->done, n, memory_order_relaxed);
    return look_when_due(w);
}

bool watcher_is_cancelled(const watcher *w)
{
    return atomic_load_explicit(&w->cancelled, memory_order_relaxed);
}

halley_status watcher_error(const watcher *w, halley_error *err)
{
    return error_set(err, HALLEY_ECANCELED, "%s was cancelled", w->what);
}
