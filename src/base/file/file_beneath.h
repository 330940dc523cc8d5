/*
 * base/file/file_beneath.h - open only files of one folder, for paths from untrusted
 * requests to a server.
 */
#ifndef BASE_FILE_BENEATH_H
#define BASE_FILE_BENEATH_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Open the file `path` below the open folder `folder_fd` for reading; the descriptor is
 * in *fd. Absolute paths, "..", and links that lead out of the folder are refused. The
 * error says nothing about what is outside. Everything but regular files and folders is
 * refused as well, because a pipe or device could block for ever. If the kernel has no
 * openat2 (before Linux 5.6, or forbidden), all links are refused.
 */
halley_status file_open_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err);
/* True if the path may name a file of a folder: not empty, not absolute, without "..". */
bool file_path_is_plain(const char *path);
/* The fallback without openat2, for tests. */
halley_status file_walk_beneath(int *fd, int folder_fd, const char *path,
                                halley_error *err);

#endif
