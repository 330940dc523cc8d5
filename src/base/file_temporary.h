/* base/file_temporary.h - names for what is not finished yet. */
#ifndef BASE_FILE_TEMPORARY_H
#define BASE_FILE_TEMPORARY_H

/* Makes what the path names: 0, or an errno; EEXIST lets another name be tried. */
typedef int file_maker(const char *path, void *context);

/* Make ".name.xxxxxx" beside `path`, whose last part is name: 0, or an errno. *out is the
 * caller's to free(), whatever is returned. */
int file_temporary(char **out, const char *path, file_maker *make, void *context);

#endif
