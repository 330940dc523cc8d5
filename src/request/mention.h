/*
 * request/mention.h - does a file name another one?
 *
 * A study, a cluster file or a launch script may name files that the call reads, too. It
 * is read as words, without comments. A word that is the path of that file counts, as it
 * is or from the folder of the file that names it.
 */
#ifndef REQUEST_MENTION_H
#define REQUEST_MENTION_H

#include <stdbool.h>
#include <sys/stat.h>

/* Is `wanted` named in the text file, or in a file that is named there? Files of more
 * than 1 MiB, folders and pipes are not looked into. */
bool request_mentions(const char *path, const struct stat *wanted);

#endif
