/*
 * base/file/file_beneath.h - files of one folder and nothing else, for paths that
 * strangers name (requests to a server).
 */
#ifndef BASE_FILE_BENEATH_H
#define BASE_FILE_BENEATH_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Open the file that `path` names below the open folder `folder_fd`, for reading: a
 * descriptor in *fd. Absolute paths, "..", and links that lead out of the folder are
 * refused with one sentence that says nothing about what is outside; so is everything
 * that is no regular file or folder (a pipe or device could block for ever). Where the
 * kernel has no openat2 (before Linux 5.6, or forbidden), links are refused altogether.
 */
halley_status file_open_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err);
/* A path that may name a file of a folder: neither empty nor absolute, without "..". */
bool file_path_is_plain(const char *path);
/* The second way, for tests. */
halley_status file_walk_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err);

#endif
