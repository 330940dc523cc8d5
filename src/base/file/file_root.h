/*
 * base/file/file_root.h - a folder to which a process with untrusted clients (a server)
 * is restricted.
 *
 * Programs and hosts of the library normally have no root, and paths have their usual
 * meaning. With a root, paths are relative to it. Absolute paths, ".." and links that
 * lead out of it are refused, also if one file names another (a study names its model).
 * Compiled-in presets and data need no file.
 */
#ifndef BASE_FILE_ROOT_H
#define BASE_FILE_ROOT_H

#include "base/error.h"

#include <stdbool.h>

/* Restrict the process for good. `folder` becomes the working directory and the root of
 * all files; with `read_only` they cannot be written. Call this once, before threads are
 * started. */
halley_status file_root_set(const char *folder, bool read_only, halley_error *err);
/* The folder's descriptor, lent; -1 without a root. */
int file_root_get(void);
/* Names that begin with a dot are hidden from clients: they are unfinished files, or the
 * user's. `prefix` (".halley-serve/RANDOM/") is the part of them that the server shows;
 * lent. Call this once, before threads are started. */
void file_root_show(const char *prefix);
bool file_root_hides(const char *path);
/* True if the path is in the part that file_root_show has named. */
bool file_root_is_shown(const char *path);
bool file_root_is_read_only(void);
/* True if this path may be read. It need not exist; its folders are checked. */
bool file_root_allows(const char *path);
/* 0 if this path may be written, else an errno (ENOENT, EROFS). */
int file_root_check_write(const char *path);
/* open(path, O_RDONLY | O_CLOEXEC) within the root: a descriptor, or -1 with errno. Paths
 * outside give ENOENT. */
int file_root_open(const char *path);
/* HALLEY_ENOTFOUND, with an error that leaks nothing about what is outside. */
halley_status file_root_refuse(const char *path, halley_error *err);

#endif
