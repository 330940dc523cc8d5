/* base/progress.h - one line on a terminal's stderr with progress, rate and time left. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include "halley/watch.h"

#include <stddef.h>
#include <stdint.h>

typedef struct progress progress;

/* Returns NULL if stderr is no terminal or HALLEY_NO_PROGRESS is set; then all functions
 * below do nothing. `noun` is a plural: "nodes". total 0 = unknown. Draws at most ten
 * times per second. */
progress *progress_new(const char *what, const char *noun, uint64_t total);
void progress_at(progress *p, uint64_t done); /* safe from any thread; cheap */
void progress_free(progress *p);              /* clears the line */

/* The same for a halley_watch: {.look = progress_look, .context = &view}, with view = {0}
 * at first. Each operation gets a line. Never cancels. */
typedef struct progress_view {
    progress *line;
    const char *what; /* of the line */
} progress_view;
bool progress_look(void *view, const halley_progress *now);
void progress_view_fini(progress_view *view);

/* The text of that line, `seconds` after the start: "reading: 42 % of 1.20M nodes, 350k
 * nodes/s, 2.0 s left". Returns `to`. */
const char *progress_format(char *to, size_t size, const char *what, const char *noun,
                            uint64_t total, uint64_t done, double seconds);

#endif
