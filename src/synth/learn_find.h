/* synth/learn_find.h - which sets of ranks lie in files and folders. */
#ifndef SYNTH_LEARN_FIND_H
#define SYNTH_LEARN_FIND_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"

/* {0} is empty. Each is a prefix or a file, as halley_trace_set_load takes it; in order
 * of their names, each once. */
typedef struct learn_sets {
    arena memory;
    ARRAY(const char *) list;
} learn_sets;

void learn_sets_fini(learn_sets *s);
halley_status learn_sets_find(learn_sets *s, const char *const *from, size_t n_from,
                              halley_error *err);

#endif
