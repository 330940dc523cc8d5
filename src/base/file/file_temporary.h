/*
 * base/file/file_temporary.h - unfinished files and folders.
 *
 * Each has a random name next to its target. It is listed from its creation until it has
 * its final name or is removed. So a signal handler can remove all of them
 * (halley_unfinished_remove).
 */
#ifndef BASE_FILE_TEMPORARY_H
#define BASE_FILE_TEMPORARY_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct file_folder;

typedef enum file_temporary_kind {
    FILE_TEMPORARY_FILE,
    FILE_TEMPORARY_FOLDER, /* removed with the files in it */
    FILE_TEMPORARY_MADE,   /* a folder under its final name: removed when empty, last */
} file_temporary_kind;

typedef struct file_temporary file_temporary;
struct file_temporary {
    uint32_t slot; /* in the list */
    file_temporary_kind kind;
    file_temporary *next; /* of those that a signal handler removes last */
    char path[];
};

/* Create what the path names. Returns 0 or an errno; after EEXIST another name is
 * tried. */
typedef int file_maker(const char *path, void *context);

/* Create ".NAME.RANDOM-MACHINE-PROCESS" (base/file/file_stale.h) next to `path`. NAME is
 * the last part of `path`. The new name ends in ".gz" if NAME does. Returns 0, and *out
 * for file_temporary_free, or an errno. */
int file_temporary_new(file_temporary **out, const char *path, bool is_folder,
                       file_maker *make, void *context);
/* Create the folder `path` itself. It is FILE_TEMPORARY_MADE until file_temporary_free.
 * Returns 0 or an errno (EEXIST). */
int file_temporary_make_folder(file_temporary **out, const char *path);
/* Remove it from the list, because it has its final name or was deleted. NULL does
 * nothing. */
void file_temporary_free(file_temporary *t);

/* Hold a finished file for file_hold_end (base/file/file.h). Returns 0 and takes
 * ownership of both, or ENOMEM. ENOENT: the file gets its name at once, because there is
 * no hold or because it belongs to a set, which is held as a whole. */
int file_hold_one(char **path, file_temporary **temporary);
/* The same for a folder, which gets its name at the end, and for one that was created. */
int file_hold_folder(struct file_folder *folder);
int file_hold_made(file_temporary *made);

/* The steps of committing a folder, for held folders. Each returns 0 or an errno. */
int file_folder_sync(const struct file_folder *folder);
/* Call this in a section; file_folder_abort also undoes it. */
int file_folder_take_name(struct file_folder *folder);
void file_folder_free(struct file_folder *folder);
const char *file_folder_path(const struct file_folder *folder);

/* halley_unfinished_remove does not interrupt code between these two. This thread blocks
 * SIGINT, SIGTERM and SIGHUP, and a handler in another thread waits. Begin returns
 * ECANCELED (then do not call end) while unfinished files are being removed. */
typedef struct file_section {
    sigset_t before;
} file_section;

/* The error of a file that cannot be written, from an errno or FILE_REFUSED: the call
 * (base/call.h) refuses it, as its own input or because it is too long. */
enum { FILE_REFUSED = -1 };
halley_status file_write_error(halley_error *err, const char *path, int reason);

int file_section_begin(file_section *section);
void file_section_end(const file_section *section);

#endif
