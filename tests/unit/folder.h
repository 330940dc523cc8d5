/* folder.h - a folder of a test program's own, and sets of traces in it. */
#ifndef FOLDER_H
#define FOLDER_H

#include "halley/trace_gen.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64], folder_start[4096];

static inline int folder_make(void)
{
    snprintf(folder, sizeof folder, "/tmp/halley-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* The path of a name in it; the last four are kept. */
static inline const char *folder_path(const char *name)
{
    static char path[4][256];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

/* Set-up and tear-down of a test that works in such a folder. */
static inline int folder_enter(void **state)
{
    (void)state;
    return getcwd(folder_start, sizeof folder_start) && folder_make() == 0 ? chdir(folder)
                                                                           : -1;
}

static inline int folder_leave(void **state)
{
    (void)state;
    return chdir(folder_start) == 0 ? folder_remove() : -1;
}

/* A set of the transformer pattern: four ranks in two stages. */
static inline void folder_transformer(const char *prefix, uint32_t layers)
{
    char text[16];
    halley_gen *gen = NULL;
    snprintf(text, sizeof text, "%u", layers);
    assert_int_equal(halley_gen_new(&gen, "transformer", 4, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "pp", "2", NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "layers", text, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_save(gen, prefix, NULL, NULL), HALLEY_OK);
    halley_gen_free(gen);
}

#endif
