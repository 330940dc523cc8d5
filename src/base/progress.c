/*
 * Progress on a terminal. Any thread may report; the first one to report after the
 * interval draws the line. Nothing is drawn if stderr is not a terminal, so this cannot
 * change a result or a log file.
 */
#include "base/progress.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/number/number.h"
#include "base/number/units.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FIRST_DRAWING_MS = 300, INTERVAL_MS = 100, LONGEST_LINE = 256 };

struct progress {
    const char *what, *noun;
    uint64_t total;
    uint64_t start_ms;
    atomic_uint_least64_t done;
    atomic_uint_least64_t next_ms; /* time of the next drawing */
};

static uint64_t now_ms(void)
{
    return (uint64_t)(clock_s() * 1e3);
}

progress *progress_new(const char *what, const char *noun, uint64_t total)
{
    assert(what != NULL && noun != NULL);
    if (!isatty(STDERR_FILENO) || getenv("HALLEY_NO_PROGRESS") != NULL)
        return NULL;
    progress *p = malloc(sizeof *p);
    if (p == NULL)
        return NULL;
    p->what = what;
    p->noun = noun;
    p->total = total;
    p->start_ms = now_ms();
    atomic_init(&p->done, 0);
    atomic_init(&p->next_ms, p->start_ms + FIRST_DRAWING_MS);
    return p;
}

const char *progress_format(char *to, size_t size, const char *what, const char *noun,
                            uint64_t total, uint64_t done, double seconds)
{
    assert(size > 0);
    char count[32], rate[32], left[48] = "";
    const double per_s = seconds > 0 ? (double)done / seconds : 0;
    units_format(rate, sizeof rate, per_s, UNITS_COUNT);
    if (total == 0) {
        units_format(count, sizeof count, (double)done, UNITS_COUNT);
        snprintf(to, size, "%s: %s %s, %s %s/s", what, count, noun, rate, noun);
        return to;
    }
    done = done < total ? done : total;
    units_format(count, sizeof count, (double)total, UNITS_COUNT);
    if (per_s > 0) {
        char time[32];
        units_format(time, sizeof time, (double)(total - done) / per_s, UNITS_TIME);
        snprintf(left, sizeof left, ", %s left", time);
    }
    snprintf(to, size, "%s: %s %% of %s %s, %s %s/s%s", what,
             number_fixed(100 * ((double)done / (double)total), 0).at, count, noun, rate,
             noun, left);
    return to;
}

static void put_line(const char *text, size_t n)
{
    if (write(STDERR_FILENO, text, n) < 0)
        return; /* it is not shown anywhere */
}

static void draw_line(const progress *p, uint64_t done, uint64_t at_ms)
{
    assert(p != NULL);
    char line[LONGEST_LINE] = "\r";
    struct winsize window = {0};
    size_t columns = 80;
    progress_format(line + 1, sizeof line - 8, p->what, p->noun, p->total, done,
                    (double)(at_ms - p->start_ms) / 1000);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        columns = window.ws_col;
    size_t n = strlen(line);
    n = n < columns ? n : columns; /* the \r takes no column, the last column stays
                                      free */
    memcpy(line + n, "\x1b[K", 3);
    put_line(line, n + 3);
}

void progress_at(progress *p, uint64_t done)
{
    if (p == NULL)
        return;
    uint64_t before = atomic_load_explicit(&p->done, memory_order_relaxed);
    while (before < done && !atomic_compare_exchange_weak(&p->done, &before, done))
        continue;
    const uint64_t now = now_ms();
    uint64_t next = atomic_load_explicit(&p->next_ms, memory_order_relaxed);
    if (now >= next &&
        atomic_compare_exchange_strong(&p->next_ms, &next, now + INTERVAL_MS))
        draw_line(p, atomic_load(&p->done), now);
}

void progress_free(progress *p)
{
    if (p == NULL)
        return;
    if (atomic_load(&p->next_ms) != p->start_ms + FIRST_DRAWING_MS)
        put_line("\r\x1b[K", 4);
    free(p);
}

bool progress_look(void *context, const halley_progress *now)
{
    progress_view *view = context;
    if (view->what != now->what) {
        progress_free(view->line);
        view->line = progress_new(now->what, now->noun,
                                  (uint64_t)(now->total < 1e18 ? now->total : 1e18));
        view->what = now->what;
    }
    progress_at(view->line, now->done);
    return true;
}

void progress_view_fini(progress_view *view)
{
    progress_free(view->line);
    *view = (progress_view){0};
}
