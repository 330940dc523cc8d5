/*
 * base/file/file_stale.h - remove what killed processes left. A temporary name
 * (base/file/file_temporary.h) ends in ".RANDOM-MACHINE-PROCESS". If no such process is
 * alive on this machine, the file will never be finished. The next process that writes
 * into the folder removes it.
 */
#ifndef BASE_FILE_STALE_H
#define BASE_FILE_STALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tag that distinguishes machines, their boots and their process namespaces. */
uint32_t file_machine_tag(void);
bool file_is_temporary_name(const char *path);
/* Remove the stale temporaries of the folder `path`, once per process and folder. */
void file_stale_remove(const char *path);
/* Remove a folder and the files in it; async-signal-safe. */
void file_folder_remove(const char *path);

#endif
