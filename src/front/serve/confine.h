/*
 * serve/confine.h - a second protection for a server: the kernel itself (Landlock, Linux
 * 5.13 and later) restricts this process to the server's folder, even if halley has a
 * bug.
 */
#ifndef SERVE_CONFINE_H
#define SERVE_CONFINE_H

#include <stdbool.h>

/* From now on, this thread and those it starts can only open files of the folder, and
 * read libraries and devices. Returns false, and changes nothing, if the kernel does not
 * support it. */
bool serve_confine(int folder_fd);

#endif
