/* base/progress.h - one line on a terminal's stderr with share done, rate and time left.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdint.h>

typedef struct progress progress;

/* NULL (and everything below does nothing) when stderr is no terminal or
 * HALLEY_NO_PROGRESS is set. `noun` in the plural: "nodes". total 0 = unknown. Draws at
 * most ten times a second. */
progress *progress_new(const char *what, const char *noun, uint64_t total);
void progress_at(progress *p, uint64_t done); /* safe from any thread; cheap */
void progress_free(progress *p);              /* clears the line */

#endif
