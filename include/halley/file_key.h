/* halley/file_key.h - the keys of halley's files, for manuals, checks and forms. */
#ifndef HALLEY_FILE_KEY_H
#define HALLEY_FILE_KEY_H

#include <stdbool.h>

/* One key. All texts are lent and static. */
typedef struct halley_file_key {
    const char *key, *doc;    /* "bandwidth", a phrase */
    const char *type;         /* "bandwidth, such as \"900 GB/s\""; NULL = see doc */
    const char *const *names; /* allowed values, ends with NULL; NULL = any */
    bool required;
    const char *by_default; /* as written in a file; NULL = none, or see doc */
    const char *example;    /* a value with its unit; NULL = not needed */
    const char *was;        /* older path that is still read; NULL = none */
} halley_file_key;

#endif
