/*
 * base/file/unpack.h - compressed formats, a piece at a time: gzip, Zstandard and xz.
 *
 * A format is a row of one table: how it is recognised and how some bytes are unpacked.
 * file_stream.c drives it. A file may consist of several members, and nothing else may
 * follow the last one. To add a format, add a row to unpack.c, a seed to
 * tests/fuzz/corpus/unpack and a case to tests/unit/base/test_unpack.c.
 */
#ifndef BASE_FILE_UNPACK_H
#define BASE_FILE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to read, and of the room to write to. */
typedef struct unpack_io {
    const uint8_t *in;
    uint8_t *out;
    size_t n_in, n_out;
    bool in_member; /* a member has begun and is not complete */
} unpack_io;

typedef enum unpack_result {
    UNPACK_OK, /* both may have moved; if neither has, more input is needed */
    UNPACK_FOREIGN,
    UNPACK_HEADER,
    UNPACK_CORRUPT,
    UNPACK_CHECKSUM,
    UNPACK_MEMORY,
} unpack_result;

enum { UNPACK_MAGIC = 6 };
typedef struct unpack_format {
    const char *name; /* also of the program: gzip -t */
    uint8_t magic[UNPACK_MAGIC];
    uint8_t n_magic;
    void *(*open)(void); /* NULL: no memory */
    unpack_result (*run)(void *state, unpack_io *io);
    void (*close)(void *state);
} unpack_format;

/* The format of a file that begins with these bytes; NULL = not compressed. */
const unpack_format *unpack_find(const uint8_t *at, size_t n);

#endif
