/*
 * request/mention.h - whether a file names another one.
 *
 * A study, a cluster file or a launch script may name further files that the call reads.
 * The file is split into words, without comments. A word counts if it is the path of the
 * wanted file, as it is or relative to the folder of the file that contains it.
 */
#ifndef REQUEST_MENTION_H
#define REQUEST_MENTION_H

#include <stdbool.h>
#include <sys/stat.h>

/* True if `wanted` is named in the text file, or in a file that is named there. Files of
 * more than 1 MiB, folders and pipes are not searched. */
bool request_mentions(const char *path, const struct stat *wanted);

#endif
