/* hw/embedded.h - the preset and data files compiled into the library. */
#ifndef HW_EMBEDDED_H
#define HW_EMBEDDED_H

#include "base/conf/conf.h"

#include <stddef.h>

typedef struct cluster_embedded {
    const char *path; /* as in the source tree: "presets/npus/a100.yaml" */
    const char *text; /* NUL-terminated */
    size_t n;
} cluster_embedded;

extern const cluster_embedded cluster_embedded_files[]; /* sorted by path */
extern const size_t cluster_embedded_n;

/* The file with this path, or NULL. */
const cluster_embedded *cluster_embedded_find(const char *path);

/*
 * Load a preset "presets/<folder>/<name>.yaml" (any case). If `name` has a slash or ends
 * in .yaml or .json, load the file of that path. For an unknown name, the error suggests
 * the nearest known one.
 */
halley_status cluster_preset_load(conf_file *out, const char *folder, const char *name,
                                  halley_error *err);
/* Copy the i-th preset name of a folder to `to`; false past the last. */
bool cluster_preset_name(char *to, size_t size, const char *folder, size_t i);

#endif
