/*
 * base/file/file_look.h - what there is on the disk. A file is absent only if the system
 * says so; a disk or a server that does not answer must not make a set smaller.
 */
#ifndef BASE_FILE_LOOK_H
#define BASE_FILE_LOOK_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

/* True if there is no file of that name, and cannot be one. */
bool file_is_absent(int reason);
/* stat(): 0, or an errno. One that does not say that the file is absent also fails the
 * call of this thread (base/call.h), so that callers may ask yes or no. */
int file_look(const char *path, struct stat *about);

/* Handle an entry of a folder; false ends the walk. */
typedef bool file_visitor(void *context, const struct dirent *entry);
/* Visit all entries but "." and ".." of the folder `path`, relative to the open folder
 * `at` (AT_FDCWD: to the working directory); links are followed only with `follows`.
 * Returns 0, ECANCELED if the visitor ended it, or the errno of opening or reading: the
 * entries may then be incomplete. */
int file_walk(int at, const char *path, bool follows, file_visitor *visit, void *context);

#endif
