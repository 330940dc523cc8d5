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

/* Makes what the path names: 0, or an errno; EEXIST lets another name be tried. */
typedef int file_maker(const char *path, void *context);

/* Make ".NAME.RANDOM-MACHINE-PROCESS" (base/file/file_stale.h) next to `path`, whose last
 * part is NAME (with ".gz" at the end if NAME has that): 0 and *out to be given to
 * file_temporary_free, or an errno. */
int file_temporary_new(file_temporary **out, const char *path, bool is_folder,
                       file_maker *make, void *context);
/* Make the folder `path` itself, which is FILE_TEMPORARY_MADE until it is given to
 * file_temporary_free: 0, or an errno (EEXIST). */
int file_temporary_make_folder(file_temporary **out, const char *path);
/* It has its final name or is removed: take it off the list. NULL does nothing. */
void file_temporary_free(file_temporary *t);

/* Keep a finished file back for file_hold_end (base/file/file.h): 0, and it owns both, or
 * ENOMEM. ENOENT: the file takes its name at once. Then there is no hold, or the file is
 * written for a set, which is held as a whole. */
int file_hold_one(char **path, file_temporary **temporary);
/* The same for a folder, which takes its name at the end, and for one that was made. */
int file_hold_folder(struct file_folder *folder);
int file_hold_made(file_temporary *made);

/* What a commit of a folder consists of, for those that are held. 0, or an errno. */
int file_folder_sync(const struct file_folder *folder);
/* In a section; file_folder_abort also undoes it. */
int file_folder_take_name(struct file_folder *folder);
void file_folder_free(struct file_folder *folder);
const char *file_folder_path(const struct file_folder *folder);

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
