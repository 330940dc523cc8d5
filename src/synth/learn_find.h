/* synth/learn_find.h - which sets of ranks lie in files and folders. */
#ifndef SYNTH_LEARN_FIND_H
#define SYNTH_LEARN_FIND_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"

/* One set: what its files' names begin with, and the files. */
typedef struct learn_found {
    const char *name; /* a prefix, or a file without a rank's number */
    size_t first, n;  /* in files */
} learn_found;

/* {0} is empty. In order of their names, each once. Folders are read once: to look for
 * each set's files in a folder of thousands would take longer than to learn them. */
typedef struct learn_sets {
    arena memory;
    ARRAY(const char *) files;
    ARRAY(learn_found) list;
} learn_sets;

void learn_sets_fini(learn_sets *s);
halley_status learn_sets_find(learn_sets *s, const char *const *from, size_t n_from,
                              halley_error *err);

#endif
