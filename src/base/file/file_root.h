/*
 * base/file/file_root.h - one folder outside of which a process that works for strangers
 * (a server) opens nothing.
 *
 * Without a root, which is the rule for programs and hosts of the library, paths mean
 * what they mean to the system. With one, they are relative to it, and absolute paths,
 * ".." and links that lead out of it are refused, also where a file names another one (a
 * study its model). What is compiled in (presets, data) needs no file.
 */
#ifndef BASE_FILE_ROOT_H
#define BASE_FILE_ROOT_H

#include "base/error.h"

#include <stdbool.h>

/* From now on, and for good: the working directory of the process is `folder`, and its
 * files are there, with `read_only` not to be written. Once, before there are threads. */
halley_status file_root_set(const char *folder, bool read_only, halley_error *err);
/* The folder's descriptor, lent; -1 without a root. */
int file_root_get(void);
/* May this path be read? It need not exist; its folders are looked at. */
bool file_root_allows(const char *path);
/* May it be written to: 0, or an errno (ENOENT, EROFS). */
int file_root_check_write(const char *path);
/* open(path, O_RDONLY | O_CLOEXEC), within the root: a descriptor, or -1 with errno,
 * which is ENOENT for what lies outside. */
int file_root_open(const char *path);
/* HALLEY_ENOTFOUND and a sentence that says nothing about what is outside. */
halley_status file_root_refuse(const char *path, halley_error *err);

#endif
