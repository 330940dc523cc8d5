/* serve/folder.h - the files of a server: one folder that requests read and write. */
#ifndef SERVE_FOLDER_H
#define SERVE_FOLDER_H

#include "base/error.h"
#include "base/str.h"
#include "serve/uploads.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct serve_folder {
    int fd; /* lent by base/file/file_root.h */
    serve_uploads uploads;
} serve_folder;

/* `path` NULL: a folder in the user's state directory (XDG), which is created if
 * necessary. Sets the root of the process. */
halley_status serve_folder_open(serve_folder *f, const char *path, bool read_only,
                                uint64_t most_bytes, halley_error *err);
/* Removes all uploads. */
void serve_folder_close(serve_folder *f);

/* {"ok": true, "files": [{"path": ..., "bytes": ...}]}: the files in the folder and
 * below. */
halley_status serve_folder_list(strbuf *to, const serve_folder *f, halley_error *err);

#endif
