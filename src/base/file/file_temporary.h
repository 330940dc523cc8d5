/*
 * base/file/file_temporary.h - files and folders that are not finished yet.
 *
 * Each has a random name of its own next to its target and is listed from its creation
 * until it has its final name or is gone, so that a signal handler can remove all of them
 * (halley_unfinished_remove).
 */
#ifndef BASE_FILE_TEMPORARY_H
#define BASE_FILE_TEMPORARY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct file_temporary {
    uint32_t slot; /* in the list */
    bool is_folder;
    char path[];
} file_temporary;

/* Makes what the path names: 0, or an errno; EEXIST lets another name be tried. */
typedef int file_maker(const char *path, void *context);

/* Make ".NAME.RANDOM-MACHINE-PROCESS" (base/file/file_stale.h) next to `path`, whose last
 * part is NAME (with ".gz" at the end if NAME has that): 0 and *out to be given to
 * file_temporary_free, or an errno. */
int file_temporary_new(file_temporary **out, const char *path, bool is_folder,
                       file_maker *make, void *context);
/* It has its final name or is removed: take it off the list. NULL does nothing. */
void file_temporary_free(file_temporary *t);

/* Keep a finished file back for file_hold_end (base/file/file.h): 0, and it owns both, or
 * ENOMEM. ENOENT: the file takes its name at once. Then there is no hold, or the file is
 * written for a set, which is held as a whole. */
int file_hold_one(char **path, file_temporary **temporary);

/*
 * What is between these two is not interrupted by halley_unfinished_remove: this thread
 * holds SIGINT, SIGTERM and SIGHUP back, and a handler in another thread waits. Begin
 * returns ECANCELED (and there is no end) where unfinished files are being removed.
 */
typedef struct file_section {
    sigset_t before;
} file_section;

int file_section_begin(file_section *section);
void file_section_end(const file_section *section);

#endif
