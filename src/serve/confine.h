/*
 * serve/confine.h - a second wall around the folder of a server: the kernel itself
 * (Landlock, Linux 5.13 and later) refuses this process everything else, whatever a
 * defect of ours may try.
 */
#ifndef SERVE_CONFINE_H
#define SERVE_CONFINE_H

#include <stdbool.h>

/* From now on this thread, and those it starts, can open files of the folder, and read
 * libraries and devices. False where the kernel cannot, and nothing changes. */
bool serve_confine(int folder_fd);

#endif
